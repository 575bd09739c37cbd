//! What tests can see and do in a cloud, besides calling its services.

mod balancer_views;
mod balancers;
mod floating_ips_and_groups;
mod identity;
mod initial_state;
mod network_views;
mod networks;
mod servers;

pub use balancer_views::{ListenerView, LoadBalancerView, MemberView, MonitorView, PersistenceView, PoolView};
pub use identity::ApplicationCredential;
pub use network_views::{FloatingIpView, GroupView, PortView, RouteView, RuleView};
pub use networks::Net;
pub use servers::{ServerSpec, ServerView};
