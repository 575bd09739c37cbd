//! One change of a network load balancer.

use super::desired::Mapping;
use crate::api::{
    ec2::Tag,
    elbv2::target_groups::{CheckSettings, TargetGroup},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// A target group and a listener that forwards to it.
    AddPort(Mapping),
    /// A new target group for a listener.
    ReplaceGroup {
        listener: String,
        mapping: Mapping,
    },
    ModifyListener {
        listener: String,
        mapping: Mapping,
        group: String,
    },
    DeleteListener {
        listener: String,
        port: u16,
    },
    ModifyGroup {
        group: TargetGroup,
        check: CheckSettings,
    },
    SetGroupAttributes {
        group: TargetGroup,
        attributes: BTreeMap<String, String>,
    },
    DeleteGroup(String),
    SetTargets(SetTargets),
    SetAttributes(BTreeMap<String, String>),
    AddTags {
        arns: Vec<String>,
        tags: Vec<Tag>,
    },
}

/// The targets that a group should have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetTargets {
    pub group: String,
    pub port: u16,
    pub wanted: BTreeSet<String>,
    /// Those that it has; `None` if that is not known.
    pub present: Option<BTreeSet<(String, u16)>>,
}

impl provider_kit::load_balancer::Step for Step {}

/// An instance and its port.
type Target = (String, u16);

impl SetTargets {
    /// The targets to remove, and those to add.
    pub fn changes(&self, present: &BTreeSet<Target>) -> (Vec<Target>, Vec<Target>) {
        let wanted: BTreeSet<Target> = self.wanted.iter().map(|id| (id.clone(), self.port)).collect();
        let gone = present.difference(&wanted).cloned().collect();
        (gone, wanted.difference(present).cloned().collect())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AddPort(mapping) => write!(f, "+port {mapping}"),
            Self::ReplaceGroup { mapping, .. } => write!(f, "replace target group of port {mapping}"),
            Self::ModifyListener { mapping, .. } => write!(f, "update port {mapping}"),
            Self::DeleteListener { port, .. } => write!(f, "-port {port}"),
            Self::ModifyGroup { group, .. } => write!(f, "update check of {}", group.target_group_name),
            Self::SetGroupAttributes { group, attributes } => {
                write!(f, "set {} of {}", names(attributes), group.target_group_name)
            }
            Self::DeleteGroup(arn) => write!(f, "-target group {}", short(arn)),
            Self::SetTargets(step) => write!(f, "{step}"),
            Self::SetAttributes(attributes) => write!(f, "set {}", names(attributes)),
            Self::AddTags { arns, .. } => write!(f, "tag {} objects", arns.len()),
        }
    }
}

impl fmt::Display for SetTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(present) = &self.present else {
            return write!(f, "set {} targets of {}", self.wanted.len(), short(&self.group));
        };
        let (gone, new) = self.changes(present);
        let ids = |targets: &[(String, u16)], sign: &str| {
            let text = targets.iter().map(|(id, port)| format!("{sign}{id}:{port}"));
            text.collect::<Vec<_>>()
        };
        let all = [ids(&gone, "-"), ids(&new, "+")].concat();
        write!(f, "targets {} of {}", all.join(" "), short(&self.group))
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> {}", self.protocol, self.port, self.target())
    }
}

/// The name in the ARN of a target group.
fn short(arn: &str) -> &str {
    arn.split('/').nth(1).unwrap_or(arn)
}

fn names(attributes: &BTreeMap<String, String>) -> String {
    let pairs = attributes.iter().map(|(name, value)| format!("{name}={value}"));
    pairs.collect::<Vec<_>>().join(" ")
}
