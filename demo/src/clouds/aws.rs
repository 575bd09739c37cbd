//! EC2 and Elastic Load Balancing, simulated in this process.

use super::Cloud;
use anyhow::{Context, Result};
use async_trait::async_trait;
use aws_sim::{Account, Kind, Sim, State};
use std::path::Path;

/// The simulation, served to the replicas.
pub struct Aws {
    sim: Sim,
}

impl Aws {
    /// Starts the simulation.
    pub async fn start() -> Result<(Self, String)> {
        let sim = Sim::start().await.context("cannot serve AWS")?;
        let done = format!("EC2 and Elastic Load Balancing, simulated, are up at {}", sim.url());
        Ok((Self { sim }, done))
    }

    fn set_state(&self, name: &str, state: State) -> Result<()> {
        let id = self.sim.cloud().read(|account| id_of(account, name))?;
        self.sim.cloud().write(|account, _| account.set_state(&id, state));
        Ok(())
    }
}

fn id_of(account: &Account, name: &str) -> Result<String> {
    let machines = account.machines();
    let machine = machines.iter().find(|machine| machine.name == name);
    let machine = machine.with_context(|| format!("instance {name} does not exist"))?;
    Ok(machine.id.clone())
}

#[async_trait]
impl Cloud for Aws {
    fn provider(&self) -> &'static str {
        "aws"
    }

    fn config(&self) -> String {
        self.sim.cloud_conf("")
    }

    fn variables(&self) -> Vec<(&'static str, &'static str)> {
        Sim::environment().into()
    }

    async fn boot(&self, name: &str) -> Result<()> {
        self.sim
            .cloud()
            .write(|account, now| account.boot_named(Some(name), "m5.large", now));
        Ok(())
    }

    async fn power_off(&self, name: &str) -> Result<()> {
        self.set_state(name, State::Stopped)
    }

    async fn delete(&self, name: &str) -> Result<()> {
        self.set_state(name, State::Terminated)
    }

    async fn backends(&self) -> Result<Vec<String>> {
        Ok(self.sim.cloud().read(|account| {
            let names = account.load_balancers(Kind::Classic);
            let balancers = names
                .iter()
                .filter_map(|name| account.load_balancer(Kind::Classic, name));
            let ids: Vec<String> = balancers.flat_map(|balancer| balancer.instances).collect();
            let behind = account
                .machines()
                .into_iter()
                .filter(|machine| ids.contains(&machine.id));
            let mut names: Vec<String> = behind.map(|machine| machine.name.clone()).collect();
            names.sort();
            names
        }))
    }

    async fn routes(&self) -> Result<Vec<String>> {
        let routes = self.sim.cloud().read(Account::routes);
        let mut routes: Vec<String> = routes.into_iter().map(|(destination, _)| destination).collect();
        routes.sort();
        Ok(routes)
    }

    async fn service_objects(&self) -> Result<Vec<String>> {
        Ok(self.sim.cloud().read(|account| {
            let kinds = [Kind::Classic, Kind::Network];
            let balancers = kinds.into_iter().flat_map(|kind| account.load_balancers(kind));
            balancers.chain(account.load_balancer_groups()).collect()
        }))
    }

    fn how_to_inspect(&self, _: &Path) -> Result<Vec<String>> {
        let variables = Sim::environment().map(|(name, value)| format!("{name}={value}"));
        Ok(vec![
            format!("export {} AWS_ENDPOINT_URL={}", variables.join(" "), self.sim.url()),
            "aws ec2 describe-instances; aws elb describe-load-balancers; aws ec2 describe-route-tables".to_owned(),
        ])
    }
}
