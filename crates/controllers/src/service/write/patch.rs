//! The differences between two Services, as a strategic merge patch of `services/status`.

use k8s_openapi::{api::core::v1::Service, apimachinery::pkg::apis::meta::v1::Condition};
use serde_json::{Map, Value, json};

/// The differences in finalizers, annotations, ingress and conditions, which is all that the controller writes. `None` if
/// there are none.
///
/// Only differences are part of the patch, so other clients can write at the same time. The API server accepts changes of
/// finalizers and annotations together with the status: one request and one permission are enough.
#[must_use]
pub fn between(old: &Service, new: &Service) -> Option<Value> {
    let mut metadata = finalizers(old, new);
    let annotations = annotations(old, new);
    if !annotations.is_empty() {
        metadata.insert("annotations".into(), annotations.into());
    }
    let parts = [("metadata", metadata), ("status", status(old, new))];
    let patch: Map<_, _> = parts
        .into_iter()
        .filter(|(_, part)| !part.is_empty())
        .map(|(name, part)| (name.into(), part.into()))
        .collect();
    (!patch.is_empty()).then(|| patch.into())
}

fn finalizers(old: &Service, new: &Service) -> Map<String, Value> {
    let list = |service: &Service| service.metadata.finalizers.clone().unwrap_or_default();
    let (old, new) = (list(old), list(new));
    let added: Vec<_> = new.iter().filter(|one| !old.contains(one)).collect();
    let removed: Vec<_> = old.iter().filter(|one| !new.contains(one)).collect();
    let mut patch = Map::new();
    if added.is_empty() && removed.is_empty() {
        return patch;
    }
    if !new.is_empty() {
        patch.insert("$setElementOrder/finalizers".into(), json!(new));
    }
    if !added.is_empty() {
        patch.insert("finalizers".into(), json!(added));
    }
    if !removed.is_empty() {
        patch.insert("$deleteFromPrimitiveList/finalizers".into(), json!(removed));
    }
    patch
}

/// `null` removes an annotation.
fn annotations(old: &Service, new: &Service) -> Map<String, Value> {
    let list = |service: &Service| service.metadata.annotations.clone().unwrap_or_default();
    let (old, new) = (list(old), list(new));
    let removed = old.keys().filter(|key| !new.contains_key(*key));
    let removed = removed.map(|key| (key.clone(), Value::Null));
    let set = new.iter().filter(|(key, value)| old.get(*key) != Some(*value));
    removed
        .chain(set.map(|(key, value)| (key.clone(), json!(value))))
        .collect()
}

fn status(old: &Service, new: &Service) -> Map<String, Value> {
    let mut patch = Map::new();
    let ingress = |service: &Service| {
        let status = service.status.as_ref().and_then(|status| status.load_balancer.clone());
        status
            .and_then(|status| status.ingress)
            .filter(|ingress| !ingress.is_empty())
    };
    let new_ingress = ingress(new);
    if ingress(old) != new_ingress {
        patch.insert("loadBalancer".into(), json!({ "ingress": new_ingress }));
    }
    let conditions = conditions(old, new);
    if !conditions.is_empty() {
        patch.insert("conditions".into(), conditions.into());
    }
    patch
}

fn conditions(old: &Service, new: &Service) -> Vec<Value> {
    let list = |service: &Service| -> Vec<Condition> {
        service
            .status
            .as_ref()
            .and_then(|status| status.conditions.clone())
            .unwrap_or_default()
    };
    let (old, new) = (list(old), list(new));
    let changed = new.iter().filter(|one| !old.contains(one)).map(|one| json!(one));
    let removed = old
        .iter()
        .filter(|one| !new.iter().any(|other| other.type_ == one.type_));
    changed
        .chain(removed.map(|one| json!({ "$patch": "delete", "type": one.type_ })))
        .collect()
}

#[cfg(test)]
mod tests;
