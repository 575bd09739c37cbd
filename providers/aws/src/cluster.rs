//! The cluster: its tags, and the VPC that it is in.

use crate::{
    api::{Api, ec2::Tag},
    config::{ClusterName, ClusterTags, Untagged},
};
use cloud::{Error, Result};
use tracing::warn;

/// The start of the key of the tag.
pub const TAG_PREFIX: &str = "kubernetes.io/cluster/";

/// The key of the old tag.
pub const LEGACY_TAG: &str = "KubernetesCluster";

/// The value of the tag on objects that live and die with the cluster.
const OWNED: &str = "owned";

/// The cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Its ID and tags; `None` if it has none. Then every object counts as its own.
    pub name: Option<ClusterName>,
    /// The VPC.
    pub vpc_id: String,
    /// The subnet of load balancers if no subnet has the tags.
    pub subnet_id: Option<String>,
}

impl Cluster {
    /// Determines the cluster: as the configuration says, or as the instance is that this process runs on.
    pub(crate) async fn find(api: &Api) -> Result<Self> {
        let config = &api.config;
        if let (true, Some(vpc_id)) = (config.is_elsewhere(), &config.vpc_id) {
            return Ok(Self {
                name: config.cluster.clone(),
                vpc_id: vpc_id.clone(),
                subnet_id: config.subnet_id.clone(),
            });
        }
        let id = api.own_instance_id().await?;
        let instances = api.instances_by_id(&[&id]).await?;
        let own = instances.into_iter().find(|instance| instance.instance_id == id);
        let own = own.ok_or_else(|| {
            let reason =
                "EC2 does not show the instance that this process runs on: is it in another region or account?";
            Error::unusable(format!("instance {id}"), reason)
        })?;
        let tagged = || match of_tags(&own.tag_set)? {
            None if config.untagged == Untagged::Refused => Err(untagged()),
            None => {
                warn!(
                    id,
                    "the instance has no tag of a cluster: every object of the VPC counts as the cluster's own"
                );
                Ok(None)
            }
            found => Ok(found),
        };
        let name = config.cluster.clone().map_or_else(tagged, |name| Ok(Some(name)));
        let name = name.map_err(|reason| Error::unusable(format!("instance {id}"), reason))?;
        Ok(Self {
            name,
            vpc_id: config.vpc_id.clone().unwrap_or(own.vpc_id),
            subnet_id: config
                .subnet_id
                .clone()
                .or(Some(own.subnet_id))
                .filter(|id| !id.is_empty()),
        })
    }

    /// The tags of objects that this process creates.
    pub fn tags(&self) -> Vec<Tag> {
        let Some(ClusterName { id, tags }) = &self.name else {
            return Vec::new();
        };
        let legacy = match tags {
            ClusterTags::Current => None,
            ClusterTags::WithLegacy => Some(Tag::new(LEGACY_TAG, id)),
        };
        let current = Tag::new(format!("{TAG_PREFIX}{id}"), OWNED);
        legacy.into_iter().chain([current]).collect()
    }

    /// The keys of the tags that objects of the cluster have.
    pub fn tag_keys(&self) -> [String; 2] {
        let id = self.name.as_ref().map_or("*", |name| name.id.as_str());
        [format!("{TAG_PREFIX}{id}"), LEGACY_TAG.to_owned()]
    }

    /// Whether an object belongs to the cluster, if only shared with others.
    pub fn has_tag(&self, tags: &[Tag]) -> bool {
        self.value_of_tag(tags).is_some()
    }

    /// Whether an object lives and dies with the cluster.
    pub fn owns(&self, tags: &[Tag]) -> bool {
        self.value_of_tag(tags) == Some(OWNED)
    }

    /// The value of the cluster's tag; the old tag counts as owned.
    fn value_of_tag<'t>(&self, tags: &'t [Tag]) -> Option<&'t str> {
        let Some(ClusterName { id, .. }) = &self.name else {
            return Some(OWNED);
        };
        let is_legacy = |tag: &Tag| tag.key == LEGACY_TAG && tag.value == *id;
        if tags.iter().any(is_legacy) {
            return Some(OWNED);
        }
        let own = tags.iter().find(|tag| tag.key.strip_prefix(TAG_PREFIX) == Some(id));
        own.map(|tag| tag.value.as_str())
    }
}

/// Without an ID every object of the account would count as the cluster's own.
fn untagged() -> String {
    format!(
        "it has no tag {TAG_PREFIX}<ID>: add it, set KubernetesClusterID in the configuration, or start with --allow-untagged-cloud"
    )
}

/// The cluster that an instance belongs to by its tags.
fn of_tags(tags: &[Tag]) -> std::result::Result<Option<ClusterName>, String> {
    let current: Vec<&str> = tags.iter().filter_map(|tag| tag.key.strip_prefix(TAG_PREFIX)).collect();
    let legacy = tags.iter().filter(|tag| tag.key == LEGACY_TAG);
    let legacy: Vec<&str> = legacy.map(|tag| tag.value.as_str()).collect();
    let named = |id: &str, tags| {
        Ok(Some(ClusterName {
            id: id.to_owned(),
            tags,
        }))
    };
    match (&current[..], &legacy[..]) {
        ([], []) => Ok(None),
        ([id], []) => named(id, ClusterTags::Current),
        ([], [id]) => named(id, ClusterTags::WithLegacy),
        ([current], [legacy]) if current == legacy => named(current, ClusterTags::WithLegacy),
        ([current], [legacy]) => Err(format!(
            "its tags {TAG_PREFIX}{current} and {LEGACY_TAG}={legacy} disagree: remove one"
        )),
        _ => Err(format!(
            "it has several tags {TAG_PREFIX}… ({}): set KubernetesClusterID in the configuration",
            current.join(", ")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn tags(text: &str) -> Vec<Tag> {
        let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.map(|(key, value)| Tag::new(key, value)).collect()
    }

    #[rstest]
    #[case::none("Name=x", "none")]
    #[case::current("kubernetes.io/cluster/a=owned", "a Current")]
    #[case::value_does_not_matter("kubernetes.io/cluster/a=", "a Current")]
    #[case::legacy("KubernetesCluster=a", "a WithLegacy")]
    #[case::both("KubernetesCluster=a kubernetes.io/cluster/a=owned", "a WithLegacy")]
    #[case::disagree("KubernetesCluster=a kubernetes.io/cluster/b=owned", "error")]
    #[case::several("kubernetes.io/cluster/a=owned kubernetes.io/cluster/b=shared", "error")]
    fn of_an_instance(#[case] text: &str, #[case] expected: &str) {
        let found = match of_tags(&tags(text)) {
            Ok(None) => "none".to_owned(),
            Ok(Some(name)) => format!("{} {:?}", name.id, name.tags),
            Err(_) => "error".to_owned(),
        };
        assert_eq!(found, expected);
    }

    // upstream: ownership
    #[rstest]
    #[case::owned("kubernetes.io/cluster/a=owned", true, true)]
    #[case::shared("kubernetes.io/cluster/a=shared", true, false)]
    #[case::legacy("KubernetesCluster=a", true, true)]
    #[case::legacy_of_another("KubernetesCluster=b", false, false)]
    #[case::another("kubernetes.io/cluster/b=owned", false, false)]
    #[case::none("Name=a", false, false)]
    fn ownership(#[case] text: &str, #[case] belongs: bool, #[case] owned: bool) {
        let cluster = Cluster {
            name: Some(ClusterName {
                id: "a".to_owned(),
                tags: ClusterTags::WithLegacy,
            }),
            vpc_id: String::new(),
            subnet_id: None,
        };
        let tags = tags(text);
        assert_eq!((cluster.has_tag(&tags), cluster.owns(&tags)), (belongs, owned));
        assert_eq!(
            cluster.tags(),
            [
                Tag::new("KubernetesCluster", "a"),
                Tag::new("kubernetes.io/cluster/a", "owned")
            ]
        );
    }
}
