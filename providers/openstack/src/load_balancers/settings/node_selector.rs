//! Which nodes a Service wants behind its load balancer.

use cloud::Host;
use std::{collections::BTreeMap, sync::Arc};

/// `node-selector`: labels that a node must have, with this value or, where the value is empty, with any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct NodeSelector(BTreeMap<String, String>);

impl NodeSelector {
    /// Reads `k=v,k2`; a value may contain `=`, blanks around keys and values do not count.
    pub(crate) fn parse(text: &str) -> Self {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        Self(
            items
                .map(|item| {
                    let (key, value) = item.split_once('=').unwrap_or((item, ""));
                    (key.trim().to_owned(), value.trim().to_owned())
                })
                .collect(),
        )
    }

    /// Whether a node has all of the labels.
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(key, wanted)| {
            labels
                .get(key)
                .is_some_and(|value| wanted.is_empty() || value == wanted)
        })
    }

    /// The hosts that match, in their order.
    pub(crate) fn select<'a>(&self, hosts: &'a [Arc<Host>]) -> Vec<&'a Arc<Host>> {
        hosts.iter().filter(|host| self.matches(&host.labels)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn pairs(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect()
    }

    // upstream: openstack 8
    #[rstest]
    #[case("k1=v1,k2=v2", &[("k1", "v1"), ("k2", "v2")])]
    #[case("k2=v2=true", &[("k2", "v2=true")])]
    #[case("k1,k2", &[("k1", ""), ("k2", "")])]
    #[case("k1=v1, k2", &[("k1", "v1"), ("k2", "")])]
    #[case(" k1=v1, k2 ", &[("k1", "v1"), ("k2", "")])]
    #[case("=emptykey", &[("", "emptykey")])]
    #[case("", &[])]
    #[case("k1,,k2=", &[("k1", ""), ("k2", "")])]
    fn parses(#[case] text: &str, #[case] expected: &[(&str, &str)]) {
        assert_eq!(NodeSelector::parse(text).0, pairs(expected));
    }

    // upstream: openstack 46
    #[rstest]
    #[case("no filter", "", &[("k1", "v1")], true)]
    #[case("all match", "k1=v1,k2=v2", &[("k1", "v1"), ("k2", "v2")], true)]
    #[case("value with =", "k1=v1,k2=v2=true", &[("k1", "v1"), ("k2", "v2=true")], true)]
    #[case("key only", "k1,k2", &[("k1", "v1"), ("k2", "v2")], true)]
    #[case("partly matching", " k1=v1, k2 ", &[("k1", "v1")], false)]
    #[case("no match", "k3=v3", &[("k1", "v1"), ("k2", "v2")], false)]
    #[case("another value", "k1=v2", &[("k1", "v1")], false)]
    #[case("no labels", "k1", &[], false)]
    fn filters(#[case] name: &str, #[case] selector: &str, #[case] labels: &[(&str, &str)], #[case] expected: bool) {
        let host = Arc::new(Host {
            labels: pairs(labels),
            ..Host::default()
        });
        let selected = NodeSelector::parse(selector).select(std::slice::from_ref(&host)).len();
        assert_eq!(selected, usize::from(expected), "{name}");
    }
}
