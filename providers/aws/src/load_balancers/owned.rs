//! Everything that the tags say belongs to the cluster.

use super::tags;
use crate::{
    api::{Api, ec2::Tag},
    cluster::{LEGACY_TAG, TAG_PREFIX},
};
use cloud::{Owned, Result};

/// How the names of our security groups begin. Others that have the tag are those of the nodes.
const GROUP: &str = "k8s-";

/// Lists load balancers, target groups and security groups.
pub async fn list(api: &Api) -> Result<Vec<Owned>> {
    let (balancers, classic, groups) =
        futures::try_join!(api.load_balancers(), api.classic_load_balancers(), api.target_groups())?;
    let cluster = api.cluster().await?;
    let mut owned = Vec::new();
    let balancers = balancers.into_iter().filter(|lb| lb.kind == "network");
    let balancers = balancers.map(|lb| ("load balancer", lb.load_balancer_arn, lb.load_balancer_name));
    let groups = groups.into_iter();
    let groups = groups.map(|group| ("target group", group.target_group_arn, group.target_group_name));
    let objects: Vec<_> = balancers.chain(groups).collect();
    let arns: Vec<&str> = objects.iter().map(|(_, arn, _)| arn.as_str()).collect();
    let known = api.elb_v2_tags(&arns).await?;
    for (kind, arn, name) in objects {
        let tags = known.get(&arn).map_or(&[][..], Vec::as_slice);
        if cluster.has_tag(tags) {
            owned.push(object(kind, &arn, &name, tags));
        }
    }
    let names: Vec<&str> = classic.iter().map(|lb| lb.load_balancer_name.as_str()).collect();
    for (name, tags) in api.classic_tags(&names).await? {
        if cluster.has_tag(&tags) {
            owned.push(object("classic load balancer", &name, &name, &tags));
        }
    }
    let id = cluster.name.as_ref().map_or("*", |name| name.id.as_str());
    let keys = [format!("{TAG_PREFIX}{id}"), LEGACY_TAG.to_owned()];
    for group in api.security_groups_tagged(&cluster.vpc_id, &keys).await? {
        let is_ours = group.group_name.starts_with(GROUP);
        if is_ours && cluster.owns(&group.tag_set) {
            owned.push(object(
                "security group",
                &group.group_id,
                &group.group_name,
                &group.tag_set,
            ));
        }
    }
    Ok(owned)
}

fn object(kind: &str, id: &str, name: &str, tags: &[Tag]) -> Owned {
    Owned {
        kind: kind.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        service: tags::service_of(tags),
    }
}
