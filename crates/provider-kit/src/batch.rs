//! Finds many cloud objects in few calls, and never reports an object as missing unless the cloud itself does.
//!
//! [`Batch::find`] gets one object by its ID, several by their names in one list, and many from the list of all. An object
//! that a list does not have is then read by itself: it may have another name by now, the filter may mean something else to
//! this cloud, or a list may omit a part of the cloud that is down. What does not exist is remembered, so that it is read once.

mod found;
mod machines;
mod memory;
#[cfg(test)]
mod tests;

use crate::{concurrently, list_cache::ListCache};
use async_trait::async_trait;
use cloud::{NodeRef, ProviderId, Result};
use found::Found;
pub use machines::{Describe, Machines};
use memory::Memory;
use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

/// How long the list of all objects serves other callers: controllers describe a big cluster in several batches. Then it is
/// dropped, because a thousand objects are a megabyte and the next caller may come in five minutes.
const LIFETIME: Duration = Duration::from_secs(2);

/// An object with an ID that is never given twice, and a name that several objects may have.
pub trait Object: Send + Sync + 'static {
    /// Its ID.
    fn id(&self) -> &str;

    /// Its name.
    fn name(&self) -> &str;
}

/// The calls of a cloud that read objects of one kind. Clones share what they know.
#[async_trait]
pub trait Lookup: Clone + Send + Sync + 'static {
    /// What is read.
    type Object: Object;

    /// What the objects are called in messages, like `server`.
    const KIND: &'static str;

    /// How many objects a page of the list of all objects has.
    const PAGE: usize;

    /// Reads one object. `None` is the cloud's own answer that it does not exist; any doubt is an error.
    async fn by_id(&self, id: &str) -> Result<Option<Self::Object>>;

    /// Lists the objects that have any of these names, with one call and its pages. Other objects may be among them.
    async fn by_name(&self, names: &[&str]) -> Result<Vec<Self::Object>>;

    /// Lists all objects.
    async fn all(&self) -> Result<Vec<Self::Object>>;

    /// Sorts names into groups that one [`Lookup::by_name`] can serve. By default each name is a call of its own.
    fn groups<'a>(names: &'a BTreeSet<Cow<'a, str>>) -> Vec<Vec<&'a str>> {
        names.iter().map(|name| vec![&**name]).collect()
    }
}

/// How an object is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key<'a> {
    /// By its ID. The name is the one that it probably has.
    Id(&'a str, &'a str),
    /// By its name.
    Name(&'a str),
}

impl<'a> Key<'a> {
    /// How the instance behind a node is known: by the ID that `id` finds in its provider ID, or else by the name of the node.
    ///
    /// # Errors
    /// As `id`.
    pub fn of(node: &'a NodeRef, id: impl FnOnce(&'a ProviderId) -> Result<&'a str>) -> Result<Self> {
        match &node.provider_id {
            Some(provider_id) => Ok(Self::Id(id(provider_id)?, &node.name)),
            None => Ok(Self::Name(&node.name)),
        }
    }
}

/// Finds objects, and remembers what it learned about them.
pub struct Batch<O: Object> {
    list: ListCache<Vec<Arc<O>>>,
    memory: Memory,
}

/// Which calls find the objects.
#[derive(Debug, PartialEq, Eq)]
enum Calls<'a> {
    /// One object by its ID.
    One,
    /// One list for each group of names.
    Named(Vec<Vec<&'a str>>),
    /// The list of all objects.
    All,
}

impl<O: Object> Default for Batch<O> {
    fn default() -> Self {
        Self {
            list: ListCache::new(LIFETIME),
            memory: Memory::default(),
        }
    }
}

impl<O: Object> Batch<O> {
    /// Finds the objects of these keys, and answers in their order. `None` is the cloud's own answer that an object does not
    /// exist. An error instead of a key is its own answer.
    ///
    /// # Errors
    /// Each answer has its own. If a list cannot be read to its end, nothing is known about any object.
    pub async fn find<L: Lookup<Object = O>>(
        &self,
        lookup: &L,
        keys: Vec<Result<Key<'_>>>,
    ) -> Vec<Result<Option<Arc<O>>>> {
        let wanted = Wanted::of(keys.iter().flatten(), &self.memory);
        match self.read(lookup, &wanted).await {
            Ok(found) => keys.into_iter().map(|key| found.get(key?)).collect(),
            Err(error) => {
                let error = error.of_batch();
                keys.into_iter()
                    .map(|key| key.and_then(|_| Err(error.clone())))
                    .collect()
            }
        }
    }

    async fn read<L: Lookup<Object = O>>(&self, lookup: &L, wanted: &Wanted<'_>) -> Result<Found<O>> {
        if wanted.is_empty() {
            return Ok(Found::new(L::KIND, Vec::new()));
        }
        let calls = wanted.calls::<L>(&self.memory);
        let mut found = Found::new(L::KIND, self.list(lookup, &calls).await?);
        if let Calls::Named(_) = calls
            && wanted.likely.len() > 1
            && found.has_any_of(&wanted.likely)
        {
            self.memory.name_filter_works();
        }
        let late = self.confirm(lookup, wanted, &calls, &mut found).await;
        // The list should have an object of the requested name.
        if let Calls::Named(_) = calls
            && late.iter().any(|name| wanted.likely.contains(name.as_str()))
        {
            self.memory.name_filter_is_broken();
        }
        Ok(found)
    }

    async fn list<L: Lookup<Object = O>>(&self, lookup: &L, calls: &Calls<'_>) -> Result<Vec<Arc<O>>> {
        match calls {
            // It is read below, like each object that a list does not have.
            Calls::One => Ok(Vec::new()),
            Calls::Named(groups) => {
                let lists = concurrently(groups.iter().map(|names| lookup.by_name(names))).await;
                let lists: Result<Vec<Vec<O>>> = lists.into_iter().collect();
                Ok(lists?.into_iter().flatten().map(Arc::new).collect())
            }
            Calls::All => {
                let lookup = lookup.clone();
                let read = || async move { Ok(lookup.all().await?.into_iter().map(Arc::new).collect()) };
                let all: Arc<Vec<Arc<O>>> = self.list.get(None, read).await?;
                self.memory.count(all.len());
                Ok(all.to_vec())
            }
        }
    }

    /// Reads one by one what the lists do not have, unless the cloud answered recently that it does not exist. Returns the names of
    /// those that exist after all.
    async fn confirm<L: Lookup<Object = O>>(
        &self,
        lookup: &L,
        wanted: &Wanted<'_>,
        calls: &Calls<'_>,
        found: &mut Found<O>,
    ) -> Vec<String> {
        let absent = self.absent(wanted, calls, found);
        self.memory.forget_old_names();
        let reads = absent
            .into_iter()
            .map(|key| async move { (key, one(lookup, key).await) });
        let mut late = Vec::new();
        for (key, answer) in concurrently(reads).await {
            match answer {
                Ok(objects) => {
                    if objects.is_empty() {
                        self.memory.learn_missing(key);
                    }
                    for object in objects {
                        late.push(object.name().to_owned());
                        found.insert(Arc::new(object));
                    }
                }
                Err(error) => found.fail(key, error),
            }
        }
        found.learn_names(wanted, &self.memory);
        late
    }

    fn absent<'a>(&self, wanted: &Wanted<'a>, calls: &Calls<'_>, found: &Found<O>) -> Vec<Key<'a>> {
        let ids = wanted.ids.iter().map(|(&id, &name)| Key::Id(id, name));
        let names = wanted.names.iter().map(|&name| Key::Name(name));
        let is_absent = |key: &Key<'_>| matches!(found.get(*key), Ok(None)) && !self.is_known_missing(*key, calls);
        ids.chain(names).filter(is_absent).collect()
    }

    /// Whether there is no need to read it again. An ID is never given to another object. A name is, but then a list that can
    /// be trusted has the object.
    fn is_known_missing(&self, key: Key<'_>, calls: &Calls<'_>) -> bool {
        match (key, calls) {
            (Key::Id(..), Calls::One) => false,
            (Key::Id(id, _), _) => self.memory.is_deleted(id),
            (Key::Name(name), Calls::Named(groups)) if *groups == [[name]] => true,
            (Key::Name(name), Calls::Named(_)) => self.memory.can_filter_by_name() && self.memory.is_unused(name),
            (Key::Name(name), _) => self.memory.is_unused(name),
        }
    }
}

async fn one<L: Lookup>(lookup: &L, key: Key<'_>) -> Result<Vec<L::Object>> {
    match key {
        Key::Id(id, _) => Ok(lookup.by_id(id).await?.into_iter().collect()),
        Key::Name(name) => lookup.by_name(&[name]).await,
    }
}

/// What is to be found, each object once.
struct Wanted<'a> {
    /// The probable names by ID.
    ids: BTreeMap<&'a str, &'a str>,
    names: BTreeSet<&'a str>,
    /// All names that the objects probably have.
    likely: BTreeSet<Cow<'a, str>>,
}

impl<'a> Wanted<'a> {
    fn of<'k>(keys: impl Iterator<Item = &'k Key<'a>>, memory: &Memory) -> Self
    where
        'a: 'k,
    {
        let mut wanted = Self {
            ids: BTreeMap::new(),
            names: BTreeSet::new(),
            likely: BTreeSet::new(),
        };
        for key in keys {
            match *key {
                Key::Id(id, name) => drop(wanted.ids.insert(id, name)),
                Key::Name(name) => drop(wanted.names.insert(name)),
            }
        }
        let of_id = |(&id, &name): (&&str, &&'a str)| memory.name_of(id).map_or(Cow::Borrowed(name), Cow::Owned);
        wanted.likely = wanted.ids.iter().map(of_id).collect();
        wanted
            .likely
            .extend(wanted.names.iter().map(|&name| Cow::Borrowed(name)));
        wanted
    }

    fn is_empty(&self) -> bool {
        self.ids.is_empty() && self.names.is_empty()
    }

    /// The fewest calls, as far as that is known.
    fn calls<L: Lookup>(&self, memory: &Memory) -> Calls<'_> {
        match (self.ids.len(), self.names.len()) {
            (1, 0) => return Calls::One,
            (ids, names) if ids + names > 1 && memory.cannot_filter_by_name() => return Calls::All,
            _ => {}
        }
        let groups = L::groups(&self.likely);
        let pages = memory.total().div_ceil(L::PAGE).max(1);
        if groups.len() <= pages {
            Calls::Named(groups)
        } else {
            Calls::All
        }
    }
}
