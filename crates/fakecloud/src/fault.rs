//! Fault injection: which calls fail or are slow. Pure.

use std::{borrow::Cow, collections::BTreeMap, time::Duration};

/// A fault. By default it strikes at every call, until it is withdrawn.
///
/// `F` is how calls of the cloud can fail: [`crate::Failure`] for a cloud with an HTTP API.
///
/// ```
/// use fakecloud::{Failure, Fault};
/// use std::time::Duration;
///
/// let slow: Fault = Fault::delay(Duration::from_millis(20));
/// let throttled = Fault::status(429).retry_after("2").operation("droplet_list").times(1);
/// let lost = Fault::lose_answer().method("POST").path("*/load_balancers").skip(1).times(1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault<F = crate::Failure> {
    /// What it does to a call.
    pub action: Action<F>,
    /// The operations that it strikes at; none is all.
    pub operations: Vec<String>,
    /// The object that it strikes at.
    pub object: Option<String>,
    /// How often it strikes.
    pub times: Option<u64>,
    skip: u64,
    service: Option<String>,
    method: Option<String>,
    path: Option<String>,
    access: Option<Access>,
}

/// What a fault does to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action<F> {
    /// Takes longer.
    Delay(Duration),
    /// Hangs before it is performed, until the fault is withdrawn.
    Hang,
    /// Is performed, and answered when the fault is withdrawn.
    Withhold,
    /// Fails.
    Fail(F),
}

/// Whether a call reads or changes the cloud.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Access {
    /// It changes nothing, or only a login.
    #[default]
    Read,
    /// It requests a change.
    Write,
}

/// What is known of a call when it arrives.
#[derive(Debug, Clone, Default)]
pub struct Subject<'a> {
    /// The service, where a cloud has several.
    pub service: &'a str,
    /// The name of the operation.
    pub operation: &'a str,
    /// The HTTP method.
    pub method: &'a str,
    /// The path of the URL.
    pub path: &'a str,
    /// The names of the objects that it is about.
    pub objects: Cow<'a, [String]>,
    /// Whether it requests a change.
    pub access: Access,
}

/// Names an injected fault, to withdraw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub u64);

impl<F> Fault<F> {
    /// Calls take this much longer.
    pub fn delay(delay: Duration) -> Self {
        Self::new(Action::Delay(delay))
    }

    /// Calls hang before they are performed, until the fault is withdrawn.
    pub fn hang() -> Self {
        Self::new(Action::Hang)
    }

    /// Calls are performed, and their answers are withheld until the fault is withdrawn.
    pub fn withhold_answer() -> Self {
        Self::new(Action::Withhold)
    }

    /// Calls fail in this way.
    pub fn fail(failure: F) -> Self {
        Self::new(Action::Fail(failure))
    }

    /// Only calls to this service.
    #[must_use]
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.service = Some(service.into());
        self
    }

    /// Only calls of this operation; repeated, also those of that one.
    #[must_use]
    pub fn operation(mut self, operation: impl Into<String>) -> Self {
        self.operations.push(operation.into());
        self
    }

    /// Only calls with this HTTP method.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Only calls to paths like this one; `*` is any text, for example `*/loadbalancers/*`.
    #[must_use]
    pub fn path(mut self, pattern: impl Into<String>) -> Self {
        self.path = Some(pattern.into());
        self
    }

    /// Only calls that are about this object. A failure then concerns only this object of a batch.
    #[must_use]
    pub fn only(mut self, object: impl Into<String>) -> Self {
        self.object = Some(object.into());
        self
    }

    /// Only calls that request a change.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.access = Some(Access::Write);
        self
    }

    /// Not the next so many calls that match.
    #[must_use]
    pub fn skip(mut self, calls: u64) -> Self {
        self.skip = calls;
        self
    }

    /// Only the next so many calls that match.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn new(action: Action<F>) -> Self {
        Self {
            action,
            operations: Vec::new(),
            object: None,
            times: None,
            skip: 0,
            service: None,
            method: None,
            path: None,
            access: None,
        }
    }

    fn matches(&self, subject: &Subject<'_>) -> bool {
        let is = |wanted: &Option<String>, have: &str| wanted.as_ref().is_none_or(|wanted| wanted == have);
        let named = |operation: &String| operation == subject.operation;
        is(&self.service, subject.service)
            && is(&self.method, subject.method)
            && (self.operations.is_empty() || self.operations.iter().any(named))
            && self.path.as_ref().is_none_or(|pattern| glob(pattern, subject.path))
            && self.object.as_ref().is_none_or(|one| subject.objects.contains(one))
            && self.access.is_none_or(|access| access == subject.access)
    }

    /// Whether it strikes now; counts the call.
    fn strikes(&mut self, subject: &Subject<'_>) -> bool {
        if self.times == Some(0) || !self.matches(subject) {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.times = self.times.map(|times| times - 1);
        true
    }
}

/// What happens to one call.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict<F> {
    /// How much longer it takes.
    pub delay: Duration,
    /// It is not performed before these faults are withdrawn.
    pub hangs: Vec<FaultId>,
    /// It is not answered before these faults are withdrawn.
    pub withheld: Vec<FaultId>,
    /// How it fails, oldest fault first; for one object or for the whole call.
    pub failures: Vec<(Option<String>, F)>,
}

impl<F> Default for Verdict<F> {
    fn default() -> Self {
        Self {
            delay: Duration::ZERO,
            hangs: Vec::new(),
            withheld: Vec::new(),
            failures: Vec::new(),
        }
    }
}

/// The faults that were injected and not withdrawn.
#[derive(Debug)]
pub(crate) struct Faults<F> {
    next: u64,
    injected: BTreeMap<FaultId, Fault<F>>,
    /// How often each has struck, including those that were withdrawn.
    struck: BTreeMap<FaultId, u64>,
}

impl<F> Default for Faults<F> {
    fn default() -> Self {
        Self {
            next: 0,
            injected: BTreeMap::new(),
            struck: BTreeMap::new(),
        }
    }
}

impl<F: Clone> Faults<F> {
    pub(crate) fn inject(&mut self, fault: Fault<F>) -> FaultId {
        let id = FaultId(self.next);
        self.next += 1;
        self.injected.insert(id, fault);
        id
    }

    pub(crate) fn withdraw(&mut self, id: FaultId) {
        self.injected.remove(&id);
    }

    pub(crate) fn clear(&mut self) {
        self.injected.clear();
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = (FaultId, &Fault<F>)> {
        self.injected.iter().map(|(id, fault)| (*id, fault))
    }

    pub(crate) fn struck(&self, id: FaultId) -> u64 {
        self.struck.get(&id).copied().unwrap_or_default()
    }

    /// Whether one of these faults has not been withdrawn.
    pub(crate) fn hold(&self, ids: &[FaultId]) -> bool {
        ids.iter().any(|id| self.injected.contains_key(id))
    }

    /// Decides what happens to a call; delays add up. Counts the call.
    pub(crate) fn judge(&mut self, subject: &Subject<'_>) -> Verdict<F> {
        let mut verdict = Verdict::default();
        for (id, fault) in &mut self.injected {
            if !fault.strikes(subject) {
                continue;
            }
            *self.struck.entry(*id).or_default() += 1;
            match &fault.action {
                Action::Delay(delay) => verdict.delay += *delay,
                Action::Hang => verdict.hangs.push(*id),
                Action::Withhold => verdict.withheld.push(*id),
                Action::Fail(failure) => verdict.failures.push((fault.object.clone(), failure.clone())),
            }
        }
        verdict
    }
}

/// Whether a text matches a pattern in which `*` is any text.
pub(crate) fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len())
                .filter(|at| tail.is_char_boundary(*at))
                .any(|at| glob(rest, &tail[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SECOND: Duration = Duration::from_secs(1);

    fn judge(faults: &mut Faults<u16>) -> Verdict<u16> {
        faults.judge(&Subject {
            service: "octavia",
            operation: "loadbalancer_get",
            method: "GET",
            path: "/v2.0/lbaas/loadbalancers/1",
            objects: vec!["a".to_owned(), "b".to_owned()].into(),
            access: Access::Read,
        })
    }

    #[rstest]
    #[case::every_call(Fault::hang(), true)]
    #[case::this_service(Fault::hang().service("octavia"), true)]
    #[case::another_service(Fault::hang().service("nova"), false)]
    #[case::this_method(Fault::hang().method("GET"), true)]
    #[case::another_method(Fault::hang().method("PUT"), false)]
    #[case::this_operation(Fault::hang().operation("loadbalancer_get"), true)]
    #[case::one_of_two_operations(Fault::hang().operation("server_get").operation("loadbalancer_get"), true)]
    #[case::another_operation(Fault::hang().operation("loadbalancer_list"), false)]
    #[case::this_path(Fault::hang().path("*/loadbalancers/*"), true)]
    #[case::another_path(Fault::hang().path("*/loadbalancers"), false)]
    #[case::this_object(Fault::hang().only("b"), true)]
    #[case::another_object(Fault::hang().only("c"), false)]
    #[case::never(Fault::hang().times(0), false)]
    #[case::later(Fault::hang().skip(1), false)]
    #[case::writes(Fault::hang().writes(), false)]
    fn strikes_at(#[case] fault: Fault<u16>, #[case] strikes: bool) {
        let mut faults = Faults::default();
        faults.inject(fault);
        assert_eq!(!judge(&mut faults).hangs.is_empty(), strikes);
    }

    #[test]
    fn counts_down_delays_add_up_and_older_faults_come_first() {
        let mut faults = Faults::default();
        faults.inject(Fault::fail(1).skip(1).times(1));
        let always = faults.inject(Fault::fail(2).only("a"));
        faults.inject(Fault::delay(SECOND));
        faults.inject(Fault::delay(SECOND));
        let judged: Vec<_> = (0..3).map(|_| judge(&mut faults)).collect();
        assert_eq!(judged[0].delay, 2 * SECOND);
        let of_one = (Some("a".to_owned()), 2);
        let failures: Vec<_> = judged.into_iter().map(|verdict| verdict.failures).collect();
        assert_eq!(
            failures,
            [vec![of_one.clone()], vec![(None, 1), of_one.clone()], vec![of_one]]
        );
        assert_eq!((faults.struck(FaultId(0)), faults.struck(always)), (1, 3));
        faults.withdraw(always);
        assert_eq!((judge(&mut faults).failures, faults.struck(always)), (vec![], 3));
    }

    #[test]
    fn a_call_hangs_until_the_fault_is_withdrawn() {
        let mut faults = Faults::default();
        let id = faults.inject(Fault::hang().times(1));
        assert_eq!(judge(&mut faults).hangs, [id]);
        assert_eq!(judge(&mut faults).hangs, []);
        assert!(faults.hold(&[id]));
        faults.clear();
        assert!(!faults.hold(&[id]));
    }

    #[rstest]
    #[case("a", "a", true)]
    #[case("a", "b", false)]
    #[case("*", "", true)]
    #[case("a*c", "abbc", true)]
    #[case("a*c*", "abcd", true)]
    #[case("a*c", "abcd", false)]
    fn globs(#[case] pattern: &str, #[case] text: &str, #[case] matches: bool) {
        assert_eq!(glob(pattern, text), matches);
    }
}
