//! What this process remembers of load balancers, so that it neither reads twice nor tries the same in vain. All of it may
//! be lost at any time: the cloud and the Service's annotations tell the truth.

use super::{
    seal::{Digest, version},
    step::Step,
    tree::Tree,
};
use crate::api::octavia::{LoadBalancer, Pool};
use cloud::Spec;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Octavia says at once whether it took a change, and seldom needs less than this to make it.
const FIRST_POLL: Duration = Duration::from_secs(1);

/// Nobody waits longer than this for news,
const LAST_POLL: Duration = Duration::from_secs(5);

/// unless it takes so long that something must be wrong.
const STUCK: Duration = Duration::from_mins(15);
const SLOW_POLL: Duration = Duration::from_secs(30);

/// How long a load balancer that could not be made is not tried again, the first time and at most.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LAST_RETRY: Duration = Duration::from_mins(5);

/// A load balancer that was failed over and is broken again needs a human being.
const FAIL_OVER_AGAIN: Duration = Duration::from_hours(24);

/// What this process remembers.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By load balancer.
    known: HashMap<String, Known>,
    /// Load balancers that somebody is changing right now.
    claimed: HashSet<String>,
    /// By name: how often in a row a load balancer could not be made, and when last.
    failed: HashMap<String, (u32, Instant)>,
    /// Certificates that exist.
    certificates: HashSet<String>,
    /// Pools and the algorithms that Octavia refused for them, with what it said.
    refused: HashMap<(String, String), String>,
    /// Pools and the algorithms that were in conflict with something once.
    conflicts: HashSet<(String, String)>,
    /// By pool and member: the last change of members, how often it was made in a row, and when last.
    tried: HashMap<(String, String), (Step, u32, Instant)>,
    /// Services that have no security group any more.
    groupless: HashSet<String>,
    /// By cluster and UID of the Service: the load balancer that is being made for it.
    making: HashMap<(String, String), String>,
    /// By cluster and UID of the Service: until when one may still come to be whose creation was not answered.
    unanswered: HashMap<(String, String), Instant>,
    /// By cluster and UID of the Service: those that cannot have the address again that they had.
    readdressed: HashSet<(String, String)>,
    /// By cluster and UID of the Service: those whose load balancer we have deleted.
    deleted: HashSet<(String, String)>,
}

#[derive(Debug, Default)]
struct Known {
    /// What is on it, and how it is known.
    tree: Option<(Basis, Arc<Tree>)>,
    /// Since when it is not ready.
    pending: Option<Instant>,
    /// What was read before this may not be true any more.
    changed: Option<Instant>,
    /// When it was failed over.
    failed_over: Option<Instant>,
    /// It was made as a whole, for this wish.
    made_for: Option<Digest>,
}

/// How a tree is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Basis {
    /// It was read when the load balancer was of this version.
    Read(String),
    /// It was read, and then we changed it.
    Assumed,
}

impl Memory {
    /// What is on a load balancer, if it is the one that we knew.
    pub fn tree(&self, balancer: &LoadBalancer) -> Option<(Basis, Arc<Tree>)> {
        let state = self.state();
        let (basis, tree) = state.known.get(&balancer.id)?.tree.as_ref()?;
        let holds = match basis {
            Basis::Read(read) => *read == version(balancer),
            Basis::Assumed => true,
        };
        holds.then(|| (basis.clone(), Arc::clone(tree)))
    }

    /// This was read.
    pub fn read(&self, tree: Arc<Tree>) {
        let basis = Basis::Read(version(&tree.balancer));
        self.known(tree.balancer.id.clone(), |known| known.tree = Some((basis, tree)));
    }

    /// We changed it, and it should be this now.
    pub fn changed(&self, tree: Arc<Tree>) {
        self.known(tree.balancer.id.clone(), |known| {
            known.tree = Some((Basis::Assumed, tree));
            known.changed = Some(Instant::now());
        });
    }

    /// What was known is doubtful.
    pub fn doubt(&self, id: &str) {
        self.known(id.to_owned(), |known| {
            known.tree = None;
            known.changed = Some(Instant::now());
        });
    }

    /// It is being made as a whole, for this wish.
    pub fn made_for(&self, id: &str, digest: Digest) {
        self.known(id.to_owned(), |known| {
            known.made_for = Some(digest);
            known.changed = Some(Instant::now());
        });
    }

    /// Whether it was made for this wish and nothing has happened since; says so once.
    pub fn is_made_for(&self, id: &str, digest: Digest) -> bool {
        self.known(id.to_owned(), |known| known.made_for.take() == Some(digest))
    }

    /// Something that leads to it was changed.
    pub fn touched(&self, id: &str) {
        self.known(id.to_owned(), |known| known.changed = Some(Instant::now()));
    }

    /// It is gone.
    pub fn forget(&self, id: &str) {
        self.state().known.remove(id);
    }

    /// A list that is older than this does not tell the truth about a load balancer.
    pub fn changed_at(&self, id: &str) -> Option<Instant> {
        self.state().known.get(id)?.changed
    }

    /// It is not ready: when to look again. Soon at first, then less and less often.
    pub fn poll(&self, id: &str) -> Duration {
        let now = Instant::now();
        self.known(id.to_owned(), |known| {
            known.changed = Some(now);
            let since = *known.pending.get_or_insert(now);
            match now.duration_since(since) {
                age if age > STUCK => SLOW_POLL,
                age => (age / 5).clamp(FIRST_POLL, LAST_POLL),
            }
        })
    }

    /// Whether it is not ready for so long that something must be wrong.
    pub fn is_stuck(&self, id: &str) -> bool {
        let state = self.state();
        let since = state.known.get(id).and_then(|known| known.pending);
        since.is_some_and(|since| since.elapsed() > STUCK)
    }

    /// It is ready.
    pub fn ready(&self, id: &str) {
        if let Some(known) = self.state().known.get_mut(id) {
            known.pending = None;
        }
    }

    /// Keeps others from changing it at the same time; `None` if somebody does.
    pub fn claim(&self, id: &str) -> Option<Claim<'_>> {
        let free = self.state().claimed.insert(id.to_owned());
        free.then(|| Claim {
            memory: self,
            id: id.to_owned(),
        })
    }

    /// Whether it may be failed over; asked once a day.
    pub fn may_fail_over(&self, id: &str) -> bool {
        let now = Instant::now();
        self.known(id.to_owned(), |known| {
            let may = known
                .failed_over
                .is_none_or(|when| now.duration_since(when) > FAIL_OVER_AGAIN);
            if may {
                known.failed_over = Some(now);
            }
            may
        })
    }

    /// It was not failed over after all, for a reason that may pass: it may be tried again.
    pub fn not_failed_over(&self, id: &str) {
        self.known(id.to_owned(), |known| known.failed_over = None);
    }

    /// The load balancer of this name could not be made.
    pub fn failed(&self, name: &str) {
        let mut state = self.state();
        let failed = state.failed.entry(name.to_owned()).or_insert((0, Instant::now()));
        *failed = (failed.0 + 1, Instant::now());
    }

    /// The load balancer of this name was made.
    pub fn succeeded(&self, name: &str) {
        self.state().failed.remove(name);
    }

    /// How often the load balancer of this name could not be made, if it is too early to try again.
    pub fn too_early(&self, name: &str) -> Option<u32> {
        let state = self.state();
        let (times, last) = state.failed.get(name)?;
        let wait = FIRST_RETRY
            .saturating_mul(2_u32.saturating_pow(times.saturating_sub(1)))
            .min(LAST_RETRY);
        (last.elapsed() < wait).then_some(*times)
    }

    /// This load balancer is being made for what this Service of this cluster asks for.
    pub fn making(&self, spec: &Spec, id: &str) {
        let mut state = self.state();
        state.deleted.remove(&maker(spec));
        state.readdressed.remove(&maker(spec));
        state.making.insert(maker(spec), id.to_owned());
    }

    /// This Service cannot have the address again that it had.
    pub fn lost_address(&self, spec: &Spec) {
        self.state().readdressed.insert(maker(spec));
    }

    /// Whether this Service cannot have the address again that it had.
    pub fn has_lost_address(&self, spec: &Spec) -> bool {
        self.state().readdressed.contains(&maker(spec))
    }

    /// The load balancer that is being made for this Service of this cluster.
    pub fn made(&self, spec: &Spec) -> Option<String> {
        self.state().making.get(&maker(spec)).cloned()
    }

    /// This Service of this cluster has left this load balancer.
    pub fn left(&self, spec: &Spec, id: &str) {
        let mut state = self.state();
        if state.making.get(&maker(spec)).is_some_and(|made| made == id) {
            state.making.remove(&maker(spec));
        }
    }

    /// The creation of a load balancer for this Service was not answered within this time: the cloud may be at it for as long
    /// again.
    pub fn unanswered(&self, spec: &Spec, waited: Duration) {
        self.state().unanswered.insert(maker(spec), Instant::now() + waited);
    }

    /// How long one may still come to be whose creation was not answered.
    pub fn may_come(&self, spec: &Spec) -> Option<Duration> {
        let state = self.state();
        let left = state.unanswered.get(&maker(spec))?.duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// The load balancer of this Service has come to be.
    pub fn came(&self, spec: &Spec) {
        self.state().unanswered.remove(&maker(spec));
    }

    /// We have deleted the load balancer of this Service.
    pub fn deleted(&self, spec: &Spec) {
        self.state().deleted.insert(maker(spec));
    }

    /// Whether it is we who have deleted the load balancer of this Service.
    pub fn is_deleted(&self, spec: &Spec) -> bool {
        self.state().deleted.contains(&maker(spec))
    }

    /// Whether this certificate was seen before.
    pub fn has_certificate(&self, reference: &str) -> bool {
        self.state().certificates.contains(reference)
    }

    /// This certificate exists.
    pub fn saw_certificate(&self, reference: &str) {
        self.state().certificates.insert(reference.to_owned());
    }

    /// What Octavia said when it refused this algorithm for this pool.
    pub fn refusal(&self, pool: &str, algorithm: &str) -> Option<String> {
        self.state()
            .refused
            .get(&(pool.to_owned(), algorithm.to_owned()))
            .cloned()
    }

    /// Octavia refused this algorithm for this pool.
    pub fn refused(&self, pool: &str, algorithm: &str, why: String) {
        self.state()
            .refused
            .insert((pool.to_owned(), algorithm.to_owned()), why);
    }

    /// Whether this algorithm has not been in conflict with the state of this pool before.
    pub fn is_first_conflict(&self, pool: &str, algorithm: &str) -> bool {
        self.state().conflicts.insert((pool.to_owned(), algorithm.to_owned()))
    }

    /// This change of members was made.
    pub fn tried(&self, step: &Step) {
        let Some((pool, member)) = step.members_of() else {
            return;
        };
        let mut state = self.state();
        let tried = state
            .tried
            .entry((pool.to_owned(), member.to_owned()))
            .or_insert_with(|| (step.clone(), 0, Instant::now()));
        let times = if tried.0 == *step { tried.1 + 1 } else { 1 };
        *tried = (step.clone(), times, Instant::now());
    }

    /// Whether this change of members was made more than once a short while ago, and nothing came of it.
    pub fn is_vain(&self, step: &Step) -> bool {
        let Some((pool, member)) = step.members_of() else {
            return false;
        };
        let state = self.state();
        let tried = state.tried.get(&(pool.to_owned(), member.to_owned()));
        tried.is_some_and(|(last, times, when)| last == step && *times > 1 && when.elapsed() < LAST_RETRY)
    }

    /// The members of these pools are what they should be.
    pub fn members_match(&self, pools: &[Pool]) {
        let is_among = |id: &String| pools.iter().any(|pool| pool.id == *id);
        self.state().tried.retain(|(pool, _), _| !is_among(pool));
    }

    /// Whether the Service of this UID is known to have no security group.
    pub fn is_groupless(&self, uid: &str) -> bool {
        self.state().groupless.contains(uid)
    }

    /// The Service of this UID has no security group.
    pub fn groupless(&self, uid: &str) {
        self.state().groupless.insert(uid.to_owned());
    }

    /// The configuration is another one: what follows from it is to be found out again. What was tried in vain and who is
    /// at work stay known.
    pub fn reconfigured(&self) {
        let mut state = self.state();
        state.certificates.clear();
        state.groupless.clear();
    }

    /// This Service, whose load balancer has this name, is gone.
    pub fn forget_service(&self, spec: &Spec, name: &str) {
        let mut state = self.state();
        state.groupless.remove(&spec.service.uid);
        state.making.remove(&maker(spec));
        state.unanswered.remove(&maker(spec));
        state.readdressed.remove(&maker(spec));
        state.deleted.remove(&maker(spec));
        state.failed.remove(name);
    }

    fn known<T>(&self, id: String, change: impl FnOnce(&mut Known) -> T) -> T {
        change(self.state().known.entry(id).or_default())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whoever holds it changes the load balancer.
#[derive(Debug)]
pub(crate) struct Claim<'a> {
    memory: &'a Memory,
    id: String,
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.memory.state().claimed.remove(&self.id);
    }
}

/// For whom a load balancer is made: two clusters can have a Service of the same UID, if one was copied from the other.
fn maker(spec: &Spec) -> (String, String) {
    (spec.cluster.clone(), spec.service.uid.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn polls_less_and_less_often() {
        let memory = Memory::default();
        let mut polls = Vec::new();
        for _ in 0..40 {
            let wait = memory.poll("lb");
            polls.push(wait);
            tokio::time::advance(wait).await;
        }
        assert!(polls.is_sorted(), "{polls:?}");
        assert_eq!(
            (polls[0], polls[5], polls.last()),
            (FIRST_POLL, FIRST_POLL, Some(&LAST_POLL))
        );
        memory.ready("lb");
        assert_eq!(memory.poll("lb"), FIRST_POLL);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_stuck_is_polled_seldom() {
        let memory = Memory::default();
        assert_eq!((memory.poll("lb"), memory.is_stuck("lb")), (FIRST_POLL, false));
        tokio::time::advance(STUCK).await;
        assert_eq!((memory.poll("lb"), memory.is_stuck("lb")), (LAST_POLL, false));
        tokio::time::advance(FIRST_POLL).await;
        assert_eq!((memory.poll("lb"), memory.is_stuck("lb")), (SLOW_POLL, true));
        memory.ready("lb");
        assert!(!memory.is_stuck("lb"));
    }

    #[tokio::test(start_paused = true)]
    async fn one_at_a_time() {
        let memory = Memory::default();
        let claim = memory.claim("lb");
        assert!(claim.is_some() && memory.claim("lb").is_none() && memory.claim("other").is_some());
        drop(claim);
        assert!(memory.claim("lb").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_failed_is_not_tried_at_once_again() {
        let memory = Memory::default();
        assert_eq!(memory.too_early("lb"), None);
        memory.failed("lb");
        assert_eq!(memory.too_early("lb"), Some(1));
        tokio::time::advance(FIRST_RETRY).await;
        assert_eq!(memory.too_early("lb"), None);
        memory.failed("lb");
        tokio::time::advance(FIRST_RETRY).await;
        assert_eq!(memory.too_early("lb"), Some(2));
        memory.succeeded("lb");
        assert_eq!(memory.too_early("lb"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn fails_over_once_a_day() {
        let memory = Memory::default();
        assert!(memory.may_fail_over("lb") && !memory.may_fail_over("lb"));
        tokio::time::advance(FAIL_OVER_AGAIN + FIRST_POLL).await;
        assert!(memory.may_fail_over("lb"));
        memory.not_failed_over("lb");
        assert!(memory.may_fail_over("lb"), "nothing came of it");
    }

    #[tokio::test(start_paused = true)]
    async fn a_tree_holds_as_long_as_the_load_balancer_is_the_same() {
        let memory = Memory::default();
        let balancer = |updated_at: &str| LoadBalancer {
            id: "lb".into(),
            updated_at: Some(updated_at.into()),
            ..LoadBalancer::default()
        };
        let tree = |updated_at| {
            Arc::new(Tree {
                balancer: balancer(updated_at),
                ..Tree::default()
            })
        };
        memory.read(tree("1"));
        assert!(memory.tree(&balancer("1")).is_some() && memory.tree(&balancer("2")).is_none());
        memory.changed(tree("1"));
        assert_eq!(
            memory.tree(&balancer("2")).map(|(basis, _)| basis),
            Some(Basis::Assumed)
        );
        memory.doubt("lb");
        assert!(memory.tree(&balancer("2")).is_none());
    }
}
