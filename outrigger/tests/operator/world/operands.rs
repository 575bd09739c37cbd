//! The objects that the operator creates, and their state.

use super::{World, is_ours};
use crate::{
    fixture::Place,
    objects::{self, look_of},
    process_fixture::Manager,
};
use kube::api::{ApiResource, DynamicObject, ListParams};
use serde_json::{Value, json};
use std::collections::BTreeMap;

impl World {
    /// Every object that our field manager has written, and its place.
    async fn ours(&self) -> Vec<(Place, DynamicObject)> {
        let mut ours = Vec::new();
        for (resource, namespace) in self.kinds() {
            let found = self.api(&resource, &namespace).list(&ListParams::default()).await;
            ours.extend(found.unwrap().into_iter().filter(is_ours).map(|object| {
                let place = Place {
                    resource: resource.clone(),
                    namespace: namespace.clone(),
                    name: object.metadata.name.clone().unwrap(),
                };
                (place, object)
            }));
        }
        ours
    }

    /// The places of the operands: everything that our field manager has written.
    pub async fn places(&self) -> Vec<Place> {
        self.ours().await.into_iter().map(|(place, _)| place).collect()
    }

    /// The operands by kind and name, sorted.
    pub async fn operands(&self) -> Vec<String> {
        let mut found: Vec<_> = self.places().await.iter().map(Place::title).collect();
        found.sort();
        found
    }

    /// Every kind of operand, and where it is.
    pub fn kinds(&self) -> Vec<(ApiResource, String)> {
        objects::kinds(&[
            (
                self.namespace.as_str(),
                "ConfigMap Secret Service Deployment DaemonSet PodDisruptionBudget Role RoleBinding",
            ),
            ("kube-system", "Role RoleBinding"),
            (
                "",
                "ClusterRole ClusterRoleBinding ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
            ),
        ])
    }

    /// Waits until there are so many operands.
    pub async fn installed(&self, operator: &Manager, operands: usize) {
        let look = async || match self.operands().await {
            found if found.len() == operands => Ok(()),
            found => Err(format!("{found:#?}")),
        };
        operator.until("all operands", look).await;
    }

    /// Waits until the manager of this name is installed, and lets its Pods run.
    pub async fn runs(&self, operator: &Manager, name: &str) {
        let deployment = format!("Deployment {name}-cloud-controller-manager");
        self.roll_out_until(operator, &deployment).await;
    }

    /// Waits until this operand exists, and lets the Pods of all of them run.
    pub async fn roll_out_until(&self, operator: &Manager, operand: &str) {
        let look = async || {
            self.collect_garbage().await;
            match self.operands().await {
                found if found.iter().any(|each| each == operand) => Ok(()),
                found => Err(format!("{found:#?}")),
            }
        };
        operator.until(operand, look).await;
        let look = async || {
            self.collect_garbage().await;
            self.roll_out(9).await;
            let conditions = self.conditions().await;
            let done = conditions.contains("Available=True") && conditions.contains("Progressing=False");
            if done { Ok(()) } else { Err(conditions) }
        };
        operator.until("the roll-out", look).await;
    }

    /// Waits until no operand has this in its kind or name.
    pub async fn gone(&self, operator: &Manager, text: &str) {
        let look = async || {
            self.collect_garbage().await;
            match self.operands().await {
                found if found.iter().any(|each| each.contains(text)) => Err(format!("{found:#?}")),
                _ => Ok(()),
            }
        };
        operator.until(&format!("the end of {text}"), look).await;
    }

    /// All state without versions and times: every operand by kind and name, the conditions
    /// and the related objects.
    pub async fn snapshot(&self) -> BTreeMap<String, Value> {
        let ours = self.ours().await.into_iter();
        let mut all: BTreeMap<String, Value> = ours
            .map(|(place, object)| (place.title(), look_of(serde_json::to_value(object).unwrap())))
            .collect();
        let operator = self.cluster_operator().await;
        all.insert("conditions".to_owned(), json!(self.conditions().await));
        for part in ["versions", "relatedObjects"] {
            all.insert(part.to_owned(), operator["status"][part].clone());
        }
        let text = json!(all).to_string().replace(&self.namespace, "NAMESPACE");
        serde_json::from_str(&text).unwrap()
    }
}
