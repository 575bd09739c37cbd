//! Writes the `ClusterOperator`.

use crate::{
    Key,
    operands::{
        MANAGER,
        kinds::{self, Related},
    },
    status,
};
use kube::{Api, Client, api::PostParams};
use operator_api::{
    ClusterOperator,
    cluster_operator::{ObjectReference, Status},
};

/// What the original names: the operator's namespace, itself, the operands' namespace. In this order, before all else.
pub(super) fn related(operator_namespace: &str, namespace: &str, inventory: &[Key]) -> Vec<ObjectReference> {
    let reference = |group: &str, resource: &str, name: &str| ObjectReference {
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: String::new(),
        name: name.to_owned(),
    };
    let first = [
        reference("", "namespaces", operator_namespace),
        reference("config.openshift.io", "clusteroperators", status::NAME),
        reference("", "namespaces", namespace),
    ];
    let operands = inventory
        .iter()
        .filter_map(kinds::related)
        .map(|related| ObjectReference {
            group: related.group,
            resource: related.resource,
            namespace: related.namespace,
            name: related.name,
        });
    first.into_iter().chain(operands).collect()
}

/// What the operator has made, by its own word: all that it relates to but namespaces.
pub(super) fn inventory(status: &Status) -> Vec<Key> {
    let keys = status.related_objects.iter().filter_map(|reference| {
        let ObjectReference {
            group,
            resource,
            namespace,
            name,
        } = reference.clone();
        kinds::key(&Related {
            group,
            resource,
            namespace,
            name,
        })
    });
    keys.filter(|key| key.kind != "Namespace").collect()
}

/// Writes the status, on top of the `ClusterOperator` that was seen; makes one where there is none. What was written comes back.
pub(super) async fn write(
    client: &Client,
    seen: Option<&ClusterOperator>,
    status: &Status,
) -> kube::Result<ClusterOperator> {
    let api: Api<ClusterOperator> = Api::all(client.clone());
    let params = PostParams {
        field_manager: Some(MANAGER.to_owned()),
        ..PostParams::default()
    };
    let mut operator = match seen {
        Some(seen) => seen.clone(),
        None => api.create(&params, &new()).await?,
    };
    // The resource version makes sure that nobody else has written meanwhile. A whole update, because the rights that a
    // release gives to this operator are for that.
    operator.metadata.managed_fields = None;
    operator.status = status.clone();
    api.replace_status(status::NAME, &params, &operator).await
}

fn new() -> ClusterOperator {
    let mut new = ClusterOperator::default();
    new.metadata.name = Some(status::NAME.to_owned());
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inventory_is_what_is_related() {
        let key = |kind: &str, api_version: &str, namespace: Option<&str>| Key {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: "x".to_owned(),
        };
        let keys = [
            key("Deployment", "apps/v1", Some("ns")),
            key("ClusterRole", "rbac.authorization.k8s.io/v1", None),
            key("ConfigMap", "v1", Some("ns")),
        ];
        let related = related("own", "ns", &keys);
        let names: Vec<_> = related[..3]
            .iter()
            .map(|each| format!("{}/{}", each.resource, each.name))
            .collect();
        assert_eq!(
            names,
            [
                "namespaces/own",
                "clusteroperators/cloud-controller-manager",
                "namespaces/ns"
            ]
        );
        let status = Status {
            related_objects: related,
            ..Status::default()
        };
        assert_eq!(inventory(&status), keys);
    }
}
