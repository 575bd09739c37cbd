//! The engine on a cloud that is a few lines long: a load balancer has a version, a list of hosts, and a text in place of its settings.

mod many;

use super::*;
use cloud::{Host, Noted, Progress, ServiceRef};
use rstest::rstest;
use std::{
    fmt,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

#[derive(Debug, Clone, PartialEq)]
struct Balancer {
    id: String,
    version: u32,
    condition: Condition,
    settings: String,
    hosts: Vec<String>,
    ownership: Ownership,
    /// When the cloud completes what it is working on, if it does that by itself.
    ready_at: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq)]
enum Change {
    Settings(String),
    Hosts(Vec<String>),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settings(settings) => write!(f, "settings {settings}"),
            Self::Hosts(hosts) => write!(f, "hosts {}", hosts.join(" ")),
        }
    }
}

impl Step for Change {
    fn target(&self) -> Option<String> {
        matches!(self, Self::Hosts(_)).then(|| "hosts".to_owned())
    }
}

#[derive(Default)]
struct Fake {
    state: State<Balancer, Change>,
    balancers: Mutex<Vec<Balancer>>,
    calls: Mutex<Vec<String>>,
    speed: Speed,
    completion: Option<Completion>,
    /// How many load balancers are being created.
    in_flight: AtomicU32,
}

/// How fast the cloud is. By default it answers at once, and completes its work when the test wants it to.
#[derive(Default)]
struct Speed {
    /// How long the creation of a load balancer takes.
    latency: Duration,
    /// How much longer for every other one that is created at the same time.
    growing: Duration,
    /// How long a load balancer is busy then.
    provisioning: Option<Duration>,
}

const SETTINGS: &str = "example.com/settings";
const ID: &str = "example.com/id";

impl Fake {
    fn balancers(&self) -> MutexGuard<'_, Vec<Balancer>> {
        self.balancers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self, what: impl Into<String>) {
        self.calls.lock().unwrap().push(what.into());
    }

    /// The calls since the last call of this function.
    fn calls(&self) -> String {
        self.calls.lock().unwrap().split_off(0).join(", ")
    }

    fn find(&self, id: &str) -> Option<Balancer> {
        let mut found = self.balancers().iter().find(|balancer| balancer.id == id).cloned()?;
        if found.ready_at.is_some_and(|ready| ready <= Instant::now()) {
            found.condition = Condition::Ready;
        }
        Some(found)
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Balancer)) {
        let mut balancers = self.balancers();
        let balancer = balancers.iter_mut().find(|balancer| balancer.id == id).unwrap();
        balancer.version += 1;
        change(balancer);
    }

    fn add(&self, id: &str, ownership: Ownership) {
        self.balancers().push(Balancer {
            id: id.into(),
            version: 1,
            condition: Condition::Ready,
            settings: String::new(),
            hosts: Vec::new(),
            ownership,
            ready_at: None,
        });
    }

    /// The condition after a change.
    fn after(&self, busy: &'static str) -> Condition {
        match self.completion() {
            Completion::Later => Condition::Busy(busy),
            Completion::AtOnce => Condition::Ready,
        }
    }

    /// The cloud completes what it is working on.
    fn complete(&self) {
        self.balancers()
            .iter_mut()
            .for_each(|balancer| balancer.condition = Condition::Ready);
    }

    /// Calls until it is done, as the controller would; what is noted is written on the Service.
    async fn ensure(&self, spec: &mut Spec) -> Vec<cloud::Event> {
        for _ in 0..20 {
            let Noted { answer, notes } = ensure(self, spec).await.unwrap();
            write(spec, &notes);
            if let Progress::Done(status) = answer {
                spec.status = status;
                return notes.events;
            }
            self.complete();
        }
        panic!("never done")
    }
}

fn write(spec: &mut Spec, notes: &Notes) {
    for (key, value) in &notes.annotations {
        match value {
            Some(value) => spec.annotations.insert(key.clone(), value.clone()),
            None => spec.annotations.remove(key),
        };
    }
}

fn service(settings: &str, hosts: &[&str]) -> Spec {
    Spec {
        cluster: "c".into(),
        service: ServiceRef {
            namespace: "default".into(),
            name: "web".into(),
            uid: "u".into(),
        },
        annotations: [(SETTINGS.to_owned(), settings.to_owned())].into(),
        hosts: self::hosts(hosts),
        ..Spec::default()
    }
}

fn hosts(names: &[&str]) -> Arc<[Arc<Host>]> {
    let host = |name: &&str| {
        Arc::new(Host {
            name: (*name).to_owned(),
            ..Host::default()
        })
    };
    names.iter().map(host).collect()
}

/// The ID of the load balancer of a Service.
fn own(spec: &Spec) -> &str {
    spec.annotations.get(ID).map_or("own", String::as_str)
}

fn names(spec: &Spec) -> Vec<String> {
    spec.hosts.iter().map(|host| host.name.clone()).collect()
}

#[async_trait]
impl Cloud for Fake {
    type Settings = ();
    type Balancer = Balancer;
    type Observed = Balancer;
    type Desired = (String, Vec<String>);
    type Step = Change;

    fn state(&self) -> &State<Balancer, Change> {
        &self.state
    }

    fn completion(&self) -> Completion {
        self.completion.unwrap_or(Completion::Later)
    }

    async fn settings(&self, _: &Spec, _: Scope) -> Result<()> {
        Ok(())
    }

    fn digest(&self, request: &Request<'_, Self>) -> Digest {
        let hosts = request.spec.hosts.iter().map(Arc::as_ref);
        Digest::new(request.spec, |key| key == SETTINGS, hosts, &Fields::new())
    }

    fn name(&self, spec: &Spec) -> String {
        spec.service.name.clone()
    }

    async fn locate(&self, request: &Request<'_, Self>) -> Result<Option<Balancer>> {
        self.call("locate");
        Ok(self.find(own(request.spec)))
    }

    async fn get(&self, id: &str) -> Result<Option<Balancer>> {
        self.call(format!("get {id}"));
        Ok(self.find(id))
    }

    fn id<'a>(&self, balancer: &'a Balancer) -> &'a str {
        &balancer.id
    }

    fn version(&self, balancer: &Balancer) -> String {
        balancer.version.to_string()
    }

    fn condition(&self, balancer: &Balancer) -> Condition {
        balancer.condition
    }

    fn ownership(&self, _: &Request<'_, Self>, balancer: &Balancer) -> Ownership {
        balancer.ownership
    }

    async fn create(&self, request: &Request<'_, Self>) -> Result<Created, Halt> {
        self.call("create");
        let id = own(request.spec);
        if request.spec.annotations[SETTINGS] == "refused" {
            return Err(Error::unavailable("create", "refused").into());
        }
        let others = self.in_flight.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(self.speed.latency + self.speed.growing * others).await;
        self.in_flight.fetch_sub(1, Ordering::SeqCst);
        self.add(id, Ownership::Owner);
        self.change(id, |balancer| {
            balancer.ready_at = self.speed.provisioning.map(|time| Instant::now() + time);
            balancer.condition = self.after("to be created");
            balancer.settings.clone_from(&request.spec.annotations[SETTINGS]);
            balancer.hosts = names(request.spec);
        });
        Ok(Created {
            id: id.to_owned(),
            content: Content::Complete,
        })
    }

    async fn desired(&self, request: &Request<'_, Self>, _: &Balancer) -> Result<Self::Desired> {
        Ok((request.spec.annotations[SETTINGS].clone(), names(request.spec)))
    }

    async fn observe(&self, balancer: &Balancer) -> Result<Balancer, Halt> {
        self.call("observe");
        Ok(balancer.clone())
    }

    fn plan(&self, _: &Request<'_, Self>, observed: &Balancer, desired: &Self::Desired) -> Result<Vec<Change>> {
        let (settings, hosts) = desired;
        let mut steps = Vec::new();
        if observed.settings != *settings {
            steps.push(Change::Settings(settings.clone()));
        }
        if observed.hosts != *hosts {
            steps.push(Change::Hosts(hosts.clone()));
        }
        Ok(steps)
    }

    fn host_steps(
        &self,
        _: &Request<'_, Self>,
        desired: &Self::Desired,
        _: &BTreeMap<String, String>,
    ) -> Option<VecDeque<Change>> {
        Some([Change::Hosts(desired.1.clone())].into())
    }

    fn targets(&self, _: &Request<'_, Self>, _: &Balancer, _: Option<&Balancer>) -> BTreeMap<String, String> {
        [("80/TCP".to_owned(), "pool".to_owned())].into()
    }

    async fn apply(
        &self,
        _: &Request<'_, Self>,
        balancer: &Balancer,
        observed: Option<&Balancer>,
        step: &Change,
    ) -> Result<Applied<Balancer>, Halt> {
        self.call(step.to_string());
        self.change(&balancer.id, |balancer| {
            balancer.condition = self.after("to be updated");
            match step.clone() {
                // A cloud that accepts a change and does nothing.
                Change::Hosts(hosts) if hosts == ["deaf"] => {}
                Change::Hosts(hosts) => balancer.hosts = hosts,
                Change::Settings(settings) => balancer.settings = settings,
            }
        });
        let mut changed = observed.cloned();
        if let Some(changed) = &mut changed {
            match step.clone() {
                Change::Hosts(hosts) => changed.hosts = hosts,
                Change::Settings(settings) => changed.settings = settings,
            }
        }
        Ok(Applied::Changed(changed))
    }

    async fn finish(&self, _: &Request<'_, Self>, _: &Balancer, _: &mut Notes) -> Result<Finished, Halt> {
        Ok(Finished::default())
    }

    async fn delete(&self, _: &Request<'_, Self>, balancer: &Balancer) -> Result<(), Halt> {
        self.call(format!("delete {}", balancer.id));
        self.balancers().retain(|other| other.id != balancer.id);
        Ok(())
    }

    async fn detach(&self, _: &Request<'_, Self>, balancer: &Balancer, _: Use) -> Result<(), Halt> {
        self.call(format!("detach {}", balancer.id));
        Ok(())
    }

    async fn clean_up(&self, _: &Request<'_, Self>, _: Option<&Balancer>, _: &mut Notes) -> Result<(), Halt> {
        self.call("clean up");
        Ok(())
    }
}

#[tokio::test]
async fn creates_once_and_then_only_reads() {
    let (cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.ensure(&mut spec).await;
    assert_eq!(
        cloud.calls(),
        "locate, create, locate",
        "what was created complete is not read"
    );
    cloud.ensure(&mut spec).await;
    let restarted = Fake {
        balancers: Mutex::new(cloud.balancers().clone()),
        ..Fake::default()
    };
    restarted.ensure(&mut spec).await;
    assert_eq!((cloud.calls(), restarted.calls()), ("locate".into(), "locate".into()));
}

#[rstest]
#[case::hosts(|spec: &mut Spec| spec.hosts = hosts(&["a", "b"]), "locate, hosts a b, locate")]
#[case::settings(
    |spec: &mut Spec| { spec.annotations.insert(SETTINGS.into(), "y".into()); },
    "locate, observe, settings y, locate, observe"
)]
#[case::both(
    |spec: &mut Spec| {
        spec.annotations.insert(SETTINGS.into(), "y".into());
        spec.hosts = hosts(&["b"]);
    },
    "locate, observe, settings y, locate, hosts b, locate, observe"
)]
#[tokio::test]
async fn changes(#[case] change: fn(&mut Spec), #[case] calls: &str) {
    let (cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.ensure(&mut spec).await;
    cloud.calls();
    change(&mut spec);
    cloud.ensure(&mut spec).await;
    assert_eq!(cloud.calls(), calls);
    let balancer = cloud.find("own").unwrap();
    assert_eq!(
        (balancer.settings, balancer.hosts),
        (spec.annotations[SETTINGS].clone(), names(&spec))
    );
}

#[tokio::test]
async fn a_change_by_another_program_is_put_right() {
    let (cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.ensure(&mut spec).await;
    cloud.change("own", |balancer| balancer.settings = "theirs".into());
    cloud.calls();
    cloud.ensure(&mut spec).await;
    assert_eq!(cloud.calls(), "locate, observe, settings x, locate, observe");
}

#[tokio::test]
async fn a_change_without_effect_is_reported() {
    let (cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.ensure(&mut spec).await;
    spec.annotations.remove(record::ANNOTATION);
    spec.hosts = hosts(&["deaf"]);
    let mut result = ensure(&cloud, &spec).await;
    for _ in 0..10 {
        cloud.complete();
        result = ensure(&cloud, &spec).await;
        if result.is_err() {
            break;
        }
    }
    let error = result.unwrap_err().report();
    assert!(error.contains("accepted this change twice"), "{error}");
}

#[rstest]
#[case::own(Ownership::Owner, "locate, get own, delete own, locate, get own")]
#[case::of_another_service(Ownership::Guest, "locate, get own, detach own")]
#[tokio::test]
async fn releases_what_it_used_before(#[case] ownership: Ownership, #[case] calls: &str) {
    let (cloud, mut spec) = (Fake::default(), service("", &[]));
    cloud.add("own", ownership);
    cloud.add("new", Ownership::Guest);
    cloud.ensure(&mut spec).await;
    spec.annotations.insert(ID.into(), "new".into());
    cloud.calls();
    cloud.ensure(&mut spec).await;
    let made: Vec<_> = cloud.calls().split(", ").map(str::to_owned).collect();
    let made: Vec<_> = made.into_iter().filter(|call| call != "observe").collect();
    assert_eq!(made.join(", "), calls);
    assert_eq!(
        Record::of(&spec).map(|record| (record.id, record.previous)),
        Some(("new".into(), vec![]))
    );
}

#[tokio::test]
async fn deletes_everything_and_the_record() {
    let (cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.ensure(&mut spec).await;
    cloud.calls();
    let Noted { answer, .. } = delete(&cloud, &spec).await.unwrap();
    assert!(matches!(answer, Progress::Pending { .. }), "{answer:?}");
    let Noted { answer, notes } = delete(&cloud, &spec).await.unwrap();
    write(&mut spec, &notes);
    assert_eq!(answer, Progress::Done(()));
    assert_eq!(cloud.calls(), "locate, delete own, locate, clean up");
    assert!(!spec.annotations.contains_key(record::ANNOTATION));
}

#[tokio::test]
async fn synchronous_clouds_have_no_pending_calls() {
    let (mut cloud, mut spec) = (Fake::default(), service("x", &["a"]));
    cloud.completion = Some(Completion::AtOnce);
    let mut calls = Vec::new();
    for settings in ["x", "y", "y"] {
        spec.annotations.insert(SETTINGS.into(), settings.into());
        spec.hosts = if settings == "x" { hosts(&["a"]) } else { hosts(&["b"]) };
        let Noted { answer, notes } = ensure(&cloud, &spec).await.unwrap();
        write(&mut spec, &notes);
        assert_eq!(answer, Progress::Done(Status::default()));
        calls.push(cloud.calls());
    }
    assert_eq!(
        calls,
        [
            "locate, create, get own",
            "locate, observe, settings y, hosts b, get own",
            "locate"
        ]
    );
    assert_eq!(delete(&cloud, &spec).await.unwrap().answer, Progress::Done(()));
    assert_eq!(cloud.calls(), "locate, delete own, clean up");
}
