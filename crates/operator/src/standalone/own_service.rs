//! The operator's own metrics on any Kubernetes: their certificate, and the objects for Prometheus.
//!
//! On `OpenShift` the service CA issues the certificate, and the release has the objects for Prometheus.

use super::{Monitoring, names, operator::Operator, status::Cause, valid};
use crate::{
    Key, Lookup, Object,
    cache::Selection,
    certificates,
    control::{Next, Retry},
    monitoring,
};
use jiff::Timestamp;
use runtime::logging::chain;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tracing::warn;

/// How often the certificate is checked if nothing else happens.
const INTERVAL: Duration = Duration::from_hours(1);

impl Operator {
    /// Issues the certificate of the operator's own Service, and configures Prometheus.
    pub(super) async fn serve_own_metrics(&mut self) -> Next {
        let Some(names) = self.own_names() else {
            return Next::default();
        };
        self.cache.want_also(self.own_selections()).await;
        let objects = match self.own_objects(&names) {
            Ok(Some(objects)) => objects,
            Ok(None) => return Next::default(),
            Err(problem) => {
                warn!(
                    service = names.service,
                    reason = problem.message().1,
                    "cannot serve the operator's own metrics; retrying"
                );
                return Next::FAILED;
            }
        };
        let report = self.engine.converge(objects, &[], &self.cache).await;
        self.cache.learn(&report);
        let failures: Vec<_> = report.failures().map(ToString::to_string).collect();
        if failures.is_empty() {
            let (again, retry) = (Some(INTERVAL), Retry::No);
            return Next { again, retry };
        }
        warn!(
            service = names.service,
            reason = failures.join("; "),
            "cannot serve the operator's own metrics; retrying"
        );
        Next::FAILED
    }

    /// The objects that have to be watched for it.
    pub(super) fn own_selections(&self) -> Vec<Selection> {
        let Some(names) = self.own_names() else {
            return Vec::new();
        };
        let monitors = match self.settings.monitoring {
            Monitoring::Served => ["ServiceMonitor", "PrometheusRule"]
                .map(|kind| Key::namespaced(monitoring::API, kind, &names.namespace, &names.service))
                .to_vec(),
            Monitoring::Absent => Vec::new(),
        };
        let keys = [
            service(&names),
            names.ca_secret(),
            names.serving_secret(),
            names.bundle(),
        ];
        keys.iter().chain(&monitors).filter_map(Selection::of).collect()
    }

    fn own_names(&self) -> Option<certificates::Names> {
        let service = self.settings.metrics_service.as_ref()?;
        Some(names::own_certificates(service, &self.settings.namespace))
    }

    /// The objects; none if the Service does not exist.
    fn own_objects(&self, names: &certificates::Names) -> Result<Option<Vec<Object>>, Cause> {
        let find = |key: &Key| match self.cache.find(key) {
            Lookup::Found(object) => Ok(Some(object)),
            Lookup::Absent => Ok(None),
            Lookup::Unknown(reason) => Err(Cause::unread(format!("cannot read {key}: {reason}"))),
        };
        let Some(service) = find(&service(names))? else {
            return Ok(None);
        };
        let (ca, serving) = (find(&names.ca_secret())?, find(&names.serving_secret())?);
        let live = certificates::Live {
            ca: ca.as_deref(),
            serving: serving.as_deref(),
        };
        let issued = certificates::desired(Timestamp::now(), live, names)
            .map_err(|error| Cause::Transient(("NoCertificate", chain(&error).to_string())))?;
        self.clients.metrics.certificates(&names.service, Some(&issued));
        let mut objects = issued.objects();
        if self.settings.monitoring == Monitoring::Served {
            objects.extend(monitored(names, &self.settings.monitor_labels)?);
        }
        let objects = objects.into_iter().map(|object| belonging(object, &service));
        objects.collect::<Result<_, _>>().map(Some)
    }
}

fn service(names: &certificates::Names) -> Key {
    Key::namespaced("v1", "Service", &names.namespace, &names.service)
}

/// The objects for Prometheus are those of `OpenShift`, except for the trusted certificates and the selection of the Service.
fn monitored(names: &certificates::Names, labels: &BTreeMap<String, String>) -> Result<Vec<Object>, Cause> {
    let objects = monitoring::operator(&names.namespace, &names.service)
        .map_err(|error| Cause::Terminal(("InvalidManifest", chain(&error).to_string())))?;
    let objects = objects.into_iter().map(|object| {
        let mut value = object.into_value();
        if value["kind"] == "ServiceMonitor" {
            value["spec"]["selector"] = json!({ "matchLabels": names::operator_selector() });
            let host = format!("{}.{}.svc", names.service, names.namespace);
            let bundle = json!({"name": names.bundle().name, "key": certificates::BUNDLE_KEY});
            value["spec"]["endpoints"][0]["tlsConfig"] = json!({"serverName": host, "ca": {"configMap": bundle}});
        }
        value["metadata"]["labels"] = json!(labels);
        valid(value)
    });
    objects.collect()
}

/// Is deleted together with the Service.
fn belonging(object: Object, service: &Value) -> Result<Object, Cause> {
    let mut value = object.into_value();
    for (label, text) in names::operator_labels() {
        value["metadata"]["labels"][label] = json!(text);
    }
    let meta = &service["metadata"];
    value["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Service", "name": meta["name"], "uid": meta["uid"]}]);
    valid(value)
}
