//! The change of a command line.

use crate::flags::Flags;
use operator::observer;
use serde::Serialize;

/// The change of the flags of one program, the same on some nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The program.
    pub program: String,
    /// The nodes, in the order in which to change them; none if they are not known, or do not matter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// The file with its flags, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The flags to remove.
    pub remove: Vec<String>,
    /// The flags to add.
    pub add: Vec<String>,
}

/// A flag and its value; `None` if it must not be given.
pub(super) type Wanted = (&'static str, Option<String>);

/// The flags that the observer requires.
pub(super) fn wanted(flags: &observer::Flags) -> Vec<Wanted> {
    let observer::Flags {
        cloud_provider,
        cloud_config,
        external_cloud_volume_plugin,
    } = flags;
    vec![
        ("cloud-provider", cloud_provider.map(str::to_owned)),
        ("cloud-config", cloud_config.clone()),
        (
            "external-cloud-volume-plugin",
            external_cloud_volume_plugin.map(str::to_owned),
        ),
    ]
}

/// The changes of one program, on these nodes with these flags. Nodes with the same change are together.
pub(super) fn changes<'a>(
    program: &str,
    file: Option<&str>,
    replicas: impl IntoIterator<Item = (Option<&'a str>, &'a Flags)>,
    wanted: &[Wanted],
) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for (node, flags) in replicas {
        let (remove, add) = difference(flags, wanted);
        if remove.is_empty() && add.is_empty() {
            continue;
        }
        let nodes: Vec<String> = node.map(str::to_owned).into_iter().collect();
        match changes.last_mut() {
            Some(last) if last.remove == remove && last.add == add => last.nodes.extend(nodes),
            _ => changes.push(Change {
                program: program.to_owned(),
                nodes,
                file: file.map(str::to_owned),
                remove,
                add,
            }),
        }
    }
    changes
}

/// What to remove from these flags, and what to add.
pub(super) fn difference(flags: &Flags, wanted: &[Wanted]) -> (Vec<String>, Vec<String>) {
    let different = wanted
        .iter()
        .filter(|(name, value)| flags.get(name) != value.as_deref());
    let text = |name: &str, value: &str| format!("--{name}={value}");
    let (mut remove, mut add) = (Vec::new(), Vec::new());
    for (name, value) in different {
        remove.extend(flags.get(name).map(|current| text(name, current)));
        add.extend(value.as_ref().map(|value| text(name, value)));
    }
    (remove, add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing("--cloud-provider=external", &[("cloud-provider", Some("external"))], "")]
    #[case::removed("--cloud-provider=aws --v=2", &[("cloud-provider", None)], "- --cloud-provider=aws")]
    #[case::added("--v=2", &[("cloud-provider", Some("external"))], "+ --cloud-provider=external")]
    #[case::replaced(
        "--cloud-provider=aws",
        &[("cloud-provider", Some("external")), ("cloud-config", None)],
        "- --cloud-provider=aws + --cloud-provider=external"
    )]
    fn compares(#[case] flags: &str, #[case] wanted: &[(&'static str, Option<&str>)], #[case] expected: &str) {
        let wanted: Vec<Wanted> = wanted
            .iter()
            .map(|(name, value)| (*name, value.map(str::to_owned)))
            .collect();
        let (remove, add) = difference(&Flags::of_text(flags), &wanted);
        let remove = remove.iter().map(|flag| format!("- {flag}"));
        let changes: Vec<String> = remove.chain(add.iter().map(|flag| format!("+ {flag}"))).collect();
        assert_eq!(changes.join(" "), expected);
    }
}
