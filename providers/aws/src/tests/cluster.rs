//! The cluster without an ID.

use super::fixture::{Fixture, KEYS};
use crate::config::Untagged;

const HERE: &str = "[Global]\nRegion=us-east-1\n";

#[tokio::test]
async fn a_cluster_without_an_id_is_refused_unless_it_is_allowed() {
    let fixture = Fixture::start(1).await;
    fixture.cloud.write(|fake, _| fake.machines[0].tag = "Name");
    let registry = prometheus::Registry::new();
    let refused = fixture.aws_on(HERE, &KEYS, Untagged::Refused, &registry);
    let error = refused.api.cluster().await.unwrap_err().report();
    assert!(error.contains("--allow-untagged-cloud"), "{error}");
    let registry = prometheus::Registry::new();
    let allowed = fixture.aws_on(HERE, &KEYS, Untagged::Allowed, &registry);
    let cluster = allowed.api.cluster().await.unwrap();
    assert_eq!((&cluster.name, cluster.vpc_id.as_str()), (&None, "vpc-1"));
    assert!(cluster.has_tag(&[]) && cluster.tags().is_empty());
    let owned = cloud::Provider::load_balancers(&allowed).unwrap().owned("c").await;
    assert_eq!(owned.unwrap(), [], "nothing tells the cluster's objects from others");
}

#[tokio::test]
async fn the_tag_of_the_instance_counts_although_it_could_be_missing() {
    let fixture = Fixture::start(1).await;
    let registry = prometheus::Registry::new();
    let allowed = fixture.aws_on(HERE, &KEYS, Untagged::Allowed, &registry);
    let name = allowed.api.cluster().await.unwrap().name.clone();
    assert_eq!(name.unwrap().id, "c1");
}
