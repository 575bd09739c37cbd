use super::*;
use cloud::Error;
use rstest::rstest;
use std::sync::{Mutex, PoisonError};

/// A cloud of servers that records its calls.
#[derive(Clone, Default)]
struct Cloud(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    servers: BTreeMap<String, String>,
    /// IDs that no list has.
    unlisted: BTreeSet<String>,
    broken_filter: bool,
    down: BTreeSet<&'static str>,
    calls: Vec<String>,
}

#[derive(Debug)]
struct Server {
    id: String,
    name: String,
}

impl Object for Server {
    fn id(&self) -> &str {
        &self.id
    }

    fn name(&self) -> &str {
        &self.name
    }
}

impl Cloud {
    /// `1=a 2=b`: IDs and names.
    fn of(servers: &str) -> Self {
        let cloud = Self::default();
        for (id, name) in servers.split_whitespace().filter_map(|word| word.split_once('=')) {
            cloud.add(id, name);
        }
        cloud
    }

    fn numbered(count: usize) -> Self {
        let cloud = Self::default();
        for number in 0..count {
            cloud.add(&number.to_string(), &format!("node-{number}"));
        }
        cloud
    }

    fn add(&self, id: &str, name: &str) {
        self.state().servers.insert(id.to_owned(), name.to_owned());
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The calls since the last time, by kind: `all, 2 id`.
    fn calls(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for call in self.state().calls.drain(..) {
            *counts.entry(call).or_default() += 1;
        }
        let texts: Vec<String> = counts.iter().map(|(call, count)| format!("{count} {call}")).collect();
        texts.join(", ")
    }

    fn call(&self, name: &'static str) -> Result<()> {
        let mut state = self.state();
        state.calls.push(name.to_owned());
        if state.down.contains(name) {
            Err(Error::unavailable(name, "down"))
        } else {
            Ok(())
        }
    }

    fn listed(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<Server> {
        let state = self.state();
        let listed = state.servers.iter().filter(|(id, _)| !state.unlisted.contains(*id));
        let wanted = listed.filter(|(_, name)| is_wanted(name));
        wanted.map(|(id, name)| server(id, name)).collect()
    }
}

fn server(id: &str, name: &str) -> Server {
    Server {
        id: id.to_owned(),
        name: name.to_owned(),
    }
}

#[async_trait]
impl Lookup for Cloud {
    type Object = Server;

    const KIND: &'static str = "server";
    const PAGE: usize = 1000;

    async fn by_id(&self, id: &str) -> Result<Option<Server>> {
        self.call("id")?;
        Ok(self.state().servers.get(id).map(|name| server(id, name)))
    }

    async fn by_name(&self, names: &[&str]) -> Result<Vec<Server>> {
        self.call("names")?;
        let broken = self.state().broken_filter && names.len() > 1;
        Ok(self.listed(|name| !broken && names.contains(&name)))
    }

    async fn all(&self) -> Result<Vec<Server>> {
        self.call("all")?;
        Ok(self.listed(|_| true))
    }

    fn groups<'a>(names: &'a BTreeSet<Cow<'a, str>>) -> Vec<Vec<&'a str>> {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        names.chunks(100).map(<[&str]>::to_vec).collect()
    }
}

/// `1:a` is known by ID, `b` by name.
fn keys(text: &str) -> Vec<Result<Key<'_>>> {
    let key = |word| match str::split_once(word, ':') {
        Some((id, name)) => Ok(Key::Id(id, name)),
        None if word == "?" => Err(Error::invalid("key", "wrong")),
        None => Ok(Key::Name(word)),
    };
    text.split_whitespace().map(key).collect()
}

async fn find(batch: &Batch<Server>, cloud: &Cloud, wanted: &str) -> String {
    let answers = batch.find(cloud, keys(wanted)).await;
    let texts = answers.into_iter().map(|answer| match answer {
        Ok(Some(server)) => server.id.clone(),
        Ok(None) => "missing".to_owned(),
        Err(error) => error.report(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

#[rstest]
#[case::nothing("", "", "")]
#[case::one_by_id("1:a", "1", "1 id")]
#[case::one_by_name("a", "1", "1 names")]
#[case::some("1:a b", "1 2", "1 names")]
#[case::one_object_twice("1:a a 1:a", "1 1 1", "1 names")]
#[case::one_is_missing("1:a 9:z", "1 missing", "1 id, 1 names")]
#[case::a_name_is_missing("a z", "1 missing", "2 names")]
#[case::only_a_missing_name("z", "missing", "1 names")]
#[case::a_wrong_key("? a", "invalid key: wrong 1", "1 names")]
#[case::only_wrong_keys("?", "invalid key: wrong", "")]
#[case::another_name_than_expected("1:x 2:b", "1 2", "1 id, 1 names")]
#[tokio::test]
async fn finds(#[case] wanted: &str, #[case] expected: &str, #[case] calls: &str) {
    let cloud = Cloud::of("1=a 2=b 3=c");
    assert_eq!(find(&Batch::default(), &cloud, wanted).await, expected);
    assert_eq!(cloud.calls(), calls);
}

#[rstest]
#[case::a_page_of_names(100, 0, "1 by name")]
#[case::more_than_a_page(101, 0, "all")]
#[case::a_big_cluster(1000, 1000, "all")]
#[case::few_of_many(250, 2500, "3 by name")]
#[case::most_of_many(400, 2500, "all")]
fn chooses_the_fewest_calls(#[case] nodes: usize, #[case] total: usize, #[case] expected: &str) {
    let names: Vec<String> = (0..nodes).map(|number| format!("node-{number:04}")).collect();
    let keys: Vec<Key<'_>> = names.iter().map(|name| Key::Name(name)).collect();
    let memory = Memory::default();
    memory.count(total);
    let wanted = Wanted::of(keys.iter(), &memory);
    let text = match wanted.calls::<Cloud>(&memory) {
        Calls::One => "one".to_owned(),
        Calls::Named(groups) => format!("{} by name", groups.len()),
        Calls::All => "all".to_owned(),
    };
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn batches_share_the_list_of_all() {
    let cloud = Cloud::numbered(300);
    let batch = Batch::default();
    let wanted: Vec<String> = (0..300).map(|number| format!("{number}:node-{number}")).collect();
    let batches = wanted.chunks(150).map(|some| some.join(" "));
    let finds = batches.map(|wanted| async { find(&batch, &cloud, &{ wanted }).await });
    for answers in futures::future::join_all(finds).await {
        assert!(!answers.contains("missing"), "{answers}");
    }
    assert_eq!(cloud.calls(), "1 all");
    cloud.add("300", "late");
    let late = format!("{} 300:late", wanted.join(" "));
    assert!(!find(&batch, &cloud, &late).await.contains("missing"));
    assert_eq!(
        cloud.calls(),
        "1 id",
        "an object that is newer than the list is read by itself"
    );
}

#[rstest]
#[case::by_id("1:a 2:b 7:x 8:y", "2 id, 1 names", "1 names")]
#[case::by_name("a b x y", "3 names", "1 names")]
#[tokio::test]
async fn a_missing_object_is_read_once(#[case] wanted: &str, #[case] first: &str, #[case] later: &str) {
    let (cloud, batch) = (Cloud::of("1=a 2=b 3=c"), Batch::default());
    for calls in [first, later, later] {
        assert_eq!(find(&batch, &cloud, wanted).await, "1 2 missing missing");
        assert_eq!(cloud.calls(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_missing_is_found_when_an_object_gets_it() {
    let (cloud, batch) = (Cloud::of("1=a"), Batch::default());
    assert_eq!(find(&batch, &cloud, "a z").await, "1 missing");
    cloud.add("9", "z");
    assert_eq!(find(&batch, &cloud, "a z").await, "1 9");
    tokio::time::advance(Duration::from_mins(5)).await;
    cloud.state().servers.remove("9");
    cloud.calls();
    assert_eq!(find(&batch, &cloud, "a z").await, "1 missing");
    assert_eq!(
        cloud.calls(),
        "2 names",
        "after a while the name itself is asked for again"
    );
}

#[tokio::test]
async fn another_name_is_learned() {
    let (cloud, batch) = (Cloud::of("1=a 2=b"), Batch::default());
    for calls in ["1 id, 1 names", "1 names"] {
        assert_eq!(find(&batch, &cloud, "1:renamed 2:b").await, "1 2");
        assert_eq!(cloud.calls(), calls);
    }
}

#[tokio::test]
async fn a_filter_that_finds_nothing_is_not_used_again() {
    let (cloud, batch) = (Cloud::of("1=a 2=b 3=c"), Batch::default());
    cloud.state().broken_filter = true;
    assert_eq!(find(&batch, &cloud, "1:a 2:b").await, "1 2");
    assert_eq!(cloud.calls(), "2 id, 1 names");
    assert_eq!(find(&batch, &cloud, "1:a 2:b").await, "1 2");
    assert_eq!(cloud.calls(), "1 all");
}

/// A list may omit a part of the cloud that is down.
#[tokio::test]
async fn an_object_that_no_list_has_is_not_missing() {
    let (cloud, batch) = (Cloud::numbered(200), Batch::default());
    cloud.state().unlisted.insert("7".to_owned());
    let wanted: Vec<String> = (0..200).map(|number| format!("{number}:node-{number}")).collect();
    assert!(!find(&batch, &cloud, &wanted.join(" ")).await.contains("missing"));
    assert_eq!(cloud.calls(), "1 all, 1 id");
}

#[rstest]
#[case::one("1:a", "id", "id is unavailable: down")]
#[case::a_list("1:a 2:b", "names", "names is unavailable: down names is unavailable: down")]
#[case::missing_objects("1:a 9:z", "id", "1 id is unavailable: down")]
#[case::with_a_wrong_key(
    "1:a b ?",
    "names",
    "names is unavailable: down names is unavailable: down invalid key: wrong"
)]
#[tokio::test]
async fn doubt_is_an_error(#[case] wanted: &str, #[case] down: &'static str, #[case] expected: &str) {
    let cloud = Cloud::of("1=a 2=b");
    cloud.state().down.insert(down);
    assert_eq!(find(&Batch::default(), &cloud, wanted).await, expected);
}

impl Describe for Cloud {
    fn id(provider_id: &ProviderId) -> Result<&str> {
        let id = provider_id.as_str().strip_prefix("cloud://");
        id.ok_or_else(|| Error::invalid("spec.providerID", "it is of another cloud"))
    }

    fn describe(server: &Server, _: cloud::Detail) -> Result<cloud::Instance> {
        match server.name.as_str() {
            "booting" => Err(Error::unusable("server", "it has no address")),
            _ => Ok(cloud::Instance {
                provider_id: ProviderId::parse(format!("cloud://{}", server.id)),
                ..cloud::Instance::default()
            }),
        }
    }
}

#[tokio::test]
async fn machines_are_described_one_answer_a_node() {
    let machines = Machines::new(Cloud::of("1=a 2=b 3=booting"));
    let node = |name: &str, id: &str| NodeRef::named(name).with_provider_id(format!("cloud://{id}"));
    let foreign = NodeRef::named("x").with_provider_id("other://1");
    let nodes = [
        node("a", "1"),
        NodeRef::named("b"),
        node("gone", "9"),
        node("booting", "3"),
        foreign,
    ];
    let answers = cloud::Instances::describe(&machines, &nodes, cloud::Detail::Full).await;
    let texts: Vec<String> = answers.iter().map(answer_text).collect();
    let expected = [
        "cloud://1",
        "cloud://2",
        "missing",
        "server cannot be used: it has no address",
        "invalid spec.providerID: it is of another cloud",
    ];
    assert_eq!(texts, expected);
}

fn answer_text(answer: &Result<cloud::Answer>) -> String {
    match answer {
        Ok(cloud::Answer::Found(instance)) => instance
            .provider_id
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default(),
        Ok(cloud::Answer::Missing) => "missing".to_owned(),
        Ok(other) => format!("{other:?}"),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn ids_of_hosts_are_in_their_provider_ids_or_looked_up() {
    let cloud = Cloud::of("1=a 2=b");
    let machines = Machines::new(cloud.clone());
    let host = |name: &str, id: Option<&str>| {
        Arc::new(cloud::Host {
            name: name.to_owned(),
            provider_id: id.and_then(ProviderId::parse),
            ..cloud::Host::default()
        })
    };
    let known = [host("a", Some("cloud://1"))];
    assert_eq!(
        (machines.ids(&known).await.unwrap(), cloud.calls()),
        (vec!["1".to_owned()], String::new())
    );
    let mixed = [host("a", Some("cloud://1")), host("b", None), host("gone", None)];
    assert_eq!(machines.ids(&mixed).await.unwrap(), ["1", "2"]);
    assert!(machines.ids(&[host("a", Some("other://1"))]).await.is_err());
}
