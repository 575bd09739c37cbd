//! The calls of a memory cloud. Pure.

use cloud::{Detail, ServiceRef};
use fakecloud::{Access, Details, Subject};
use std::{borrow::Cow, fmt};

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
    /// Its name in errors and in the record of calls.
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

    fn access(self) -> Access {
        match self {
            Self::Describe | Self::FindLoadBalancer | Self::OwnedLoadBalancers | Self::ListRoutes => Access::Read,
            Self::EnsureLoadBalancer
            | Self::UpdateHosts
            | Self::DeleteLoadBalancer
            | Self::CreateRoutes
            | Self::DeleteRoutes => Access::Write,
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl AsRef<str> for Operation {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<Operation> for String {
    fn from(operation: Operation) -> Self {
        operation.as_str().to_owned()
    }
}

/// One call that the cloud received.
pub type Call = fakecloud::Call<Request>;

/// A call and its effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Which call.
    pub operation: Operation,
    /// The detail, for `describe`.
    pub detail: Option<Detail>,
    /// For which cluster, for load balancers and routes.
    pub cluster: Option<String>,
    /// For which Service, for load balancers.
    pub service: Option<ServiceRef>,
    /// The nodes, the hosts of the load balancer, or the nodes of the routes (the names of routes without a node), in the
    /// order of the call.
    pub names: Vec<String>,
    /// Its effect.
    pub effect: Effect,
    /// What was changed, for example `create` or `+host node-1`.
    pub changes: Vec<String>,
}

/// The effect of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It is running, or the caller cancelled it.
    Open,
    /// Nothing was changed.
    Nothing,
    /// Something was changed.
    Changed,
    /// It failed, as a whole or for one of its names; [`Request::changes`] has what it changed nevertheless.
    Failed,
}

impl Request {
    pub(crate) fn new(operation: Operation) -> Self {
        Self {
            operation,
            detail: None,
            cluster: None,
            service: None,
            names: Vec::new(),
            effect: Effect::Open,
            changes: Vec::new(),
        }
    }
}

impl Details for Request {
    /// About the Service, as `namespace/name`, or about the nodes.
    fn subject(&self) -> Subject<'_> {
        let service = |service: &ServiceRef| vec![format!("{}/{}", service.namespace, service.name)];
        Subject {
            operation: self.operation.as_str(),
            objects: self
                .service
                .as_ref()
                .map_or(Cow::from(&self.names), |of| service(of).into()),
            access: self.operation.access(),
            ..Subject::default()
        }
    }

    fn size(&self) -> usize {
        1 + self.names.len() + self.changes.len()
    }
}
