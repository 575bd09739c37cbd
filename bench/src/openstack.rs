//! The provider for `OpenStack` beside occm, on the same API server and the same cloud: the simulated one, with latency.

use crate::{
    Args, What,
    audit::{self, Mark},
    burst::{self, Times},
    fixture::Fixture,
    replica::{Program, Replica},
    scenarios::{self, names, seconds},
    table::{Promise, Table},
};
use anyhow::Result;
use kube::api::{DeleteParams, Patch, PatchParams};
use openstack_sim::{Call, Cloud, Latency, Net, Provisioning, Settings, Sim};
use serde_json::json;
use std::{
    fs,
    time::{Duration, Instant},
};

/// How long every call takes.
const LATENCY: Duration = Duration::from_millis(20);
/// How long a load balancer takes for each change, where that matters.
const SLOW: Duration = Duration::from_secs(2);
/// How long a new node is waited for.
const FOREVER: Duration = Duration::from_mins(2);
const IDLE_NODES: usize = 100;
const BALANCERS: usize = 20;
const RESTARTED: usize = 50;
/// How often nodes are looked at while an idle hour is measured.
const OFTEN: &str = "--node-status-update-frequency=20s";
const HOURLY: f64 = 5.0 * 60.0 / 20.0;

/// A cloud on which it matters how many load balancers are created at the same time.
struct SlowCloud {
    name: &'static str,
    latency: Latency,
    /// How long a load balancer takes for each change.
    delay: Duration,
}

/// One performs twenty calls a second, however many there are. The other one takes its time for every load balancer, and
/// creates any number of them at the same time; what takes a minute there takes six seconds here.
const CLOUDS: [&SlowCloud; 2] = [
    &SlowCloud {
        name: "an API that slows down",
        latency: Latency::fixed(Duration::from_millis(50)).growing(Duration::from_millis(50)),
        delay: Duration::from_millis(200),
    },
    &SlowCloud {
        name: "slow load balancers",
        latency: Latency::fixed(LATENCY),
        delay: Duration::from_secs(6),
    },
];

/// The fixture, and a cloud of its own for each program.
struct OpenStackFixture {
    base: Fixture,
    cloud: Cloud,
    net: Net,
    _sim: Sim,
}

impl OpenStackFixture {
    async fn start(args: &Args) -> Result<Self> {
        let base = Fixture::start(args.outrigger.as_deref(), lab::peer::occm()?, "openstack").await?;
        let cloud = Cloud::with(Settings {
            balancer_delay: Duration::from_millis(500),
            ..Settings::default()
        });
        cloud.set_latency(LATENCY);
        let net = cloud.create_network("private", "10.0.0.0/16");
        let sim = Sim::start(&cloud).await?;
        let external = cloud.public_network().map(|id| id.to_string()).unwrap_or_default();
        let config = format!(
            "[Global]\nauth-url={}\nusername=demo\npassword=labpass\ntenant-name=demo\ndomain-id=default\nregion=RegionOne\n\
             [LoadBalancer]\nsubnet-id={}\nfloating-network-id={external}\n",
            sim.auth_url(),
            net.subnet
        );
        fs::write(&base.cloud_config, config)?;
        Ok(Self {
            base,
            cloud,
            net,
            _sim: sim,
        })
    }

    async fn join(&self, prefix: &str, count: usize) -> Result<()> {
        self.cloud.boot_many(&format!("{prefix}-"), count, &self.net);
        let created: Vec<_> = self.cloud.servers().into_iter().map(|server| server.name).collect();
        let new: Vec<_> = created
            .into_iter()
            .filter(|name| name.starts_with(&format!("{prefix}-")))
            .collect();
        self.base.register(&new).await
    }

    /// Waits until so many load balancers are ready, with so many members in every pool and a floating IP each.
    async fn served(&self, balancers: usize, members: usize, replica: &Replica) -> Result<()> {
        loop {
            let all = self.cloud.load_balancers();
            let complete = |balancer: &&openstack_sim::LoadBalancerView| {
                balancer.provisioning == Provisioning::Active
                    && balancer
                        .listeners
                        .iter()
                        .all(|listener| listener.pool.as_ref().is_some_and(|pool| pool.members.len() == members))
            };
            let addresses = self.cloud.floating_ips().iter().filter(|ip| ip.port.is_some()).count();
            if all.iter().filter(complete).count() == balancers && addresses == balancers {
                return Ok(());
            }
            replica.check()?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until the cloud has not been asked for anything for three seconds.
    async fn quiet(&self, replica: &Replica) -> Result<()> {
        loop {
            let mark = self.cloud.mark();
            tokio::time::sleep(Duration::from_secs(3)).await;
            if self.cloud.calls_since(mark).is_empty() {
                return Ok(());
            }
            replica.check()?;
        }
    }
}

/// Everything.
pub async fn measure(args: &Args, table: &mut Table) -> Result<()> {
    let wanted = |part| args.only.is_none_or(|only| only == What::Openstack || only == part);
    if wanted(What::Burst) {
        for cloud in CLOUDS {
            let [ours, peer] = burst::PROGRAMS;
            let ours = many_services(args, ours, cloud, table).await?;
            let peer = many_services(args, peer, cloud, table).await?;
            burst::promise(cloud.name, &ours, &peer, table);
        }
    }
    if !wanted(What::Openstack) {
        return Ok(());
    }
    for program in Program::ALL {
        nodes(&OpenStackFixture::start(args).await?, args.nodes, program, table).await?;
        idle(&OpenStackFixture::start(args).await?, program, table).await?;
        let fixture = OpenStackFixture::start(args).await?;
        services(&fixture, program, table).await?;
        restart(&fixture, program, table).await?;
        let fixture = OpenStackFixture::start(args).await?;
        fan_out(&fixture, program, table).await?;
        if program == Program::Ours {
            scenarios::size(&fixture.base, table)?;
        }
    }
    Ok(())
}

/// Many Services at once.
async fn many_services(args: &Args, program: Program, cloud: &SlowCloud, table: &mut Table) -> Result<Times> {
    let fixture = OpenStackFixture::start(args).await?;
    fixture.join("node", 3).await?;
    fixture.cloud.set_latency(cloud.latency);
    fixture
        .cloud
        .configure(|settings| settings.balancer_delay = cloud.delay);
    let mark = fixture.cloud.mark();
    let times = burst::measure(&fixture.base, cloud.name, program, table).await?;
    let calls = fixture.cloud.calls_since(mark);
    let count = |operation: &str| calls.iter().filter(|call| call.operation == operation).count();
    let (one, all) = (count("loadbalancer_get"), count("loadbalancer_list"));
    let what = format!("… reads of one load balancer / of all, {}", cloud.name);
    table.put(&what, program, format!("{one} / {all}"));
    Ok(times)
}

/// Fresh nodes are there; how long until none is tainted?
async fn nodes(fixture: &OpenStackFixture, count: usize, program: Program, table: &mut Table) -> Result<()> {
    fixture.join("node", count).await?;
    let mark = fixture.cloud.mark();
    let replica = Replica::start(&fixture.base, program, &[])?;
    fixture.base.initialised(|| replica.check()).await?;
    let took = replica.started.elapsed();
    let calls = fixture.cloud.calls_since(mark).len();
    table.put(&format!("{count} fresh nodes initialised"), program, seconds(took));
    table.put("… calls of the cloud", program, calls);
    replica.put_resident(program, table).await
}

/// Nothing changes.
async fn idle(fixture: &OpenStackFixture, program: Program, table: &mut Table) -> Result<()> {
    fixture.join("node", IDLE_NODES).await?;
    let replica = Replica::start(&fixture.base, program, &[OFTEN])?;
    fixture.base.initialised(|| replica.check()).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mark = fixture.cloud.mark();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let calls = fixture.cloud.calls_since(mark).len();
    let hour = calls as f64 * 60.0 / HOURLY;
    table.put(
        &format!("idle, {IDLE_NODES} nodes: calls of the cloud an hour (from one minute with a pass every 20 s)"),
        program,
        format!("{hour:.0}"),
    );
    Ok(())
}

/// A new Service with one port, and one with five; and then a Service whose change changes nothing.
async fn services(fixture: &OpenStackFixture, program: Program, table: &mut Table) -> Result<()> {
    fixture.join("node", 3).await?;
    let replica = Replica::start(&fixture.base, program, &[])?;
    fixture.base.initialised(|| replica.check()).await?;
    let mut there = 0;
    for ports in [1, 5] {
        fixture.quiet(&replica).await?;
        let mark = fixture.cloud.mark();
        there += 1;
        fixture.base.publish(&[format!("new-{ports}")], ports).await?;
        fixture.served(there, 3, &replica).await?;
        fixture.quiet(&replica).await?;
        let calls = fixture.cloud.calls_since(mark);
        table.put(
            &format!("new Service with {ports} ports: calls, apart from polls"),
            program,
            unpolled(&calls),
        );
        let mark = fixture.cloud.mark();
        touch(fixture, &format!("new-{ports}")).await?;
        fixture.quiet(&replica).await?;
        table.put(
            &format!("unchanged Service with {ports} ports: calls"),
            program,
            fixture.cloud.calls_since(mark).len(),
        );
    }
    for ports in [1, 5] {
        let name = format!("new-{ports}");
        fixture.base.services().delete(&name, &DeleteParams::default()).await?;
    }
    fixture.served(0, 0, &replica).await?;
    fixture.quiet(&replica).await
}

/// Another client changes an annotation without a meaning.
async fn touch(fixture: &OpenStackFixture, name: &str) -> Result<()> {
    let patch = Patch::Merge(json!({"metadata": {"annotations": {"bench/touched": "yes"}}}));
    fixture
        .base
        .services()
        .patch(name, &PatchParams::default(), &patch)
        .await?;
    Ok(())
}

/// Calls that do not read a load balancer while it is pending.
fn unpolled(calls: &[Call]) -> String {
    let polls = calls.iter().filter(|call| call.operation == "loadbalancer_get").count();
    format!("{} (and {polls} polls)", calls.len() - polls)
}

/// A manager starts, and nothing has changed since the last one stopped.
async fn restart(fixture: &OpenStackFixture, program: Program, table: &mut Table) -> Result<()> {
    let replica = Replica::start(&fixture.base, program, &["--leader-elect=false"])?;
    fixture.base.publish(&names("service", RESTARTED), 1).await?;
    fixture.served(RESTARTED, 3, &replica).await?;
    fixture.quiet(&replica).await?;
    drop(replica);
    let mark = fixture.cloud.mark();
    let audit = Mark::now(&fixture.base.plane.audit_log())?;
    let replica = Replica::start(&fixture.base, program, &["--leader-elect=false"])?;
    while fixture.cloud.calls_since(mark).is_empty() {
        replica.check()?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.quiet(&replica).await?;
    let (calls, writes) = (
        fixture.cloud.calls_since(mark).len(),
        fixture.cloud.writes_since(mark).len(),
    );
    table.put(
        &format!("restart with {RESTARTED} unchanged Services: calls / changes of the cloud / API writes"),
        program,
        format!("{calls} / {writes} / {}", audit::writes(&audit.since(&replica.user)?)),
    );
    Ok(())
}

/// A node joins, and every change of a load balancer takes two seconds.
async fn fan_out(fixture: &OpenStackFixture, program: Program, table: &mut Table) -> Result<()> {
    fixture.join("node", 3).await?;
    let replica = Replica::start(&fixture.base, program, &[])?;
    fixture.base.initialised(|| replica.check()).await?;
    fixture.base.publish(&names("service", BALANCERS), 1).await?;
    fixture.served(BALANCERS, 3, &replica).await?;
    fixture.quiet(&replica).await?;
    fixture.cloud.configure(|settings| settings.balancer_delay = SLOW);
    let (mark, start) = (fixture.cloud.mark(), Instant::now());
    fixture.join("late", 1).await?;
    let served = tokio::time::timeout(FOREVER, fixture.served(BALANCERS, 4, &replica)).await;
    let took = match served {
        Ok(served) => {
            served?;
            seconds(start.elapsed())
        }
        // A node that was noticed before it had an address stays without traffic.
        Err(_) => format!("not all within {}", seconds(FOREVER)),
    };
    table.put(
        &format!("a node joins {BALANCERS} Services, {} s a change", SLOW.as_secs()),
        program,
        format!("{took}, {} calls", fixture.cloud.calls_since(mark).len()),
    );
    put_calls_of_a_change(&fixture.cloud.calls_since(mark), program, table);
    Ok(())
}

/// A change of hosts should cost one write for each Service. Polls are shared: their number depends on the time that a change takes.
fn put_calls_of_a_change(calls: &[Call], program: Program, table: &mut Table) {
    let is_read = |call: &&Call| call.operation.ends_with("_get") || call.operation.ends_with("_list");
    let octavia = calls.iter().filter(|call| call.operation.starts_with("loadbalancer"));
    let (reads, all) = (octavia.clone().filter(is_read).count(), octavia.count());
    let writes = all - reads;
    let promise = Promise::exactly(writes as u64, BALANCERS as u64).in_words("one for each Service");
    table.put_promised("… changes of load balancers", program, writes, promise);
    table.put("… reads of load balancers", program, reads);
    let each = all as f64 / BALANCERS as f64;
    table.put(
        "… calls of load balancers for each Service",
        program,
        format!("{each:.2}"),
    );
}
