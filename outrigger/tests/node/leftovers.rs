//! The objects that the operator has kept, and the order in which it deleted the others.

use crate::fixture::Fixture;
use kube::{
    Api, Discovery, ResourceExt,
    api::{DynamicObject, ListParams},
    discovery::{ApiGroup, verbs},
};
use serde_json::Value;
use std::fs;

/// The field manager of the operator.
const MANAGER: &str = "outrigger-operator";

/// A place in the audit log.
pub struct Mark(usize);

/// A deletion that was granted.
#[derive(Debug, Clone)]
pub struct Deletion {
    /// The user.
    pub user: String,
    /// The resource, in the plural.
    pub resource: String,
    /// Its namespace.
    pub namespace: String,
    /// The time of the request, in a form that is ordered as text.
    pub at: String,
}

impl Fixture {
    /// All objects in the cluster that the operator has written, as `Kind namespace/name`: by their field managers, not by the
    /// operator's own list. Objects in which it reports about itself are left out.
    pub async fn written_by_operator(&self) -> Vec<String> {
        let discovery = Discovery::new(self.client.clone()).run().await.unwrap();
        let kinds = discovery.groups().flat_map(ApiGroup::recommended_resources);
        let (mut all, mut found) = (0, Vec::new());
        for (kind, _) in kinds.filter(|(_, can)| can.supports_operation(verbs::LIST)) {
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &kind);
            let objects = match api.list(&ListParams::default()).await {
                Ok(list) => list.items,
                // Its definition has just been deleted.
                Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
                Err(error) => panic!("cannot list {}: {error}", kind.plural),
            };
            all += objects.len();
            let ours = objects.iter().filter(|object| is_written(object));
            found.extend(ours.map(|object| {
                let namespace = object.namespace().unwrap_or_default();
                format!("{} {namespace}/{}", kind.kind, object.name_any())
            }));
        }
        assert!(all > 100, "a cluster has more than {all} objects");
        found.sort();
        found
    }

    /// The end of the audit log.
    pub fn mark(&self) -> Mark {
        Mark(self.audit().len())
    }

    /// The deletions since then, in the order of their requests.
    pub fn deletions(&self, since: &Mark) -> Vec<Deletion> {
        let log = self.audit();
        let entries = log[since.0..]
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let granted = entries.filter(|entry| {
            let code = entry["responseStatus"]["code"].as_i64().unwrap_or_default();
            entry["verb"] == "delete" && (200..300).contains(&code)
        });
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut deletions: Vec<_> = granted
            .map(|entry| Deletion {
                user: text(&entry["user"]["username"]),
                resource: text(&entry["objectRef"]["resource"]),
                namespace: text(&entry["objectRef"]["namespace"]),
                at: text(&entry["requestReceivedTimestamp"]),
            })
            .collect();
        deletions.sort_by(|a, b| a.at.cmp(&b.at));
        deletions
    }

    fn audit(&self) -> String {
        fs::read_to_string(self.cluster.plane.audit_log()).unwrap()
    }
}

fn is_written(object: &DynamicObject) -> bool {
    let mut fields = object.managed_fields().iter();
    fields.any(|entry| entry.manager.as_deref() == Some(MANAGER) && entry.subresource.is_none())
}
