//! The tags of load balancers and target groups.

use super::settings;
use crate::{api::ec2::Tag, cluster::Cluster};
use cloud::{ServiceRef, Spec};

/// The tag with the namespace and the name of the Service.
pub const SERVICE: &str = "kubernetes.io/service-name";

/// The tags of the load balancer of a Service, and of all that belongs to it.
pub fn of(spec: &Spec, cluster: &Cluster) -> Vec<Tag> {
    let additional = settings::additional_tags(spec).into_iter();
    let mut tags: Vec<Tag> = additional.map(|(key, value)| Tag::new(key, value)).collect();
    for own in cluster
        .tags()
        .into_iter()
        .chain([Tag::new(SERVICE, service(&spec.service))])
    {
        tags.retain(|tag| tag.key != own.key);
        tags.push(own);
    }
    tags
}

/// The tags of the security group of a load balancer, besides those of the cluster.
pub fn additional(spec: &Spec) -> Vec<Tag> {
    let tags = settings::additional_tags(spec).into_iter();
    tags.map(|(key, value)| Tag::new(key, value)).collect()
}

/// The tags that are missing or have another value.
pub fn missing(wanted: &[Tag], tags: &[Tag]) -> Vec<Tag> {
    wanted.iter().filter(|tag| !tags.contains(tag)).cloned().collect()
}

/// Whether the tags say that an object belongs to the Service.
pub fn is_of(spec: &ServiceRef, cluster: &Cluster, tags: &[Tag]) -> bool {
    cluster.has_tag(tags) && tags.contains(&Tag::new(SERVICE, service(spec)))
}

/// The Service that an object was created for, according to its tags, which do not have its UID.
pub fn service_of(tags: &[Tag]) -> Option<ServiceRef> {
    let tag = tags.iter().find(|tag| tag.key == SERVICE)?;
    let (namespace, name) = tag.value.split_once('/')?;
    Some(ServiceRef {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: String::new(),
    })
}

fn service(service: &ServiceRef) -> String {
    format!("{}/{}", service.namespace, service.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load_balancers::{
        annotations as key,
        fixture::{annotated, cluster},
    };

    #[test]
    fn of_a_service() {
        let text = "team=a,kubernetes.io/service-name=mine";
        let tags = of(&annotated(&[80], key::ADDITIONAL_RESOURCE_TAGS, text), &cluster());
        let tags: Vec<String> = tags.iter().map(|tag| format!("{}={}", tag.key, tag.value)).collect();
        assert_eq!(
            tags.join(" "),
            "team=a kubernetes.io/cluster/lab=owned kubernetes.io/service-name=default/web"
        );
    }
}
