use super::*;
use cloud::Error as CloudError;
use rstest::rstest;
use std::time::Duration;
use testkit::node::{condition, machine, node};

const A3: &str = "Hostname=node0.cloud.internal InternalIP=10.0.0.1 ExternalIP=132.143.154.163";
const A2: &str = "InternalIP=10.0.0.1 ExternalIP=132.143.154.163";
const A3_WRITTEN: &str = "addresses [Hostname node0.cloud.internal, InternalIP 10.0.0.1, ExternalIP 132.143.154.163]";
const ZONE_WRITTEN: &str = "+failure-domain.beta.kubernetes.io/region=us-west, +failure-domain.beta.kubernetes.io/zone=us-west-1a, \
                            +topology.kubernetes.io/region=us-west, +topology.kubernetes.io/zone=us-west-1a";

/// `not yet`, `unmanaged`, `missing`, `error`, or the words of a machine.
fn answer(words: &str) -> cloud::Result<Answer> {
    match words {
        "not yet" => Ok(Answer::NotYet),
        "unmanaged" => Ok(Answer::Unmanaged),
        "missing" => Ok(Answer::Missing),
        "error" => Err(CloudError::unavailable("describe machines", "metadata error")),
        words => Ok(Answer::Found(Box::new(machine(
            &words.replace("A3", A3).replace("A2", A2),
        )))),
    }
}

fn rules(provider_ids: ProviderIds) -> Rules<'static> {
    Rules {
        provider_ids,
        found_by: "name",
        labels: Labels::Follow,
        before: None,
    }
}

fn planned(there: &str, cloud: &str) -> String {
    let (cloud, provider_ids) = match cloud.strip_prefix("without IDs: ") {
        Some(cloud) => (cloud, ProviderIds::None),
        None => (cloud, ProviderIds::Given),
    };
    plan(&node("node0", there), &answer(cloud), rules(provider_ids)).to_string()
}

/// Expands the abbreviations of a row.
fn expand(expected: &str) -> String {
    expected.replace("A3", A3_WRITTEN).replace("ZONE", ZONE_WRITTEN)
}

// upstream: Test_syncNode
#[rstest]
#[case(
    "node initialized with hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case(
    "node initialized with hostname and cloud provider missing hostname",
    "tainted Hostname=nodeoverriden",
    "id:fake://12345 A2",
    "addresses [InternalIP 10.0.0.1, ExternalIP 132.143.154.163, Hostname nodeoverriden], id fake://12345, -taint"
)]
#[case(
    "node initialized with provider ID",
    "tainted",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case("node ignored", "", "", "keep")]
#[case(
    "zone/region topology labels added",
    "tainted ready:Unknown",
    "id:aws://12345 zone:us-west-1a region:us-west A3",
    "A3, id aws://12345, ZONE, -taint"
)]
#[case(
    "node addresses",
    "taint:ImproveCoverageTaint tainted ready:Unknown",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case(
    "nil instanceMetadata provided by InstanceV2",
    "taint:ImproveCoverageTaint tainted ready:Unknown",
    "not yet",
    "wait for the cloud"
)]
#[case(
    "provided node IP address",
    "node-ip:10.0.0.1 taint:ImproveCoverageTaint tainted id:node0.aws.12345 Hostname=node0.cloud.internal",
    "A2",
    "addresses [InternalIP 10.0.0.1, ExternalIP 132.143.154.163, Hostname node0.cloud.internal], -taint"
)]
#[case(
    "provided node IP address is not valid",
    "node-ip:invalid-ip tainted id:node0.aws.12345 Hostname=node0.cloud.internal",
    "A2",
    r#"fail: the provided node IP "invalid-ip" is not valid: could not parse "invalid-ip""#
)]
#[case(
    "provided node IP address is not present",
    "node-ip:10.0.0.2 tainted id:node0.aws.12345 Hostname=node0.cloud.internal",
    "A2",
    "fail: the provided node IP 10.0.0.2 is not an address of the machine; the cloud reports 10.0.0.1, 132.143.154.163"
)]
#[case(
    "provider ID already set",
    "taint:ImproveCoverageTaint tainted id:test-provider-id",
    "id:fake://12345 A3",
    "A3, -taint"
)]
#[case("provider ID not implemented", "tainted", "without IDs: ", "-taint")]
#[case(
    "[instanceV2] node initialized with provider ID",
    "tainted id:fake://12345",
    "A3",
    "A3, -taint"
)]
#[case("[instanceV2] node ignored", "", "", "keep")]
#[case(
    "[instanceV2] zone/region topology labels added",
    "tainted ready:Unknown",
    "id:fake://12345 zone:us-west-1a region:us-west A3",
    "A3, id fake://12345, ZONE, -taint"
)]
#[case(
    "[instanceV2] node addresses",
    "taint:ImproveCoverageTaint tainted",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case(
    "[instanceV2] provided node IP address",
    "node-ip:10.0.0.1 taint:ImproveCoverageTaint tainted id:node0.aws.12345 Hostname=node0.cloud.internal",
    "id:fake://12345 A2",
    "addresses [InternalIP 10.0.0.1, ExternalIP 132.143.154.163, Hostname node0.cloud.internal], -taint"
)]
#[case(
    "[instanceV2] provided additional labels",
    "node-ip:10.0.0.1 tainted id:node0.cp.12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163",
    "A2 zone:us-west-1a region:us-west topology.k8s.cp/zone-id=az1 my.custom.label/foo=bar",
    "+failure-domain.beta.kubernetes.io/region=us-west, +failure-domain.beta.kubernetes.io/zone=us-west-1a, \
     +my.custom.label/foo=bar, +topology.k8s.cp/zone-id=az1, \
     +topology.kubernetes.io/region=us-west, +topology.kubernetes.io/zone=us-west-1a, -taint"
)]
#[case(
    "[instanceV2] provided additional labels with labels to discard",
    "node-ip:10.0.0.1 tainted id:node0.cp.12345 InternalIP=10.0.0.1 ExternalIP=132.143.154.163 \
     my.custom.label/foo=fizz my.custom.label/bar=foo",
    "A2 zone:us-west-1a region:us-west topology.kubernetes.io/region=us-other-west topology.k8s.io/region=us-other-west \
     kubernetes.io/region=us-other-west k8s.io/region=us-other-west my.custom.label/foo=bar my.custom.label/bar=foo \
     app.k8snio/bar=foo k8snio/bar=foo",
    "+app.k8snio/bar=foo, +failure-domain.beta.kubernetes.io/region=us-west, +failure-domain.beta.kubernetes.io/zone=us-west-1a, \
     +k8snio/bar=foo, +topology.kubernetes.io/region=us-west, +topology.kubernetes.io/zone=us-west-1a, -taint"
)]
#[case(
    "[instanceV2] provider ID already set",
    "taint:ImproveCoverageTaint tainted id:test-provider-id",
    "A3",
    "A3, -taint"
)]
#[case(
    "[instanceV2] provider ID not implemented",
    "tainted",
    "A3",
    "fail: neither the cloud nor the Node has a provider ID"
)]
#[case(
    "[instanceV2] error getting InstanceMetadata",
    "tainted",
    "error",
    "fail: describe machines is unavailable: metadata error"
)]
fn sync_node(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(planned(there, cloud), expand(expected), "{name}");
}

// upstream: TestGetInstanceMetadata
#[rstest]
#[case(
    "Instances and provider ID",
    "tainted",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case("Instances (providerID not implemented)", "tainted", "without IDs: A3", "A3, -taint")]
#[case(
    "Instances (providerID not implemented), node providerID fake://asdasd",
    "tainted id:fake://asdasd",
    "without IDs: A3",
    "A3, -taint"
)]
#[case(
    "InstancesV2 (with providerID)",
    "tainted",
    "id:fake://12345 A3",
    "A3, id fake://12345, -taint"
)]
#[case(
    "InstancesV2 (without providerID), node none",
    "tainted",
    "A3",
    "fail: neither the cloud nor the Node has a provider ID"
)]
#[case(
    "InstancesV2 (without providerID), node has fake://12345",
    "tainted id:fake://12345",
    "A3 type:t1.micro",
    "A3, +beta.kubernetes.io/instance-type=t1.micro, +node.kubernetes.io/instance-type=t1.micro, -taint"
)]
fn instance_metadata(#[case] name: &str, #[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(planned(there, cloud), expand(expected), "{name}");
}

#[rstest]
#[case::addresses_are_right("tainted id:x InternalIP=10.0.0.1", "InternalIP=10.0.0.1", "-taint")]
#[case::no_addresses("tainted id:x InternalIP=10.0.0.1", "", "-taint")]
#[case::not_found_by_name("tainted", "missing", "fail: the cloud has no machine with name node0")]
#[case::not_found_by_id(
    "tainted id:a://b",
    "missing",
    "fail: the cloud has no machine with provider ID a://b"
)]
#[case::bad_label("tainted id:x", "zone:a/b", "-taint")]
fn initializes(#[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(planned(there, cloud), expected);
}

// upstream: Test_GetProviderID
#[rstest]
#[case("spec id, legacy → spec id", "id:fake://12345", "", Some("fake://12345"), "-taint")]
#[case(
    "spec id, V2 → spec id",
    "id:fake://12345",
    "id:other",
    Some("fake://12345"),
    "-taint"
)]
#[case(
    "legacy lookup → fake://12345",
    "",
    "id:fake://12345",
    None,
    "id fake://12345, -taint"
)]
#[case(
    "V2 metadata id → fake://12345",
    "",
    "id:fake://12345",
    None,
    "id fake://12345, -taint"
)]
#[case("V2 without id → empty, no error", "", "without IDs: ", None, "-taint")]
fn provider_id(
    #[case] name: &str,
    #[case] there: &str,
    #[case] cloud: &str,
    #[case] asked_for: Option<&str>,
    #[case] expected: &str,
) {
    let there = format!("tainted {there}");
    // The cloud gets the ID of the Node, or looks up the instance by name: there is no second call.
    let requested = nodes::node_ref(&node("node0", &there)).provider_id;
    assert_eq!(requested.as_ref().map(ProviderId::as_str), asked_for, "{name}");
    assert_eq!(planned(&there, cloud), expected, "{name}");
}

#[rstest]
#[case::same("id:x A3", "A3", "keep")]
#[case::moved("id:x InternalIP=10.0.0.9 Hostname=node0.cloud.internal", "A3", "A3")]
#[case::dual_stack(
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    "InternalIP=10.0.0.1 InternalIP=fc01::1",
    "keep"
)]
#[case::no_addresses("id:x A3", "", "keep")]
#[case::no_addresses_for_a_node_ip("node-ip:10.0.0.9 InternalIP=10.0.0.9", "", "keep")]
#[case::wrong_node_ip(
    "node-ip:10.0.0.9 InternalIP=10.0.0.9",
    "InternalIP=10.0.0.1",
    "fail: the provided node IP 10.0.0.9 is not an address of the machine; the cloud reports 10.0.0.1"
)]
#[case::resized(
    "A3 beta.kubernetes.io/instance-type=s node.kubernetes.io/instance-type=s",
    "A3 type:m",
    "+beta.kubernetes.io/instance-type=m, +node.kubernetes.io/instance-type=m"
)]
#[case::provider_id_is_not_added_later("A3", "A3 id:a://b", "keep")]
#[case::gone("A3", "missing", "keep")]
#[case::later("A3", "not yet", "wait for the cloud")]
fn refreshes(#[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    assert_eq!(planned(&there.replace("A3", A3), cloud), expand(expected));
}

#[test]
fn the_message_says_what_was_searched_for() {
    let rules = Rules {
        found_by: "the private DNS name",
        ..rules(ProviderIds::Given)
    };
    let message = |there| plan(&node("n", there), &answer("missing"), rules).to_string();
    assert_eq!(
        message("tainted"),
        "fail: the cloud has no machine with the private DNS name n"
    );
    assert_eq!(
        message("tainted id:a://b"),
        "fail: the cloud has no machine with provider ID a://b"
    );
}

#[test]
fn labels_of_initialized_nodes_can_be_kept() {
    let rules = Rules {
        labels: Labels::Keep,
        ..rules(ProviderIds::Given)
    };
    assert_eq!(plan(&node("n", ""), &answer("zone:z a=b"), rules), Plan::Keep);
    assert_ne!(plan(&node("n", "tainted id:x"), &answer("zone:z"), rules), Plan::Keep);
}

// upstream: TestNodeAddressesNotUpdateV2
#[rstest]
#[case("tainted node, cloud returns A3, V2", "id:fake://12345 A3")]
fn refresh_skips_new_nodes(#[case] name: &str, #[case] cloud: &str) {
    let node = node("node0", "tainted");
    assert_eq!(
        update(&node, &answer(cloud), rules(ProviderIds::Given)),
        Plan::Keep,
        "{name}"
    );
}

// upstream: TestNodeAddressesNotUpdate
#[rstest]
#[case("tainted node, cloud returns A3, legacy", "A3")]
fn refresh_skips_new_nodes_without_ids(#[case] name: &str, #[case] cloud: &str) {
    let node = node("node0", "tainted");
    assert_eq!(
        update(&node, &answer(cloud), rules(ProviderIds::None)),
        Plan::Keep,
        "{name}"
    );
}

#[test]
fn the_condition_is_removed_in_the_patch_of_the_addresses() {
    let mut there = node("node0", "tainted id:x");
    let failed = condition(conditions::CLOUD_PROVIDER_INITIALIZED, "False");
    there.status.as_mut().unwrap().conditions = Some(vec![failed]);
    let Plan::Write(writes) = plan(&there, &answer("A3"), rules(ProviderIds::Given)) else {
        panic!("nothing to write")
    };
    assert_eq!(writes.to_string(), format!("{A3_WRITTEN}, -condition, -taint"));
    let Some(Patch::Strategic(patch)) = writes.status_patch(&there) else {
        panic!("no status patch")
    };
    assert_eq!(patch["status"]["addresses"].as_array().map(Vec::len), Some(4));
    assert_eq!(patch["status"]["conditions"][0]["$patch"], "delete");
}

#[rstest]
#[case::status_and_node("tainted", "A3 id:a://b", "status node")]
#[case::node_only(
    "tainted id:x Hostname=node0.cloud.internal InternalIP=10.0.0.1 ExternalIP=132.143.154.163",
    "A3",
    "node"
)]
#[case::status_only("", "A3", "status")]
fn writes_no_more_patches_than_needed(#[case] there: &str, #[case] cloud: &str, #[case] expected: &str) {
    let there = node("node0", there);
    let Plan::Write(writes) = plan(&there, &answer(cloud), rules(ProviderIds::Given)) else {
        panic!("nothing to write")
    };
    let status = writes.status_patch(&there).map(|_| "status");
    let node = writes.node_patch(&there).map(|_| "node");
    assert_eq!(
        [status, node].into_iter().flatten().collect::<Vec<_>>().join(" "),
        expected
    );
}

#[rstest]
#[case::new("tainted InternalIP=10.0.0.1 a=b", "-taint")]
#[case::with_a_provider_id("tainted id:other://1", "-taint")]
#[case::initialized("InternalIP=10.0.0.1", "keep")]
fn unmanaged_nodes_are_initialized_unchanged(#[case] there: &str, #[case] expected: &str) {
    assert_eq!(planned(there, "unmanaged"), expected);
}

#[rstest]
#[case::unavailable(CloudError::unavailable("x", "y"), "CloudUnavailable Retry")]
#[case::denied(CloudError::Denied { call: "x".into(), source: "y".into() }, "CloudDenied Retry")]
#[case::throttled(CloudError::Throttled { call: "x".into(), retry_after: Some(Duration::from_secs(7)) }, "CloudThrottled After(7s)")]
#[case::throttled_for_no_time(CloudError::Throttled { call: "x".into(), retry_after: Some(Duration::ZERO) }, "CloudThrottled After(1s)")]
#[case::unusable(CloudError::unusable("x", "y"), "CloudError Retry")]
#[case::invalid(CloudError::invalid("x", "y"), "CloudError After(300s)")]
fn errors(#[case] error: CloudError, #[case] expected: &str) {
    let error = Error::from(&error);
    assert_eq!(format!("{} {:?}", error.reason(), error.next()), expected);
}
