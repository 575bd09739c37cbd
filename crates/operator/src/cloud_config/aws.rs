//! The configuration of AWS: the git-config dialect.

use super::KEY;
use gcfg::{Document, Part};

/// Whether load balancers of the network kind get security groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecurityGroups {
    /// Always.
    Managed,
    /// As the file says.
    AsConfigured,
}

const PROBE_MODE: &str = "ClusterServiceLoadBalancerHealthProbeMode";
const PROBE_PORT: &str = "ClusterServiceSharedLoadBalancerHealthProbePort";
const INGRESS: &str = "DisableSecurityGroupIngress";
const GROUP_MODE: &str = "NLBSecurityGroupMode";
const OVERRIDE: &str = "ServiceOverride";

const TEXTS: [&str; 13] = [
    "Zone",
    "Region",
    "VPC",
    "SubnetID",
    "RouteTableID",
    "RoleARN",
    "SourceARN",
    "KubernetesClusterTag",
    "KubernetesClusterID",
    "ElbSecurityGroup",
    "ClusterServiceSharedLoadBalancerHealthProbePath",
    "SupportedTopologyInstanceTypePattern",
    GROUP_MODE,
];
const OVERRIDE_TEXTS: [&str; 6] = [
    "Service",
    "Region",
    "URL",
    "SigningRegion",
    "SigningMethod",
    "SigningName",
];

/// Lets the health probe of all Services be the one of kube-proxy unless the user says otherwise.
///
/// The two zero values that the Go operator always writes are written, too, so that a file of either reads the same.
pub(crate) fn transform(text: &str, groups: SecurityGroups) -> Result<String, String> {
    let text = if text.is_empty() { "[Global]\n" } else { text };
    let mut document = Document::parse_file(KEY, text.as_bytes()).map_err(|error| error.to_string())?;
    let mode = check(&document).map_err(|error| error.to_string())?;

    set_default(&mut document, INGRESS, "false")?;
    if mode == ProbeMode::Unset {
        set(&mut document, PROBE_MODE, "Shared")?;
    }
    set_default(&mut document, PROBE_PORT, "0")?;
    if groups == SecurityGroups::Managed {
        set(&mut document, GROUP_MODE, "Managed")?;
    }
    Ok(ordered(&document))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProbeMode {
    Set,
    Unset,
}

/// What the operand would refuse is better said here, where a user sees it.
fn check(document: &Document) -> Result<ProbeMode, gcfg::Error> {
    let global = document.section("Global");
    TEXTS.iter().try_for_each(|key| global.text(key).map(drop))?;
    global.boolean(INGRESS)?;
    global.int(PROBE_PORT)?;
    for service in document.subsections(OVERRIDE) {
        OVERRIDE_TEXTS.iter().try_for_each(|key| service.text(key).map(drop))?;
    }
    Ok(match global.text(PROBE_MODE)? {
        None | Some("") => ProbeMode::Unset,
        Some(_) => ProbeMode::Set,
    })
}

fn set(document: &mut Document, key: &str, value: &str) -> Result<(), String> {
    document
        .set("Global", None, key, value)
        .map_err(|error| format!("{KEY}: {error}"))
}

fn set_default(document: &mut Document, key: &str, value: &str) -> Result<(), String> {
    if document.section("Global").has(key) {
        Ok(())
    } else {
        set(document, key, value)
    }
}

/// The text with the overrides last, by number. What is in order stays byte for byte.
fn ordered(document: &Document) -> String {
    let text = document.to_string();
    let parts = document.parts();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&at| place(&parts[at]));
    if order.is_sorted() {
        return text;
    }
    let Some(starts) = starts(&text, parts) else {
        return text;
    };
    let block = |at: usize| &text[starts[at]..starts.get(at + 1).copied().unwrap_or(text.len())];
    let mut sorted = text[..starts[0]].to_owned();
    for at in order {
        sorted.push_str(block(at));
        if !sorted.ends_with('\n') {
            sorted.push('\n');
        }
    }
    sorted
}

/// Sections that are no overrides, then those with a number, then the rest by name.
fn place(part: &Part) -> (u8, u64, &str) {
    let name = part.subsection().unwrap_or_default();
    match name.parse() {
        _ if !gcfg::same_name(part.name(), OVERRIDE) => (0, 0, ""),
        Ok(number) => (1, number, ""),
        Err(_) => (2, 0, name),
    }
}

/// Where each part starts, with the comments directly above it; nothing if two share a line.
fn starts(text: &str, parts: &[Part]) -> Option<Vec<usize>> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let offsets: Vec<usize> = lines
        .iter()
        .scan(0, |sum, line| Some(std::mem::replace(sum, *sum + line.len())))
        .collect();
    let mut starts = Vec::with_capacity(parts.len());
    let mut before = 0;
    for part in parts {
        let header = part.position().line;
        let body = lines.get(before..header - 1).filter(|_| before < header)?;
        let comments = body
            .iter()
            .rev()
            .take_while(|line| line.trim_start().starts_with([';', '#']))
            .count();
        starts.push(offsets[header - 1 - comments]);
        before = header;
    }
    Some(starts)
}

#[cfg(test)]
mod tests;
