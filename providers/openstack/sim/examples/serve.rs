//! A cloud to play with: `cargo run -p openstack-sim --example serve [servers]` prints where it is and serves it until it is
//! stopped.

use openstack_sim::{Cloud, Settings, Sim};
use std::time::Duration;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "it prints its address")]
async fn main() -> std::io::Result<()> {
    let servers = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(3);
    let cloud = Cloud::with(Settings {
        balancer_delay: Duration::from_secs(1),
        ..Settings::default()
    });
    let net = cloud.create_network("private", "10.0.0.0/16");
    cloud.boot_many("node-", servers, &net);
    let sim = Sim::start(&cloud).await?;
    println!(
        "{} (user and project demo, password labpass, domain default)",
        sim.auth_url()
    );
    std::future::pending().await
}
