//! Which controllers a manager runs.

use operator_api::cloud_controller_manager::{Claim, Routes};

/// A controller of the manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Controller {
    /// Initializes nodes.
    Node,
    /// Deletes nodes whose machines do not exist.
    NodeLifecycle,
    /// Opens the ports of Services in the firewall in front of the nodes.
    NodeFirewall,
    /// Assigns Pod networks to nodes.
    NodeIpam,
    /// Creates routes for the Pod networks of nodes.
    NodeRoute,
    /// Creates load balancers.
    ServiceLb,
    /// Tags the machines behind nodes.
    NodeTags,
}

impl Controller {
    /// All controllers.
    pub const ALL: [Self; 7] = [
        Self::Node,
        Self::NodeLifecycle,
        Self::NodeFirewall,
        Self::NodeIpam,
        Self::NodeRoute,
        Self::ServiceLb,
        Self::NodeTags,
    ];

    /// Its names in `--controllers`; the first one is the usual one.
    pub fn names(self) -> [&'static str; 2] {
        match self {
            Self::Node => ["cloud-node-controller", "cloud-node"],
            Self::NodeLifecycle => ["cloud-node-lifecycle-controller", "cloud-node-lifecycle"],
            Self::NodeFirewall => ["do-firewall", "node-firewall"],
            Self::NodeIpam => ["node-ipam-controller", "nodeipam"],
            Self::NodeRoute => ["node-route-controller", "route"],
            Self::ServiceLb => ["service-lb-controller", "service"],
            Self::NodeTags => ["tagging", "tagging-controller"],
        }
    }

    /// The controller of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.names().contains(&name))
    }

    /// Whether it manages nodes.
    pub fn is_for_nodes(self) -> bool {
        !matches!(self, Self::ServiceLb | Self::NodeFirewall)
    }
}

/// The controllers that run with this claim: the first item that names one decides, then `*`.
pub fn of(claim: &Claim) -> Vec<Controller> {
    let wanted = |controller: &Controller| {
        let named = claim.controllers.iter().find_map(|item| match item.strip_prefix('-') {
            Some(off) => (Controller::find(off) == Some(*controller)).then_some(false),
            None => (Controller::find(item) == Some(*controller)).then_some(true),
        });
        let is_default = !matches!(controller, Controller::NodeIpam | Controller::NodeTags);
        let default = is_default && claim.controllers.iter().any(|item| item == "*");
        named.unwrap_or(default)
    };
    let idle = |controller: &Controller| *controller == Controller::NodeRoute && claim.routes == Routes::Disabled;
    Controller::ALL
        .into_iter()
        .filter(|controller| wanted(controller) && !idle(controller))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    #[rstest]
    #[case::by_default(json!({}), "Node NodeLifecycle NodeFirewall ServiceLb")]
    #[case::with_routes(json!({"routes": "Enabled"}), "Node NodeLifecycle NodeFirewall NodeRoute ServiceLb")]
    #[case::one(json!({"controllers": ["service"]}), "ServiceLb")]
    #[case::all_but_one(json!({"controllers": ["*", "-cloud-node-lifecycle-controller"]}), "Node NodeFirewall ServiceLb")]
    #[case::the_first_decides(json!({"controllers": ["-service", "service-lb-controller", "*"]}), "Node NodeLifecycle NodeFirewall")]
    #[case::tags_are_asked_for(json!({"controllers": ["*", "tagging"]}), "Node NodeLifecycle NodeFirewall ServiceLb NodeTags")]
    #[case::ipam_is_asked_for(json!({"controllers": ["*", "nodeipam"]}), "Node NodeLifecycle NodeFirewall NodeIpam ServiceLb")]
    fn run(#[case] mut spec: Value, #[case] expected: &str) {
        spec["provider"] = json!("memory");
        let claim = Claim::of(&serde_json::from_value(spec).unwrap());
        let names: Vec<String> = of(&claim).iter().map(|one| format!("{one:?}")).collect();
        assert_eq!(names.join(" "), expected);
    }
}
