//! AWS on loopback: what the tests of its provider rely on.

#![expect(clippy::unwrap_used, reason = "what must not be missing in a test ends it")]

use lab::aws::{Aws, Fault, Fixture, REGION, SECRET};
use serde_json::json;
use std::process::Command;

/// Calls EC2 as a program under test does, by boto3 with another agent.
const CLIENT: &str = "
import json, sys, boto3
from botocore.config import Config
url, key, secret, service, operation, arguments = sys.argv[1:]
boto3.client(service, region_name='us-east-1', endpoint_url=url, aws_access_key_id=key, aws_secret_access_key=secret,
             config=Config(user_agent='tested', retries={'max_attempts': 0}, parameter_validation=False)).__getattribute__(operation)(**json.loads(arguments))
";

/// What the client ends with: nothing, or its last line.
async fn client(
    fixture: &Fixture<'_>,
    secret: &str,
    service: &str,
    operation: &str,
    arguments: serde_json::Value,
) -> String {
    let mut command = Command::new(lab::aws::python().unwrap());
    command.args(["-c", CLIENT, fixture.account.server().url()]);
    command.args([
        &fixture.account.access_key(),
        secret,
        service,
        operation,
        &arguments.to_string(),
    ]);
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    error.lines().last().unwrap_or_default().to_owned()
}

async fn fixture() -> Fixture<'static> {
    let server = tokio::task::spawn_blocking(Aws::shared).await.unwrap();
    Fixture::new(server).await.unwrap()
}

#[tokio::test]
async fn a_cluster_finds_its_network() {
    let fixture = fixture().await;
    let instances = fixture.boot(1, "t3.medium", 2).await.unwrap();
    assert_eq!(instances.len(), 2);
    assert_eq!(instances[0].zone, format!("{REGION}b"));
    assert!(instances[0].name.starts_with("ip-10-0-1-"), "{instances:?}");
    let other = self::fixture().await;
    let seen = other.account.call("ec2", "DescribeInstances", json!({})).await.unwrap();
    assert_eq!(seen["Reservations"], json!([]), "accounts have nothing in common");
    assert_eq!(
        fixture.account.calls().unwrap(),
        [],
        "the owner's calls are not recorded"
    );
}

#[tokio::test]
async fn calls_are_recorded_and_checked_against_the_models() {
    let fixture = fixture().await;
    let mark = fixture.account.mark().unwrap();
    let vpcs = json!({"VpcIds": [fixture.vpc]});
    assert_eq!(client(&fixture, SECRET, "ec2", "describe_vpcs", vpcs).await, "");
    let calls = fixture.account.calls_since(mark).unwrap();
    let [call] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(
        (call.action.as_str(), call.status, call.write),
        ("DescribeVpcs", 200, false)
    );
    assert_eq!(call.params["VpcId.1"], json!(fixture.vpc));
    assert_eq!(fixture.account.problems().await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_wrong_secret_is_refused() {
    let fixture = fixture().await;
    for (service, operation, code) in [
        ("ec2", "describe_vpcs", "AuthFailure"),
        ("elbv2", "describe_load_balancers", "SignatureDoesNotMatch"),
    ] {
        let output = client(&fixture, "another", service, operation, json!({})).await;
        assert!(output.contains(code), "{output}");
    }
}

#[tokio::test]
async fn faults_meet_the_calls_that_they_are_for() {
    let fixture = fixture().await;
    let faults = [
        (Fault::Refuse(503, "RequestLimitExceeded"), "RequestLimitExceeded"),
        (Fault::LoseAnswer, "Connection was closed"),
        (Fault::Truncate, "Unable to parse response"),
    ];
    for (fault, expected) in faults {
        fixture.account.inject(&fault, "DescribeVpcs", 1).await.unwrap();
        let other = client(&fixture, SECRET, "ec2", "describe_subnets", json!({})).await;
        assert_eq!(other, "", "{fault:?} meets another action");
        let mut command = client(&fixture, SECRET, "ec2", "describe_vpcs", json!({})).await;
        if fault == Fault::Truncate {
            // The last line is the truncated answer itself.
            command = command.replace("b'<?xml", "Unable to parse response b'<?xml");
        }
        assert!(command.contains(expected), "{fault:?}: {command}");
        assert_eq!(
            client(&fixture, SECRET, "ec2", "describe_vpcs", json!({})).await,
            "",
            "{fault:?} comes twice"
        );
    }
}

#[tokio::test]
async fn a_security_group_in_use_cannot_be_deleted() {
    let fixture = fixture().await;
    let instance = fixture.boot_one().await.unwrap();
    let group = json!({"GroupId": fixture.security_group});
    let refused = fixture
        .account
        .call("ec2", "DeleteSecurityGroup", group.clone())
        .await
        .unwrap_err();
    assert!(format!("{refused:#}").contains("DependencyViolation"), "{refused:#}");
    fixture.terminate(&instance.id).await.unwrap();
    fixture.account.call("ec2", "DeleteSecurityGroup", group).await.unwrap();
}
