//! The annotation that takes the operands away, or does nothing: whoever has set it is told what came of it.

use super::{
    observe::Observed,
    pass::{Found, Operator},
};
use crate::{observer, telling};
use kube::ResourceExt;
use operator_api::Infrastructure;
use runtime::client::explain;
use tracing::warn;

impl Operator {
    /// Tells what a user should know about the annotation: once when it begins, and in the status as long as it holds.
    pub(super) async fn heed_annotation(&mut self, observed: &Observed, found: &mut Found) {
        let Ok(Some(infrastructure)) = &observed.infrastructure else {
            return;
        };
        let remark = match self.kubernetes(infrastructure).await {
            Ok(kubernetes) => kubernetes.and_then(|kubernetes| remark(infrastructure, kubernetes)),
            Err(reason) => {
                warn!(%reason, "cannot say what the annotation of the Infrastructure means");
                found.unread.push(reason);
                found.failing = true;
                self.remark.clone()
            }
        };
        if let Some(what) = remark.as_ref().filter(|_| remark != self.remark) {
            warn!(%what, "the annotation of the Infrastructure");
            telling::annotation(&self.hands.recorder, what);
        }
        found.remarks.extend(remark.clone());
        self.remark = remark;
    }

    /// The minor version of Kubernetes, where there is an annotation whose meaning depends on it.
    async fn kubernetes(&mut self, infrastructure: &Infrastructure) -> Result<Option<u32>, String> {
        if self.kubernetes.is_none() && infrastructure.annotations().contains_key(observer::ANNOTATION) {
            let version = self.hands.eyes.apiserver_version().await;
            let version =
                version.map_err(|error| format!("cannot read the version of Kubernetes: {}", explain(&error)))?;
            self.kubernetes = Some(minor(&version.minor).ok_or_else(|| {
                let number = &version.minor;
                format!("cannot make sense of the version of Kubernetes: its minor number is {number:?}")
            })?);
        }
        Ok(self.kubernetes)
    }
}

/// What a user should know about the annotation of this Infrastructure, under Kubernetes of this minor version.
fn remark(infrastructure: &Infrastructure, kubernetes: u32) -> Option<String> {
    let annotation = infrastructure.annotations().get(observer::ANNOTATION)?;
    let platform = infrastructure.status.platform_status.as_ref();
    // One that says nothing yet is being written.
    let platform = platform.filter(|platform| !platform.type_.is_empty())?;
    let inputs = observer::Inputs {
        platform: Some(platform),
        annotation: Some(annotation),
        gates: None,
        kubernetes,
        cloud_config: None,
        volumes: observer::Volumes::default(),
        owner: observer::Owner::default(),
    };
    observer::observe(&inputs).problem
}

/// A minor version as an API server says it: vendors write `31+`.
fn minor(text: &str) -> Option<u32> {
    text.trim_end_matches('+').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case::plain("31", Some(31))]
    #[case::of_a_vendor("31+", Some(31))]
    #[case::none("", None)]
    fn minors(#[case] text: &str, #[case] expected: Option<u32>) {
        assert_eq!(minor(text), expected);
    }

    const ABSENT: &str = "absent";

    #[rstest]
    #[case::absent("AWS", ABSENT, 35, "")]
    #[case::as_it_is("AWS", "true", 35, "")]
    #[case::nothing_to_go_back_to("AWS", "false", 35, "has no cloud provider for platform \"AWS\"")]
    #[case::back_into_the_tree("AWS", "false", 26, "")]
    #[case::there_was_no_cloud("None", "false", 35, "")]
    #[case::neither("AWS", "maybe", 35, "is \"maybe\", which is neither true nor false: it is ignored")]
    #[case::neither_where_there_is_nothing("BareMetal", "off", 35, "is \"off\", which is neither true nor false")]
    #[case::nobody_to_run("BareMetal", "true", 35, "the operator has no cloud controller manager")]
    #[case::not_said_yet("", "false", 35, "")]
    fn remarks(#[case] platform: &str, #[case] value: &str, #[case] kubernetes: u32, #[case] part: &str) {
        let annotations = if value == ABSENT {
            json!({})
        } else {
            json!({observer::ANNOTATION: value})
        };
        let infrastructure = json!({
            "metadata": {"name": "cluster", "annotations": annotations}, "spec": {},
            "status": {"platformStatus": {"type": platform}},
        });
        let infrastructure: Infrastructure = serde_json::from_value(infrastructure).unwrap();
        let said = remark(&infrastructure, kubernetes).unwrap_or_default();
        assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{said}");
    }
}
