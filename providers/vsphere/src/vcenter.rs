//! One vCenter, and what was learned from it: how virtual machines are found in few calls.

use crate::{
    api::{Api, Scope, properties::Inventory, soap::Reference, tags::Names},
    instances::{BiosUuid, Machine},
};
use cloud::{Error, Result};
use provider_kit::{Fresh, concurrently};
use std::{
    collections::{BTreeSet, HashMap},
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// More machines than these are found by reading the UUIDs of all.
const MANY: usize = 20;

/// How long the list of datacenters is kept.
const DATACENTERS_LAST: Duration = Duration::from_mins(10);

/// How often a search is repeated because a machine was deleted in the middle of it.
const SEARCHES: usize = 3;

/// The machines with a UUID, in any byte order. More than one means that the UUID was cloned.
pub type Found = HashMap<BiosUuid, Vec<Machine>>;

/// One vCenter, and what was learned from it.
pub struct VCenter {
    /// Its APIs.
    pub api: Api,
    /// The names of tags.
    pub names: Names,
    /// Where machines were found.
    index: Mutex<HashMap<BiosUuid, Reference>>,
    scopes: Fresh<Vec<Scope>>,
}

impl VCenter {
    /// One of which nothing is known yet.
    pub fn new(api: Api) -> Self {
        Self {
            api,
            names: Names::default(),
            index: Mutex::default(),
            scopes: Fresh::new(DATACENTERS_LAST),
        }
    }

    /// Logs in, and checks that the configured datacenters exist.
    ///
    /// # Errors
    /// [`Error::Denied`] if the vCenter refuses the user, [`Error::Unusable`] if a datacenter does not exist.
    pub async fn check(&self) -> Result<()> {
        self.api.log_in().await?;
        self.scopes().await.map(drop)
    }

    /// Reads the machines that were found earlier: with one call, if there are any. Machines that moved or are gone are left out.
    ///
    /// # Errors
    /// If the vCenter does not answer.
    pub async fn known(&self, uuids: &BTreeSet<BiosUuid>, paths: &[&str]) -> Result<HashMap<BiosUuid, Machine>> {
        let known: Vec<(BiosUuid, Reference)> = {
            let index = self.index();
            let known = uuids.iter().filter_map(|uuid| Some((*uuid, index.get(uuid)?.clone())));
            known.collect()
        };
        if known.is_empty() {
            return Ok(HashMap::new());
        }
        let references: BTreeSet<Reference> = known.iter().map(|(_, reference)| reference.clone()).collect();
        let machines = match self.read(&references, paths).await {
            // It does not say well which one is gone.
            Err(Error::NotFound { .. }) => HashMap::new(),
            machines => machines?,
        };
        let mut found = HashMap::new();
        for (uuid, reference) in known {
            // An inaccessible machine has no UUID.
            let is_same = |machine: &&Machine| machine.uuid().is_none_or(|own| own.is_same(uuid));
            match machines.get(&reference).filter(is_same) {
                Some(machine) => drop(found.insert(uuid, machine.clone())),
                None => drop(self.index().remove(&uuid)),
            }
        }
        Ok(found)
    }

    /// Searches machines by their UUIDs. A UUID that is not in the answer has no machine in this vCenter.
    ///
    /// # Errors
    /// If any call fails: then nothing is known.
    pub async fn search(&self, uuids: &BTreeSet<BiosUuid>, paths: &[&str]) -> Result<Found> {
        for _ in 0..SEARCHES {
            match self.search_once(uuids, paths).await {
                // A machine was deleted after it was found.
                Err(Error::NotFound { .. }) => {}
                found => return found,
            }
        }
        Err(Error::unavailable(
            "search virtual machines",
            "machines are deleted faster than they are read",
        ))
    }

    async fn search_once(&self, uuids: &BTreeSet<BiosUuid>, paths: &[&str]) -> Result<Found> {
        let scopes = self.scopes().await?;
        let mut references = if uuids.len() > MANY {
            self.scan(&scopes, uuids).await?
        } else {
            HashMap::new()
        };
        // Only this search tells that a machine does not exist: a list may lack one that cannot be read.
        let lacking = uuids.iter().filter(|uuid| !references.contains_key(uuid));
        let searched = lacking.map(|uuid| async { (*uuid, self.by_uuid(&scopes, *uuid).await) });
        for (uuid, found) in concurrently(searched.collect::<Vec<_>>()).await {
            references.insert(uuid, found?);
        }
        let all: BTreeSet<Reference> = references.values().flatten().cloned().collect();
        let machines = self.read(&all, paths).await?;
        let mut found = Found::new();
        for (uuid, references) in references {
            let machines: Vec<Machine> = references
                .iter()
                .filter_map(|reference| machines.get(reference).cloned())
                .collect();
            if let [one] = &references[..] {
                self.index().insert(uuid, one.clone());
            }
            if !machines.is_empty() {
                found.insert(uuid, machines);
            }
        }
        Ok(found)
    }

    /// Searches machines by the host name of the guest or, if it is an address, by that.
    ///
    /// # Errors
    /// As [`VCenter::search`].
    pub async fn search_name(&self, name: &str, paths: &[&str]) -> Result<Vec<Machine>> {
        let mut references = BTreeSet::new();
        for scope in self.scopes().await? {
            let mut found = self
                .api
                .find_all_by_dns_name(&scope, name)
                .await
                .map_err(Error::of_batch)?;
            if found.is_empty() && name.parse::<IpAddr>().is_ok() {
                found = self.api.find_by_ip(&scope, name).await.map_err(Error::of_batch)?;
            }
            references.extend(found);
        }
        let machines = self.read(&references, paths).await.map_err(Error::of_batch)?;
        Ok(machines.into_values().collect())
    }

    /// All machines that have one of these UUIDs, as far as the lists show them.
    async fn scan(&self, scopes: &[Scope], uuids: &BTreeSet<BiosUuid>) -> Result<HashMap<BiosUuid, Vec<Reference>>> {
        let mut found: HashMap<BiosUuid, Vec<Reference>> = HashMap::new();
        for scope in scopes {
            for object in self.api.machines(scope, &["config.uuid"]).await? {
                let Some(own) = BiosUuid::parse(object.text("config.uuid")) else {
                    continue;
                };
                let wanted = [own, own.swapped()].into_iter().find(|uuid| uuids.contains(uuid));
                if let Some(uuid) = wanted {
                    found.entry(uuid).or_default().push(object.reference);
                }
            }
        }
        Ok(found)
    }

    /// Each byte order of the UUID, as given first.
    async fn by_uuid(&self, scopes: &[Scope], uuid: BiosUuid) -> Result<Vec<Reference>> {
        for uuid in [uuid, uuid.swapped()] {
            let uuid = uuid.to_string();
            let mut found = BTreeSet::new();
            for scope in scopes {
                found.extend(self.api.find_all_by_uuid(scope, &uuid).await.map_err(Error::of_batch)?);
            }
            if !found.is_empty() {
                return Ok(found.into_iter().collect());
            }
        }
        Ok(Vec::new())
    }

    /// Reads machines. One that is not in the answer cannot be read by this user: that is no word of its end.
    async fn read(&self, references: &BTreeSet<Reference>, paths: &[&str]) -> Result<HashMap<Reference, Machine>> {
        if references.is_empty() {
            return Ok(HashMap::new());
        }
        let references: Vec<Reference> = references.iter().cloned().collect();
        let objects = self.api.objects("VirtualMachine", &references, paths).await?;
        let machines = objects
            .into_iter()
            .map(|object| (object.reference.clone(), Machine::new(object)));
        let machines: HashMap<Reference, Machine> = machines.collect();
        match references.iter().find(|reference| !machines.contains_key(*reference)) {
            Some(lacking) => Err(Error::denied(
                "retrieve properties",
                format!("{lacking} was found, and its properties cannot be read"),
            )),
            None => Ok(machines),
        }
    }

    /// Where machines are searched: in the configured datacenters, or everywhere.
    async fn scopes(&self) -> Result<Vec<Scope>> {
        let wanted = &self.api.config.datacenters;
        if wanted.is_empty() {
            return Ok(vec![Scope::Everywhere]);
        }
        if let Some(scopes) = self.scopes.get() {
            return Ok(scopes);
        }
        let (datacenters, inventory) = self.api.datacenters().await.map_err(Error::of_batch)?;
        let paths: Vec<(Reference, String)> = datacenters
            .into_iter()
            .map(|datacenter| (datacenter.clone(), path(&inventory, &datacenter)))
            .collect();
        let mut scopes = Vec::new();
        for name in wanted {
            let matching = matching(&paths, name);
            if matching.is_empty() {
                let mut known: Vec<&str> = paths.iter().map(|(_, path)| path.as_str()).collect();
                known.sort_unstable();
                return Err(Error::unusable(
                    format!("vCenter {}", self.api.config.server),
                    format!(
                        "the datacenter {name:?} of the configuration does not exist, or the user lacks System.Read on it; it has {}",
                        if known.is_empty() {
                            "none".to_owned()
                        } else {
                            known.join(", ")
                        }
                    ),
                ));
            }
            scopes.extend(matching.into_iter().map(Scope::Datacenter));
        }
        self.scopes.set(Some(scopes.clone()));
        Ok(scopes)
    }

    fn index(&self) -> MutexGuard<'_, HashMap<BiosUuid, Reference>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The datacenters with this inventory path or, if there is none, this name.
fn matching(paths: &[(Reference, String)], name: &str) -> Vec<Reference> {
    let name = name.trim_matches('/');
    let of = |matches: &dyn Fn(&str) -> bool| {
        let found = paths.iter().filter(|(_, path)| matches(path));
        found.map(|(datacenter, _)| datacenter.clone()).collect::<Vec<_>>()
    };
    match of(&|path| path == name) {
        none if none.is_empty() => of(&|path| path.rsplit('/').next() == Some(name)),
        found => found,
    }
}

/// The names from the root of the inventory, which itself is left out.
fn path(inventory: &Inventory, datacenter: &Reference) -> String {
    let mut names = Vec::new();
    let mut at = Some(datacenter);
    while let Some((name, parent)) = at.and_then(|reference| inventory.get(reference)) {
        let is_root = parent.is_none();
        if is_root || names.len() > inventory.len() {
            break;
        }
        names.push(name.as_str());
        at = parent.as_ref();
    }
    names.reverse();
    names.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn reference(kind: &str, id: &str) -> Reference {
        Reference::new(kind, id)
    }

    /// Datacenters `DC0` and `east/DC1` and `west/DC1`.
    fn paths() -> Vec<(Reference, String)> {
        let folder = |id: &str| reference("Folder", id);
        let mut inventory = Inventory::from([(folder("root"), ("Datacenters".to_owned(), None))]);
        for name in ["east", "west"] {
            inventory.insert(folder(name), (name.to_owned(), Some(folder("root"))));
        }
        let datacenters = [("d0", "DC0", "root"), ("d1", "DC1", "east"), ("d2", "DC1", "west")];
        for (id, name, parent) in datacenters {
            inventory.insert(reference("Datacenter", id), (name.to_owned(), Some(folder(parent))));
        }
        let path = |(id, ..): (&str, &str, &str)| {
            let datacenter = reference("Datacenter", id);
            let path = path(&inventory, &datacenter);
            (datacenter, path)
        };
        datacenters.map(path).into()
    }

    #[rstest]
    #[case::name("DC0", "d0")]
    #[case::path("/east/DC1", "d1")]
    #[case::path_without_a_slash("west/DC1", "d2")]
    #[case::name_of_several("DC1", "d1 d2")]
    #[case::unknown("DC2", "")]
    #[case::names_are_exact("dc0", "")]
    fn datacenters(#[case] name: &str, #[case] expected: &str) {
        let found: Vec<String> = matching(&paths(), name).into_iter().map(|one| one.id).collect();
        assert_eq!(found.join(" "), expected);
    }
}
