//! The configuration of AWS: the git-config dialect.

use super::{Invalid, KEY};
use gcfg::{Document, Part, Place};

/// Whether network load balancers get security groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecurityGroups {
    /// Always.
    Managed,
    /// As in the file.
    AsConfigured,
}

const PROBE_MODE: &str = "ClusterServiceLoadBalancerHealthProbeMode";
const PROBE_PORT: &str = "ClusterServiceSharedLoadBalancerHealthProbePort";
const INGRESS: &str = "DisableSecurityGroupIngress";
const FAMILIES: &str = "NodeIPFamilies";
const GROUP_MODE: &str = "NLBSecurityGroupMode";
const OVERRIDE: &str = "ServiceOverride";

/// The keys that the operand reads, in the order in which the Go operator writes them.
const GLOBAL: [&str; 17] = [
    "Zone",
    "Region",
    "VPC",
    "SubnetID",
    "RouteTableID",
    "RoleARN",
    "SourceARN",
    "KubernetesClusterTag",
    "KubernetesClusterID",
    INGRESS,
    "ElbSecurityGroup",
    FAMILIES,
    PROBE_MODE,
    PROBE_PORT,
    "ClusterServiceSharedLoadBalancerHealthProbePath",
    "SupportedTopologyInstanceTypePattern",
    GROUP_MODE,
];
const OVERRIDES: [&str; 6] = [
    "Service",
    "Region",
    "URL",
    "SigningRegion",
    "SigningMethod",
    "SigningName",
];

/// Uses the health probe of kube-proxy for all Services unless the user sets another value.
///
/// The layout, and the two zero values that are always written, are the Go operator's: for a file that has only keys that the
/// Go operator knows, the results are identical byte for byte.
pub(crate) fn transform(text: &str, groups: SecurityGroups) -> Result<String, Invalid> {
    let text = if text.is_empty() { "[Global]\n" } else { text };
    let mut document = Document::parse_file(KEY, text.as_bytes())?;
    let Checked { ingress, port } = check(&document)?;

    set(&mut document, INGRESS, &ingress.to_string())?;
    drop_empty(&mut document);
    if !document.section("Global").has(PROBE_MODE) {
        set(&mut document, PROBE_MODE, "Shared")?;
    }
    let port =
        i32::try_from(port).map_err(|_| Invalid(format!("{KEY}: {PROBE_PORT} is no port: write one, not {port}")))?;
    set(&mut document, PROBE_PORT, &port.to_string())?;
    if groups == SecurityGroups::Managed {
        set(&mut document, GROUP_MODE, "Managed")?;
    }
    Ok(document.aligned(place))
}

/// The values that are not text; they have several notations.
struct Checked {
    ingress: bool,
    port: i64,
}

/// Reports here, where a user sees it, what the operand would reject.
fn check(document: &Document) -> Result<Checked, gcfg::Error> {
    let global = document.section("Global");
    for key in texts() {
        global.text(key)?;
    }
    for service in document.subsections(OVERRIDE) {
        OVERRIDES.iter().try_for_each(|key| service.text(key).map(drop))?;
    }
    Ok(Checked {
        ingress: global.boolean(INGRESS)?.unwrap_or_default(),
        port: global.int(PROBE_PORT)?.unwrap_or_default(),
    })
}

fn texts() -> impl Iterator<Item = &'static str> {
    let other = [INGRESS, FAMILIES, PROBE_PORT];
    GLOBAL.into_iter().filter(move |key| !other.contains(key))
}

/// Removes known keys without a value: the operand ignores them.
fn drop_empty(document: &mut Document) {
    let global = document.section("Global");
    let mut empty: Vec<_> = texts()
        .filter(|key| global.text(key) == Ok(Some("")))
        .map(|key| ("Global", None, key))
        .collect();
    for service in document.subsections(OVERRIDE) {
        let id = service.subsection().map(str::to_owned);
        let none = OVERRIDES.into_iter().filter(|key| service.text(key) == Ok(Some("")));
        empty.extend(none.map(|key| (OVERRIDE, id.clone(), key)));
    }
    for (section, subsection, key) in empty {
        document.remove(section, subsection.as_deref(), key);
    }
}

fn set(document: &mut Document, key: &str, value: &str) -> Result<(), Invalid> {
    document
        .set("Global", None, key, value)
        .map_err(|error| Invalid(format!("{KEY}: {error}")))
}

/// Sections that are not overrides, then those with a number, then the others by name.
fn place(part: &Part) -> Place<(u8, u64, &str)> {
    let name = part.subsection().unwrap_or_default();
    let (rank, keys): (_, &[_]) = match name.parse() {
        _ if gcfg::same_name(part.name(), "Global") && name.is_empty() => ((0, 0, ""), &GLOBAL),
        _ if !gcfg::same_name(part.name(), OVERRIDE) => ((0, 0, ""), &[]),
        Ok(number) => ((1, number, ""), &OVERRIDES),
        Err(_) => ((2, 0, name), &OVERRIDES),
    };
    Place { rank, keys }
}

#[cfg(test)]
mod tests;
