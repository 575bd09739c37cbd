//! Whether the platform has a cloud controller manager, for managers that would run beside it.

use super::{
    inventory::{listed, names_operands},
    observe,
    operands::are_unwanted,
};
use crate::{
    Unread,
    cache::{Cache, Selection},
    platforms::Platform,
};
use operator_api::{ClusterOperator, Infrastructure};

/// The objects that have to be watched for this.
pub(crate) fn selections() -> [Selection; 2] {
    observe::platform_selections()
}

/// The type of the platform if it has operands; or why that is not known.
pub(crate) fn platform(cache: &Cache) -> Result<Option<String>, Unread> {
    let (infrastructure, operator) = observe::read_platform(cache)?;
    decide(infrastructure.as_ref(), operator.as_ref())
}

/// Operands are desired, or still exist.
fn decide(
    infrastructure: Option<&Infrastructure>,
    operator: Option<&ClusterOperator>,
) -> Result<Option<String>, Unread> {
    let Some(infrastructure) = infrastructure else {
        return Ok(None);
    };
    let status = infrastructure.status.platform_status.as_ref();
    let is_ours = status.is_some_and(|status| Platform::find(status).is_some());
    let is_wanted = is_ours && !are_unwanted(infrastructure).map_err(|problem| Unread(problem.to_string()))?;
    let is_there = operator.is_some_and(|operator| names_operands(&listed(&operator.status)));
    let type_ = status.map(|status| status.type_.clone()).unwrap_or_default();
    Ok((is_wanted || is_there).then_some(type_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    fn external(state: &str) -> Value {
        json!({"type": "External", "external": {"cloudControllerManager": {"state": state}}})
    }

    #[rstest]
    #[case::a_cloud(json!({"type": "AWS"}), json!({}), &[], Some("AWS"))]
    #[case::none(json!({"type": "None"}), json!({}), &[], None)]
    #[case::external(external("External"), json!({}), &[], None)]
    #[case::external_without_one(external("None"), json!({}), &[], None)]
    #[case::switched_off(json!({"type": "AWS"}), json!({"infrastructure.openshift.io/external-cloud-provider": "false"}), &[], None)]
    #[case::not_deleted_yet(json!({"type": "None"}), json!({}), &["deployments"], Some("None"))]
    #[case::only_objects_that_others_read(json!({"type": "None"}), json!({}), &["configmaps"], None)]
    #[case::no_status(json!(null), json!({}), &[], None)]
    fn has_operands(
        #[case] platform: Value,
        #[case] annotations: Value,
        #[case] there: &[&str],
        #[case] expected: Option<&str>,
    ) {
        let mut infrastructure = json!({"metadata": {"annotations": annotations}, "status": {}});
        if !platform.is_null() {
            infrastructure["status"]["platformStatus"] = platform;
        }
        let infrastructure: Infrastructure = serde_json::from_value(infrastructure).unwrap();
        let mut related = vec![json!({"group": "", "resource": "namespaces", "name": "ns"})];
        related.extend(there.iter().map(|resource| {
            let group = if *resource == "deployments" { "apps" } else { "" };
            json!({"group": group, "resource": resource, "namespace": "ns", "name": "x"})
        }));
        let operator: ClusterOperator =
            serde_json::from_value(json!({"metadata": {}, "spec": {}, "status": {"relatedObjects": related}})).unwrap();
        assert_eq!(
            decide(Some(&infrastructure), Some(&operator)),
            Ok(expected.map(str::to_owned))
        );
        assert_eq!(decide(None, Some(&operator)), Ok(None));
    }
}
