//! Label selectors of nodes.

use operator_api::cloud_controller_manager::{LabelSelector, Requirement};
use std::collections::{BTreeMap, BTreeSet};

/// The requirements for one label.
#[derive(Debug, Clone, Default)]
struct Demand<'a> {
    /// One of these values, if any are required.
    only: Option<BTreeSet<&'a str>>,
    /// None of these.
    none_of: BTreeSet<&'a str>,
    presence: Presence,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Presence {
    #[default]
    Either,
    There,
    Absent,
    /// Both are required.
    Neither,
}

/// The selector in the form of `--node-selector`; empty for all nodes.
pub fn text(selector: &LabelSelector) -> String {
    let equal = selector
        .match_labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"));
    let others = selector
        .match_expressions
        .iter()
        .map(|Requirement { key, operator, values }| {
            let values = values.join(",");
            match operator.as_str() {
                "In" => format!("{key} in ({values})"),
                "NotIn" => format!("{key} notin ({values})"),
                "DoesNotExist" => format!("!{key}"),
                _ => key.clone(),
            }
        });
    equal.chain(others).collect::<Vec<_>>().join(",")
}

/// Whether a node can have labels that match both.
pub fn meet(a: &LabelSelector, b: &LabelSelector) -> bool {
    let mut demands = demands(a);
    for (key, demand) in self::demands(b) {
        demands.entry(key).or_default().and(demand);
    }
    demands.values().all(Demand::can_be_met)
}

/// The problems of a selector, each one sentence.
pub fn problems(selector: &LabelSelector) -> Vec<String> {
    let mut problems = Vec::new();
    for Requirement { key, operator, values } in &selector.match_expressions {
        let takes_values = match operator.as_str() {
            "In" | "NotIn" => true,
            "Exists" | "DoesNotExist" => false,
            other => {
                problems.push(format!(
                    "spec.scope.nodeSelector: operator {other:?} of {key} is not one of In, NotIn, Exists, DoesNotExist"
                ));
                continue;
            }
        };
        if takes_values == values.is_empty() {
            let rule = if takes_values {
                "needs values"
            } else {
                "takes no values"
            };
            problems.push(format!("spec.scope.nodeSelector: {operator} of {key} {rule}"));
        }
    }
    let words = words(selector).filter(|word| !is_word(word));
    problems.extend(words.map(|word| format!("spec.scope.nodeSelector: {word:?} cannot be in a label")));
    if problems.is_empty() && !meet(selector, &LabelSelector::default()) {
        problems.push("spec.scope.nodeSelector contradicts itself: no node can have such labels".to_owned());
    }
    problems
}

fn words(selector: &LabelSelector) -> impl Iterator<Item = &str> {
    let equal = selector.match_labels.iter().flat_map(|(key, value)| [key, value]);
    let others = selector
        .match_expressions
        .iter()
        .flat_map(|one| one.values.iter().chain([&one.key]));
    equal.chain(others).map(String::as_str)
}

/// Whether the manager's flag accepts it; the API server validates labels.
fn is_word(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

fn demands(selector: &LabelSelector) -> BTreeMap<&str, Demand<'_>> {
    let mut demands: BTreeMap<&str, Demand<'_>> = BTreeMap::new();
    for (key, value) in &selector.match_labels {
        demands
            .entry(key)
            .or_default()
            .and(Demand::one_of([value.as_str()].into()));
    }
    for Requirement { key, operator, values } in &selector.match_expressions {
        let values: BTreeSet<&str> = values.iter().map(String::as_str).collect();
        let demand = match operator.as_str() {
            "In" => Demand::one_of(values),
            "NotIn" => Demand {
                none_of: values,
                ..Demand::default()
            },
            "DoesNotExist" => Demand {
                presence: Presence::Absent,
                ..Demand::default()
            },
            _ => Demand {
                presence: Presence::There,
                ..Demand::default()
            },
        };
        demands.entry(key).or_default().and(demand);
    }
    demands
}

impl<'a> Demand<'a> {
    fn one_of(values: BTreeSet<&'a str>) -> Self {
        Self {
            only: Some(values),
            none_of: BTreeSet::new(),
            presence: Presence::There,
        }
    }

    fn and(&mut self, other: Self) {
        self.only = match (self.only.take(), other.only) {
            (Some(ours), Some(theirs)) => Some(ours.intersection(&theirs).copied().collect()),
            (ours, theirs) => ours.or(theirs),
        };
        self.none_of.extend(other.none_of);
        self.presence = match (self.presence, other.presence) {
            (Presence::Either, presence) | (presence, Presence::Either) => presence,
            (ours, theirs) if ours == theirs => ours,
            _ => Presence::Neither,
        };
    }

    /// A value that is not excluded always exists.
    fn can_be_met(&self) -> bool {
        match (&self.only, self.presence) {
            (_, Presence::Neither) => false,
            (Some(only), _) => only.iter().any(|value| !self.none_of.contains(value)),
            (None, _) => true,
        }
    }
}
