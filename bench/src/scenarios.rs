//! What is measured.

use crate::{
    Args,
    audit::{self, Counts, Mark},
    bare,
    fixture::{Fixture, Use},
    memory_fixture::MemoryFixture,
    replica::{Program, Replica},
    table::{Promise, Table},
};
use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use memory_sim::Operation;
use std::time::{Duration, Instant};

/// Services that are not for the programs under test.
const FOREIGN: usize = 20;
/// How often all nodes are looked at in the cloud, with one call: `--node-status-update-frequency`.
const BETWEEN_LOOKS: Duration = Duration::from_mins(5);
const BOTH: [Program; 2] = [Program::Ours, Program::Peer];

pub fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}-{n:05}")).collect()
}

pub fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

/// Fresh nodes are there; how long until none is tainted?
pub async fn initialise(fixture: &MemoryFixture, count: usize, table: &mut Table) -> Result<()> {
    let nodes = names("node", count);
    let floor = floor(fixture, &nodes).await?;
    table.put(
        &format!("{count} nodes, bare loop of two patches a node"),
        Program::Ours,
        seconds(floor),
    );
    for program in Program::ALL {
        fixture.clear().await?;
        fixture.join(&nodes).await?;
        fixture.cloud.forget_calls();
        let mark = Mark::now(&fixture.plane.audit_log())?;
        let replica = Replica::start(fixture, program, &[])?;
        let first = first_patch(&mark, &replica).await?;
        fixture.initialised(|| replica.check()).await?;
        let (took, working) = (replica.started.elapsed(), first.elapsed());
        table.put(
            &format!("{count} nodes: start to last taint gone"),
            program,
            seconds(took),
        );
        table.put(
            &format!("{count} nodes: first write to last taint gone"),
            program,
            seconds(working),
        );
        table.put(
            "… of the bare loop's rate",
            program,
            format!("{:.0} %", 100.0 * floor.as_secs_f64() / working.as_secs_f64()),
        );
        table.put(
            "… calls of the cloud",
            program,
            fixture.cloud.count(Operation::Describe),
        );
        replica.put_resident(program, table).await?;
        // By now all of it stands in the audit log, and what was needless would have come.
        put_requests(&mark.since(&replica.user)?, count, program, table);
    }
    Ok(())
}

/// What initialising so many nodes took of the API server.
fn put_requests(counts: &Counts, nodes: usize, program: Program, table: &mut Table) {
    let (writes, gets) = (audit::writes(counts), audit::gets(counts));
    table.put_promised(
        "… writes a node (events apart)",
        program,
        format!("{:.2}", writes as f64 / nodes as f64),
        Promise::exactly(writes, 2 * nodes as u64).in_words("two a node"),
    );
    let promise = Promise::exactly(gets, 0);
    table.put_promised("… reads of single objects", program, gets, promise);
}

/// How long the bare loop takes on a server that is warm: the first run of all is slower, and would flatter the others.
async fn floor(fixture: &MemoryFixture, nodes: &[String]) -> Result<Duration> {
    let mut best = Duration::MAX;
    for _ in 0..2 {
        fixture.clear().await?;
        fixture.join(nodes).await?;
        best = best.min(bare::initialise(fixture, nodes).await?);
    }
    Ok(best)
}

/// The moment of the first write of a node, or just before.
async fn first_patch(mark: &Mark, replica: &Replica) -> Result<Instant> {
    loop {
        let now = Instant::now();
        if mark
            .first(&replica.user, |name| {
                name.starts_with("patch nodes") || name.starts_with("update nodes")
            })?
            .is_some()
        {
            return Ok(now);
        }
        replica.check()?;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The leader is stopped cleanly; how long until the standby leads?
pub async fn hand_over(fixture: &MemoryFixture, table: &mut Table) -> Result<()> {
    for program in BOTH {
        fixture.clear().await?;
        let leader = Replica::start(fixture, program, &[])?;
        let first = holder_after(fixture, "").await?;
        let standby = Replica::start(fixture, program, &[])?;
        // It must have seen the lease at least once before it can take over.
        let mark = Mark::now(&fixture.plane.audit_log())?;
        while mark.since(&standby.user)?.keys().all(|name| !name.ends_with("leases")) {
            standby.check()?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let stop = Instant::now();
        leader.signal("TERM")?;
        holder_after(fixture, &first).await?;
        table.put("clean stop to standby leads", program, seconds(stop.elapsed()));
    }
    Ok(())
}

async fn holder_after(fixture: &MemoryFixture, old: &str) -> Result<String> {
    let leases: Api<Lease> = Api::namespaced(fixture.client.clone(), "kube-system");
    loop {
        let lease = leases.get_opt("cloud-controller-manager").await?;
        let holder = lease.and_then(|lease| lease.spec?.holder_identity).unwrap_or_default();
        if !holder.is_empty() && holder != old {
            return Ok(holder);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// One tainted node is there; how long from the start of the process to its first write?
pub async fn start(fixture: &MemoryFixture, table: &mut Table) -> Result<()> {
    for program in BOTH {
        let mut best = Duration::MAX;
        for _ in 0..3 {
            fixture.clear().await?;
            fixture.join(&names("node", 1)).await?;
            let mark = Mark::now(&fixture.plane.audit_log())?;
            let replica = Replica::start(fixture, program, &[])?;
            best = best.min(first_patch(&mark, &replica).await?.duration_since(replica.started));
        }
        table.put("start to first useful write (best of 3)", program, seconds(best));
    }
    Ok(())
}

/// Everything is done; what does it cost to be there? Then one node joins.
pub async fn idle(args: &Args, table: &mut Table) -> Result<()> {
    let (nodes, services, period) = (args.nodes, args.services, Duration::from_secs(args.idle));
    for program in [Program::Ours, Program::PeerTuned] {
        // A fixture of its own: the cloud must have no load balancers but its own.
        let fixture = &MemoryFixture::start(args.outrigger.as_deref()).await?;
        fixture.join(&names("node", nodes)).await?;
        fixture.publish(&names("service", services), 2).await?;
        fixture
            .publish_as(&names("foreign", FOREIGN), 2, Some("example.com/other"))
            .await?;
        let replica = Replica::start(fixture, program, &[])?;
        fixture.initialised(|| replica.check()).await?;
        published(fixture, services, nodes, &replica).await?;
        settle(fixture, &replica).await?;
        let size = format!("idle, {nodes} nodes and {services} Services");
        let mark = Mark::now(&fixture.plane.audit_log())?;
        fixture.cloud.forget_calls();
        tokio::time::sleep(period).await;
        let counts = mark.since(&replica.user)?;
        let (writes, calls) = (audit::writes(&counts), fixture.cloud.calls().len() as u64);
        table.put_promised(
            &format!("{size}: writes in {} s (lease apart)", period.as_secs()),
            program,
            writes,
            Promise::exactly(writes, 0),
        );
        table.put_promised(
            &format!("{size}: calls of the cloud in {} s", period.as_secs()),
            program,
            calls,
            Promise::at_most(calls, 1 + period.as_secs() / BETWEEN_LOOKS.as_secs()),
        );
        table.put(&format!("{size}: resident memory"), program, replica.resident()?);

        fixture.cloud.forget_calls();
        let start = Instant::now();
        fixture.join(&["one-more".to_owned()]).await?;
        published(fixture, services, nodes + 1, &replica).await?;
        table.put("one more node: in all Services", program, seconds(start.elapsed()));
        settle(fixture, &replica).await?;
        let ensures = fixture.cloud.count(Operation::EnsureLoadBalancer);
        let updates = fixture.cloud.count(Operation::UpdateHosts);
        table.put(
            "one more node: full ensures / host updates",
            program,
            format!("{ensures} / {updates}"),
        );
        untouched(fixture, &replica, program, table).await?;
    }
    Ok(())
}

/// What a new node does not affect costs nothing: Services of another class, and all Services if no load balancer may use it.
async fn untouched(fixture: &MemoryFixture, replica: &Replica, program: Program, table: &mut Table) -> Result<()> {
    let about = |wanted: &dyn Fn(&str) -> bool| {
        let calls = fixture.cloud.calls().into_iter();
        let services = calls.filter_map(|call| call.details.service);
        services.filter(|service| wanted(&service.name)).count() as u64
    };
    let foreign = about(&|name| name.starts_with("foreign"));
    table.put_promised(
        &format!("one more node: calls for {FOREIGN} Services of another class"),
        program,
        foreign,
        Promise::exactly(foreign, 0),
    );
    fixture.cloud.forget_calls();
    fixture.join_for(&["apart".to_owned()], Use::NoLoadBalancer).await?;
    fixture.initialised(|| replica.check()).await?;
    settle(fixture, replica).await?;
    let any = about(&|_| true);
    table.put_promised(
        "one more node that no load balancer may use: calls for Services",
        program,
        any,
        Promise::exactly(any, 0),
    );
    Ok(())
}

/// Waits until every Service has all nodes behind it.
async fn published(fixture: &MemoryFixture, services: usize, nodes: usize, replica: &Replica) -> Result<()> {
    loop {
        let done = fixture
            .cloud
            .load_balancers()
            .iter()
            .filter(|balancer| balancer.hosts.len() == nodes)
            .count();
        if done == services {
            return Ok(());
        }
        replica.check()?;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Waits until nothing has been written for five seconds.
async fn settle(fixture: &MemoryFixture, replica: &Replica) -> Result<()> {
    loop {
        let mark = Mark::now(&fixture.plane.audit_log())?;
        let calls = fixture.cloud.writes().len();
        tokio::time::sleep(Duration::from_secs(5)).await;
        if audit::writes(&mark.since(&replica.user)?) == 0 && fixture.cloud.writes().len() == calls {
            return Ok(());
        }
    }
}

/// The size of the programs.
pub fn size(fixture: &Fixture, table: &mut Table) -> Result<()> {
    for (program, path) in [(Program::Ours, &fixture.ours), (Program::Peer, &fixture.peer)] {
        let bytes = std::fs::metadata(path)
            .with_context(|| format!("no {}", path.display()))?
            .len();
        table.put(
            "size of the binary, stripped",
            program,
            format!("{:.1} MiB", bytes as f64 / 1024.0 / 1024.0),
        );
    }
    Ok(())
}
