//! Starts the processes of a cloud, in the order they need, and knows when they are ready.

#![expect(clippy::print_stderr, reason = "progress is for the person who waits")]

use super::{
    catalog::{Region, Service},
    client::{Client, Login, block_on},
    processes::{Place, Process, find},
};
use crate::process::Guarded;
use anyhow::{Context, Result, bail};
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

const READY_WITHIN: Duration = Duration::from_mins(4);

/// A cloud on its way.
pub(super) struct Starting<'a> {
    place: Place<'a>,
    client: &'a Client,
    started: Instant,
    /// When the database was there, in its own words.
    since: String,
    parts: Vec<Guarded>,
}

/// Starts a whole cloud whose content is in the folder, and returns when every part of it is ready.
pub(super) fn start(place: Place<'_>, client: &Client) -> Result<Vec<Guarded>> {
    eprintln!("lab: starting OpenStack in {}", place.folder.display());
    let mut starting = Starting::new(place, client);
    starting.infrastructure()?;
    starting.point_catalog_here()?;
    starting.spawn_api(Service::Keystone)?;
    starting.services()?;
    starting.spawn(place.worker("octavia-worker", "octavia.conf"))?;
    starting.wait_until_ready()?;
    starting.wait_for_log("octavia-worker", "Starting V2 consumer")?;
    block_on(client.warm_up(&Login::new("demo")))?;
    eprintln!(
        "lab: starting OpenStack: ready after {} s",
        starting.started.elapsed().as_secs()
    );
    Ok(starting.parts)
}

impl<'a> Starting<'a> {
    pub fn new(place: Place<'a>, client: &'a Client) -> Self {
        Self {
            place,
            client,
            started: Instant::now(),
            since: String::new(),
            parts: Vec::new(),
        }
    }

    /// The broker, the database, the cache and the door; returns when the database answers.
    pub fn infrastructure(&mut self) -> Result<()> {
        let (place, ports) = (self.place, self.client.ports());
        fs::write(place.folder.join("rabbit/plugins"), "[].\n")?;
        self.spawn(Place::epmd(ports)?)?;
        self.spawn(place.rabbitmq(ports)?)?;
        self.spawn(place.mariadb()?)?;
        self.spawn(Place::memcached(ports)?)?;
        self.spawn(place.nginx()?)?;
        self.wait("the database", |starting| Ok(starting.sql("SELECT 1").is_ok()))?;
        self.since = self.sql("SELECT UTC_TIMESTAMP()")?;
        Ok(())
    }

    /// The endpoints in the catalog have the ports of an earlier start.
    fn point_catalog_here(&self) -> Result<()> {
        for (service, region) in Service::ALL
            .iter()
            .flat_map(|service| Region::ALL.map(|region| (*service, region)))
        {
            let url = format!("{}{}", self.client.ports().url(service, region), service.path());
            self.sql(&format!(
                "UPDATE keystone.endpoint JOIN keystone.service ON service.id = service_id SET url = '{url}' \
                 WHERE type = '{}' AND region_id = '{}'",
                service.catalog_type(),
                region.name(),
            ))?;
        }
        Ok(())
    }

    /// Keystone alone, ready.
    pub fn keystone(&mut self) -> Result<()> {
        self.spawn_api(Service::Keystone)?;
        self.wait_for_api(Service::Keystone)
    }

    /// The other APIs, and Nova's workers.
    pub fn services(&mut self) -> Result<()> {
        let place = self.place;
        // nova-compute waits ten seconds at a time for a conductor that is not there yet: the conductor first.
        self.spawn(place.worker("nova-conductor", "nova.conf"))?;
        self.spawn_api(Service::Placement)?;
        self.spawn(place.worker("nova-scheduler", "nova.conf"))?;
        for service in [Service::Nova, Service::Neutron, Service::Octavia, Service::Glance] {
            self.spawn_api(service)?;
        }
        self.wait_for_log("nova-conductor", "Starting conductor node")?;
        self.wait_for_api(Service::Keystone)?;
        self.wait_for_api(Service::Placement)?;
        self.spawn(place.worker("nova-compute", "nova.conf"))
    }

    /// Waits until every API answers and nova-compute has reported.
    pub fn wait_until_ready(&mut self) -> Result<()> {
        for service in Service::ALL {
            self.wait_for_api(service)?;
            // The door answers when one of them does.
            for process in service.processes() {
                self.wait_for_log(process, "WSGI app 0")?;
            }
        }
        let reported = format!(
            "SELECT COUNT(*) FROM nova_cell1.services JOIN nova_cell1.compute_nodes USING (host) \
             WHERE `binary` = 'nova-compute' AND COALESCE(services.updated_at, services.created_at) >= '{}'",
            self.since.trim()
        );
        self.wait("nova-compute", |starting| Ok(starting.sql(&reported)?.trim() != "0"))
    }

    /// Stops everything; the database first, and gently, so that its files are whole.
    pub fn stop(mut self) -> Result<()> {
        let database = self.parts.iter().find(|part| part.log().ends_with("mariadb.log"));
        let database = database.context("the database was never started")?;
        database.signal("TERM")?;
        let start = Instant::now();
        while database.is_running() {
            if start.elapsed() > READY_WITHIN {
                bail!("the database does not stop");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.parts.clear();
        Ok(())
    }

    /// Runs a statement, and answers its rows as text.
    fn sql(&self, statement: &str) -> Result<String> {
        let mut client = Command::new(find("mariadb")?);
        client.args(["--no-defaults", "-uroot", "-N", "-e", statement]);
        let output = client.arg("-S").arg(self.place.folder.join("mysql.sock")).output()?;
        if !output.status.success() {
            bail!("{statement}: {}", String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn spawn_api(&mut self, service: Service) -> Result<()> {
        let processes = self.place.api(service);
        processes.into_iter().try_for_each(|process| self.spawn(process))
    }

    fn spawn(&mut self, process: Process) -> Result<()> {
        let Process {
            name,
            program,
            args,
            env,
        } = process;
        self.parts
            .push(Guarded::spawn_with_env(self.place.folder, name, &program, &args, &env)?);
        Ok(())
    }

    fn wait_for_api(&mut self, service: Service) -> Result<()> {
        self.wait(service.name(), |starting| {
            Ok(block_on(starting.client.ask(service)).is_ok())
        })
    }

    fn wait_for_log(&mut self, name: &str, text: &str) -> Result<()> {
        let log = self.place.folder.join(format!("{name}.log"));
        self.wait(name, |_| Ok(fs::read_to_string(&log)?.contains(text)))
    }

    fn wait(&mut self, what: &str, ready: impl Fn(&Self) -> Result<bool>) -> Result<()> {
        let (asked, mut reported) = (Instant::now(), Instant::now());
        while !ready(self)? {
            if reported.elapsed() > Duration::from_secs(10) {
                reported = Instant::now();
                eprintln!(
                    "lab: starting OpenStack: {} s, waiting for {what}",
                    self.started.elapsed().as_secs()
                );
            }
            if let Some(part) = self.parts.iter().find(|part| !part.is_running()) {
                bail!("{} ended:\n{}", part.log().display(), part.log_tail(15));
            }
            if asked.elapsed() > READY_WITHIN {
                bail!("{what} is not ready after {} s", READY_WITHIN.as_secs());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}
