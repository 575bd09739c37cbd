//! Compares the simulation with the real services: the same requests are sent to both, and the answers are compared. `requests.txt` is the list,
//! `recorded.jsonl` has the answers of the real services; with `OUTRIGGER_RECORD` the second test records them again.

#![expect(clippy::unwrap_used, reason = "all of this crate is a test")]

mod compare;
mod script;
mod target;

use anyhow::{Context, Result};
use compare::{Mask, differences};
use lab::openstack::{OpenStack, Region};
use openstack_sim::{Cloud, Settings, Sim};
use reqwest::Client;
use serde_json::Value;
use std::{fmt::Write, path::PathBuf, time::Duration};
use target::{Control, Target};

const REQUESTS: &str = include_str!("requests.txt");

impl Control for Cloud {
    fn fail_next(&self, _: &str) -> Result<()> {
        self.configure(|settings| settings.balancer_failures = 1);
        Ok(())
    }

    /// All are slow enough, by the setting.
    fn slow_down(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

impl Control for &'static OpenStack {
    fn fail_next(&self, name: &str) -> Result<()> {
        self.fail_next_lb(name)
    }

    fn slow_down(&self, name: &str) -> Result<()> {
        self.set_lb_delay_of(name, Duration::from_millis(500))
    }
}

fn file() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/truth/recorded.jsonl")
}

fn client() -> Result<Client> {
    // Another test may have done it.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = Client::builder().redirect(reqwest::redirect::Policy::none());
    Ok(builder.no_proxy().build()?)
}

/// Asks everything, and answers what came of it, without what is different every time.
async fn ask(keystone: &str, us: &str, control: Box<dyn Control>) -> Result<Vec<Value>> {
    let client = client()?;
    let target = Target::discover(&client, keystone, us, control).await?;
    let requests = script::parse(REQUESTS);
    let run = format!("r{:06}", fastrand::u32(..1_000_000));
    let answers = target.play(&client, &requests, &run).await?;
    let mask = Mask::new(&target, &run, REQUESTS);
    let masked = requests.iter().zip(&answers);
    Ok(masked.map(|(request, answer)| mask.answer(request, answer)).collect())
}

fn recorded() -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file()).context("there is no recording")?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn report(real: &[Value], ours: &[Value]) -> String {
    let mut text = String::new();
    if real.len() != ours.len() {
        let _ = writeln!(text, "{} answers, really {}", ours.len(), real.len());
    }
    for (real, ours) in real.iter().zip(ours) {
        let mut found = Vec::new();
        differences(real, ours, "", &mut found);
        if !found.is_empty() {
            let _ = writeln!(text, "{}:\n  {}", real["name"], found.join("\n  "));
        }
    }
    text
}

#[tokio::test]
async fn the_simulation_answers_like_the_real_services() -> Result<()> {
    let cloud = Cloud::with(Settings {
        balancer_delay: Duration::from_millis(30),
        ..Settings::default()
    });
    let project = cloud.add_project("truth", "default");
    cloud.add_user("truth", "labpass", "default", &project);
    let sim = Sim::start(&cloud).await?;
    let ours = ask(&sim.auth_url(), "truth", Box::new(cloud)).await?;
    let report = report(&recorded()?, &ours);
    assert!(report.is_empty(), "{report}");
    Ok(())
}

#[tokio::test]
#[ignore = "takes the lab: make test-openstack runs it"]
async fn the_recording_is_what_the_real_services_answer() -> Result<()> {
    let cloud = tokio::task::spawn_blocking(OpenStack::shared).await?;
    let project = cloud.project(&lab::unique("truth")).await?;
    let real = ask(&cloud.keystone(Region::Plain), &project.tenant().name, Box::new(cloud)).await?;
    if std::env::var("OUTRIGGER_RECORD").is_ok() {
        let lines: Vec<String> = real.iter().map(Value::to_string).collect();
        std::fs::write(file(), lines.join("\n") + "\n")?;
        return Ok(());
    }
    let report = report(&recorded()?, &real);
    assert!(report.is_empty(), "{report}");
    Ok(())
}
