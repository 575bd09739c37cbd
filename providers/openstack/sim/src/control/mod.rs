//! What the operator of a cloud can see and do, besides asking its services.

mod balancer_views;
mod balancers;
mod edges;
mod furniture;
mod identity;
mod network_views;
mod networks;
mod servers;

pub use balancer_views::{ListenerView, LoadBalancerView, MemberView, MonitorView, PersistenceView, PoolView};
pub use identity::ApplicationCredential;
pub use network_views::{FloatingIpView, GroupView, PortView, RouteView, RuleView};
pub use networks::Net;
pub use servers::{ServerSpec, ServerView};
