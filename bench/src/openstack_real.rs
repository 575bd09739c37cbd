//! Fresh nodes and many Services on the real services, beside occm.

use crate::{
    Args, What, bare,
    burst::{self, Times},
    fixture::Fixture,
    replica::{Program, Replica},
    scenarios::{self, seconds},
    table::Table,
};
use anyhow::Result;
use futures::future::try_join_all;
use lab::openstack::{OpenStack, Project, Region, Request, Service};
use reqwest::Method;
use std::{
    fs,
    time::{Duration, Instant},
};

const REAL: &str = "the real services";

/// Everything.
pub async fn measure(args: &Args, table: &mut Table) -> Result<()> {
    let cloud = tokio::task::spawn_blocking(OpenStack::start).await??;
    let wanted = |part| args.only.is_none_or(|only| only == What::OpenstackReal || only == part);
    if wanted(What::BurstReal) {
        let [ours, peer] = burst::PROGRAMS;
        let ours = services(args, &cloud, ours, table).await?;
        let peer = services(args, &cloud, peer, table).await?;
        burst::promise(REAL, &ours, &peer, table);
    }
    if wanted(What::OpenstackReal) {
        nodes(args, &cloud, table).await?;
    }
    Ok(())
}

/// Many Services at once, in a project of their own.
async fn services(args: &Args, cloud: &OpenStack, program: Program, table: &mut Table) -> Result<Times> {
    let project = cloud.project(&lab::unique("burst")).await?;
    let server = project.boot("node").await?;
    let fixture = Fixture::start(args.outrigger.as_deref(), lab::peer::occm()?, "openstack").await?;
    let config = format!(
        "{}[LoadBalancer]\nlb-provider = lab\nsubnet-id = {}\nfloating-network-id = {}\n",
        project.cloud_conf(Region::Plain),
        project.tenant().subnet,
        cloud.external_network()
    );
    fs::write(&fixture.cloud_config, config)?;
    fixture.register(&[server.name]).await?;
    burst::measure(&fixture, REAL, program, table).await
}

/// All programs on the same servers.
async fn nodes(args: &Args, cloud: &OpenStack, table: &mut Table) -> Result<()> {
    let project = cloud.project("bench").await?;
    let server = project.boot("first").await?;
    let copies = project.clone_servers(&server, args.nodes, "node-")?;
    let names: Vec<String> = copies.into_iter().map(|server| server.name).collect();
    let fixture = Fixture::start(args.outrigger.as_deref(), lab::peer::occm()?, "openstack").await?;
    let external = cloud.external_network();
    let config = format!(
        "{}[LoadBalancer]\nfloating-network-id = {external}\n",
        project.cloud_conf(Region::Plain)
    );
    fs::write(&fixture.cloud_config, config)?;

    fixture.register(&names).await?;
    let patches = bare::initialise(&fixture, &names).await?;
    let count = names.len();
    for program in Program::ALL {
        fixture.clear_cluster().await?;
        fixture.register(&names).await?;
        let mark = cloud.mark().await?;
        let replica = Replica::start(&fixture, program, &[])?;
        fixture.initialised(|| replica.check()).await?;
        let took = replica.started.elapsed();
        let requests = cloud.requests_since(mark).await?;
        let what = format!("{count} fresh nodes initialised");
        table.put(&what, program, seconds(took));
        table.put("… calls of the cloud", program, requests.len());
        replica.put_resident(program, table).await?;
        if program == Program::Ours {
            let lists = lists(&project, &requests).await?;
            let floor = lists + patches;
            let what = format!(
                "the floor: list pages {}, bare patches {}",
                seconds(lists),
                seconds(patches)
            );
            table.put(&what, program, seconds(floor));
            let ratio = took.as_secs_f64() / floor.as_secs_f64();
            table.put("… so many times the floor", program, format!("{ratio:.2}"));
        }
    }
    scenarios::size(&fixture, table)
}

/// How long the services take for the same pages if all of them are requested at once.
async fn lists(project: &Project<'_>, requests: &[Request]) -> Result<Duration> {
    let is_page = |request: &&Request| request.method == "GET" && request.service != Service::Keystone;
    let pages = requests.iter().filter(is_page);
    let start = Instant::now();
    try_join_all(pages.map(|page| project.call(page.service, Method::GET, &page.path, None))).await?;
    Ok(start.elapsed())
}
