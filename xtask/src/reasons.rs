//! The reasons of conditions and events: each must stand in the reference, and nothing else.

use anyhow::{Context, Result};
use std::{collections::BTreeSet, fs, path::Path};

const PAGE: &str = "docs/reference/events.md";

/// Where users are told something.
const SOURCES: [&str; 4] = [
    "crates/controllers/src",
    "crates/manager/src/run",
    "crates/runtime/src/lease",
    "providers/openstack/src/balancers",
];

/// What is written like a reason and is none: kinds, statuses, types, and words of the cloud.
const OTHERS: [&str; 25] = [
    "ClientIP",
    "ExternalIpAddressExhausted",
    "False",
    "FloatingIPPortAlreadyAssociated",
    "Hostname",
    "InvalidInput",
    "InvalidIpForSubnet",
    "IpAddressGenerationFailure",
    "Lease",
    "LoadBalancer",
    "Local",
    "NeutronError",
    "NoSchedule",
    "Node",
    "NodePort",
    "Nodes",
    "Options",
    "Proxy",
    "Ready",
    "Routes",
    "Secret",
    "SecurityGroupRuleExists",
    "SubnetNotFound",
    "ToBeDeletedByClusterAutoscaler",
    "True",
];

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let page = fs::read_to_string(root.join(PAGE)).with_context(|| format!("cannot read {PAGE}"))?;
    let mut told = BTreeSet::new();
    for source in SOURCES {
        collect(&root.join(source), &mut told)?;
    }
    Ok(differences(&told, &described(&page)))
}

fn differences(told: &BTreeSet<String>, described: &BTreeSet<String>) -> Vec<String> {
    let missing = told.difference(described);
    let missing = missing.map(|reason| format!("reasons: {reason} is told to users and does not stand in {PAGE}"));
    let stale = described.difference(told);
    let stale = stale.map(|reason| format!("reasons: {reason} stands in {PAGE} and is told to nobody"));
    missing.chain(stale).collect()
}

fn collect(folder: &Path, told: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let is_of_tests = path.file_stem().is_some_and(is_of_tests);
        if is_of_tests {
            continue;
        }
        if path.is_dir() {
            collect(&path, told)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            told.extend(reasons(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn is_of_tests(name: &std::ffi::OsStr) -> bool {
    ["tests", "scenarios", "rig"].iter().any(|tests| name == *tests)
}

/// The string literals in a file's code that are written like a reason.
fn reasons(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let literals = lines.flat_map(|line| line.split('"').skip(1).step_by(2));
    literals
        .map(|literal| literal.trim_start_matches("outrigger.dev/"))
        .filter(|literal| is_reason(literal) && !OTHERS.contains(literal))
        .map(str::to_owned)
        .collect()
}

fn is_reason(literal: &str) -> bool {
    literal.starts_with(|first: char| first.is_ascii_uppercase())
        && literal.chars().all(|letter| letter.is_ascii_alphabetic())
        && literal.contains(|letter: char| letter.is_ascii_lowercase())
}

/// What the tables of the page are about: the words in backquotes in all columns but the last.
fn described(page: &str) -> BTreeSet<String> {
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.strip_suffix(" |")?.rsplit_once(" | "));
    let words = cells.flat_map(|(cells, _)| cells.split('`').skip(1).step_by(2));
    words
        .map(|word| word.trim_start_matches("outrigger.dev/").to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_stands_in_the_page_and_no_other() {
        let code = "//! \"Silent\"\n\"TCP\"\n#[error(\"no {0}\")]\nself.event(node, \"Synced\");\n\
                    const READY: &str = \"outrigger.dev/Held\"; // \"True\"\n\
                    #[cfg(test)]\nmod tests {\n\"OnlyInTests\"\n";
        let page = "`NotInATable`\n| on | reason | when |\n|---|---|---|\n| Node | **`Synced`** | `Last` |\n| | `Stale` | never |\n";
        let problems = differences(&reasons(code).into_iter().collect(), &described(page));
        let expected = [
            "reasons: Held is told to users and does not stand in docs/reference/events.md",
            "reasons: Stale stands in docs/reference/events.md and is told to nobody",
        ];
        assert_eq!(problems, expected);
    }
}
