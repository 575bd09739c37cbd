//! `--controllers`: which controllers there are, and which of them are wanted.

use runtime::flags::{Switch, or_nearest, quote};

/// A controller this program can run, and the names it goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Controller {
    /// Its name in `--controllers`, health checks and migration files.
    pub name: &'static str,
    /// Its other name in `--controllers`.
    pub alias: &'static str,
    /// Names it had in older releases; still found in migration files.
    pub historic: &'static [&'static str],
    /// Its service account, with `--use-service-account-credentials`, and the end of its user agent.
    pub client: &'static str,
    /// The component its events come from.
    pub event_source: &'static str,
    /// Its name in the metric `running_managed_controllers`.
    pub metric: &'static str,
    /// Whether `*` includes it.
    pub default: Switch,
}

/// Initialises nodes and keeps their addresses and labels.
pub const CLOUD_NODE: Controller = Controller {
    name: "cloud-node-controller",
    alias: "cloud-node",
    historic: &[],
    client: "node-controller",
    event_source: "cloud-node-controller",
    metric: "cloud-node",
    default: Switch::On,
};

/// Taints nodes that are shut down and deletes those that are gone.
pub const CLOUD_NODE_LIFECYCLE: Controller = Controller {
    name: "cloud-node-lifecycle-controller",
    alias: "cloud-node-lifecycle",
    historic: &[],
    client: "node-controller",
    event_source: "cloud-node-lifecycle-controller",
    metric: "cloud-node-lifecycle",
    default: Switch::On,
};

/// Gives pod networks to nodes. Not included in `*`, because in clusters with another cloud controller manager this is
/// the work of kube-controller-manager, and two allocators would hand out the same ranges.
pub const NODE_IPAM: Controller = Controller {
    name: "node-ipam-controller",
    alias: "nodeipam",
    historic: &[],
    client: "node-controller",
    event_source: "cidrAllocator",
    metric: "nodeipam",
    default: Switch::Off,
};

/// Makes the cloud route pod networks to nodes.
pub const NODE_ROUTE: Controller = Controller {
    name: "node-route-controller",
    alias: "route",
    historic: &["route-controller"],
    client: "route-controller",
    event_source: "route_controller",
    metric: "route",
    default: Switch::On,
};

/// Makes load balancers for Services.
pub const SERVICE_LB: Controller = Controller {
    name: "service-lb-controller",
    alias: "service",
    historic: &["service-controller"],
    client: "service-controller",
    event_source: "service-controller",
    metric: "service",
    default: Switch::On,
};

/// Opens the ports of Services in the firewall in front of the nodes. It runs only where the provider is configured for it.
pub const NODE_FIREWALL: Controller = Controller {
    name: "do-firewall",
    alias: "node-firewall",
    historic: &[],
    client: "service-controller",
    event_source: "node-firewall",
    metric: "node-firewall",
    default: Switch::On,
};

/// All controllers, by name.
pub const CONTROLLERS: [Controller; 6] = [
    CLOUD_NODE,
    CLOUD_NODE_LIFECYCLE,
    NODE_FIREWALL,
    NODE_IPAM,
    NODE_ROUTE,
    SERVICE_LB,
];

/// The admission webhooks this program can serve. There are none: a provider may bring its own.
pub const WEBHOOKS: [&str; 0] = [];

/// What can be switched on and off by name in a list: `name`, `-name`, and `*` for all that are on by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names<'a> {
    /// What things are called in messages.
    pub what: &'a str,
    /// All names.
    pub known: Vec<&'a str>,
    /// Other names, each with the name it stands for.
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

/// The present name of a controller that a migration file may call by an alias or by the name of an older release.
pub fn canonical(name: &str) -> &str {
    let goes_by = |known: &&Controller| known.alias == name || known.historic.contains(&name);
    CONTROLLERS.iter().find(goes_by).map_or(name, |known| known.name)
}

impl Names<'_> {
    /// The list with aliases replaced by what they stand for.
    pub fn resolve(&self, list: &[String]) -> Vec<String> {
        let resolved = list.iter().map(|item| match item.strip_prefix('-') {
            Some(name) => format!("-{}", self.resolved(name)),
            None => self.resolved(item).to_owned(),
        });
        resolved.collect()
    }

    /// Whether the (resolved) list wants a thing: the first item that names it decides, then `*`.
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
        unknown.map(|name| self.refusal(name)).collect()
    }

    /// The help of a flag that takes such a list.
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

    fn refusal(&self, name: &str) -> String {
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
