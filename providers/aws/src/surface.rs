//! The names that users of the Go program know, counted: the page of the reference that shows that none is missing.

use crate::{
    cluster::{LEGACY_TAG, TAG_PREFIX},
    config::KEYS,
    instances, load_balancers,
    load_balancers::annotations,
    tagging, topology,
};
use std::fmt::Write;

/// The names of the Go program, by the words of [`Kind`].
const UPSTREAM: &str = include_str!("surface/upstream.txt");

/// Names of one kind.
struct Kind {
    /// As in [`UPSTREAM`].
    word: &'static str,
    title: &'static str,
    /// Where the reference describes them.
    page: Option<&'static str>,
    names: Vec<Name>,
}

struct Name {
    name: String,
    /// For names that no other page describes.
    meaning: &'static str,
}

/// The page of the reference. `flags` are those of this provider.
#[must_use]
pub fn page(flags: &[&str]) -> String {
    let kinds = kinds(flags);
    let mut page = "# Names of AWS\n\nThe names of `aws-cloud-controller-manager` 1.37.0, from its source, and how many of them Outrigger has.\n\n\
                    | names | of the Go program | of these here |\n|---|---|---|\n"
        .to_owned();
    for kind in &kinds {
        let upstream = upstream(kind.word);
        let here = upstream.iter().filter(|name| kind.has(name)).count();
        let _ = writeln!(page, "| {} | {} | {here} |", kind.title, upstream.len());
    }
    for Kind {
        title,
        page: described,
        names,
        ..
    } in &kinds
    {
        let _ = write!(page, "\n## {}{}\n\n", title[..1].to_uppercase(), &title[1..]);
        if let Some(described) = described {
            let all: Vec<String> = names.iter().map(|name| format!("`{}`", name.name)).collect();
            let _ = writeln!(page, "Described in [{described}]({described}): {}.", all.join(", "));
        } else {
            page += "| name | meaning |\n|---|---|\n";
            for Name { name, meaning } in names {
                let _ = writeln!(page, "| `{name}` | {meaning} |");
            }
        }
    }
    page
}

/// The names of the Go program of one kind.
fn upstream(word: &str) -> Vec<&'static str> {
    let lines = UPSTREAM.lines().filter_map(|line| line.split_once(' '));
    lines.filter(|(kind, _)| *kind == word).map(|(_, name)| name).collect()
}

impl Kind {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.name == name)
    }
}

fn kinds(flags: &[&str]) -> Vec<Kind> {
    let described = |word, title, page, names: Vec<&str>| {
        let name = |name: &str| Name {
            name: name.to_owned(),
            meaning: "",
        };
        Kind {
            word,
            title,
            page: Some(page),
            names: names.into_iter().map(name).collect(),
        }
    };
    let keys = |section| {
        let keys = KEYS.keys().filter(move |(of, _)| *of == section);
        keys.map(|(_, key)| key.name).collect()
    };
    let annotations = annotations::ROWS.iter().map(|row| row.key).collect();
    let mut kinds = vec![
        described("flag", "flags", "flags.md", flags.to_vec()),
        described("global", "keys of `[Global]`", "aws-config.md", keys("Global")),
        described(
            "override",
            "keys of `[ServiceOverride]`",
            "aws-config.md",
            keys("ServiceOverride"),
        ),
        described(
            "annotation",
            "annotations of Services",
            "aws-annotations.md",
            annotations,
        ),
    ];
    kinds.extend(own_kinds());
    kinds
}

/// The names that no other page describes.
fn own_kinds() -> Vec<Kind> {
    let own = |word, title, names: &[(String, &'static str)]| {
        let name = |(name, meaning): &(String, &'static str)| Name {
            name: name.clone(),
            meaning,
        };
        Kind {
            word,
            title,
            page: None,
            names: names.iter().map(name).collect(),
        }
    };
    let any = |start: &str| format!("{start}…");
    vec![
        own(
            "label",
            "labels of Nodes",
            &[
                (
                    instances::ZONE_ID.to_owned(),
                    "the ID of the zone, which is the same in all accounts",
                ),
                (
                    any(topology::LAYER),
                    "the nodes of AWS's network above the instance, from the top; EC2 knows them for some instance types",
                ),
                (
                    tagging::LABEL.to_owned(),
                    "a digest of the tags that the controller `tagging` gave to the instance",
                ),
            ],
        ),
        own(
            "written",
            "tags that are written",
            &[
                (
                    any(TAG_PREFIX),
                    "the cluster, with the value `owned`: load balancers, target groups, listeners, security groups",
                ),
                (
                    LEGACY_TAG.to_owned(),
                    "the cluster as the value, if `KubernetesClusterTag` or the instance has this tag",
                ),
                (
                    load_balancers::SERVICE_TAG.to_owned(),
                    "namespace and name of the Service: load balancers, target groups, listeners",
                ),
            ],
        ),
        own(
            "read",
            "tags that are read",
            &[
                (
                    any(TAG_PREFIX),
                    "the cluster that an object belongs to: `owned` or `shared`",
                ),
                (LEGACY_TAG.to_owned(), "the same as the value, which counts as owned"),
                (
                    load_balancers::PUBLIC_ROLE.to_owned(),
                    "a subnet for load balancers with public addresses; any value",
                ),
                (
                    load_balancers::INTERNAL_ROLE.to_owned(),
                    "a subnet for internal load balancers; any value",
                ),
                (
                    load_balancers::NAME_TAG.to_owned(),
                    "the name of a subnet in the annotation `aws-load-balancer-subnets`",
                ),
            ],
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The flags are tested where they are.
    #[test]
    fn no_name_of_the_go_program_is_missing_and_none_was_invented() {
        let flags = upstream("flag");
        let kinds = kinds(&flags);
        for kind in &kinds {
            let ours: BTreeSet<&str> = kind.names.iter().map(|name| name.name.as_str()).collect();
            let theirs: BTreeSet<&str> = upstream(kind.word).into_iter().collect();
            assert_eq!(ours, theirs, "{}", kind.title);
        }
        let counts: Vec<usize> = kinds.iter().map(|kind| kind.names.len()).collect();
        assert_eq!(counts, [6, 17, 6, 30, 3, 3, 5]);
        let named = UPSTREAM.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(counts.iter().sum::<usize>(), named, "a line of another kind");
    }

    #[test]
    fn a_missing_name_is_counted() {
        let page = page(&["tags"]);
        assert!(
            page.contains("| flags | 6 | 1 |\n| keys of `[Global]` | 17 | 17 |"),
            "{page}"
        );
    }
}
