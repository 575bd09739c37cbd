//! Which region a node belongs to, if each region has a manager.

use super::provider_id;
use crate::config::{Global, ProviderIds};
use cloud::{Error, NodeRef, Result};

/// The labels with the region of a Node; the first one wins.
const LABELS: [&str; 2] = [
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/region",
];

/// Checks that a missing node belongs to this region, and not to another one: with regional provider IDs, a node without a region in its ID must
/// have the region in a label.
///
/// # Errors
/// If it may belong to another region.
pub fn check_region(node: &NodeRef, global: &Global) -> Result<()> {
    let Global {
        region, provider_ids, ..
    } = global;
    let id = node.provider_id.as_ref().map(provider_id::parse).transpose()?;
    let stated = id.and_then(|id| id.region).or_else(|| label(node));
    match (provider_ids, stated) {
        (ProviderIds::Plain, _) => Ok(()),
        (ProviderIds::Regional, Some(stated)) if stated == region => Ok(()),
        (ProviderIds::Regional, _) => Err(Error::invalid(
            "spec.providerID",
            format!(
                "it does not say the region, and there is no such server in {region:?}: the node may be in another"
            ),
        )),
    }
}

fn label(node: &NodeRef) -> Option<&str> {
    let mut stated = LABELS.iter().filter_map(|label| node.labels.get(*label));
    stated.next().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::all_are_ours(ProviderIds::Plain, "", "", "sure")]
    #[case::all_are_ours_whatever_they_say(ProviderIds::Plain, "openstack:///a", "two", "sure")]
    #[case::no_region_known(ProviderIds::Regional, "", "", "doubt")]
    #[case::it_is_new_and_says_another(ProviderIds::Regional, "", "two", "doubt")]
    #[case::it_is_new_and_says_ours(ProviderIds::Regional, "", "one", "sure")]
    #[case::it_is_older_than_regions(ProviderIds::Regional, "openstack:///a", "", "doubt")]
    #[case::it_is_older_and_says_another(ProviderIds::Regional, "openstack:///a", "two", "doubt")]
    #[case::it_is_older_and_says_ours(ProviderIds::Regional, "openstack:///a", "one", "sure")]
    #[case::its_id_says_ours(ProviderIds::Regional, "openstack://one/a", "", "sure")]
    fn checks_the_region_of_a_missing_node(
        #[case] kind: ProviderIds,
        #[case] id: &str,
        #[case] label: &str,
        #[case] expected: &str,
    ) {
        let global = Global {
            region: "one".to_owned(),
            provider_ids: kind,
            ..Global::default()
        };
        let mut node = NodeRef::named("node");
        if !id.is_empty() {
            node = node.with_provider_id(id);
        }
        if !label.is_empty() {
            node.labels.insert(LABELS[0].to_owned(), label.to_owned());
        }
        let answer = check_region(&node, &global).map_or("doubt", |()| "sure");
        assert_eq!(answer, expected);
    }
}
