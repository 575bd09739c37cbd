//! Whether the API server permits everything that a manager does.

use super::Report;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::{Api, Client, api::PostParams};
use manager::Options;
use runtime::client::explain;
use std::fmt;

const CHECK: &str = "permissions";

/// What every manager does: group, resource and verbs, as in deploy/manager/rbac.yaml.
const EVERYWHERE: [(&str, &str, &[&str]); 7] = [
    ("", "nodes", &["list", "watch", "patch", "delete"]),
    ("", "nodes/status", &["patch"]),
    ("", "services", &["list", "watch"]),
    ("", "services/status", &["patch"]),
    ("", "events", &["create", "patch"]),
    ("authentication.k8s.io", "tokenreviews", &["create"]),
    ("authorization.k8s.io", "subjectaccessreviews", &["create"]),
];

/// The authorities of client certificates at the secure port.
const AUTHENTICATION: &str = "extension-apiserver-authentication";

/// One permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Right {
    pub group: &'static str,
    /// With its subresource.
    pub resource: &'static str,
    pub verb: &'static str,
    /// Empty for all.
    pub namespace: String,
    /// Empty for all.
    pub name: String,
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            group: _,
            resource,
            verb,
            namespace,
            name,
        } = self;
        write!(out, "{verb} {resource}")?;
        match (namespace.as_str(), name.as_str()) {
            ("", _) => Ok(()),
            (namespace, "") => write!(out, " in {namespace}"),
            (namespace, name) => write!(out, " {namespace}/{name}"),
        }
    }
}

/// What a manager with these options may do.
pub(super) fn needed(options: &Options) -> Vec<Right> {
    let everywhere = EVERYWHERE.iter().flat_map(|(group, resource, verbs)| {
        verbs.iter().map(|verb| Right {
            group,
            resource,
            verb,
            namespace: String::new(),
            name: String::new(),
        })
    });
    let mut needed: Vec<Right> = everywhere.collect();
    let election = &options.generic.leader_election;
    if election.elect.is_on() {
        let lease = |verb, name: &str| Right {
            group: "coordination.k8s.io",
            resource: "leases",
            verb,
            namespace: election.resource_namespace.clone(),
            name: name.to_owned(),
        };
        needed.push(lease("create", ""));
        needed.extend(["get", "update", "watch"].map(|verb| lease(verb, &election.resource_name)));
    }
    if !options.authentication.skip_lookup.is_on() {
        needed.push(Right {
            group: "",
            resource: "configmaps",
            verb: "get",
            namespace: "kube-system".to_owned(),
            name: AUTHENTICATION.to_owned(),
        });
    }
    needed
}

/// Asks the API server about each of them.
pub(super) async fn check(client: &Client, options: &Options, report: &mut Report) {
    let needed = needed(options);
    let mut missing = Vec::new();
    for right in &needed {
        match is_allowed(client, right).await {
            Ok(true) => {}
            Ok(false) => missing.push(right.to_string()),
            Err(error) => return report.failed(CHECK, explain(&error), ""),
        }
    }
    if missing.is_empty() {
        report.passed(CHECK, format!("all {} are granted", needed.len()));
    } else {
        let advice = "grant them: deploy/manager/rbac.yaml has all of them";
        report.failed(CHECK, format!("not granted: {}", missing.join(", ")), advice);
    }
}

async fn is_allowed(client: &Client, right: &Right) -> kube::Result<bool> {
    let (resource, subresource) = right.resource.split_once('/').unwrap_or((right.resource, ""));
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let attributes = ResourceAttributes {
        group: given(right.group),
        resource: given(resource),
        subresource: given(subresource),
        verb: given(right.verb),
        namespace: given(&right.namespace),
        name: given(&right.name),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let review = api.create(&PostParams::default(), &review).await?;
    Ok(review.status.is_some_and(|status| status.allowed))
}
