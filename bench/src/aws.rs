//! The provider for AWS beside aws-cloud-controller-manager, on the same API server and the same cloud: the simulated one, with latency.

use crate::{
    Args,
    fixture::Fixture,
    replica::{Program, Replica},
    scenarios::{names, seconds},
    table::{Promise, Table},
};
use anyhow::{Context, Result};
use aws_sim::{Account, Cloud, Kind, Sim};
use futures::{StreamExt, TryStreamExt, stream};
use kube::api::PostParams;
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    time::{Duration, Instant},
};

/// How long every call takes.
const LATENCY: Duration = Duration::from_millis(20);
const IDLE_NODES: usize = 100;
const BALANCERS: usize = 20;
/// Half of them are network load balancers, the others classic ones.
const RESTARTED: usize = 50;
/// How often nodes are looked at while an idle hour is measured.
const OFTEN: &str = "--node-status-update-frequency=20s";
const HOURLY: f64 = 5.0 * 60.0 / 20.0;
const TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-type";
const AT_ONCE: usize = 16;

/// An API server, and a cloud of its own for each measurement.
struct AwsFixture {
    base: Fixture,
    sim: Sim,
}

/// What both programs needed, to compare them.
#[derive(Default)]
struct Measured(BTreeMap<(&'static str, &'static str), f64>);

impl Measured {
    fn note(&mut self, what: &'static str, program: Program, value: f64) {
        self.0.insert((what, program.name()), value);
    }

    /// Ours is at most one part in so many of what the Go program needs with its defaults.
    fn promise(&self, what: &'static str, parts: f64, table: &mut Table) -> Result<()> {
        let of = |program: Program| self.0.get(&(what, program.name())).context("it was not measured");
        let (ours, peer) = (*of(Program::Ours)?, *of(Program::Peer)?);
        let promise = Promise::that(ours * parts <= peer, &format!("at most 1/{parts} of the peer's"));
        let row = format!("{what}: the peer's, divided by ours");
        table.put_promised(
            &row,
            Program::Ours,
            format!("{:.1}", peer / ours.max(f64::MIN_POSITIVE)),
            promise,
        );
        Ok(())
    }
}

impl AwsFixture {
    async fn start(args: &Args) -> Result<Self> {
        let mut base = Fixture::start(args.outrigger.as_deref(), lab::peer::aws()?, "aws").await?;
        base.variables = Sim::environment().into();
        let sim = Sim::start().await?;
        sim.cloud().set_latency(LATENCY);
        fs::write(&base.cloud_config, sim.cloud_conf(""))?;
        Ok(Self { base, sim })
    }

    fn cloud(&self) -> &Cloud {
        self.sim.cloud()
    }

    async fn join(&self, count: usize) -> Result<()> {
        let machines = self.cloud().write(|account, now| account.boot("m5.large", count, now));
        let names: Vec<String> = machines.into_iter().map(|machine| machine.name).collect();
        self.base.register(&names).await
    }

    async fn publish(&self, names: &[String], kind: Kind) -> Result<()> {
        let annotations = match kind {
            Kind::Network => json!({TYPE: "nlb"}),
            Kind::Classic => json!({}),
        };
        let create = |name: &String| {
            let service = json!({
                "metadata": {"name": name, "annotations": annotations},
                "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": [{"port": 80}]},
            });
            async move {
                let service = serde_json::from_value(service)?;
                self.base.services().create(&PostParams::default(), &service).await?;
                Ok::<_, anyhow::Error>(())
            }
        };
        stream::iter(names)
            .map(create)
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Waits until so many load balancers have so many instances behind them, and no call came for three seconds.
    async fn served(&self, balancers: usize, instances: usize, replica: &Replica) -> Result<()> {
        let complete = |account: &Account| {
            let of = |kind| {
                let names = account.load_balancers(kind).into_iter();
                let found = names.filter_map(move |name| account.load_balancer(kind, &name));
                found.filter(|one| one.instances.len() == instances).count()
            };
            of(Kind::Network) + of(Kind::Classic) == balancers
        };
        while !self.cloud().read(complete) {
            replica.check()?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.quiet(replica).await
    }

    async fn quiet(&self, replica: &Replica) -> Result<()> {
        loop {
            let mark = self.cloud().mark();
            tokio::time::sleep(Duration::from_secs(3)).await;
            if self.cloud().calls_since(mark).is_empty() {
                return Ok(());
            }
            replica.check()?;
        }
    }
}

/// Everything.
pub async fn measure(args: &Args, table: &mut Table) -> Result<()> {
    let mut measured = Measured::default();
    for program in [Program::Ours, Program::Peer] {
        nodes(
            &AwsFixture::start(args).await?,
            args.nodes,
            program,
            table,
            &mut measured,
        )
        .await?;
        idle(&AwsFixture::start(args).await?, program, table, &mut measured).await?;
        restart(&AwsFixture::start(args).await?, program, table).await?;
        fan_out(&AwsFixture::start(args).await?, program, table).await?;
    }
    measured.promise("calls for fresh nodes", 20.0, table)?;
    measured.promise("time for fresh nodes", 5.0, table)?;
    measured.promise("idle calls", 10.0, table)?;
    measured.promise("resident memory", 4.0, table)
}

/// Fresh nodes are there; how long until none is tainted?
async fn nodes(
    fixture: &AwsFixture,
    count: usize,
    program: Program,
    table: &mut Table,
    measured: &mut Measured,
) -> Result<()> {
    fixture.join(count).await?;
    let mark = fixture.cloud().mark();
    let replica = Replica::start(&fixture.base, program, &[])?;
    fixture.base.initialised(|| replica.check()).await?;
    let took = replica.started.elapsed();
    let calls = fixture.cloud().calls_since(mark).len();
    let row = format!("{count} fresh nodes initialised, {} ms a call", LATENCY.as_millis());
    table.put(&row, program, seconds(took));
    table.put("… calls of the cloud", program, calls);
    measured.note("time for fresh nodes", program, took.as_secs_f64());
    measured.note("calls for fresh nodes", program, calls as f64);
    measured.note("resident memory", program, replica.resident_mebibytes()?);
    replica.put_resident(program, table).await
}

/// Nothing changes.
async fn idle(fixture: &AwsFixture, program: Program, table: &mut Table, measured: &mut Measured) -> Result<()> {
    fixture.join(IDLE_NODES).await?;
    let replica = Replica::start(&fixture.base, program, &[OFTEN])?;
    fixture.base.initialised(|| replica.check()).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let mark = fixture.cloud().mark();
    tokio::time::sleep(Duration::from_mins(1)).await;
    let hour = fixture.cloud().calls_since(mark).len() as f64 * 60.0 / HOURLY;
    let row = format!("idle, {IDLE_NODES} nodes: calls of the cloud an hour (from one minute with a pass every 20 s)");
    table.put(&row, program, format!("{hour:.0}"));
    measured.note("idle calls", program, hour);
    Ok(())
}

/// A manager starts, and nothing has changed since the last one stopped.
async fn restart(fixture: &AwsFixture, program: Program, table: &mut Table) -> Result<()> {
    fixture.join(3).await?;
    let replica = Replica::start(&fixture.base, program, &["--leader-elect=false"])?;
    fixture.base.initialised(|| replica.check()).await?;
    fixture.publish(&names("network", RESTARTED / 2), Kind::Network).await?;
    fixture.publish(&names("classic", RESTARTED / 2), Kind::Classic).await?;
    fixture.served(RESTARTED, 3, &replica).await?;
    drop(replica);
    let mark = fixture.cloud().mark();
    let replica = Replica::start(&fixture.base, program, &["--leader-elect=false"])?;
    while fixture.cloud().calls_since(mark).is_empty() {
        replica.check()?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    fixture.quiet(&replica).await?;
    let (calls, writes) = (
        fixture.cloud().calls_since(mark).len(),
        fixture.cloud().writes_since(mark).len(),
    );
    let row = format!("restart with {RESTARTED} unchanged Services: calls");
    table.put_promised(
        &row,
        program,
        calls,
        Promise::at_most(calls as u64, RESTARTED as u64 / 2),
    );
    table.put_promised("… changes", program, writes, Promise::exactly(writes as u64, 0));
    Ok(())
}

/// A node joins, and is put behind all load balancers.
async fn fan_out(fixture: &AwsFixture, program: Program, table: &mut Table) -> Result<()> {
    fixture.join(3).await?;
    let replica = Replica::start(&fixture.base, program, &[])?;
    fixture.base.initialised(|| replica.check()).await?;
    fixture.publish(&names("service", BALANCERS), Kind::Network).await?;
    fixture.served(BALANCERS, 3, &replica).await?;
    let (mark, start) = (fixture.cloud().mark(), Instant::now());
    fixture.join(1).await?;
    fixture.served(BALANCERS, 4, &replica).await?;
    let took = start.elapsed();
    let calls = fixture.cloud().calls_since(mark);
    let row = format!("a node joins {BALANCERS} network load balancers: changes");
    let registrations = calls.iter().filter(|call| call.operation == "RegisterTargets").count();
    let changes = calls.iter().filter(|call| call.is_write()).count();
    let promise = Promise::that(
        registrations == BALANCERS && changes == BALANCERS,
        "one RegisterTargets for each target group, and nothing else",
    );
    table.put_promised(&row, program, changes, promise);
    table.put("… reads", program, calls.len() - changes);
    table.put("… until the last call", program, seconds(took));
    Ok(())
}
