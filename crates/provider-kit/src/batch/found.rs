//! The objects that the calls of a batch returned, by key.

use super::{Key, Memory, Object, Wanted};
use cloud::{Error, Result};
use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

pub(super) struct Found<O> {
    kind: &'static str,
    by_id: HashMap<String, Arc<O>>,
    /// By the name in lower case: a node's name is its instance's in lower case, and to most databases both are the same.
    by_name: HashMap<String, Vec<Arc<O>>>,
    /// Why objects could not be read, by ID and by name.
    failed_ids: HashMap<String, Error>,
    failed_names: HashMap<String, Error>,
}

impl<O: Object> Found<O> {
    pub(super) fn new(kind: &'static str, objects: Vec<Arc<O>>) -> Self {
        let mut found = Self {
            kind,
            by_id: HashMap::new(),
            by_name: HashMap::new(),
            failed_ids: HashMap::new(),
            failed_names: HashMap::new(),
        };
        for object in objects {
            found.insert(object);
        }
        found
    }

    /// Adds an object once for each of its names: a list that changes while it is read may have one twice.
    pub(super) fn insert(&mut self, object: Arc<O>) {
        let named = self.by_name.entry(object.name().to_lowercase()).or_default();
        if !named.iter().any(|known| known.id() == object.id()) {
            named.push(Arc::clone(&object));
        }
        self.by_id.insert(object.id().to_owned(), object);
    }

    pub(super) fn fail(&mut self, key: Key<'_>, error: Error) {
        let error = error.of_batch();
        match key {
            Key::Id(id, _) => self.failed_ids.insert(id.to_owned(), error),
            Key::Name(name) => self.failed_names.insert(name.to_owned(), error),
        };
    }

    /// Whether an object has one of these names to the letter.
    pub(super) fn has_any_of(&self, names: &BTreeSet<Cow<'_, str>>) -> bool {
        self.by_id.values().any(|object| names.contains(object.name()))
    }

    /// Remembers the names of objects whose keys have another one.
    pub(super) fn learn_names(&self, wanted: &Wanted<'_>, memory: &Memory) {
        for (id, probable) in &wanted.ids {
            if let Some(object) = self.by_id.get(*id) {
                memory.learn_name(id, object.name(), probable);
            }
        }
    }

    /// The object, or `None` if the cloud itself answers that it does not exist.
    pub(super) fn get(&self, key: Key<'_>) -> Result<Option<Arc<O>>> {
        let failed = match key {
            Key::Id(id, _) => self.failed_ids.get(id),
            Key::Name(name) => self.failed_names.get(name),
        };
        match (failed, key) {
            (Some(error), _) => Err(error.clone()),
            (None, Key::Id(id, _)) => Ok(self.by_id.get(id).cloned()),
            (None, Key::Name(name)) => self.named(name),
        }
    }

    /// The only object of this name; one that has it to the letter counts more.
    fn named(&self, name: &str) -> Result<Option<Arc<O>>> {
        let all = self.by_name.get(&name.to_lowercase()).map_or(&[][..], Vec::as_slice);
        let exact: Vec<&Arc<O>> = all.iter().filter(|object| object.name() == name).collect();
        match (&exact[..], all) {
            ([one], _) => Ok(Some(Arc::clone(one))),
            ([], [one]) => Ok(Some(Arc::clone(one))),
            ([], []) => Ok(None),
            _ => {
                let ids: Vec<&str> = all.iter().map(|object| object.id()).collect();
                // Not a mistake in the Node: it resolves once one of the objects is deleted.
                Err(Error::unusable(
                    format!("{} {name:?}", self.kind),
                    format!("{} {}s have this name: {}", ids.len(), self.kind, ids.join(", ")),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    struct Server(&'static str, &'static str);

    impl Object for Server {
        fn id(&self) -> &str {
            self.0
        }

        fn name(&self) -> &str {
            self.1
        }
    }

    // upstream: openstack 16
    #[rstest]
    #[case("one server of that name", "a", "1")]
    #[case("no server of that name", "z", "none")]
    #[case(
        "two servers of that name",
        "b",
        "server \"b\" cannot be used: 2 servers have this name: 2, 3"
    )]
    #[case("a server whose name has capitals", "master", "4")]
    #[case("one of two to the letter", "worker", "6")]
    fn by_name(#[case] what: &str, #[case] name: &str, #[case] expected: &str) {
        let servers = [
            ("1", "a"),
            ("2", "b"),
            ("3", "b"),
            ("4", "Master"),
            ("5", "Worker"),
            ("6", "worker"),
            ("1", "a"),
        ];
        let found = Found::new("server", servers.map(|(id, name)| Arc::new(Server(id, name))).to_vec());
        let text = match found.get(Key::Name(name)) {
            Ok(server) => server.map_or("none".to_owned(), |server| server.0.to_owned()),
            Err(error) => error.report(),
        };
        assert_eq!(text, expected, "{what}");
    }
}
