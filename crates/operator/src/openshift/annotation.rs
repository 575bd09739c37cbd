//! The annotation of the Infrastructure that deletes the operands.

use crate::platforms::external::{ANNOTATION, Request, is_external, requested};
use kube::ResourceExt;
use operator_api::Infrastructure;

/// A remark on the annotation for the user, if it has an effect that is easily missed.
pub(super) fn remark(infrastructure: &Infrastructure) -> Option<String> {
    let value = infrastructure.annotations().get(ANNOTATION)?;
    let platform = infrastructure.status.platform_status.as_ref();
    // An Infrastructure without a platform is not complete yet.
    let platform = platform.filter(|platform| !platform.type_.is_empty())?;
    let type_ = &platform.type_;
    match requested(value) {
        Request::External if is_external(platform) || type_ == "External" => None,
        Request::External => Some(format!(
            "{ANNOTATION} makes the cloud provider of platform {type_:?} external, and the operator has no cloud controller manager \
             for it: nodes stay uninitialized until another one is installed"
        )),
        Request::InTree if is_external(platform) => Some(format!(
            "{ANNOTATION} is false, so the cloud controller manager is deleted; but Kubernetes itself has no cloud provider for \
             platform {type_:?}: new nodes stay uninitialized until another manager is installed"
        )),
        Request::InTree => None,
        Request::Unclear => Some(format!(
            "{ANNOTATION} is {value:?}, which is neither true nor false: it is ignored"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    const ABSENT: &str = "absent";

    #[rstest]
    #[case::absent("AWS", ABSENT, "")]
    #[case::as_it_is("AWS", "true", "")]
    #[case::nothing_takes_over("AWS", "false", "has no cloud provider for platform \"AWS\"")]
    #[case::no_cloud("None", "false", "")]
    #[case::neither("AWS", "maybe", "is \"maybe\", which is neither true nor false: it is ignored")]
    #[case::neither_without_a_cloud("BareMetal", "off", "is \"off\", which is neither true nor false")]
    #[case::no_manager("BareMetal", "true", "the operator has no cloud controller manager")]
    #[case::no_platform_yet("", "false", "")]
    fn remarks(#[case] platform: &str, #[case] value: &str, #[case] part: &str) {
        let annotations = if value == ABSENT {
            json!({})
        } else {
            json!({ANNOTATION: value})
        };
        let infrastructure = json!({
            "metadata": {"name": "cluster", "annotations": annotations}, "spec": {},
            "status": {"platformStatus": {"type": platform}},
        });
        let infrastructure: Infrastructure = serde_json::from_value(infrastructure).unwrap();
        let remark = remark(&infrastructure).unwrap_or_default();
        assert!(
            remark.contains(part) && remark.is_empty() == part.is_empty(),
            "{remark}"
        );
    }
}
