//! The logs of real runs, in both formats, and what they never contain.

use crate::fixture::{Credentials, Fixture, Manager};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use std::fs;

async fn work(fixture: &Fixture, manager: &Manager) {
    let node = fixture.join("a").await;
    fixture.initialised(manager, &node).await;
    let service = fixture.create(fixture.balanced("web")).await;
    fixture.served(manager, service.metadata.name.as_deref().unwrap()).await;
    manager.signal("TERM");
    assert_eq!(manager.exited().await.code, 0, "{}", manager.log_tail());
}

/// `Lmmdd hh:mm:ss.uuuuuu threadid file:line] message`
fn is_klog(line: &str) -> bool {
    let digits = |text: &str, pattern: &str| {
        text.len() == pattern.len()
            && text
                .chars()
                .zip(pattern.chars())
                .all(|(found, expected)| match expected {
                    '0' => found.is_ascii_digit(),
                    other => found == other,
                })
    };
    let Some((header, message)) = line.split_once("] ") else {
        return false;
    };
    let words: Vec<_> = header.split_whitespace().collect();
    let [date, time, thread, place] = words[..] else {
        return false;
    };
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    date.starts_with(['I', 'W', 'E', 'F'])
        && digits(&date[1..], "0000")
        && digits(time, "00:00:00.000000")
        && number(thread)
        && place.split_once(".rs:").is_some_and(|(_, line)| number(line))
        && !message.is_empty()
}

#[tokio::test]
async fn text() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().flag("--v=4").start();
    work(&fixture, &manager).await;
    let log = manager.log();
    let wrong: Vec<_> = log.lines().filter(|line| !is_klog(line)).collect();
    assert!(wrong.is_empty(), "not as klog has it: {wrong:#?}");
    assert!(
        log.contains("FLAG: --leader-elect=\"true\"")
            && log.contains("\"started controller\" controller=\"service-lb-controller\"")
    );
}

#[tokio::test]
async fn json() {
    let fixture = Fixture::shared().await;
    let manager = fixture.manager().flag("--v=4").flag("--logging-format=json").start();
    work(&fixture, &manager).await;
    let log = manager.log();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")))
        .collect();
    for line in &lines {
        assert!(line["ts"].is_number() && line["v"].is_number(), "{line}");
        assert!(
            line["caller"].as_str().is_some_and(|place| place.contains(".rs:")),
            "{line}"
        );
        assert!(line["msg"].is_string(), "{line}");
    }
    let started = lines.iter().find(|line| line["msg"] == "started controller").unwrap();
    assert!(started["controller"].is_string() && started["v"] == 0, "{started}");
}

/// Buffered lines are written at the end, if not before.
#[tokio::test]
async fn nothing_that_is_buffered_is_lost() {
    let fixture = Fixture::shared().await;
    let manager = fixture
        .manager()
        .flag("--feature-gates=LoggingAlphaOptions=true")
        .flag("--log-text-split-stream")
        .flag("--log-text-info-buffer-size=4Mi")
        .flag("--log-flush-frequency=1h")
        .start();
    work(&fixture, &manager).await;
    let log = manager.ended().unwrap().stdout;
    let wrong: Vec<_> = log.lines().filter(|line| !is_klog(line)).collect();
    assert!(wrong.is_empty(), "not as klog has it: {wrong:#?}");
    for text in ["FLAG: --leader-elect=", "\"started controller\"", "\"released lease\""] {
        assert!(log.contains(text), "no {text} in\n{log}");
    }
}

#[tokio::test]
async fn json_of_an_error() {
    let fixture = Fixture::shared().await;
    let config = fixture.folder.write("wrong.yaml", "latency: 1parsec\n");
    let launch = fixture
        .manager()
        .flag("--logging-format=json")
        .flag(&format!("--cloud-config={}", config.display()));
    let exit = launch.start().exited().await;
    let last: Value = serde_json::from_str(exit.stderr.lines().last().unwrap()).unwrap();
    let sentence = format!(
        "--cloud-config: {}, line 1: 1parsec is not a duration like 250ms or 1m30s",
        config.display()
    );
    assert_eq!((exit.code, &last["msg"], last.get("v")), (1, &json!(sentence), None));
}

/// Not even the logs of all libraries contain a secret.
#[tokio::test]
async fn no_secret_is_shown() {
    let fixture = Fixture::shared().await;
    let ((user, own), (_, asking)) = (fixture.service_account().await, fixture.service_account().await);
    fixture.authorise(&user).await;
    let kubeconfig = fixture.kubeconfig_with(&json!({"token": own}));
    let pem = fs::read_to_string(fixture.plane().pki("apiserver.key")).unwrap();
    let manager = fixture
        .manager()
        .flag("--v=10")
        .flag(&format!("--kubeconfig={}", kubeconfig.display()))
        .flag(&format!("--authentication-kubeconfig={}", kubeconfig.display()))
        .flag(&format!("--authorization-kubeconfig={}", kubeconfig.display()))
        .flag(&format!(
            "--tls-cert-file={}",
            fixture.plane().pki("apiserver.crt").display()
        ))
        .flag(&format!(
            "--tls-private-key-file={}",
            fixture.plane().pki("apiserver.key").display()
        ))
        .start();
    manager.working().await;
    let wrong = "wrong-token-4f1a9c";
    assert_eq!(
        manager
            .port_as(&Credentials::Token(asking.clone()))
            .get("/metrics")
            .await
            .status,
        403
    );
    assert_eq!(
        manager
            .port_as(&Credentials::Token(wrong.into()))
            .get("/metrics")
            .await
            .status,
        401
    );
    let config = manager
        .port_as(&Credentials::of(&fixture.plane().kubeconfig()))
        .get("/configz")
        .await;
    work(&fixture, &manager).await;

    let log = format!("{}{}", manager.log(), config.body);
    assert!(log.lines().count() > 200, "that is not -v=10");
    let signature = |token: &str| token.rsplit('.').next().unwrap().to_owned();
    let key = pem.lines().nth(1).unwrap().to_owned();
    let secrets = [
        signature(&own),
        signature(&asking),
        wrong.to_owned(),
        BASE64_STANDARD.encode(wrong),
        key,
    ];
    for secret in secrets {
        let lines: Vec<_> = log.lines().filter(|line| line.contains(&secret)).collect();
        assert!(lines.is_empty(), "{} lines show {secret}: {}", lines.len(), lines[0]);
    }
}
