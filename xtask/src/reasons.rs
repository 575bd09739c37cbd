//! The reasons of conditions and events: the reference must describe each of them, and no others.

use anyhow::{Context, Result};
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The pages that describe them: events.md, and a generated page for each provider that has events of its own.
const FOLDER: &str = "docs/reference";
const PAGE: &str = "events.md";

/// What sets conditions and emits events for every cloud.
const SOURCES: [&str; 3] = [
    "crates/controllers/src",
    "crates/manager/src/run",
    "crates/runtime/src/lease",
];

/// What the reasons of a provider begin with. Other words of its code are the cloud's.
const OF_PROVIDERS: &str = "LoadBalancer";

/// What is written like a reason and is none: kinds, statuses, types, and words of the cloud.
const OTHERS: [&str; 34] = [
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
    "LoadBalancerArn",
    "LoadBalancerAttributes",
    "LoadBalancerClass",
    "LoadBalancerName",
    "LoadBalancerNames",
    "LoadBalancerNotFound",
    "LoadBalancerPort",
    "LoadBalancerPorts",
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
    "Tags",
    "ToBeDeletedByClusterAutoscaler",
    "True",
];

pub(crate) fn problems(root: &Path) -> Result<Vec<String>> {
    let described = described(&pages(&root.join(FOLDER))?);
    let mut used = BTreeSet::new();
    for source in SOURCES {
        collect(&root.join(source), &mut used)?;
    }
    let mut of_providers = BTreeSet::new();
    for folder in providers(root)? {
        collect(&folder, &mut of_providers)?;
    }
    used.extend(
        of_providers
            .into_iter()
            .filter(|word| is_of_a_provider(word, &described)),
    );
    Ok(differences(&used, &described))
}

/// The sources of all providers and of what they share.
fn providers(root: &Path) -> Result<Vec<PathBuf>> {
    let folders = fs::read_dir(root.join("providers")).context("cannot read providers")?;
    let mut sources = vec![root.join("crates/provider-kit/src")];
    for folder in folders {
        sources.push(folder?.path().join("src"));
    }
    Ok(sources)
}

fn is_of_a_provider(word: &str, described: &BTreeSet<String>) -> bool {
    word.starts_with(OF_PROVIDERS) || described.contains(word)
}

fn pages(folder: &Path) -> Result<String> {
    let mut text = String::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(PAGE) {
            text += &fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        }
    }
    Ok(text)
}

fn differences(used: &BTreeSet<String>, described: &BTreeSet<String>) -> Vec<String> {
    let missing = used.difference(described);
    let missing = missing
        .map(|reason| format!("reasons: {reason} is missing in {FOLDER}/{PAGE}, or in the events of its provider"));
    let stale = described.difference(used);
    let stale = stale.map(|reason| format!("reasons: {FOLDER} describes {reason}, which no code has"));
    missing.chain(stale).collect()
}

fn collect(folder: &Path, used: &mut BTreeSet<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let is_of_tests = path.file_stem().is_some_and(is_of_tests);
        if is_of_tests {
            continue;
        }
        if path.is_dir() {
            collect(&path, used)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            used.extend(reasons(&fs::read_to_string(&path)?));
        }
    }
    Ok(())
}

fn is_of_tests(name: &std::ffi::OsStr) -> bool {
    ["tests", "scenarios", "fixture"].iter().any(|tests| name == *tests)
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
            "reasons: Held is missing in docs/reference/events.md, or in the events of its provider",
            "reasons: docs/reference describes Stale, which no code has",
        ];
        assert_eq!(problems, expected);
    }
}
