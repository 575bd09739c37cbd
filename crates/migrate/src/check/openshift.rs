//! The Infrastructure of `OpenShift`, and which program its operators have chosen.

use super::Finding;
use crate::{Cluster, plan::openshift::Observation};
use operator::observer::{ANNOTATION, Owner, Place};

const OBJECT: &str = "Infrastructure cluster";

pub(super) fn findings(cluster: &Cluster<'_>) -> Vec<Finding> {
    let Some(infrastructure) = &cluster.snapshot.infrastructure else {
        return Vec::new();
    };
    let Some(platform) = &infrastructure.status.platform_status else {
        let finding = Finding::blocker(OBJECT, "status.platformStatus is not set: the platform is not known");
        return vec![finding.remedy("wait until the installation is complete")];
    };
    let annotations = infrastructure.metadata.annotations.as_ref();
    let annotation = match annotations.and_then(|annotations| annotations.get(ANNOTATION)) {
        Some(value) => format!("{ANNOTATION}={value:?}"),
        None => format!("no annotation {ANNOTATION}"),
    };
    let observed = Observation::of(cluster).map(|observation| observation.now());
    let mut findings = Vec::new();
    if let Some(outcome) = observed {
        let place = match outcome.place {
            Place::External => "a cloud controller manager".to_owned(),
            Place::InTree(name) => format!("the in-tree provider {name}"),
            Place::Nowhere => "no cloud provider".to_owned(),
        };
        findings.push(Finding::ok(
            OBJECT,
            format!("platform {}, {annotation}: {place}", platform.type_),
        ));
        findings.extend(outcome.problem.map(|problem| Finding::warning(OBJECT, problem)));
    }
    findings.push(owner(cluster));
    findings
}

fn owner(cluster: &Cluster<'_>) -> Finding {
    match crate::plan::openshift::owner(cluster.snapshot) {
        Owner::InTree => Finding::ok(
            "KubeControllerManager cluster",
            "kube-controller-manager owns the cloud's controllers",
        ),
        Owner::External => Finding::ok(
            "ClusterOperator cloud-controller-manager",
            "the cloud controller manager owns the cloud's controllers",
        ),
        Owner::None => Finding::ok(
            "KubeControllerManager cluster",
            "no condition CloudControllerOwner: the operators do not hand over by it",
        ),
    }
}
