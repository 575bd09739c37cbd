//! Reads groups and ports, together for many Services.

use super::PREFIX;
use crate::api::{
    Session,
    neutron::{
        FILTER_VALUES,
        ports::{self, Port},
        security_groups::{self, SecurityGroup},
    },
};
use cloud::Result;
use provider_kit::list_cache::ListCache;
use std::{
    borrow::Borrow,
    collections::{BTreeSet, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How long the ports of a server are good for: a write to one that changed is noticed.
const LIFETIME: Duration = Duration::from_secs(15);

/// No list lives that long.
const REMEMBERED: Duration = Duration::from_mins(5);

/// What is remembered for a moment.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// All groups of ours, by name.
    groups: ListCache<HashMap<String, Vec<SecurityGroup>>>,
    /// The ports that carry them, by group.
    group_ports: ListCache<HashMap<String, Vec<Port>>>,
    /// The ports of servers, by server.
    ports: Mutex<HashMap<String, (Instant, Vec<Port>)>>,
    /// When we last changed a group, by name: an older list does not count.
    changed: Mutex<HashMap<String, Instant>>,
}

impl Lists {
    /// All groups of a name.
    pub(super) async fn named(&self, api: &Session, name: &str) -> Result<Vec<SecurityGroup>> {
        let session = api.clone();
        let read = || async move {
            let groups = ours(&session).await?.into_iter();
            Ok(sorted(groups.map(|group| (group.name.clone(), group))))
        };
        match self.groups.get_if_busy(name, self.last_change(name), read).await? {
            Some(groups) => Ok(groups.get(name).cloned().unwrap_or_default()),
            None => security_groups::security_groups(api, &[name]).await,
        }
    }

    /// The ports that carry a group.
    pub(super) async fn group_ports(&self, api: &Session, group: &SecurityGroup) -> Result<Vec<Port>> {
        let (session, groups) = (api.clone(), self.groups.fresh());
        let read = || async move {
            // A group that is not on a recent list is read by itself.
            let groups: Vec<String> = match groups {
                Some(groups) => groups.values().flatten().map(|group| group.id.clone()).collect(),
                None => ours(&session).await?.into_iter().map(|group| group.id).collect(),
            };
            let ports = listed(&session, "security_groups", &groups).await?;
            let carry = |id: &String| {
                let ports = ports.iter().filter(|port| port.security_groups.contains(id));
                (id.clone(), ports.cloned().collect::<Vec<Port>>())
            };
            Ok(groups.iter().map(carry).collect::<HashMap<_, _>>())
        };
        let list = self
            .group_ports
            .get_if_busy(&group.name, self.last_change(&group.name), read)
            .await?;
        match list.and_then(|group_ports| group_ports.get(&group.id).cloned()) {
            Some(ports) => Ok(ports),
            None => ports::ports(api, &[("security_groups", &group.id)]).await,
        }
    }

    /// The ports of these servers.
    pub(super) async fn ports(&self, api: &Session, servers: &BTreeSet<&str>) -> Result<Vec<Port>> {
        let missing: Vec<&str> = {
            let mut known = self.known_ports();
            known.retain(|_, (since, _)| since.elapsed() < LIFETIME);
            servers
                .iter()
                .copied()
                .filter(|server| !known.contains_key(*server))
                .collect()
        };
        let since = Instant::now();
        let mut found = sorted(
            listed(api, "device_id", &missing)
                .await?
                .into_iter()
                .map(|port| (port.device_id.clone(), port)),
        );
        let mut known = self.known_ports();
        for server in missing {
            let ports = found.remove(server).unwrap_or_default();
            known.insert(server.to_owned(), (since, ports));
        }
        let asked = servers.iter().filter_map(|server| known.get(*server));
        Ok(asked.flat_map(|(_, ports)| ports.clone()).collect())
    }

    /// We changed a group, or may have.
    pub(super) fn changed(&self, name: &str) {
        let mut changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.retain(|_, since| since.elapsed() < REMEMBERED);
        changed.insert(name.to_owned(), Instant::now());
    }

    fn last_change(&self, name: &str) -> Option<Instant> {
        let changed = self.changed.lock().unwrap_or_else(PoisonError::into_inner);
        changed.get(name).copied()
    }

    fn known_ports(&self) -> MutexGuard<'_, HashMap<String, (Instant, Vec<Port>)>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All groups of ours.
async fn ours(api: &Session) -> Result<Vec<SecurityGroup>> {
    let mut groups = security_groups::of_project(api).await?;
    groups.retain(|group| group.name.starts_with(PREFIX));
    Ok(groups)
}

/// Lists ports by many values of a filter; by none, there are none.
async fn listed(api: &Session, filter: &str, values: &[impl Borrow<str>]) -> Result<Vec<Port>> {
    let mut all = Vec::new();
    for some in values.chunks(FILTER_VALUES) {
        let filters: Vec<(&str, &str)> = some.iter().map(|value| (filter, value.borrow())).collect();
        all.extend(ports::ports(api, &filters).await?);
    }
    Ok(all)
}

fn sorted<V>(pairs: impl Iterator<Item = (String, V)>) -> HashMap<String, Vec<V>> {
    let mut sorted: HashMap<String, Vec<V>> = HashMap::new();
    for (key, value) in pairs {
        sorted.entry(key).or_default().push(value);
    }
    sorted
}
