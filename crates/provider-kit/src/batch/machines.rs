//! The instances of a cloud, found in batches.

use super::{Batch, Key, Lookup};
use async_trait::async_trait;
use cloud::{Answer, Detail, Host, Instance, Instances, NodeRef, ProviderId, Result};
use std::sync::Arc;
use tracing::warn;

/// How objects are the instances behind nodes.
pub trait Describe: Lookup {
    /// The ID in a provider ID.
    ///
    /// # Errors
    /// [`cloud::Error::Invalid`] if it is not a provider ID of this cloud.
    fn id(provider_id: &ProviderId) -> Result<&str>;

    /// What is known of an instance.
    ///
    /// # Errors
    /// If the cloud does not know enough yet.
    fn describe(object: &Self::Object, detail: Detail) -> Result<Instance>;
}

/// The instances of a cloud.
pub struct Machines<L: Describe> {
    lookup: L,
    batch: Batch<L::Object>,
}

impl<L: Describe> Machines<L> {
    /// Instances that are read by these calls.
    pub fn new(lookup: L) -> Self {
        Self {
            lookup,
            batch: Batch::default(),
        }
    }

    /// The IDs of the instances behind hosts. A host without a provider ID is found by its name; one that is not found is left out.
    ///
    /// # Errors
    /// As the cloud answers, or if a provider ID is not of this cloud.
    pub async fn ids(&self, hosts: &[Arc<Host>]) -> Result<Vec<String>> {
        let (mut ids, mut unknown) = (Vec::new(), Vec::new());
        for host in hosts {
            match &host.provider_id {
                Some(id) => ids.push(L::id(id)?.to_owned()),
                None => unknown.push(NodeRef::named(&host.name)),
            }
        }
        for (node, found) in unknown.iter().zip(self.find(&unknown).await) {
            if let Some(object) = found? {
                ids.push(super::Object::id(&*object).to_owned());
            } else {
                warn!(
                    node = node.name,
                    kind = L::KIND,
                    "no instance has the name of this node"
                );
            }
        }
        Ok(ids)
    }

    async fn find(&self, nodes: &[NodeRef]) -> Vec<Result<Option<Arc<L::Object>>>> {
        let keys = nodes.iter().map(|node| Key::of(node, L::id)).collect();
        self.batch.find(&self.lookup, keys).await
    }
}

#[async_trait]
impl<L: Describe> Instances for Machines<L> {
    async fn describe(&self, nodes: &[NodeRef], detail: Detail) -> Vec<Result<Answer>> {
        let answer = |found: Result<Option<Arc<L::Object>>>| match found? {
            Some(object) => Ok(Answer::Found(Box::new(L::describe(&object, detail)?))),
            None => Ok(Answer::Missing),
        };
        self.find(nodes).await.into_iter().map(answer).collect()
    }
}
