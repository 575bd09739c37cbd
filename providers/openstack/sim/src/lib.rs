//! Keystone, Nova, Neutron and Octavia in the process, for what the real ones cannot do: ten thousand servers, a fault at every
//! call, latency. Barbican and Glance answer as far as a client of the others needs them.
//!
//! Start with [`Cloud`], and with [`Sim`], which serves it over HTTP. Tests compare the answers of the services with recordings
//! of the real ones. Requests that are not implemented are refused with 501, and [`fakecloud::Cloud::unknown`] lists them.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use openstack_sim::{Cloud, Fault, Sim};
//!
//! let cloud = Cloud::new();
//! let net = cloud.create_network("private", "10.0.0.0/16");
//! cloud.boot_many("node-", 10_000, &net);
//! let sim = Sim::start(&cloud).await.unwrap();
//!
//! cloud.inject(Fault::status(503).retry_after("1").operation("server_list").times(1));
//! let mark = cloud.mark();
//! // … let a client loose on sim.auth_url() …
//! assert_eq!(cloud.calls_since(mark).len(), 0);
//! # });
//! ```

mod barbican;
mod cloud;
mod control;
mod errors;
mod exchange;
mod glance;
mod keystone;
mod neutron;
mod nova;
mod octavia;
mod recorded;
mod server;
mod service;
mod settings;
mod state;
mod timestamp;

pub use cloud::Cloud;
pub use control::{
    ApplicationCredential, FloatingIpView, GroupView, ListenerView, LoadBalancerView, MemberView, MonitorView, Net,
    PersistenceView, PoolView, PortView, RouteView, RuleView, ServerSpec, ServerView,
};
pub use fakecloud::{Fault, FaultId, Latency, Mark};
pub use keystone::{Endpoint, Location};
pub use nova::ServerStatus;
pub use octavia::{Operating, Provisioning};
pub use server::Sim;
pub use service::{OPERATIONS, Service};
pub use settings::Settings;
pub use uuid::Uuid;

/// One call that the cloud got.
pub type Call = fakecloud::Call<fakecloud::Exchange>;
