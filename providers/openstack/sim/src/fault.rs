//! How the cloud misbehaves. Pure.

use crate::Service;
use std::{collections::BTreeMap, time::Duration};

/// Something that goes wrong, or slowly. By default at every call, for ever.
///
/// ```
/// use openstack_sim::{Fault, Service};
/// use std::time::Duration;
///
/// Fault::delay(Duration::from_millis(20));
/// Fault::status(429).retry_after("2").operation("loadbalancer_get").times(1);
/// Fault::lose_answer().method("POST").service(Service::Octavia).path("*/listeners").skip(1).times(1);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    action: Action,
    service: Option<Service>,
    method: Option<String>,
    only: Only,
    path: Option<String>,
    operation: Option<String>,
    skip: u64,
    times: Option<u64>,
}

/// Which calls are meant at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Only {
    All,
    Writes,
}

/// What goes wrong at a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Delay(Duration),
    Hang,
    /// Nothing is done.
    Before(Failure),
    /// What was asked is done.
    After(Garbling),
    /// What was asked is done, and nobody hears of it.
    Withhold,
}

/// How a call fails before anything is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    Reset,
    Answer {
        status: u16,
        /// `None` is what the service itself would say.
        body: Option<String>,
        retry_after: Option<String>,
    },
}

/// What happens to an answer on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Garbling {
    Lost,
    Truncated,
    Slow(Duration),
    Replaced(String),
}

/// Names an injected fault, to withdraw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(u64);

impl Fault {
    /// Calls take so much longer.
    pub fn delay(delay: Duration) -> Self {
        Self::new(Action::Delay(delay))
    }

    /// Calls hang until the fault is withdrawn.
    pub fn hang() -> Self {
        Self::new(Action::Hang)
    }

    /// The connection breaks before anything is done.
    pub fn reset() -> Self {
        Self::new(Action::Before(Failure::Reset))
    }

    /// The answer is this, with what the service itself says in such a case, and nothing is done.
    pub fn status(status: u16) -> Self {
        Self::new(Action::Before(Failure::Answer {
            status,
            body: None,
            retry_after: None,
        }))
    }

    /// The answer is this, and nothing is done.
    pub fn answer(status: u16, body: impl Into<String>) -> Self {
        Self::new(Action::Before(Failure::Answer {
            status,
            body: Some(body.into()),
            retry_after: None,
        }))
    }

    /// What was asked is done, and the connection breaks instead of an answer.
    pub fn lose_answer() -> Self {
        Self::new(Action::After(Garbling::Lost))
    }

    /// What was asked is done, and there is no answer until the fault is withdrawn.
    pub fn withhold_answer() -> Self {
        Self::new(Action::Withhold)
    }

    /// What was asked is done, and the answer breaks off in the middle.
    pub fn truncate() -> Self {
        Self::new(Action::After(Garbling::Truncated))
    }

    /// What was asked is done, and each piece of the answer (there are about ten) takes so long.
    pub fn slow_body(each: Duration) -> Self {
        Self::new(Action::After(Garbling::Slow(each)))
    }

    /// What was asked is done, and the answer has this body instead of its own.
    pub fn replace_body(body: impl Into<String>) -> Self {
        Self::new(Action::After(Garbling::Replaced(body.into())))
    }

    /// With this `Retry-After`, in seconds or as a date; only answers made by [`Fault::status`] and [`Fault::answer`] have one.
    #[must_use]
    pub fn retry_after(mut self, value: impl Into<String>) -> Self {
        if let Action::Before(Failure::Answer { retry_after, .. }) = &mut self.action {
            *retry_after = Some(value.into());
        }
        self
    }

    /// Only at this service.
    #[must_use]
    pub fn service(mut self, service: Service) -> Self {
        self.service = Some(service);
        self
    }

    /// Only at this method.
    #[must_use]
    pub fn method(mut self, method: impl Into<String>) -> Self {
        self.method = Some(method.into());
        self
    }

    /// Only at calls that ask for a change, of any service but Keystone.
    #[must_use]
    pub fn writes(mut self) -> Self {
        self.only = Only::Writes;
        self
    }

    /// Only at paths like this one; `*` is any text, for example `*/loadbalancers/*`.
    #[must_use]
    pub fn path(mut self, pattern: impl Into<String>) -> Self {
        self.path = Some(pattern.into());
        self
    }

    /// Only at calls of this name ([`crate::OPERATIONS`]).
    #[must_use]
    pub fn operation(mut self, name: impl Into<String>) -> Self {
        self.operation = Some(name.into());
        self
    }

    /// Not at the next so many calls that it concerns.
    #[must_use]
    pub fn skip(mut self, calls: u64) -> Self {
        self.skip = calls;
        self
    }

    /// Only at so many calls that it concerns.
    #[must_use]
    pub fn times(mut self, times: u64) -> Self {
        self.times = Some(times);
        self
    }

    fn new(action: Action) -> Self {
        Self {
            action,
            service: None,
            method: None,
            only: Only::All,
            path: None,
            operation: None,
            skip: 0,
            times: None,
        }
    }

    fn concerns(&self, subject: &Subject<'_>) -> bool {
        (self.only == Only::All || subject.is_write())
            && self.service.is_none_or(|service| service == subject.service)
            && self.method.as_ref().is_none_or(|method| method == subject.method)
            && self
                .operation
                .as_ref()
                .is_none_or(|operation| operation == subject.operation)
            && self.path.as_ref().is_none_or(|pattern| glob(pattern, subject.path))
    }

    /// Whether it strikes now; counts the call.
    fn strikes(&mut self, subject: &Subject<'_>) -> bool {
        if self.times == Some(0) || !self.concerns(subject) {
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

/// The call that a fault may concern.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) service: Service,
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) operation: &'a str,
}

impl Subject<'_> {
    fn is_write(&self) -> bool {
        !matches!(self.method, "GET" | "HEAD") && self.service != Service::Keystone
    }
}

/// What happens to one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) delay: Duration,
    pub(crate) hangs: Vec<FaultId>,
    pub(crate) before: Option<Failure>,
    pub(crate) after: Option<Garbling>,
    pub(crate) withheld: Vec<FaultId>,
}

/// The faults that were injected and not withdrawn.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    next: u64,
    injected: BTreeMap<FaultId, Fault>,
    /// How often each has struck, also those that are withdrawn.
    struck: BTreeMap<FaultId, u64>,
}

impl Faults {
    pub(crate) fn inject(&mut self, fault: Fault) -> FaultId {
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

    pub(crate) fn struck(&self, id: FaultId) -> u64 {
        self.struck.get(&id).copied().unwrap_or_default()
    }

    pub(crate) fn holds(&self, id: FaultId) -> bool {
        self.injected.contains_key(&id)
    }

    /// Decides what goes wrong at this call; the first failure wins, delays add up. Counts the call.
    pub(crate) fn judge(&mut self, subject: &Subject<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        for (id, fault) in &mut self.injected {
            if !fault.strikes(subject) {
                continue;
            }
            *self.struck.entry(*id).or_default() += 1;
            match &fault.action {
                Action::Withhold => verdict.withheld.push(*id),
                Action::Delay(delay) => verdict.delay += *delay,
                Action::Hang => verdict.hangs.push(*id),
                Action::Before(failure) => {
                    verdict.before.get_or_insert_with(|| failure.clone());
                }
                Action::After(garbling) => {
                    verdict.after.get_or_insert_with(|| garbling.clone());
                }
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

    const SUBJECT: Subject<'_> = Subject {
        service: Service::Octavia,
        method: "GET",
        path: "/load-balancer/v2.0/lbaas/loadbalancers/1",
        operation: "loadbalancer_get",
    };

    #[rstest]
    #[case::everywhere(Fault::hang(), true)]
    #[case::this_service(Fault::hang().service(Service::Octavia), true)]
    #[case::another_service(Fault::hang().service(Service::Nova), false)]
    #[case::this_method(Fault::hang().method("GET"), true)]
    #[case::another_method(Fault::hang().method("PUT"), false)]
    #[case::this_operation(Fault::hang().operation("loadbalancer_get"), true)]
    #[case::another_operation(Fault::hang().operation("loadbalancer_list"), false)]
    #[case::this_path(Fault::hang().path("*/loadbalancers/*"), true)]
    #[case::another_path(Fault::hang().path("*/loadbalancers"), false)]
    #[case::never(Fault::hang().times(0), false)]
    #[case::later(Fault::hang().skip(1), false)]
    #[case::writes(Fault::hang().writes(), false)]
    fn concerns(#[case] fault: Fault, #[case] concerned: bool) {
        let mut faults = Faults::default();
        faults.inject(fault);
        assert_eq!(!faults.judge(&SUBJECT).hangs.is_empty(), concerned);
    }

    #[test]
    fn counts_down_delays_add_up_and_the_first_failure_wins() {
        let second = Duration::from_secs(1);
        let mut faults = Faults::default();
        faults.inject(Fault::reset().skip(1).times(1));
        faults.inject(Fault::status(503));
        faults.inject(Fault::delay(second));
        faults.inject(Fault::delay(second));
        let judged: Vec<_> = (0..3).map(|_| faults.judge(&SUBJECT)).collect();
        assert_eq!(judged[0].delay, 2 * second);
        let struck: Vec<_> = (0..4).map(|id| faults.struck(FaultId(id))).collect();
        assert_eq!(struck, [1, 3, 3, 3]);
        let resets = judged.iter().map(|verdict| verdict.before == Some(Failure::Reset));
        assert_eq!(resets.collect::<Vec<_>>(), [false, true, false]);
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
