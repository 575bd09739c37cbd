use super::*;
use crate::config::CloudControllerManagerConfiguration;
use rstest::rstest;
use runtime::flags::{Auto, Given, Numbers, Port, Strings};
use std::{collections::BTreeMap, fmt::Write as _, net::IpAddr};

/// The options of a command line, without validation.
fn parsed(args: &str) -> Options {
    let mut options = Options::default();
    let parsed = options
        .set("cloud-controller-manager", Vec::new())
        .parse(args.split_whitespace());
    options.parsed = parsed.unwrap();
    options
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn secs(seconds: i32) -> GoDuration {
    GoDuration::from_secs(seconds)
}

/// Every flag in the reference page: `section | flag | type | default`.
fn documented() -> BTreeMap<String, [String; 3]> {
    let mut section = String::new();
    let mut flags = BTreeMap::new();
    for line in reference(Vec::new()).lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title.trim_end_matches(" flags").to_owned();
        }
        let cells: Vec<&str> = line.split(" | ").collect();
        if let (Some((_, name)), [_, kind, default, ..]) = (cells[0].split_once("`--"), cells.as_slice()) {
            let default = default.trim_matches('`').to_owned();
            flags.insert(
                name.trim_end_matches('`').to_owned(),
                [section.clone(), (*kind).to_owned(), default],
            );
        }
    }
    flags
}

// upstream: TestDefaultFlags
#[test]
fn every_upstream_flag_exists_with_its_type_and_default() {
    let case = "default option values";
    let ours = documented();
    let mut differences = String::new();
    let lines = include_str!("upstream_flags.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    for line in lines {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [section, flag, kind, default] = cells[..] else {
            panic!("{line}")
        };
        // Left to the program unless given: the one deliberate difference.
        let auto = flag.starts_with("concurrent-") || ["kube-api-qps", "kube-api-burst"].contains(&flag);
        let expected = [section, kind, if auto { "auto" } else { default }].map(str::to_owned);
        if ours.get(flag) != Some(&expected) {
            writeln!(differences, "{flag}: {:?} instead of {expected:?}", ours.get(flag)).unwrap();
        }
    }
    assert_eq!(differences, "", "{case}");
}

#[test]
fn numbers_left_to_the_program_have_upstreams_default() {
    let Options {
        generic,
        node,
        node_lifecycle,
        service,
        ..
    } = Options::default();
    assert_eq!(
        (generic.client.qps, generic.client.burst),
        (Auto::Unset(20.0), Auto::Unset(30))
    );
    assert_eq!(
        (node.concurrent_syncs, node.concurrent_status_updates),
        (Auto::Unset(1), Auto::Unset(0))
    );
    assert_eq!(
        (node_lifecycle.concurrent_syncs, service.concurrent_syncs),
        (Auto::Unset(1), Auto::Unset(1))
    );
}

/// The default is softened for small clusters, what is given is obeyed to the letter.
#[rstest]
#[case::default("", 10)]
#[case::strict("--node-deletion-max-fraction=0.05", 2)]
#[case::the_default_as_given("--node-deletion-max-fraction=0.2", 8)]
fn deletions_allowed_of_40_nodes(#[case] args: &str, #[case] expected: usize) {
    assert_eq!(parsed(args).outrigger.limits().allowance(40), expected);
}

/// The flags upstream's test sets.
const MANY: &str = "
    --allocate-node-cidrs=true --authorization-always-allow-paths= --bind-address=192.168.4.21 --cert-dir=/a/b/c
    --cloud-config=/cloud-config --cloud-provider=gce --cluster-cidr=1.2.3.4/24 --cluster-name=k8s
    --configure-cloud-routes=false --contention-profiling=true --controller-start-interval=2m --controllers=foo,bar
    --http2-max-streams-per-connection=47 --kube-api-burst=100
    --kube-api-content-type=application/vnd.kubernetes.protobuf --kube-api-qps=50.0 --kubeconfig=/kubeconfig
    --leader-elect=false --leader-elect-lease-duration=30s --leader-elect-renew-deadline=15s
    --leader-elect-resource-lock=leases --leader-elect-retry-period=5s --master=192.168.4.20 --min-resync-period=100m
    --node-status-update-frequency=10m --profiling=false --route-reconciliation-period=30s --secure-port=10001
    --use-service-account-credentials=false --concurrent-node-syncs=5 --webhooks=foo,bar,-baz
    --webhook-disable-http2-serving=true
    --webhook-tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA,TLS_RSA_WITH_AES_256_CBC_SHA
    --webhook-tls-min-version=VersionTLS13 --webhook-tls-sni-cert-key=example.crt,example.key:example.com";

// upstream: TestAddFlags
#[test]
fn many_flags_are_parsed() {
    let case = "parse of 35 flags incl. clearing always-allow paths";
    assert_eq!(MANY.split_whitespace().count(), 35, "{case}");
    let options = parsed(MANY);
    let expected = Options {
        generic: many_generic(),
        debugging: Debugging {
            profiling: Switch::Off,
            contention_profiling: Switch::On,
        },
        node: NodeController {
            concurrent_syncs: Auto::Given(5),
            ..NodeController::default()
        },
        webhook: many_webhook(),
        secure_serving: SecureServing {
            serving: Serving {
                bind_address: ip("192.168.4.21"),
                port: Port(10001),
                cert_dir: "/a/b/c".to_owned(),
                ..Serving::on(10258)
            },
            http2_max_streams: 47,
            ..SecureServing::default()
        },
        authorization: Authorization {
            always_allow_paths: Strings::default(),
            ..Authorization::default()
        },
        misc: Misc {
            kubeconfig: "/kubeconfig".to_owned(),
            master: "192.168.4.20".to_owned(),
            node_status_update_frequency: secs(600),
        },
        parsed: options.parsed.clone(),
        ..Options::default()
    };
    assert_eq!(options, expected, "{case}");
}

fn many_generic() -> Generic {
    Generic {
        controllers: Strings::from(["foo", "bar"]),
        controller_start_interval: secs(120),
        min_resync_period: secs(6000),
        client: ClientConnection {
            qps: Auto::Given(50.0),
            burst: Auto::Given(100),
            ..ClientConnection::default()
        },
        leader_election: LeaderElection {
            elect: Switch::Off,
            lease_duration: secs(30),
            renew_deadline: secs(15),
            retry_period: secs(5),
            ..LeaderElection::default()
        },
        cloud: Cloud {
            provider: "gce".to_owned(),
            config: "/cloud-config".to_owned(),
            cluster_name: "k8s".to_owned(),
            cluster_cidr: "1.2.3.4/24".parse().unwrap(),
            allocate_node_cidrs: Switch::On,
            configure_cloud_routes: Switch::Off,
            route_reconciliation_period: secs(30),
            ..Cloud::default()
        },
        ..Generic::default()
    }
}

fn many_webhook() -> Webhook {
    let mut sni_certs = SniPairs::default();
    runtime::flags::Value::set(&mut sni_certs, &["example.crt,example.key:example.com".to_owned()]).unwrap();
    assert_eq!(sni_certs.pairs()[0].names, ["example.com"]);
    Webhook {
        webhooks: Strings::from(["foo", "bar", "-baz"]),
        serving: Serving {
            min_version: "VersionTLS13".to_owned(),
            cipher_suites: Strings::from(["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"]),
            disable_http2: Switch::On,
            sni_certs,
            ..Serving::on(10260)
        },
    }
}

/// The flags both of upstream's configuration tests set.
const CONFIG: &str = "
    --allocate-node-cidrs=true --authorization-always-allow-paths= --bind-address=0.0.0.0 --secure-port=10200
    --cert-dir=/tmp/certs --cloud-provider=aws --cluster-cidr=1.2.3.4/24 --cluster-name=k8s
    --configure-cloud-routes=false --contention-profiling=true --controller-start-interval=2m --controllers=foo,bar
    --http2-max-streams-per-connection=47 --kube-api-burst=101
    --kube-api-content-type=application/vnd.kubernetes.protobuf --kube-api-qps=50.0 --leader-elect=false
    --leader-elect-lease-duration=30s --leader-elect-renew-deadline=15s --leader-elect-resource-lock=leases
    --leader-elect-retry-period=5s --master=192.168.4.20 --min-resync-period=100m --node-status-update-frequency=10m
    --profiling=false --route-reconciliation-period=30s --use-service-account-credentials=false
    --concurrent-node-syncs=1 ";

fn expect_common(config: &CloudControllerManagerConfiguration) {
    let json = serde_json::to_value(config).unwrap();
    let expected = serde_json::json!({
        "MinResyncPeriod": "1h40m0s",
        "ControllerStartInterval": "2m0s",
        "Controllers": ["foo", "bar"],
        "ClientConnection": {
            "kubeconfig": "", "acceptContentTypes": "", "contentType": "application/vnd.kubernetes.protobuf",
            "qps": 50, "burst": 101,
        },
        "LeaderElection": {
            "leaderElect": false, "leaseDuration": "30s", "renewDeadline": "15s", "retryPeriod": "5s",
            "resourceLock": "leases", "resourceName": "cloud-controller-manager", "resourceNamespace": "kube-system",
        },
        "Debugging": { "enableProfiling": false, "enableContentionProfiling": true },
        "LeaderMigrationEnabled": false,
        "Address": "0.0.0.0",
        "Port": 0,
        "LeaderMigration": { "leaderName": "", "resourceLock": "", "controllerLeaders": null },
    });
    assert_eq!(json["Generic"], expected);
    let shared = &json["KubeCloudShared"];
    assert_eq!(
        shared["CloudProvider"],
        serde_json::json!({ "Name": "aws", "CloudConfigFile": "" })
    );
    assert_eq!(
        (&shared["ClusterName"], &shared["ClusterCIDR"]),
        (&"k8s".into(), &"1.2.3.4/24".into())
    );
    assert_eq!(
        (&shared["AllocateNodeCIDRs"], &shared["ConfigureCloudRoutes"]),
        (&true.into(), &false.into())
    );
    assert_eq!(
        (&shared["CIDRAllocatorType"], &shared["RouteReconciliationPeriod"]),
        (&"RangeAllocator".into(), &"30s".into())
    );
    assert_eq!(json["NodeStatusUpdateFrequency"], "10m0s");
}

#[test]
fn webhooks_that_are_named_are_shown() {
    let flags = "--webhooks=foo,bar,-baz --webhook-bind-address=0.0.0.0 --webhook-secure-port=10300";
    let options = parsed(&format!("{CONFIG} {flags}"));
    let config = CloudControllerManagerConfiguration::new(&options);
    expect_common(&config);
    assert_eq!(config.webhook.webhooks.unwrap(), ["foo", "bar", "-baz"]);
    assert_eq!(
        config.node_controller.concurrent_node_status_updates, 1,
        "derived from the number of syncs"
    );
}

// upstream: TestCreateConfigWithoutWebHooks
#[test]
fn no_webhooks_are_shown_unless_named() {
    let case = "no webhook listener, status-updates=2 kept";
    let options = parsed(&format!("{CONFIG} --concurrent-node-status-updates=2"));
    let config = CloudControllerManagerConfiguration::new(&options);
    expect_common(&config);
    assert_eq!(config.webhook.webhooks, None, "{case}");
    assert_eq!(config.node_controller.concurrent_node_status_updates, 2, "{case}");
}

#[rstest]
#[case::nothing_given("", None)]
#[case::syncs("--concurrent-node-syncs=5", Some(5))]
#[case::updates("--concurrent-node-status-updates=3", Some(3))]
#[case::both("--concurrent-node-syncs=5 --concurrent-node-status-updates=3", Some(3))]
#[case::zero_means_syncs("--concurrent-node-syncs=5 --concurrent-node-status-updates=0", Some(5))]
#[case::zero_means_auto("--concurrent-node-status-updates=0", None)]
fn status_updates_follow_syncs(#[case] args: &str, #[case] workers: Option<i32>) {
    assert_eq!(parsed(args).node.status_updates(), workers);
}

fn invocation(args: &str) -> Result<Invocation, Problems> {
    Options::parse("cloud-controller-manager", args.split_whitespace(), Vec::new(), |_| {
        Problems::default()
    })
}

fn printed(args: &str) -> String {
    match invocation(args).unwrap() {
        Invocation::Print(text) => text,
        Invocation::Run(options) => panic!("{options:?}"),
    }
}

#[test]
fn runs_if_all_is_well() {
    let Invocation::Run(options) = invocation("--cloud-provider=memory --v=2").unwrap() else {
        panic!("prints")
    };
    assert_eq!(
        options.parsed.given,
        ["cloud-provider", "v"].into_iter().collect::<Given>()
    );
    assert_eq!(options.parsed.warnings, Vec::<String>::new());
    assert_eq!(options.parsed.values.len(), documented().len());
}

#[test]
fn all_errors_are_reported_at_once() {
    let problems = invocation(
        "--nosuch --secure-port=x --controllers=servce --cluster-cidr=10.0.0.0/8,11.0.0.0/8 --leader-elect-retry-period=1h \
         --leader-migration-config=/no/such/file --enable-leader-migration",
    );
    let text = problems.unwrap_err().to_string();
    let expected = [
        "7 problems:",
        "unknown flag: --nosuch",
        "invalid argument \"x\" for \"--secure-port\" flag",
        "two networks must be of different families",
        "--cloud-provider cannot be empty",
        "\"servce\" is not in the list of known controllers, did you mean service? (--controllers)",
        "--leader-elect-renew-deadline (10s) must be greater than 1.2 times --leader-elect-retry-period (1h0m0s)",
        "--leader-migration-config: cannot read the leader migration configuration \"/no/such/file\": No such file",
    ];
    for sentence in expected {
        assert!(text.contains(sentence), "{sentence} is not in {text}");
    }
}

#[test]
fn help_and_version_win_over_problems() {
    assert!(printed("--help --secure-port=x").contains("Usage:\n  cloud-controller-manager [flags]\n"));
    assert_eq!(
        printed("--version"),
        format!("Outrigger {}\n", version::Info::current())
    );
    assert!(printed("--version=raw").contains(&version::Info::current().platform));
}

#[test]
fn sections_stand_in_upstreams_order() {
    let help = printed("-h");
    let titles: Vec<_> = help.lines().filter_map(|line| line.strip_suffix(" flags:")).collect();
    let expected = [
        "Debugging",
        "Leader-migration",
        "Generic",
        "Cloud-node-controller",
        "Cloud-node-lifecycle-controller",
        "Node-ipam-controller",
        "Service-lb-controller",
        "Webhook",
        "Webhook serving",
        "Secure serving",
        "Authentication",
        "Authorization",
        "Misc",
        "Outrigger",
        "Global",
    ];
    assert_eq!(titles, expected);
}

#[rstest]
#[case("external-cloud-volume-plugin")]
#[case("node-sync-period")]
#[case("contention-profiling")]
#[case("kube-api-content-type")]
#[case("min-resync-period")]
fn flags_without_effect_are_reported(#[case] flag: &str) {
    let help = printed("--help");
    let line = help.lines().find(|line| line.contains(&format!("--{flag} "))).unwrap();
    assert!(line.contains("No effect"), "{line}");
}

#[test]
fn no_flag_of_webhooks_has_an_effect() {
    let help = printed("--help");
    let lines: Vec<_> = help
        .lines()
        .filter(|line| line.trim().starts_with("--webhook"))
        .collect();
    assert_eq!(lines.len(), 11, "{lines:#?}");
    for line in lines {
        assert!(line.contains("(No effect: this program has no webhooks.)"), "{line}");
    }
    assert!(
        help.contains("CloudControllerManagerWebhook=true|false (ALPHA - default=false): none"),
        "{help}"
    );
}

#[test]
fn a_provider_can_bring_flags() {
    let mut agents = Strings::default();
    let extra = vec![Section::new("openstack client").flag("user-agent", &mut agents, "Further user agents.")];
    let args = ["--cloud-provider=openstack", "--user-agent=a,b"];
    assert!(matches!(
        Options::parse(
            "openstack-cloud-controller-manager",
            args,
            extra,
            |_| Problems::default()
        ),
        Ok(Invocation::Run(_))
    ));
    assert_eq!(agents, Strings::from(["a", "b"]));
}

#[rstest]
#[case::deprecated(
    "--allow-untagged-cloud",
    "flag --allow-untagged-cloud has been deprecated: a cluster ID will be required on cloud instances"
)]
#[case::migration(
    "--leader-migration-config=/x",
    "--leader-migration-config has no effect without --enable-leader-migration"
)]
fn warnings_are_kept_for_the_log(#[case] args: &str, #[case] warning: &str) {
    let Ok(Invocation::Run(options)) = invocation(&format!("--cloud-provider=memory {args}")) else {
        panic!("refused")
    };
    assert_eq!(options.parsed.warnings, [warning]);
}

#[test]
fn the_migration_default_is_taken_when_enabled() {
    let Ok(Invocation::Run(options)) = invocation("--cloud-provider=memory --enable-leader-migration") else {
        panic!("refused")
    };
    let config = CloudControllerManagerConfiguration::new(&options);
    assert!(config.generic.leader_migration_enabled);
    assert_eq!(
        config.generic.leader_migration.leader_name,
        "cloud-provider-extraction-migration"
    );
}

#[rstest]
#[case::none("", "")]
#[case::one("10.244.0.0/16", "10.244.0.0/16")]
#[case::host_bits("1.2.3.4/24", "1.2.3.0/24")]
#[case::dual("10.0.0.0/8, fd00::/48", "10.0.0.0/8 fd00::/48")]
#[case::dual_v6_first("fd00::/48,10.0.0.0/8", "fd00::/48 10.0.0.0/8")]
fn networks(#[case] text: &str, #[case] nets: &str) {
    let cidrs: Cidrs = text.parse().unwrap();
    assert_eq!(
        cidrs
            .nets()
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(" "),
        nets
    );
    assert_eq!(cidrs.written(), text);
}

#[rstest]
#[case::no_prefix("10.0.0.0", "\"10.0.0.0\" is not a network such as 10.244.0.0/16")]
#[case::long_prefix("10.0.0.0/33", "\"10.0.0.0/33\" is not a network such as 10.244.0.0/16")]
#[case::words("pods", "\"pods\" is not a network such as 10.244.0.0/16")]
#[case::trailing_comma("10.0.0.0/8,", "\"\" is not a network such as 10.244.0.0/16")]
#[case::same_family(
    "10.0.0.0/8,11.0.0.0/8",
    "two networks must be of different families, one IPv4 and one IPv6"
)]
#[case::three("10.0.0.0/8,fd00::/48,11.0.0.0/8", "at most two networks are possible, not 3")]
fn no_networks(#[case] text: &str, #[case] reason: &str) {
    assert_eq!(text.parse::<Cidrs>().unwrap_err(), reason);
}

#[rstest]
#[case::all("", true)]
#[case::equal("zone=a", true)]
#[case::double_equal("zone == a", true)]
#[case::not_equal("zone!=a", false)]
#[case::inside("zone in (a, b),arch", true)]
#[case::outside("zone notin (a,b)", false)]
#[case::exists("zone", true)]
#[case::absent("!zone", false)]
#[case::both("zone=a,arch=arm64", false)]
#[case::empty_value("empty=", true)]
fn selects(#[case] selector: &str, #[case] selected: bool) {
    let labels = [("zone", "a"), ("arch", "amd64"), ("empty", "")];
    let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    assert_eq!(selector.parse::<NodeSelector>().unwrap().matches(&labels), selected);
}

#[rstest]
#[case("=a")]
#[case("zone in a")]
#[case("zone in (a")]
#[case("a b")]
#[case("zone=a,,arch")]
#[case("!")]
#[case("zone=\"a\"")]
fn does_not_select(#[case] selector: &str) {
    assert!(
        selector
            .parse::<NodeSelector>()
            .unwrap_err()
            .contains("is not a requirement such as")
    );
}

#[test]
fn curves_are_numbers() {
    assert_eq!(
        parsed("--tls-curve-preferences=29,23").secure_serving.serving.curves,
        Numbers(vec![29, 23])
    );
}

#[test]
fn the_reference_lists_every_flag_once() {
    let page = reference(Vec::new());
    let flags = page
        .lines()
        .filter(|line| line.contains("| `--") || line.starts_with("| `-"))
        .count();
    assert_eq!(flags, documented().len());
    assert!(page.contains("## Outrigger flags"));
}
