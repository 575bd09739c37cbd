//! Everything that the tags say belongs to the cluster.

use super::{names, network::name_in, tags};
use crate::api::{Api, ec2::Tag, elbv2::target_groups::TargetGroup};
use cloud::{Owned, Result, ServiceRef};

/// How the names of our security groups begin. Others that have the tag are those of the nodes.
const GROUP: &str = "k8s-";

/// Lists load balancers, target groups and security groups. Without an ID nothing tells the objects of the cluster from others.
pub async fn list(api: &Api) -> Result<Vec<Owned>> {
    let cluster = api.cluster().await?;
    if cluster.name.is_none() {
        return Ok(Vec::new());
    }
    let (balancers, classic, groups) =
        futures::try_join!(api.load_balancers(), api.classic_load_balancers(), api.target_groups())?;
    let balancers: Vec<_> = balancers.into_iter().filter(|lb| lb.kind == "network").collect();
    let arns = balancers.iter().map(|lb| lb.load_balancer_arn.as_str());
    let arns: Vec<&str> = arns
        .chain(groups.iter().map(|group| group.target_group_arn.as_str()))
        .collect();
    let names: Vec<&str> = classic.iter().map(|lb| lb.load_balancer_name.as_str()).collect();
    let (tags, classic_tags) = futures::try_join!(api.elb_v2_tags(&arns), api.classic_tags(&names))?;
    let own = |id: &str| tags.get(id).filter(|tags| cluster.has_tag(tags));
    let mut owned = Vec::new();
    for lb in &balancers {
        let (arn, name) = (&lb.load_balancer_arn, &lb.load_balancer_name);
        owned.extend(own(arn).map(|tags| object("load balancer", arn, name, of_load_balancer(tags, name))));
    }
    for group in &groups {
        let (arn, name) = (&group.target_group_arn, &group.target_group_name);
        owned.extend(own(arn).map(|tags| object("target group", arn, name, of_target_group(tags, group))));
    }
    for (name, tags) in classic_tags.iter().filter(|(_, tags)| cluster.has_tag(tags)) {
        let service = of_load_balancer(tags, name);
        owned.push(object("classic load balancer", name, name, service));
    }
    for group in api.security_groups_tagged(&cluster.vpc_id, &cluster.tag_keys()).await? {
        let (id, name) = (&group.group_id, &group.group_name);
        if name.starts_with(GROUP) && cluster.owns(&group.tag_set) {
            let service = names::service_of_classic_group(&group.group_description);
            owned.push(object("security group", id, name, service));
        }
    }
    Ok(owned)
}

/// Only the name tells the UID: without it nothing of the Service would be found.
fn of_load_balancer(tags: &[Tag], name: &str) -> Option<ServiceRef> {
    let (service, uid) = (tags::service_of(tags)?, names::uid_of(name)?);
    Some(ServiceRef { uid, ..service })
}

/// A group that no load balancer uses is found without the UID.
fn of_target_group(tags: &[Tag], group: &TargetGroup) -> Option<ServiceRef> {
    match group.load_balancer_arns.first() {
        Some(arn) => of_load_balancer(tags, name_in(arn)?),
        None => tags::service_of(tags),
    }
}

fn object(kind: &str, id: &str, name: &str, service: Option<ServiceRef>) -> Owned {
    Owned {
        kind: kind.to_owned(),
        id: id.to_owned(),
        name: name.to_owned(),
        service,
    }
}
