//! `cloud.conf` of the AWS provider: `[Global]` and `[ServiceOverride "n"]`, and the environment variables of AWS's SDKs.

mod keys;
mod overrides;
#[cfg(test)]
mod tests;

pub use keys::{KEYS, reference_page};
pub use overrides::ServiceOverride;
pub use provider_kit::variables::Variables;

use crate::region;
use provider_kit::keys::Settings;
use regex_lite::Regex;

/// The section of everything but endpoints.
const GLOBAL: &str = "Global";

/// The instance types for which EC2 must know the topology.
const TOPOLOGY_TYPES: &str = r"^(hpc|trn|p)[0-9]+[a-z]*(-[a-z0-9]+)?(\.[0-9a-z]*)$";

/// The configuration. It has no `Debug`: the variables have secrets.
#[derive(Clone)]
pub struct Config {
    /// The region, unless it is that of the instance that this process runs on.
    pub region: Option<String>,
    /// `VPC`
    pub vpc_id: Option<String>,
    /// `SubnetID`
    pub subnet_id: Option<String>,
    /// `RouteTableID`
    pub route_table_id: Option<String>,
    /// The role that is assumed, if any.
    pub role: Option<Role>,
    /// The cluster, unless it is that of the tags of the instance that this process runs on.
    pub cluster: Option<ClusterName>,
    /// `DisableSecurityGroupIngress`
    pub node_rules: NodeRules,
    /// `ElbSecurityGroup`
    pub elb_security_group: Option<String>,
    /// `NodeIPFamilies`, in the order of the addresses.
    pub families: Vec<Family>,
    /// `ClusterServiceLoadBalancerHealthProbeMode`, as written.
    pub health_probe_mode: String,
    /// `ClusterServiceSharedLoadBalancerHealthProbePort`
    pub shared_probe_port: u16,
    /// `ClusterServiceSharedLoadBalancerHealthProbePath`
    pub shared_probe_path: String,
    /// `SupportedTopologyInstanceTypePattern`
    pub topology_types: Regex,
    /// `NLBSecurityGroupMode`
    pub nlb_security_groups: NlbSecurityGroups,
    /// `--allow-untagged-cloud`
    pub untagged: Untagged,
    /// `[ServiceOverride "n"]`
    pub overrides: Vec<ServiceOverride>,
    /// The variables of the process.
    pub variables: Variables,
}

/// A role that is assumed on top of the credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// `RoleARN`
    pub arn: String,
    /// `SourceARN`
    pub source_arn: Option<String>,
}

/// The cluster in tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterName {
    /// The ID.
    pub id: String,
    /// Which tags objects get.
    pub tags: ClusterTags,
}

/// Which tags of the cluster objects get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterTags {
    /// `kubernetes.io/cluster/<id>`
    Current,
    /// `KubernetesCluster`, too.
    WithLegacy,
}

/// Whether the cluster may have no ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untagged {
    /// Without one nothing is done.
    Refused,
    /// Without one, every object counts as the cluster's own.
    Allowed,
}

/// Whether the rules of the nodes' security groups are managed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NodeRules {
    /// They follow the Services.
    Managed,
    /// They are never changed.
    Untouched,
}

/// Whether network load balancers get a security group of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NlbSecurityGroups {
    /// They get none.
    None,
    /// Each gets one.
    Managed,
}

/// A family of node addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `ipv4`
    V4,
    /// `ipv6`
    V6,
}

impl Config {
    /// The configuration in a file and in the variables of the process. `warnings` gets what the user should correct.
    ///
    /// # Errors
    /// One sentence: which key is wrong, and what to write instead.
    pub fn new(file: Option<(&str, &[u8])>, variables: Variables, warnings: &mut Vec<String>) -> Result<Self, String> {
        let settings = match file {
            Some((name, content)) => KEYS.read(name, content, warnings).map_err(|error| error.to_string())?,
            None => Settings::default(),
        };
        Self::of(&settings, variables)
    }

    fn of(settings: &Settings, variables: Variables) -> Result<Self, String> {
        let text = |key| settings.text(GLOBAL, key).map(str::to_owned);
        let role = text("RoleARN").map(|arn| Role {
            arn,
            source_arn: text("SourceARN"),
        });
        let path = text("ClusterServiceSharedLoadBalancerHealthProbePath");
        Ok(Self {
            region: region(settings, &variables)?,
            vpc_id: text("VPC"),
            subnet_id: text("SubnetID"),
            route_table_id: text("RouteTableID"),
            role,
            cluster: cluster(settings)?,
            node_rules: match settings.boolean(GLOBAL, "DisableSecurityGroupIngress") {
                Some(true) => NodeRules::Untouched,
                _ => NodeRules::Managed,
            },
            elb_security_group: text("ElbSecurityGroup"),
            families: families(settings),
            health_probe_mode: text("ClusterServiceLoadBalancerHealthProbeMode").unwrap_or_default(),
            shared_probe_port: probe_port(settings)?,
            shared_probe_path: path.unwrap_or_else(|| "/healthz".to_owned()),
            topology_types: topology_types(settings)?,
            nlb_security_groups: nlb_security_groups(settings)?,
            untagged: Untagged::Refused,
            overrides: overrides::of(settings)?,
            variables,
        })
    }

    /// Whether the cluster runs elsewhere than this process, which then need not run on an instance at all.
    pub fn is_elsewhere(&self) -> bool {
        self.vpc_id.is_some() && (self.subnet_id.is_some() || self.role.is_some()) && self.cluster.is_some()
    }
}

/// `Zone` wins over `Region`, as in the Go program, and both over the variables of AWS's SDKs.
fn region(settings: &Settings, variables: &Variables) -> Result<Option<String>, String> {
    if let Some(zone) = settings.text(GLOBAL, "Zone") {
        let region = region::of_zone(zone).ok_or_else(|| {
            let at = settings.position(GLOBAL, "Zone");
            format!("{at}: invalid AZ: {zone:?} is not a zone such as us-east-1a")
        })?;
        return Ok(Some(region.to_owned()));
    }
    let configured = settings.text(GLOBAL, "Region").map(str::to_owned);
    let variable = || {
        variables
            .text("AWS_REGION")
            .or_else(|| variables.text("AWS_DEFAULT_REGION"))
    };
    Ok(configured.or_else(variable))
}

fn cluster(settings: &Settings) -> Result<Option<ClusterName>, String> {
    let (tag, id) = ("KubernetesClusterTag", "KubernetesClusterID");
    let named = |id: &str, tags| {
        Some(ClusterName {
            id: id.to_owned(),
            tags,
        })
    };
    match (settings.text(GLOBAL, tag), settings.text(GLOBAL, id)) {
        (Some(legacy), Some(current)) if legacy != current => {
            let at = settings.position(GLOBAL, tag);
            Err(format!(
                "{at}: {tag} is {legacy:?} and {id} is {current:?}: they must be equal"
            ))
        }
        (Some(legacy), _) => Ok(named(legacy, ClusterTags::WithLegacy)),
        (None, Some(current)) => Ok(named(current, ClusterTags::Current)),
        (None, None) => Ok(None),
    }
}

/// Other words are ignored, as in the Go program.
fn families(settings: &Settings) -> Vec<Family> {
    let words = settings.list(GLOBAL, "NodeIPFamilies").unwrap_or_default();
    if words.is_empty() {
        return vec![Family::V4];
    }
    let family = |word: &String| match word.as_str() {
        "ipv4" => Some(Family::V4),
        "ipv6" => Some(Family::V6),
        _ => None,
    };
    words.iter().filter_map(family).collect()
}

fn probe_port(settings: &Settings) -> Result<u16, String> {
    let key = "ClusterServiceSharedLoadBalancerHealthProbePort";
    match settings.number(GLOBAL, key) {
        None | Some(0) => Ok(10256),
        Some(port) => u16::try_from(port).map_err(|_| {
            let at = settings.position(GLOBAL, key);
            format!("{at}: {key}: {port} is not a port")
        }),
    }
}

fn topology_types(settings: &Settings) -> Result<Regex, String> {
    let key = "SupportedTopologyInstanceTypePattern";
    let pattern = settings.text(GLOBAL, key).unwrap_or(TOPOLOGY_TYPES);
    Regex::new(pattern).map_err(|error| {
        let at = settings.position(GLOBAL, key);
        format!("{at}: {key} is not a regular expression: {error}")
    })
}

fn nlb_security_groups(settings: &Settings) -> Result<NlbSecurityGroups, String> {
    let key = "NLBSecurityGroupMode";
    match settings.text(GLOBAL, key) {
        None => Ok(NlbSecurityGroups::None),
        Some("Managed") => Ok(NlbSecurityGroups::Managed),
        Some(other) => {
            let at = settings.position(GLOBAL, key);
            Err(format!("{at}: {key}: {other:?} is not Managed"))
        }
    }
}
