//! A cloud.conf that is valid but does not match the cloud: the process keeps running, reports the problem, and continues once it is corrected.

use crate::{
    fixture::{Fixture, PASSWORD, metric, red},
    process_fixture::Launch,
    secret,
};
use openstack_sim::Service;
use rstest::rstest;

const SUCCESSES: &str = "cloud_config_reloads_total{outcome=\"success\"}";

const SECRET: &str = "hunter2-is-secret";

/// The configuration of a cloud with one mistake in it.
fn mistaken(fixture: &Fixture, from: &str, to: &str) -> String {
    let good = format!("{}{}", fixture.global(PASSWORD), fixture.load_balancer(""));
    assert!(good.contains(from), "{good}");
    good.replace(from, to)
}

#[rstest]
#[case::password(
    "password=labpass",
    "password=hunter2-is-secret",
    &["keystone at", "\"demo\"", "check the password"]
)]
#[case::user("username=demo", "username=nobody", &["keystone at", "\"nobody\"", "check"])]
#[case::region("region=RegionOne", "region=Atlantis", &["Atlantis", "RegionOne"])]
#[case::host("auth-url=http://127.0.0.1", "auth-url=http://keystone.invalid", &["keystone.invalid"])]
#[case::path("/identity/v3", "/nothing/v3", &["no Keystone", "check auth-url"])]
#[tokio::test]
async fn is_reported_and_can_be_corrected(#[case] from: &str, #[case] to: &str, #[case] words: &[&str]) {
    let fixture = Fixture::new().await;
    let manager = fixture.manager_with(&mistaken(&fixture, from, to)).start();
    let message = red(&manager, words).await;
    assert!(!message.contains(SECRET), "{message}");
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    manager.answers("/healthz", 200).await;
    assert_eq!(fixture.holder().await, "", "it leads without a cloud");
    assert!(manager.ended().is_none());

    fixture.configure(&mistaken(&fixture, from, from));
    manager.ready().await;
    manager.leading().await;
}

/// The mistake is not the error, but the reason for it.
#[rstest]
#[case::key(
    "auth-url=",
    "auth-ur=",
    "cloud.conf:2:1: the key auth-ur is unknown in [Global] and ignored: did you mean auth-url?",
    "auth-url"
)]
#[case::section(
    "[Global]",
    "[Globel]",
    "cloud.conf:1:2: the section [Globel] is unknown and ignored: did you mean [Global]?",
    "auth-url"
)]
#[case::clouds(
    "username=demo",
    "clouds-file=/x",
    "cloud.conf:3:1: clouds-file is ignored because use-clouds is not set",
    "user"
)]
#[tokio::test]
async fn warnings_are_reported_with_the_error(
    #[case] from: &str,
    #[case] to: &str,
    #[case] warning: &str,
    #[case] error: &str,
) {
    let fixture = Fixture::new().await;
    let manager = fixture.manager_with(&mistaken(&fixture, from, to)).start();
    let exit = manager.exited().await;
    assert_ne!(exit.code, 0);
    let lines: Vec<&str> = exit.stderr.lines().collect();
    let warned = lines
        .iter()
        .position(|line| line.starts_with('W') && line.contains(warning));
    let warned = warned.unwrap_or_else(|| panic!("no warning:\n{}", exit.stderr));
    let failed = lines.iter().skip(warned + 1).any(|line| line.contains(error));
    assert!(failed, "no error after it:\n{}", exit.stderr);
}

#[tokio::test]
async fn a_truncated_password_is_reported_once_with_the_refusal() {
    let fixture = Fixture::new().await;
    let config = mistaken(&fixture, "password=labpass", "password=lab#pass");
    let manager = fixture.manager_with(&config).start();
    red(&manager, &["check the password"]).await;
    let strange = "the value of password ends before this #";
    assert_eq!(manager.lines_with(strange).len(), 1);
    // Now it works, with a warning.
    fixture.cloud.set_password("demo", "lab");
    manager.ready().await;
    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    fixture.configure(&format!("{config}\n# again\n"));
    let taken = async || match metric(&manager, SUCCESSES).await {
        Ok(count) if count > accepted => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the file to be read again", taken).await;
    assert_eq!(manager.lines_with(strange).len(), 1, "{}", manager.log());
}

#[tokio::test]
async fn a_missing_endpoint_is_reported() {
    let fixture = Fixture::new().await;
    fixture.cloud.remove_service(Service::Nova);
    let manager = fixture.manager().start();
    red(&manager, &["compute", "catalog"]).await;
    assert!(manager.ended().is_none());
    assert_eq!(fixture.holder().await, "", "it leads without a cloud");
}

#[tokio::test]
async fn without_octavia_nodes_work_and_a_warning_explains() {
    let fixture = Fixture::new().await;
    fixture.cloud.remove_service(Service::Octavia);
    let manager = fixture.manager().flag("--leader-elect=false").start();
    let (node, _) = fixture.join("node").await;
    fixture.initialised(&manager, &node).await;
    manager.ready().await;
    let line = manager.logged("there will be no load balancers").await;
    assert!(line.starts_with('W'), "{line}");
    assert!(line.contains("set enabled=false in [LoadBalancer]"), "{line}");
}

#[tokio::test]
async fn secrets_are_never_logged() {
    let fixture = Fixture::new().await;
    fixture.cloud.set_password("demo", SECRET);
    let config = format!("{}{}", fixture.global(SECRET), fixture.load_balancer(""));
    let manager = fixture.start_with(fixture.manager_with(&config), &["--v=10"]).await;
    fixture.nodes(&manager, 1).await;
    let name = fixture.serve(&manager, "web").await;
    let tokens = fixture.cloud.token_count();
    fixture.cloud.revoke_tokens();
    fixture.end(&manager, name.metadata.name.as_deref().unwrap()).await;
    assert!(tokens > 0);
    fixture.cloud.set_password("demo", "another");
    let (node, _) = fixture.join("late").await;
    fixture.event(&node, "FailedToInitialize").await;
    manager.signal("TERM");
    let exit = manager.exited().await;
    let printed = format!("{}{}", exit.stdout, exit.stderr);
    assert!(printed.len() > 10_000, "it logs next to nothing at --v=10");
    assert!(!printed.contains(SECRET), "the password was logged");
    // The tokens of the simulation, and of Keystone, begin with this.
    let tokens: Vec<_> = printed.lines().filter(|line| line.contains("gAAAA")).collect();
    assert_eq!(tokens, [""; 0], "a token was logged");
    assert!(
        !printed.to_lowercase().contains("x-subject-token: "),
        "a token was logged"
    );
}

/// Where the secret is.
#[derive(Debug, Clone, Copy)]
enum Hidden {
    ApplicationCredential,
    Trustee,
    CloudsYaml,
    Secret,
}

impl Hidden {
    /// A manager that has a secret, and the secret.
    async fn manager(self, fixture: &Fixture) -> (Launch, String) {
        let (place, balancing) = (fixture.sim.auth_url(), fixture.load_balancer(""));
        let global = |lines: &str| format!("[Global]\nauth-url={place}\nregion=RegionOne\n{lines}\n{balancing}");
        let secret = SECRET.to_owned();
        match self {
            Self::ApplicationCredential => {
                let made = fixture.cloud.add_application_credential("demo", "manager").unwrap();
                let lines = format!(
                    "application-credential-id={}\napplication-credential-secret={}",
                    made.id, made.secret
                );
                (fixture.manager_with(&global(&lines)), made.secret)
            }
            Self::Trustee => {
                let project = fixture.cloud.project_id("demo").unwrap();
                let trustee = fixture.cloud.add_user("trustee", SECRET, "default", &project);
                let trust = fixture.cloud.add_trust("demo", "trustee").unwrap();
                let lines = format!("trust-id={trust}\ntrustee-id={trustee}\ntrustee-password={SECRET}");
                (fixture.manager_with(&global(&lines)), secret)
            }
            Self::CloudsYaml => {
                fixture.cloud.set_password("demo", SECRET);
                let file = fixture.folder.write("clouds.yaml", &secret::clouds(fixture, SECRET));
                let lines = format!("use-clouds=true\nclouds-file={}\ncloud=openstack", file.display());
                let config = format!("[Global]\n{lines}\n{balancing}");
                (fixture.manager_with(&config), secret)
            }
            Self::Secret => {
                fixture.cloud.set_password("demo", SECRET);
                secret::write(fixture, "clouds.conf", &fixture.global(SECRET)).await;
                (secret::launch(fixture).await, secret)
            }
        }
    }
}

#[rstest]
#[case::application_credential(Hidden::ApplicationCredential)]
#[case::trustee(Hidden::Trustee)]
#[case::clouds_yaml(Hidden::CloudsYaml)]
#[case::secret(Hidden::Secret)]
#[tokio::test]
async fn a_password_in_any_source_is_never_logged(#[case] hidden: Hidden) {
    let fixture = Fixture::new().await;
    let (launch, secret) = hidden.manager(&fixture).await;
    let manager = fixture.start_with(launch, &["--v=10"]).await;
    fixture.nodes(&manager, 1).await;
    fixture.cloud.revoke_tokens();
    let (late, _) = fixture.join("late").await;
    fixture.initialised(&manager, &late).await;
    manager.signal("TERM");
    let exit = manager.exited().await;
    let printed = format!("{}{}", exit.stdout, exit.stderr);
    assert!(printed.len() > 10_000, "it logs next to nothing at --v=10");
    assert!(!printed.contains(&secret), "the secret was logged");
    assert!(!printed.contains("gAAAA"), "a token was logged");
}
