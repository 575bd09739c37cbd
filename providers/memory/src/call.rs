//! What a memory cloud was asked. Pure.

use cloud::{Detail, ServiceRef};
use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    time::Duration,
};

/// The calls of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// [`cloud::Instances::describe`]
    Describe,
    /// [`cloud::LoadBalancers::find`]
    FindLoadBalancer,
    /// [`cloud::LoadBalancers::ensure`]
    EnsureLoadBalancer,
    /// [`cloud::LoadBalancers::update_hosts`]
    UpdateHosts,
    /// [`cloud::LoadBalancers::delete`]
    DeleteLoadBalancer,
    /// [`cloud::LoadBalancers::owned`]
    OwnedLoadBalancers,
    /// [`cloud::Routes::list`]
    ListRoutes,
    /// [`cloud::Routes::create`]
    CreateRoutes,
    /// [`cloud::Routes::delete`]
    DeleteRoutes,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Self; 9] = [
        Self::Describe,
        Self::FindLoadBalancer,
        Self::EnsureLoadBalancer,
        Self::UpdateHosts,
        Self::DeleteLoadBalancer,
        Self::OwnedLoadBalancers,
        Self::ListRoutes,
        Self::CreateRoutes,
        Self::DeleteRoutes,
    ];

    /// Its name in errors, in the call log and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Describe => "describe",
            Self::FindLoadBalancer => "find-load-balancer",
            Self::EnsureLoadBalancer => "ensure-load-balancer",
            Self::UpdateHosts => "update-hosts",
            Self::DeleteLoadBalancer => "delete-load-balancer",
            Self::OwnedLoadBalancers => "owned-load-balancers",
            Self::ListRoutes => "list-routes",
            Self::CreateRoutes => "create-routes",
            Self::DeleteRoutes => "delete-routes",
        }
    }

    /// The operation with this name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.as_str() == text)
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One call that the cloud got.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Counts from 0 over all operations.
    pub number: u64,
    /// Which call.
    pub operation: Operation,
    /// When it came, since the cloud was made.
    pub at: Duration,
    /// How long it took; `None` while it is running, and for ever if the caller gave up.
    pub took: Option<Duration>,
    /// How much was asked, for `describe`.
    pub detail: Option<Detail>,
    /// For which cluster, for load balancers and routes.
    pub cluster: Option<String>,
    /// For which Service, for load balancers.
    pub service: Option<ServiceRef>,
    /// The nodes asked for, the hosts of the load balancer, or the nodes of the routes (or their names, where there is
    /// no node), in the order given.
    pub names: Vec<String>,
    /// What came of it.
    pub effect: Effect,
    /// What was changed, for example `create` or `+host node-1`.
    pub changes: Vec<String>,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is running, or the caller gave up.
    Open,
    /// Nothing was changed.
    Nothing,
    /// Something was changed.
    Changed,
    /// It failed, as a whole or for one of its names; [`Call::changes`] tells what was changed all the same.
    Failed,
}

/// What is known of a call before it is performed.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    pub(crate) detail: Option<Detail>,
    pub(crate) cluster: Option<String>,
    pub(crate) service: Option<ServiceRef>,
    pub(crate) names: Vec<String>,
}

impl Request {
    pub(crate) fn new(operation: Operation) -> Self {
        Self {
            operation,
            detail: None,
            cluster: None,
            service: None,
            names: Vec::new(),
        }
    }
}

/// The calls, newest last, bounded; and counters, which are not.
#[derive(Debug, Default)]
pub(crate) struct CallLog {
    next: u64,
    calls: VecDeque<Call>,
    weight: usize,
    counts: BTreeMap<Operation, u64>,
}

impl CallLog {
    pub(crate) fn open(&mut self, request: Request, at: Duration, capacity: usize) -> u64 {
        let Request {
            operation,
            detail,
            cluster,
            service,
            names,
        } = request;
        let number = self.next;
        self.next += 1;
        *self.counts.entry(operation).or_default() += 1;
        let (effect, changes) = (Effect::Open, Vec::new());
        self.push(Call {
            number,
            operation,
            at,
            took: None,
            detail,
            cluster,
            service,
            names,
            effect,
            changes,
        });
        self.shrink(capacity);
        number
    }

    pub(crate) fn close(&mut self, number: u64, at: Duration, effect: Effect, changes: Vec<String>, capacity: usize) {
        let Ok(index) = self.calls.binary_search_by_key(&number, |call| call.number) else {
            return;
        };
        let call = &mut self.calls[index];
        call.took = Some(at.saturating_sub(call.at));
        call.effect = effect;
        self.weight += changes.len();
        call.changes = changes;
        self.shrink(capacity);
    }

    pub(crate) fn clear(&mut self) {
        self.calls.clear();
        self.counts.clear();
        self.weight = 0;
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter()
    }

    pub(crate) fn count(&self, operation: Operation) -> u64 {
        self.counts.get(&operation).copied().unwrap_or_default()
    }

    fn push(&mut self, call: Call) {
        self.weight += weight(&call);
        self.calls.push_back(call);
    }

    fn shrink(&mut self, capacity: usize) {
        while self.weight > capacity {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.weight -= weight(&oldest);
        }
    }
}

fn weight(call: &Call) -> usize {
    1 + call.names.len() + call.changes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const SECOND: Duration = Duration::from_secs(1);

    fn request(names: usize) -> Request {
        Request {
            names: vec!["n".to_owned(); names],
            ..Request::new(Operation::Describe)
        }
    }

    #[test]
    fn every_operation_is_found_by_its_name() {
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.as_str()), Some(operation));
        }
        assert_eq!(Operation::parse("dance"), None);
    }

    #[rstest]
    #[case::all(100, &[0, 1, 2])]
    #[case::the_newest(8, &[1, 2])]
    #[case::one(4, &[2])]
    #[case::none(0, &[])]
    fn keeps_as_much_as_it_may(#[case] capacity: usize, #[case] kept: &[u64]) {
        let mut log = CallLog::default();
        for number in 0..3 {
            assert_eq!(log.open(request(3), SECOND, capacity), number);
        }
        assert_eq!(log.all().map(|call| call.number).collect::<Vec<_>>(), kept);
        assert_eq!(log.count(Operation::Describe), 3);
        assert_eq!(log.count(Operation::ListRoutes), 0);
    }

    #[test]
    fn tells_what_came_of_a_call() {
        let mut log = CallLog::default();
        let (first, second) = (log.open(request(1), SECOND, 9), log.open(request(1), SECOND, 9));
        log.close(second, 3 * SECOND, Effect::Changed, vec!["create".into()], 9);
        let calls: Vec<_> = log.all().map(|call| (call.number, call.effect, call.took)).collect();
        assert_eq!(
            calls,
            [(first, Effect::Open, None), (second, Effect::Changed, Some(2 * SECOND))]
        );
        log.clear();
        log.close(first, 3 * SECOND, Effect::Nothing, Vec::new(), 9);
        assert_eq!((log.all().count(), log.count(Operation::Describe)), (0, 0));
    }
}
