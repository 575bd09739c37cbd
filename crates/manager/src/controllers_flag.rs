//! `--controllers`: the known controllers, and the selection of those that run.

use runtime::flags::{Switch, or_nearest, quote};

/// A controller of this program and its names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Controller {
    /// Its name in `--controllers`, health checks and migration files.
    pub name: &'static str,
    /// Its other name in `--controllers`.
    pub alias: &'static str,
    /// Its names in older releases, which migration files may use.
    pub historic: &'static [&'static str],
    /// Its service account, with `--use-service-account-credentials`, and the end of its user agent.
    pub client: &'static str,
    /// The component of its events.
    pub event_source: &'static str,
    /// Its name in the metric `running_managed_controllers`.
    pub metric: &'static str,
    /// Whether `*` includes it.
    pub default: Switch,
}

/// Initializes nodes and updates their addresses and labels.
pub const CLOUD_NODE: Controller = Controller {
    name: "cloud-node-controller",
    alias: "cloud-node",
    historic: &[],
    client: "node-controller",
    event_source: "cloud-node-controller",
    metric: "cloud-node",
    default: Switch::On,
};

/// Taints nodes whose instance is shut down and deletes nodes whose instance does not exist.
pub const CLOUD_NODE_LIFECYCLE: Controller = Controller {
    name: "cloud-node-lifecycle-controller",
    alias: "cloud-node-lifecycle",
    historic: &[],
    client: "node-controller",
    event_source: "cloud-node-lifecycle-controller",
    metric: "cloud-node-lifecycle",
    default: Switch::On,
};

/// Allocates pod networks to nodes. Not included in `*`: in clusters with other cloud controller managers
/// kube-controller-manager does this, and two allocators would allocate the same ranges.
pub const NODE_IPAM: Controller = Controller {
    name: "node-ipam-controller",
    alias: "nodeipam",
    historic: &[],
    client: "node-controller",
    event_source: "cidrAllocator",
    metric: "nodeipam",
    default: Switch::Off,
};

/// Creates routes to the pod networks of nodes in the cloud.
pub const NODE_ROUTE: Controller = Controller {
    name: "node-route-controller",
    alias: "route",
    historic: &["route-controller"],
    client: "route-controller",
    event_source: "route_controller",
    metric: "route",
    default: Switch::On,
};

/// Creates load balancers for Services.
pub const SERVICE_LB: Controller = Controller {
    name: "service-lb-controller",
    alias: "service",
    historic: &["service-controller"],
    client: "service-controller",
    event_source: "service-controller",
    metric: "service",
    default: Switch::On,
};

/// Opens the ports of Services in the firewall in front of the nodes. It runs only if the provider is configured for it.
pub const NODE_FIREWALL: Controller = Controller {
    name: "do-firewall",
    alias: "node-firewall",
    historic: &[],
    client: "service-controller",
    event_source: "node-firewall",
    metric: "node-firewall",
    default: Switch::On,
};

/// Tags the machines behind nodes. It runs only where the provider is configured for it.
pub const NODE_TAGS: Controller = Controller {
    name: "tagging",
    alias: "tagging-controller",
    historic: &[],
    client: "tagging-controller",
    event_source: "tagging-controller",
    metric: "tagging-controller",
    default: Switch::Off,
};

/// All controllers, by name.
pub const CONTROLLERS: [Controller; 7] = [
    CLOUD_NODE,
    CLOUD_NODE_LIFECYCLE,
    NODE_FIREWALL,
    NODE_IPAM,
    NODE_ROUTE,
    SERVICE_LB,
    NODE_TAGS,
];

/// The admission webhooks this program can serve. There are none: a provider may bring its own.
pub const WEBHOOKS: [&str; 0] = [];

/// Names that a list can switch on and off: `name`, `-name`, and `*` for all that are on by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names<'a> {
    /// The noun in messages.
    pub what: &'a str,
    /// All names.
    pub known: Vec<&'a str>,
    /// Aliases with their names.
    pub aliases: Vec<(&'a str, &'a str)>,
    /// The names `*` does not include.
    pub off_by_default: Vec<&'a str>,
}

/// The names of all controllers.
#[must_use]
pub fn controllers() -> Names<'static> {
    Names {
        what: "controllers",
        known: CONTROLLERS.iter().map(|controller| controller.name).collect(),
        aliases: CONTROLLERS
            .iter()
            .map(|controller| (controller.alias, controller.name))
            .collect(),
        off_by_default: CONTROLLERS
            .iter()
            .filter(|known| !known.default.is_on())
            .map(|known| known.name)
            .collect(),
    }
}

/// The names of all webhooks.
#[must_use]
pub fn webhooks() -> Names<'static> {
    Names {
        what: "webhooks",
        known: WEBHOOKS.to_vec(),
        ..Names::default()
    }
}

/// The current name of a controller, given as an alias or as the name of an older release.
pub fn canonical(name: &str) -> &str {
    let goes_by = |known: &&Controller| known.alias == name || known.historic.contains(&name);
    CONTROLLERS.iter().find(goes_by).map_or(name, |known| known.name)
}

impl Names<'_> {
    /// The list with aliases replaced by names.
    pub fn resolve(&self, list: &[String]) -> Vec<String> {
        let resolved = list.iter().map(|item| match item.strip_prefix('-') {
            Some(name) => format!("-{}", self.resolved(name)),
            None => self.resolved(item).to_owned(),
        });
        resolved.collect()
    }

    /// Whether the (resolved) list enables a name: the first item with the name decides, then `*`.
    pub fn wants(&self, list: &[String], name: &str) -> bool {
        let named = list.iter().find_map(|item| match item.strip_prefix('-') {
            Some(off) if off == name => Some(false),
            _ if item == name => Some(true),
            _ => None,
        });
        named.unwrap_or_else(|| list.iter().any(|item| item == "*") && !self.off_by_default.contains(&name))
    }

    /// One sentence for every item of the list that is not known.
    pub fn unknown(&self, list: &[String]) -> Vec<String> {
        let names = list
            .iter()
            .filter(|item| *item != "*")
            .map(|item| item.strip_prefix('-').unwrap_or(item));
        let unknown = names.filter(|name| !self.known.contains(&self.resolved(name)));
        unknown.map(|name| self.unknown_name(name)).collect()
    }

    /// The help of a flag with such a list.
    pub fn help(&self) -> String {
        let Self {
            what,
            known,
            off_by_default,
            ..
        } = self;
        format!(
            "Which {what} to run: '*' all that are on by default, 'foo' that one, '-foo' not that one.\n\
             All {what}: {}\nDisabled-by-default {what}: {}",
            known.join(", "),
            off_by_default.join(", ")
        )
    }

    fn resolved<'n>(&'n self, name: &'n str) -> &'n str {
        self.aliases
            .iter()
            .find(|(alias, _)| *alias == name)
            .map_or(name, |(_, name)| name)
    }

    fn unknown_name(&self, name: &str) -> String {
        let names = self
            .known
            .iter()
            .copied()
            .chain(self.aliases.iter().map(|(alias, _)| *alias));
        format!(
            "{} is not in the list of known {}{}",
            quote(name),
            self.what,
            or_nearest(name, "", names)
        )
    }
}

#[cfg(test)]
mod tests;
