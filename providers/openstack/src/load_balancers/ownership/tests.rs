use super::*;
use crate::load_balancers::tests::objects::{Asked, annotate, asked, own_name};
use rstest::rstest;

const OTHER: &str = "kube_service_kubernetes_default_other";

fn balancer(name: &str, tags: &[&str]) -> LoadBalancer {
    LoadBalancer {
        id: "lb".into(),
        name: name.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..LoadBalancer::default()
    }
}

fn service(annotations: &[(&str, &str)]) -> Asked {
    let mut asked = asked("80 -> a");
    for (name, value) in annotations {
        annotate(&mut asked.spec, name, value);
    }
    asked
}

fn relation(asked: &Asked, balancer: &LoadBalancer) -> Relation {
    Relation::of(balancer, &asked.spec, &asked.settings())
}

const SERVED: &[(&str, &str)] = &[("load-balancer-id", "lb"), ("load-balancer-address", "203.0.113.1")];
const NEW: &[(&str, &str)] = &[("load-balancer-id", "lb")];

#[rstest]
#[case::own_name("kube_service_kubernetes_default_web", &[], SERVED, Ownership::Owner, None)]
#[case::name_of_long_ago("auid", &[], SERVED, Ownership::Owner, None)]
#[case::of_another_service(OTHER, &[OTHER], NEW, Ownership::Guest, None)]
#[case::of_a_user("mine", &["x"], NEW, Ownership::Guest, None)]
#[case::cluster_was_renamed("kube_service_old_default_web", &["kube_service_old_default_web"], SERVED, Ownership::Owner, Some("kube_service_old_default_web"))]
#[case::renamed_cluster_with_underscores("kube_service_old_er_default_web", &[], SERVED, Ownership::Owner, Some("kube_service_old_er_default_web"))]
#[case::guest_of_a_renamed_cluster("kube_service_old_default_other", &["kube_service_old_default_other", "kube_service_old_default_web"], SERVED, Ownership::Guest, Some("kube_service_old_default_web"))]
#[case::has_our_tag("kube_service_old_default_web", &["kube_service_old_default_web", "kube_service_kubernetes_default_web"], SERVED, Ownership::Guest, None)]
#[case::another_service_of_the_same_name("kube_service_old_default_web", &["kubernetes_service_uid_another"], SERVED, Ownership::Guest, None)]
#[case::our_uid("kube_service_old_default_web", &["kubernetes_service_uid_uid"], SERVED, Ownership::Owner, Some("kube_service_old_default_web"))]
#[case::not_served_before("kube_service_old_default_web", &[], NEW, Ownership::Guest, None)]
fn identities(
    #[case] name: &str,
    #[case] tags: &[&str],
    #[case] annotations: &[(&str, &str)],
    #[case] ownership: Ownership,
    #[case] previous_name: Option<&str>,
) {
    let is = relation(&service(annotations), &balancer(name, tags));
    assert_eq!(
        (is.ownership, is.previous_name.as_deref(), is.name),
        (ownership, previous_name, own_name())
    );
}

// upstream: openstack 58
#[rstest]
#[case("other cluster's LB by id → never renamed", "kube_service_theirs_default_web")]
#[case(
    "other cluster's LB of another Service by id → never renamed",
    "kube_service_theirs_default_other"
)]
fn the_load_balancer_of_another_cluster_is_never_renamed(#[case] row: &str, #[case] name: &str) {
    let is = relation(&service(NEW), &balancer(name, &[name]));
    assert_eq!((is.ownership, is.previous_name), (Ownership::Guest, None), "{row}");
    // Nor later, once it has been served there.
    let later = relation(&service(SERVED), &balancer(name, &[name, &own_name()]));
    assert_eq!(
        (later.ownership, later.previous_name),
        (Ownership::Guest, None),
        "{row}"
    );
}

// upstream: openstack 56
#[rstest]
#[case("2nd Service tagged", OTHER, &[OTHER], 2, "")]
#[case("3rd refused at max 2", OTHER, &[OTHER, "kube_service_kubernetes_default_third"], 2, "the quota for Services on load balancer lb is exceeded")]
#[case("its own tag counts once", OTHER, &[OTHER, "kube_service_kubernetes_default_web"], 2, "")]
#[case("owner, whatever the number", "kube_service_kubernetes_default_web", &[OTHER, "kube_service_kubernetes_default_third"], 1, "")]
#[case("user's own, foreign tags do not count", "mine", &["a", "b", "c"], 1, "")]
fn admits(#[case] row: &str, #[case] name: &str, #[case] tags: &[&str], #[case] max: u32, #[case] refusal: &str) {
    let (asked, balancer) = (service(NEW), balancer(name, tags));
    let admitted = relation(&asked, &balancer).admitted(&balancer, &asked.settings(), true, max);
    assert_eq!(
        admitted.map_or_else(|error| error.to_string(), |()| String::new()),
        refusal,
        "{row}"
    );
}

/// A tag has precedence over a name.
#[rstest]
#[case::tagged("x", &["kube_service_kubernetes_default_web", OTHER], true)]
#[case::named("listener_0_kube_service_kubernetes_default_web", &["mine"], true)]
#[case::named_and_tagged_by_another("listener_0_kube_service_kubernetes_default_web", &[OTHER], false)]
#[case::named_and_tagged_by_another_cluster("listener_0_kube_service_kubernetes_default_web", &["kube_service_theirs_default_web"], false)]
#[case::untagged("x", &[], true)]
#[case::of_a_user("x", &["mine"], false)]
fn owns(#[case] name: &str, #[case] tags: &[&str], #[case] expected: bool) {
    let listener = Listener {
        name: name.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..Listener::default()
    };
    let is = relation(&service(SERVED), &balancer(&own_name(), &[]));
    assert_eq!(is.owns(&listener), expected);
}

#[rstest]
#[case::of_another_service(OTHER, "an internal Service cannot use")]
#[case::created_by_the_user("mine", "")]
fn internal_services(#[case] name: &str, #[case] refusal: &str) {
    let (asked, balancer) = (
        service(&[("load-balancer-id", "lb"), ("internal", "true")]),
        balancer(name, &[]),
    );
    let admitted = relation(&asked, &balancer).admitted(&balancer, &asked.settings(), true, 2);
    let message = admitted.map_or_else(|error| error.to_string(), |()| String::new());
    assert!(
        message.contains(refusal) && message.is_empty() == refusal.is_empty(),
        "{message}"
    );
}

#[test]
fn without_tags_nothing_is_shared() {
    let (asked, balancer) = (service(NEW), balancer(OTHER, &[]));
    let admitted = relation(&asked, &balancer).admitted(&balancer, &asked.settings(), false, 2);
    assert!(matches!(admitted, Err(Error::NotSupported { .. })));
}

/// A Service that was restored from a backup has another UID than the one for which its load balancer was created, and so has a
/// copy of it in another cluster of the same name: both are served, and the deletion of neither deletes the load balancer.
#[rstest]
#[case::own("kube_service_kubernetes_default_web", &["kubernetes_service_uid_uid"], None)]
#[case::created_by_occm("kube_service_kubernetes_default_web", &[], None)]
#[case::restored_or_copied("kube_service_kubernetes_default_web", &["kubernetes_service_uid_another"], Some("another"))]
#[case::guest(OTHER, &[OTHER, "kubernetes_service_uid_another"], None)]
fn load_balancers_with_the_same_name(#[case] name: &str, #[case] tags: &[&str], #[case] expected: Option<&str>) {
    let is = relation(&service(SERVED), &balancer(name, tags));
    assert_eq!(is.other_owner(), expected);
    assert!(expected.is_none() || is.ownership == Ownership::Owner);
}

#[rstest]
#[case::only_ours(&["kube_service_kubernetes_default_web", "x"], false)]
#[case::another_service(&["kube_service_kubernetes_default_web", OTHER], true)]
#[case::another_cluster(&["kube_service_theirs_default_web"], true)]
fn shares(#[case] tags: &[&str], #[case] expected: bool) {
    let balancer = balancer(&own_name(), tags);
    assert_eq!(relation(&service(SERVED), &balancer).is_shared(&balancer), expected);
}

/// The deletion of a Service that was never admitted deletes no load balancer.
#[rstest]
#[case::own("kube_service_kubernetes_default_web", &[], true)]
#[case::own_and_shared("kube_service_kubernetes_default_web", &[OTHER], false)]
#[case::last_on_that_of_another_service(OTHER, &["kube_service_kubernetes_default_web"], true)]
#[case::not_the_last_on_that_of_another_service(OTHER, &["kube_service_kubernetes_default_web", OTHER], false)]
#[case::refused_by_that_of_another_service(OTHER, &[OTHER], false)]
#[case::refused_without_tags(OTHER, &[], false)]
#[case::refused_with_replaced_tags(OTHER, &["billing"], false)]
#[case::created_by_the_user("mine", &["kube_service_kubernetes_default_web"], false)]
#[case::own_by_uid("kube_service_kubernetes_default_web", &["kubernetes_service_uid_uid"], true)]
#[case::restored_or_copied("kube_service_kubernetes_default_web", &["kube_service_kubernetes_default_web", "kubernetes_service_uid_another"], false)]
#[case::last_beside_its_owner(OTHER, &["kube_service_kubernetes_default_web", "kubernetes_service_uid_another"], false)]
fn deletes(#[case] name: &str, #[case] tags: &[&str], #[case] expected: bool) {
    let balancer = balancer(name, tags);
    assert_eq!(relation(&service(NEW), &balancer).may_delete(&balancer), expected);
}

/// A name that was truncated to Octavia's limit contains a part of the Service's name.
// upstream: openstack 47
#[rstest]
#[case("decompose: cut name, within the Service's name", "default", "web", true)]
#[case("decompose: cut name, another Service's", "default", "another", false)]
#[case("decompose: cut name, another namespace", "another", "web", false)]
fn a_truncated_previous_name(#[case] row: &str, #[case] namespace: &str, #[case] name: &str, #[case] ours: bool) {
    let long = |name: &str| format!("{name}{}", "-long".repeat(60));
    let mut asked = service(SERVED);
    asked.spec.service.name = long("web");
    let previous_name = names::load_balancer(
        "old",
        &cloud::ServiceRef {
            namespace: namespace.into(),
            name: long(name),
            uid: "uid".into(),
        },
    );
    let is = relation(&asked, &balancer(&previous_name, &[&previous_name]));
    let role = if ours { Ownership::Owner } else { Ownership::Guest };
    assert_eq!(
        (is.ownership, is.previous_name),
        (role, ours.then_some(previous_name)),
        "{row}"
    );
}

const OWN: &str = "kube_service_kubernetes_default_web";
const UID: &str = "kubernetes_service_uid_uid";

#[rstest]
#[case::own(OWN, &[OWN, UID], Fate::Delete)]
#[case::own_and_shared(OWN, &[OWN, OTHER, UID], Fate::Detach)]
#[case::created_by_occm(OWN, &[OWN], Fate::Keep)]
#[case::created_by_occm_and_shared(OWN, &[OWN, OTHER], Fate::Keep)]
#[case::another_cluster_s_of_our_name(OWN, &[OWN, "kubernetes_service_uid_another"], Fate::Keep)]
#[case::of_another_service(OTHER, &[OTHER, OWN, "kubernetes_service_uid_another"], Fate::Detach)]
#[case::of_another_service_that_left(OTHER, &[OWN], Fate::Delete)]
#[case::never_let_in(OTHER, &[OTHER], Fate::Detach)]
#[case::of_the_user("mine", &[OWN], Fate::Detach)]
fn releases_previous_load_balancers(#[case] name: &str, #[case] tags: &[&str], #[case] expected: Fate) {
    let asked = asked("80 -> a; load-balancer-id=new load-balancer-address=203.0.113.1");
    let balancer = LoadBalancer {
        name: name.into(),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ..LoadBalancer::default()
    };
    let relation = Relation::previous(&balancer, &asked.spec, &asked.settings());
    assert_eq!(fate(&balancer, &relation, Use::Previous, tags.contains(&UID)), expected);
}

/// The load balancer is owned by a Service of another cluster. The Service is a guest there, so the load balancer is kept.
#[test]
fn a_guest_has_no_previous_name() {
    let asked = asked("80 -> a; load-balancer-id=new load-balancer-address=203.0.113.1");
    let balancer = LoadBalancer {
        name: OTHER.into(),
        tags: vec![OTHER.into(), "kube_service_theirs_default_web".into()],
        ..LoadBalancer::default()
    };
    let relation = Relation::previous(&balancer, &asked.spec, &asked.settings());
    assert_eq!((relation.ownership, relation.previous_name), (Ownership::Guest, None));
}
