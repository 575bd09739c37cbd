//! Applies steps.

use super::{
    Network,
    desired::{Asked, Mapping},
    step::{SetTargets, Step},
};
use crate::api::{
    elbv2::{
        listeners::{Action, Certificate, ListenerSettings},
        target_groups::NewTargetGroup,
    },
    errors,
};
use cloud::{Error, Result};
use provider_kit::load_balancer::Halt;
use std::{collections::BTreeSet, time::Duration};

/// When to delete a target group again that a listener was just removed from.
const IN_USE: Duration = Duration::from_secs(2);

impl Network {
    pub(super) async fn apply_step(
        &self,
        arn: &str,
        asked: &Asked,
        targets: &BTreeSet<String>,
        step: &Step,
    ) -> Result<(), Halt> {
        let api = &self.shared.api;
        match step {
            Step::AddPort(mapping) => {
                let group = self.create_group(mapping, asked, targets).await?;
                api.create_listener(arn, &listener(mapping, &group), &asked.tags)
                    .await?;
            }
            Step::ReplaceGroup { listener: arn, mapping } => {
                let group = self.create_group(mapping, asked, targets).await?;
                api.modify_listener(arn, &listener(mapping, &group)).await?;
            }
            Step::ModifyListener {
                listener: arn,
                mapping,
                group,
            } => api.modify_listener(arn, &listener(mapping, group)).await?,
            Step::DeleteListener { listener, .. } => api.delete_listener(listener).await?,
            Step::ModifyGroup { group, check } => api.modify_target_group(&group.target_group_arn, check).await?,
            Step::SetGroupAttributes { group, attributes } => {
                let arn = &group.target_group_arn;
                api.set_target_group_attributes(arn, attributes).await?;
            }
            Step::DeleteGroup(arn) => self.delete_group(arn).await?,
            Step::SetTargets(step) => self.set_targets(step).await?,
            Step::SetAttributes(attributes) => api.set_load_balancer_attributes(arn, attributes).await?,
            Step::AddTags { arns, tags } => api.add_elb_v2_tags(arns, tags).await?,
        }
        Ok(())
    }

    /// Its targets are registered before a listener uses it.
    async fn create_group(&self, mapping: &Mapping, asked: &Asked, targets: &BTreeSet<String>) -> Result<String> {
        let api = &self.shared.api;
        let new = NewTargetGroup {
            name: mapping.group_name.clone(),
            vpc_id: api.cluster().await?.vpc_id.clone(),
            port: mapping.node_port,
            protocol: mapping.target_protocol.to_owned(),
            target_type: "instance",
            health_check_protocol: mapping.check.protocol.clone(),
            health_check_interval_seconds: mapping.check.interval,
            check: mapping.check_settings(),
            tags: asked.tags.clone(),
        };
        let arn = api.create_target_group(&new).await?;
        if !asked.group_attributes.is_empty() {
            api.set_target_group_attributes(&arn, &asked.group_attributes).await?;
        }
        let step = SetTargets {
            group: arn.clone(),
            port: mapping.node_port,
            wanted: targets.clone(),
            present: Some(BTreeSet::new()),
        };
        self.set_targets(&step).await?;
        Ok(arn)
    }

    /// Removes targets first, so that a load balancer that is full can be refilled.
    async fn set_targets(&self, step: &SetTargets) -> Result<()> {
        let api = &self.shared.api;
        let known = self.registered(&step.group);
        let present = match step.present.clone().or(known) {
            Some(present) => present,
            None => api.targets(&step.group).await?,
        };
        let (gone, new) = step.changes(&present);
        let changed = async {
            if !gone.is_empty() {
                api.deregister_targets(&step.group, &gone).await?;
            }
            if !new.is_empty() {
                api.register_targets(&step.group, &new).await?;
            }
            Ok(())
        };
        // What is there is known again only after it succeeds.
        self.forget_group(&step.group);
        if let Err(error) = changed.await {
            if errors::code(&error) == Some("InvalidTarget") {
                self.shared.hosts.forget().await;
            }
            return Err(error);
        }
        let wanted = step.wanted.iter().map(|id| (id.clone(), step.port));
        self.remember_group(&step.group, wanted.collect());
        Ok(())
    }

    pub(super) async fn delete_group(&self, arn: &str) -> Result<(), Halt> {
        self.forget_group(arn);
        match self.shared.api.delete_target_group(arn).await {
            Err(error) if is_in_use(&error) => Err(Halt::Pending {
                poll_after: IN_USE,
                waiting_for: format!("target group {arn}, which is still in use"),
            }),
            done => Ok(done?),
        }
    }
}

fn is_in_use(error: &Error) -> bool {
    errors::code(error) == Some("ResourceInUse")
}

fn listener(mapping: &Mapping, group: &str) -> ListenerSettings {
    let certificate = |certificate: &str| Certificate {
        certificate_arn: certificate.to_owned(),
    };
    ListenerSettings {
        port: mapping.port,
        protocol: mapping.protocol.to_owned(),
        ssl_policy: mapping.tls.as_ref().and_then(|tls| tls.policy.clone()),
        certificates: mapping.tls.iter().map(|tls| certificate(&tls.certificate)).collect(),
        default_actions: vec![Action::forward(group)],
    }
}
