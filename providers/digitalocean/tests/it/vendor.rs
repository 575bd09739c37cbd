//! The vendor's own clients use the fake, and every request of ours and every answer of the fake decodes into the vendor's types.

use crate::{everything::everything, fixture::Fixture};
use anyhow::{Context, Result, ensure as check};
use digitalocean_fake::TOKEN;
use fakecloud::json;
use std::{
    collections::BTreeSet,
    io::Write,
    process::{Command, Output, Stdio},
};

const GODO: lab::peer::Peer = lab::peer::Peer {
    name: "digitalocean-vendor",
    what: "DigitalOcean's Go client",
    package: ".",
    files: &[
        ("go.mod", include_str!("vendor/go.mod")),
        ("go.sum", include_str!("vendor/go.sum")),
        ("main.go", include_str!("vendor/main.go")),
    ],
};

async fn run(mut command: Command) -> Result<String> {
    let output: Output = tokio::task::spawn_blocking(move || command.output()).await??;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    check!(output.status.success(), "{out}{err}");
    Ok(out)
}

async fn furnished() -> Fixture {
    let fixture = Fixture::start().await;
    fixture.hosts(5);
    fixture
        .cloud
        .write(|fake, _| fake.add_certificate("www", "lets_encrypt"));
    fixture
}

#[tokio::test]
async fn godo_uses_the_fake() -> Result<()> {
    let fixture = furnished().await;
    let mut command = Command::new(tokio::task::spawn_blocking(|| GODO.program()).await??);
    command.args(["drive", &fixture.url(), TOKEN]);
    let output = run(command).await?;
    let expected = "account active\nregions fra1\ndroplets 5\ncreated new\nthen active true [driven]\nrules 2\nload balancers 1\n\
                    firewall succeeded 0\ncertificate lets_encrypt\n";
    assert_eq!(output, expected);
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn pydo_uses_the_fake() -> Result<()> {
    let fixture = furnished().await;
    let python =
        tokio::task::spawn_blocking(|| lab::python::with("pydo", include_str!("vendor/requirements.txt"))).await??;
    let mut command = Command::new(python);
    command.args(["-c", include_str!("vendor/drive.py"), &fixture.url(), TOKEN]);
    assert_eq!(
        run(command).await?,
        "account active\ndroplets 5 of 5\ncreated new\nthen active\nrules 2\nfirewall succeeded\ngone\n"
    );
    assert_eq!(fixture.cloud.unknown(), Vec::<String>::new());
    Ok(())
}

/// Everything that the provider ever sends, and every kind of answer.
#[tokio::test]
async fn every_exchange_decodes_into_the_vendors_types() -> Result<()> {
    let fixture = furnished().await;
    everything(&fixture).await;
    let exchanges = fixture.cloud.read(|fake| fake.transcript.clone());
    let routes: BTreeSet<_> = exchanges.iter().map(|exchange| exchange.route).collect();
    let lines: Vec<String> = exchanges
        .iter()
        .map(|one| {
            json!({"route": one.route, "request": one.request, "status": one.status, "response": one.response})
                .to_string()
        })
        .collect();
    let program = tokio::task::spawn_blocking(|| GODO.program()).await??;
    let output = tokio::task::spawn_blocking(move || {
        let mut child = Command::new(program)
            .arg("decode")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child
            .stdin
            .take()
            .context("no input")?
            .write_all(lines.join("\n").as_bytes())?;
        let output = child.wait_with_output()?;
        check!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    });
    let output = output.await??;
    assert_eq!(output.lines().count(), routes.len(), "{output}");
    // All endpoints that the provider has.
    assert_eq!(routes.len(), 17, "{routes:?}");
    Ok(())
}
