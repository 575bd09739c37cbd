//! Which servers are asked for, and in how many calls. Pure.

use super::provider_id;
use crate::api::nova::Server;
use cloud::{Error, NodeRef, Result};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

/// How many names one expression holds: short enough for a URL, and for a database to compile.
pub const NAMES: usize = 100;

/// How many characters of names one expression holds.
const LENGTH: usize = 3000;

/// How many servers Nova gives in a page, unless its operator says otherwise.
const PAGE: usize = 1000;

/// How a node's server is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Key<'a> {
    /// By its ID.
    Id(&'a str),
    /// By the name that it has in common with the node.
    Name(&'a str),
}

impl<'a> Key<'a> {
    /// How the server behind this node is known in this region.
    pub fn of(node: &'a NodeRef, region: &str) -> Result<Self> {
        match &node.provider_id {
            Some(id) => provider_id::server_in(id, region).map(Self::Id),
            None => Ok(Self::Name(&node.name)),
        }
    }
}

/// In which calls to ask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Calls<'a> {
    /// One by its ID.
    Id(&'a str),
    /// One list for each of these expressions; nobody else is on it.
    Named(Vec<String>),
    /// All servers of the project.
    All,
}

impl Calls<'_> {
    /// Whether they ask for this name and for nothing else: then there is no need to ask again.
    pub fn is_only(&self, name: &str) -> bool {
        matches!(self, Self::Named(expressions) if *expressions == [only(name)])
    }
}

/// Decides in which calls to ask. `names` are those under which the servers are known; `servers` is how many the project
/// had, as far as that is known.
pub fn calls<'a>(keys: &BTreeSet<Key<'a>>, names: &BTreeSet<String>, servers: usize) -> Calls<'a> {
    if let [Key::Id(id)] = keys.iter().copied().collect::<Vec<_>>()[..] {
        return Calls::Id(id);
    }
    let expressions = expressions(names);
    let pages = servers.div_ceil(PAGE).max(1);
    if expressions.len() <= pages {
        Calls::Named(expressions)
    } else {
        Calls::All
    }
}

/// Regular expressions that match these names, and hardly any others.
fn expressions(names: &BTreeSet<String>) -> Vec<String> {
    let mut groups: Vec<Vec<String>> = Vec::new();
    let mut length = 0;
    for name in names {
        let quoted = quoted(name);
        length += quoted.len() + 3;
        match groups.last_mut() {
            Some(group) if group.len() < NAMES && length <= LENGTH => group.push(quoted),
            _ => {
                length = quoted.len() + 3;
                groups.push(vec![quoted]);
            }
        }
    }
    groups.iter().map(|group| expression(group)).collect()
}

/// One that matches any of these names. `(a)?(b)?` and not `(a|b)`, because Nova takes a `|` for that character.
fn expression(names: &[String]) -> String {
    match names {
        [name] => format!("^{name}$"),
        names => format!("^({})?$", names.join(")?(")),
    }
}

/// One that matches exactly this name.
pub fn only(name: &str) -> String {
    expression(&[quoted(name)])
}

/// The name with a backslash before everything that means something in an expression.
fn quoted(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len());
    for c in name.chars() {
        if r"\.+*?()|[]{}^$".contains(c) {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// What came back, to be looked up by key.
pub struct Found {
    servers: Vec<Arc<Server>>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, Vec<usize>>,
}

impl Found {
    /// Takes what came back.
    pub fn new(servers: Vec<Arc<Server>>) -> Self {
        let mut found = Self {
            servers: Vec::with_capacity(servers.len()),
            by_id: HashMap::new(),
            by_name: HashMap::new(),
        };
        for server in servers {
            found.insert(server);
        }
        found
    }

    /// Adds a server, unless it is there: a list that changes while it is read may give one twice.
    pub fn insert(&mut self, server: Arc<Server>) {
        if self.by_id.contains_key(&server.id) {
            return;
        }
        let index = self.servers.len();
        self.by_id.insert(server.id.clone(), index);
        // A node's name is its server's in lower case, and to most databases both are the same.
        self.by_name.entry(server.name.to_lowercase()).or_default().push(index);
        self.servers.push(server);
    }

    /// Whether the server with this ID came.
    pub fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    /// The server, if it came.
    pub fn get(&self, key: Key<'_>) -> Result<Option<&Arc<Server>>> {
        match key {
            Key::Id(id) => Ok(self.by_id.get(id).map(|&index| &self.servers[index])),
            Key::Name(name) => self.named(name),
        }
    }

    /// The only server of this name; one that has it to the letter counts more.
    fn named(&self, name: &str) -> Result<Option<&Arc<Server>>> {
        let all = self
            .by_name
            .get(&name.to_lowercase())
            .map(Vec::as_slice)
            .unwrap_or_default();
        let all: Vec<&Arc<Server>> = all.iter().map(|&index| &self.servers[index]).collect();
        let exact: Vec<&Arc<Server>> = all.iter().copied().filter(|server| server.name == name).collect();
        match (&exact[..], &all[..]) {
            ([one], _) | ([], [one]) => Ok(Some(one)),
            ([], []) => Ok(None),
            _ => {
                let ids: Vec<&str> = all.iter().map(|server| server.id.as_str()).collect();
                // Not the user's mistake in the Node: once one of them is gone, all is well.
                Err(Error::unusable(
                    format!("server {name:?}"),
                    format!("{} servers have this name: {}", ids.len(), ids.join(", ")),
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("node-{number:04}")).collect()
    }

    #[rstest]
    #[case::one_by_id(&["id a"], 0, "servers/a")]
    #[case::one_by_name(&["name a.b"], 0, r"^a\.b$")]
    #[case::two(&["id a", "name b"], 0, "^(a-name)?(b)?$")]
    fn few(#[case] keys: &[&str], #[case] servers: usize, #[case] expected: &str) {
        let keys: BTreeSet<Key<'_>> = keys
            .iter()
            .map(|key| match key.split_once(' ').unwrap() {
                ("id", id) => Key::Id(id),
                (_, name) => Key::Name(name),
            })
            .collect();
        let known: Vec<String> = keys
            .iter()
            .map(|key| match key {
                Key::Id(id) => format!("{id}-name"),
                Key::Name(name) => (*name).to_owned(),
            })
            .collect();
        let text = match calls(&keys, &known.into_iter().collect(), servers) {
            Calls::Id(id) => format!("servers/{id}"),
            Calls::Named(expressions) => expressions.join(" and "),
            Calls::All => "all".to_owned(),
        };
        assert_eq!(text, expected);
    }

    #[rstest]
    #[case::a_page_of_names(100, 0, "1 by name")]
    #[case::more_than_a_page(101, 0, "all")]
    #[case::a_big_cluster(1000, 1000, "all")]
    #[case::few_of_many(250, 2500, "3 by name")]
    #[case::most_of_many(400, 2500, "all")]
    fn many(#[case] nodes: usize, #[case] servers: usize, #[case] expected: &str) {
        let names = names(nodes);
        let keys = names.iter().map(|name| Key::Name(name)).collect();
        let text = match calls(&keys, &names.iter().cloned().collect(), servers) {
            Calls::Id(id) => format!("servers/{id}"),
            Calls::Named(expressions) => format!("{} by name", expressions.len()),
            Calls::All => "all".to_owned(),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn long_names_make_more_expressions() {
        let names: Vec<String> = (0..60).map(|number| format!("{number}{}", "x".repeat(98))).collect();
        let expressions = expressions(&names.into_iter().collect());
        assert_eq!(expressions.len(), 3);
        assert!(expressions.iter().all(|expression| expression.len() < LENGTH + 10));
    }

    fn server(id: &str, name: &str) -> Arc<Server> {
        Arc::new(Server {
            id: id.to_owned(),
            name: name.to_owned(),
            ..Server::default()
        })
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
        ];
        let mut servers: Vec<Arc<Server>> = servers.into_iter().map(|(id, name)| server(id, name)).collect();
        servers.push(server("1", "a"));
        let found = Found::new(servers);
        let text = match found.get(Key::Name(name)) {
            Ok(server) => server.map_or("none".to_owned(), |server| server.id.clone()),
            Err(error) => error.report(),
        };
        assert_eq!(text, expected, "{what}");
    }
}
