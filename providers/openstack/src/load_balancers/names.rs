//! Names, tags and descriptions. Load balancers are found by them: changing one orphans existing objects.

use cloud::{ServiceRef, default_name};

/// The prefix of the name and the tag of every load balancer that is created for a Service.
pub(crate) const PREFIX: &str = "kube_service_";

/// The prefix of the tag with a Service's UID. It must not begin like [`PREFIX`]: such tags are counted as Services.
const UID_PREFIX: &str = "kubernetes_service_uid_";

/// The longest name that Octavia accepts.
const LONGEST: usize = 255;

/// The name of a Service's load balancer, which is also the tag of everything that belongs to the Service.
pub(crate) fn load_balancer(cluster: &str, service: &ServiceRef) -> String {
    cut(format!("{PREFIX}{cluster}_{}_{}", service.namespace, service.name))
}

/// The legacy name of a load balancer.
pub(crate) fn legacy(service: &ServiceRef) -> String {
    default_name(&service.uid)
}

/// The name of the listener of the port with this index.
pub(crate) fn listener(index: usize, load_balancer: &str) -> String {
    cut(format!("listener_{index}_{load_balancer}"))
}

/// The name of the pool of the port with this index.
pub(crate) fn pool(index: usize, load_balancer: &str) -> String {
    cut(format!("pool_{index}_{load_balancer}"))
}

/// The name of the monitor of the port with this index.
pub(crate) fn monitor(index: usize, load_balancer: &str) -> String {
    cut(format!("monitor_{index}_{load_balancer}"))
}

/// The name of a member in serial mode.
pub(crate) fn serial_member(node: &str, address: &str, port: u16) -> String {
    cut(format!("member_{node}_{address}_{port}"))
}

/// The description of a load balancer.
pub(crate) fn description(cluster: &str, service: &ServiceRef) -> String {
    cut(format!(
        "Kubernetes external service {}/{} from cluster {cluster}",
        service.namespace, service.name
    ))
}

/// The tag that distinguishes Services of the same name.
pub(crate) fn uid_tag(uid: &str) -> String {
    cut(format!("{UID_PREFIX}{uid}"))
}

/// The UID in the tags of a load balancer.
pub(crate) fn uid_of(tags: &[String]) -> Option<&str> {
    tags.iter().find_map(|tag| tag.strip_prefix(UID_PREFIX))
}

/// Whether a tag marks a Service that uses the load balancer.
pub(crate) fn is_service_tag(tag: &str) -> bool {
    tag.starts_with(PREFIX)
}

/// Whether this is the name of a child (`listener`, `pool`, `monitor`) of this load balancer, whatever its index.
pub(crate) fn is_child(kind: &str, name: &str, load_balancer: &str) -> bool {
    child(kind, name, load_balancer).is_some()
}

/// The name of a child after its load balancer was renamed.
pub(crate) fn renamed_child(kind: &str, name: &str, previous_name: &str, load_balancer: &str) -> Option<String> {
    let index = child(kind, name, previous_name)?;
    Some(cut(format!("{kind}_{index}_{load_balancer}")))
}

/// The index of a child of this load balancer.
fn child<'a>(kind: &str, name: &'a str, load_balancer: &str) -> Option<&'a str> {
    let (index, of) = name.strip_prefix(kind)?.strip_prefix('_')?.split_once('_')?;
    let numbered = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    // A truncated name is a part of the full one.
    let belongs = of == load_balancer || (name.len() == LONGEST && load_balancer.starts_with(of));
    (numbered && belongs).then_some(index)
}

/// The cluster, namespace and name in the name or tag of a load balancer. Namespaces and names have no `_`, so that the last two fields are
/// theirs, and everything before is the cluster. A truncated name cannot be parsed.
pub(crate) fn parse(name: &str) -> Option<(&str, &str, &str)> {
    let rest = name.strip_prefix(PREFIX).filter(|_| name.len() < LONGEST)?;
    let (rest, service) = rest.rsplit_once('_')?;
    let (cluster, namespace) = rest.rsplit_once('_')?;
    Some((cluster, namespace, service))
}

/// Whether this is the name or tag of this Service in a cluster of any name. A truncated name is recognised if more than the namespace is left.
pub(crate) fn is_of(name: &str, service: &ServiceRef) -> bool {
    let fields = || {
        let (rest, left) = name.strip_prefix(PREFIX)?.rsplit_once('_')?;
        let (_, namespace) = rest.rsplit_once('_')?;
        Some((namespace, left))
    };
    fields().is_some_and(|(namespace, left)| {
        let cut = name.len() == LONGEST && !left.is_empty() && service.name.starts_with(left);
        namespace == service.namespace && (left == service.name || cut)
    })
}

/// Truncates to what Octavia accepts, at the end of a character.
pub(crate) fn cut(mut name: String) -> String {
    name.truncate(name.floor_char_boundary(LONGEST));
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn service(namespace: &str, name: &str) -> ServiceRef {
        ServiceRef {
            namespace: namespace.into(),
            name: name.into(),
            uid: "8c4d4a2e-0b0c-4f5e-9a5d-2d9a6f1b7c3e".into(),
        }
    }

    // upstream: openstack 31
    #[rstest]
    #[case(
        "normal",
        "my-valid-cluster",
        "test-valid-namespace",
        "test-valid-service",
        "kube_service_my-valid-cluster_test-valid-namespace_test-valid-service"
    )]
    #[case("all empty", "", "", "", "kube_service___")]
    fn names(
        #[case] row: &str,
        #[case] cluster: &str,
        #[case] namespace: &str,
        #[case] name: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(load_balancer(cluster, &service(namespace, name)), expected, "{row}");
    }

    // upstream: openstack 31
    #[test]
    fn long_names_are_cut() {
        let long = "a".repeat(300);
        for (row, cluster, namespace, name) in [
            ("over 255", long.as_str(), "n", "s"),
            ("over 255", "c", "n", long.as_str()),
        ] {
            let name = load_balancer(cluster, &service(namespace, name));
            assert_eq!((name.len(), &name[..13]), (255, PREFIX), "{row}");
        }
        for child in [
            listener(3, &long),
            pool(3, &long),
            monitor(3, &long),
            description(&long, &service("n", "s")),
        ] {
            assert_eq!(child.len(), 255, "{child}");
        }
        assert_eq!(cut(format!("{}é", "a".repeat(254))).len(), 254);
    }

    #[rstest]
    #[case::ours("listener_0_kube_service_c_n_s", true)]
    #[case::any_index("listener_12_kube_service_c_n_s", true)]
    #[case::no_index("listener_kube_service_c_n_s", false)]
    #[case::another_service("listener_0_kube_service_c_n_s2", false)]
    #[case::beginning_of_ours("listener_0_kube_service_c_n", false)]
    #[case::another_kind("pool_0_kube_service_c_n_s", false)]
    #[case::of_a_user("web", false)]
    fn children(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_child("listener", name, "kube_service_c_n_s"), expected);
    }

    #[test]
    fn children_with_truncated_names() {
        let long = load_balancer(&"a".repeat(300), &service("n", "s"));
        assert!(is_child("pool", &pool(0, &long), &long));
    }

    // upstream: openstack 47
    #[rstest]
    #[case(
        "decompose: with resource prefix",
        "listener_0_kube_service_kubernetes_namespace_name",
        Some("listener_0_kube_service_cluster123_namespace_name")
    )]
    #[case("decompose: with resource prefix, no match", "FOOBAR", None)]
    fn children_get_the_new_name(#[case] row: &str, #[case] name: &str, #[case] expected: Option<&str>) {
        let (previous_name, new) = (
            "kube_service_kubernetes_namespace_name",
            "kube_service_cluster123_namespace_name",
        );
        let renamed = renamed_child("listener", name, previous_name, new);
        assert_eq!(renamed.as_deref(), expected, "{row}");
    }

    // upstream: openstack 47
    #[test]
    fn children_with_truncated_names_are_renamed() {
        let row = "cluster rename: result cut to 255";
        let of = |cluster| load_balancer(cluster, &service("namespace", &format!("name{}", "foo".repeat(100))));
        let (previous_name, new) = (of("kubernetes"), of("cluster123"));
        let renamed = renamed_child("listener", &listener(0, &previous_name), &previous_name, &new);
        assert_eq!(renamed, Some(listener(0, &new)), "{row}");
    }

    // upstream: openstack 47
    #[rstest]
    #[case("decompose: normal", "kube_service_kubernetes_namespace_name", Some(("kubernetes", "namespace", "name")))]
    #[case("decompose: underscore in cluster name", "kube_service_kubernetes_123_namespace_name", Some(("kubernetes_123", "namespace", "name")))]
    #[case("decompose: no match", "FOOBAR", None)]
    #[case("decompose: too short", "kube_service_name", None)]
    fn parses(#[case] row: &str, #[case] name: &str, #[case] expected: Option<(&str, &str, &str)>) {
        assert_eq!(parse(name), expected, "{row}");
    }

    /// Upstream guesses the cluster from what is left, and guesses wrong if that has a `_`. Nothing here needs it: whose
    /// such a name is, [`is_of`] decides.
    // upstream: openstack 47
    #[test]
    fn a_truncated_name_cannot_be_parsed() {
        let row = "decompose: cut name";
        let name = load_balancer(
            "kubernetes",
            &service(&format!("namespace{}", "foo".repeat(100)), "name"),
        );
        assert_eq!(parse(&name), None, "{row}");
    }

    #[test]
    fn the_uid_is_in_a_tag_that_no_other_program_counts() {
        let tags = ["kube_service_c_n_s".to_owned(), uid_tag("8c4d"), "mine".to_owned()];
        assert_eq!(uid_of(&tags), Some("8c4d"));
        assert_eq!(tags.iter().filter(|tag| is_service_tag(tag)).count(), 1);
    }
}
