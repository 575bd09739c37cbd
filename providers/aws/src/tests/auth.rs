//! Where keys come from, and what happens when they are refused.

use super::fixture::{ELSEWHERE, Fixture, id, node, words};
use crate::Aws;
use cloud::{Detail, Live as _, LiveData, Provider as _};
use std::{fs, path::PathBuf};

async fn works(aws: &Aws) -> String {
    words(&aws.instances().describe(&[node(&id(1))], Detail::Liveness).await)
}

/// A file with this content, which is deleted with it.
struct File(PathBuf);

impl File {
    fn new(name: &str, content: &str) -> Self {
        let path = std::env::temp_dir().join(format!("outrigger-aws-{}-{name}", std::process::id()));
        fs::write(&path, content).unwrap();
        Self(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn an_instance_knows_its_region_its_cluster_and_its_keys() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.key = Some("KEY1".into()));
    let aws = fixture.aws_with("", &[]);
    assert_eq!(aws.cluster_mark(), cloud::ClusterMark::Present);
    aws.reload(&LiveData::default()).await.unwrap();
    let cluster = aws.api.known_cluster().unwrap();
    assert_eq!(
        (cluster.vpc_id.as_str(), cluster.subnet_id.as_deref()),
        ("vpc-1", Some("subnet-1"))
    );
    assert_eq!(cluster.name.as_ref().map(|name| name.id.as_str()), Some("c1"));
    assert_eq!(
        (aws.api.region().await.unwrap(), aws.cluster_mark()),
        ("us-east-1", cloud::ClusterMark::Present)
    );
}

#[tokio::test]
async fn expired_keys_are_renewed_once_and_by_one_of_many_calls() {
    let fixture = Fixture::start(1).await;
    let aws = fixture.aws_with(ELSEWHERE, &[]);
    assert_eq!(works(&aws).await, "found");
    fixture.cloud.write(|fake, _| fake.key = Some("KEY2".into()));
    let calls = (0..8).map(|_| works(&aws));
    let answers = futures::future::join_all(calls).await;
    assert!(answers.iter().all(|answer| answer == "found"), "{answers:?}");
    assert_eq!(fixture.cloud.read(|fake| fake.given), 2);
}

#[tokio::test]
async fn keys_that_stay_refused_are_an_error_and_no_missing_instance() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.key = Some("NEVER".into()));
    let aws = fixture.aws();
    let answers = aws.instances().describe(&[node(&id(1))], Detail::Liveness).await;
    let error = answers[0].as_ref().unwrap_err();
    assert!(matches!(error, cloud::Error::Denied { .. }), "{error:?}");
    assert!(!error.report().contains("secret"), "{}", error.report());
    assert_eq!(fixture.count("DescribeInstances"), 2);
}

#[tokio::test]
async fn the_container_agent_provides_keys() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.key = Some("KEY1".into()));
    let token = File::new("agent-token", "agent-token\n");
    let url = format!("{}/agent", fixture.server.url());
    let variables = [
        ("AWS_CONTAINER_CREDENTIALS_FULL_URI", url.as_str()),
        ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token.0.to_str().unwrap()),
    ];
    assert_eq!(works(&fixture.aws_with(ELSEWHERE, &variables)).await, "found");
}

#[tokio::test]
async fn a_service_account_assumes_its_role_and_that_one_another() {
    let fixture = Fixture::start(1).await;
    let token = File::new("identity", "jwt\n");
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", token.0.to_str().unwrap()),
        ("AWS_ROLE_ARN", "arn:aws:iam::123456789012:role/own"),
    ];
    fixture.cloud.write(|fake, _| fake.key = Some("KEY1".into()));
    assert_eq!(works(&fixture.aws_with(ELSEWHERE, &variables)).await, "found");
    let call = fixture.cloud.calls().into_iter().next().unwrap();
    assert!(
        call.body.contains("WebIdentityToken=jwt") && call.body.contains("Action=AssumeRoleWithWebIdentity"),
        "{}",
        call.body
    );
    let file = format!("{ELSEWHERE}RoleARN=arn:aws:iam::210987654321:role/other\nSourceARN=arn:aws:eks:x\n");
    fixture
        .cloud
        .write(|fake, _| (fake.key, fake.given) = (Some("KEY2".into()), 0));
    assert_eq!(works(&fixture.aws_with(&file, &variables)).await, "found");
    assert_eq!(
        (fixture.count("AssumeRoleWithWebIdentity"), fixture.count("AssumeRole")),
        (2, 1)
    );
}

#[tokio::test]
async fn a_source_that_fails_is_not_replaced_by_the_next_one() {
    let fixture = Fixture::start(1).await;
    let variables = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "/nonexistent/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::1:role/own"),
    ];
    let answers = fixture.aws_with(ELSEWHERE, &variables);
    let answers = answers.instances().describe(&[node(&id(1))], Detail::Liveness).await;
    let text = answers[0].as_ref().unwrap_err().report();
    assert!(text.contains("/nonexistent/token"), "{text}");
    assert_eq!(fixture.cloud.read(|fake| fake.given), 0);
}

#[tokio::test]
async fn a_profile_has_keys() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.key = Some("FILED".into()));
    let file = File::new(
        "credentials",
        "[default]\naws_access_key_id = FILED\naws_secret_access_key = s\n",
    );
    let variables = [("AWS_SHARED_CREDENTIALS_FILE", file.0.to_str().unwrap())];
    assert_eq!(works(&fixture.aws_with(ELSEWHERE, &variables)).await, "found");
}

#[tokio::test]
async fn a_metadata_service_that_does_not_answer_names_the_hop_limit() {
    let fixture = Fixture::start(1).await;
    let aws = fixture.aws_with("", &[("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://127.0.0.1:1")]);
    let text = aws.reload(&LiveData::default()).await.unwrap_err().report();
    assert!(text.contains("hop limit") && text.contains("127.0.0.1:1"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_metadata_service_that_hangs_is_given_up() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.inject(fakecloud::Fault::hang().path("/latest/api/token"));
    let began = tokio::time::Instant::now();
    let text = fixture
        .aws_with("", &[])
        .reload(&LiveData::default())
        .await
        .unwrap_err()
        .report();
    assert!(text.contains("hop limit"), "{text}");
    assert!(began.elapsed().as_secs() < 30, "{:?}", began.elapsed());
}

#[tokio::test]
async fn without_the_metadata_service_the_configuration_must_say_more() {
    let fixture = Fixture::start(1).await;
    let aws = fixture.aws_with("", &[("AWS_EC2_METADATA_DISABLED", "true")]);
    let text = aws.reload(&LiveData::default()).await.unwrap_err().report();
    assert!(text.contains("AWS_EC2_METADATA_DISABLED"), "{text}");
}
