//! Target groups.

use super::{ARN, Attributes, invalid, owned, page, pairs, set_attributes};
use crate::{
    Account, State,
    ec2::tags_in,
    wire::{Answer, Params, Refusal},
};
use fakecloud::{Now, Value, json};
use std::collections::BTreeMap;
use tokio::time::Instant;

const CHECK: [&str; 7] = [
    "HealthCheckProtocol",
    "HealthCheckPort",
    "HealthCheckPath",
    "HealthCheckIntervalSeconds",
    "HealthCheckTimeoutSeconds",
    "HealthyThresholdCount",
    "UnhealthyThresholdCount",
];

/// A target group.
#[derive(Debug)]
pub struct TargetGroup {
    /// As answers have it, without its load balancers.
    pub fields: Value,
    attributes: Attributes,
    /// By ID and port; and until when one that was deregistered drains.
    pub targets: BTreeMap<(String, String), Option<Instant>>,
}

pub fn create(account: &mut Account, params: &Params, _: Now) -> Answer {
    let name = params.required("Name")?;
    let given = params.only(&["Port", "Protocol", "VpcId", "TargetType"]);
    let mut fields = json!({
        "TargetGroupName": name, "HealthCheckEnabled": "true", "HealthCheckProtocol": "TCP", "HealthCheckPort": "traffic-port",
        "HealthCheckIntervalSeconds": "30", "HealthCheckTimeoutSeconds": "10", "HealthyThresholdCount": "3", "UnhealthyThresholdCount": "3",
    });
    fill(&mut fields, given);
    fill(&mut fields, params.only(&CHECK));
    if fields["HealthCheckProtocol"] != "TCP" && fields["HealthCheckPath"].is_null() {
        fields["HealthCheckPath"] = "/".into();
    }
    if let Some((arn, existing)) = account
        .target_groups
        .iter()
        .find(|(_, other)| other.fields["TargetGroupName"] == name)
    {
        fields["TargetGroupArn"] = arn.as_str().into();
        if existing.fields != fields {
            let message = format!("A target group with the same name '{name}' exists, but with different settings");
            return Err(Refusal::new("DuplicateTargetGroupName", message));
        }
        return Ok(json!({"TargetGroups": [answer(account, existing)]}));
    }
    if account.target_groups.len() >= account.settings.target_groups {
        return Err(Refusal::new(
            "TooManyTargetGroups",
            "The maximum number of target groups has been reached",
        ));
    }
    let arn = format!("{ARN}:targetgroup/{name}/{}", &account.id("")[2..]);
    fields["TargetGroupArn"] = arn.as_str().into();
    let defaults = [
        ("deregistration_delay.timeout_seconds", "300"),
        ("deregistration_delay.connection_termination.enabled", "false"),
        ("preserve_client_ip.enabled", "true"),
        ("proxy_protocol_v2.enabled", "false"),
        ("stickiness.enabled", "false"),
        ("stickiness.type", "source_ip"),
    ];
    let group = TargetGroup {
        fields,
        attributes: owned(&defaults),
        targets: BTreeMap::new(),
    };
    let created = answer(account, &group);
    account.tag(&arn, tags_in(params.list("Tags")));
    account.target_groups.insert(arn, group);
    Ok(json!({"TargetGroups": [created]}))
}

fn fill(fields: &mut Value, given: Value) {
    if let Value::Object(given) = given {
        for (name, value) in given {
            fields[name] = value;
        }
    }
}

fn answer(account: &Account, group: &TargetGroup) -> Value {
    let arn = group.fields["TargetGroupArn"].as_str().unwrap_or_default();
    let users = account
        .network
        .iter()
        .filter(|(_, balancer)| balancer.groups().any(|used| used == arn));
    let mut fields = group.fields.clone();
    fields["LoadBalancerArns"] = users.map(|(arn, _)| Value::from(arn.as_str())).collect();
    fields
}

pub fn describe(account: &mut Account, params: &Params, _: Now) -> Answer {
    let (names, arns, of) = (
        params.texts("Names"),
        params.texts("TargetGroupArns"),
        params.text("LoadBalancerArn"),
    );
    let used: Option<Vec<&str>> = match of {
        "" => None,
        arn => Some(
            account
                .network
                .get(arn)
                .ok_or_else(super::no_balancer)?
                .groups()
                .collect(),
        ),
    };
    let is_wanted = |(arn, group): &(&String, &TargetGroup)| {
        let named = names.iter().any(|name| group.fields["TargetGroupName"] == *name) || arns.contains(&arn.as_str());
        used.as_ref().is_none_or(|used| used.contains(&arn.as_str())) && (names.is_empty() && arns.is_empty() || named)
    };
    let found = account
        .target_groups
        .iter()
        .filter(is_wanted)
        .map(|(_, group)| answer(account, group));
    let found: Vec<Value> = found.collect();
    if found.len() < names.len() + arns.len() {
        return Err(not_found());
    }
    Ok(page(params, "TargetGroups", found))
}

pub fn modify(account: &mut Account, params: &Params, _: Now) -> Answer {
    let group = group_mut(account, params)?;
    fill(&mut group.fields, params.only(&CHECK));
    let group = &account.target_groups[params.text("TargetGroupArn")];
    Ok(json!({"TargetGroups": [answer(account, group)]}))
}

/// One that does not exist is a success.
pub fn delete(account: &mut Account, params: &Params, _: Now) -> Answer {
    let arn = params.required("TargetGroupArn")?;
    if account
        .network
        .values()
        .any(|balancer| balancer.groups().any(|used| used == arn))
    {
        let message = format!("Target group '{arn}' is currently in use by a listener or a rule");
        return Err(Refusal::new("ResourceInUse", message));
    }
    account.target_groups.remove(arn);
    account.tags.remove(arn);
    Ok(json!({}))
}

pub fn register(account: &mut Account, params: &Params, now: Now) -> Answer {
    let limit = account.settings.targets;
    for target in params.list("Targets") {
        let id = target["Id"].as_str().unwrap_or_default();
        let runs = account
            .machines
            .get(id)
            .is_some_and(|machine| machine.state == State::Running);
        if !runs {
            let message = format!("The following targets are not in a running state: '{id}'");
            return Err(Refusal::new("InvalidTarget", message));
        }
    }
    let wanted = targets_in(params)?;
    let group = group_mut(account, params)?;
    group
        .targets
        .retain(|target, until| is_present(*until, now) || !wanted.contains(target));
    let new = wanted
        .iter()
        .filter(|target| !matches!(group.targets.get(target), Some(None)))
        .count();
    let present = group.targets.values().filter(|until| until.is_none()).count();
    if present + new > limit {
        return Err(Refusal::new(
            "TooManyTargets",
            "The maximum number of targets per target group has been reached",
        ));
    }
    group.targets.extend(wanted.into_iter().map(|target| (target, None)));
    Ok(json!({}))
}

pub fn deregister(account: &mut Account, params: &Params, now: Now) -> Answer {
    let (wanted, until) = (targets_in(params)?, now.instant + account.settings.draining);
    let group = group_mut(account, params)?;
    for target in wanted {
        if let Some(left @ None) = group.targets.get_mut(&target) {
            *left = Some(until);
        }
    }
    Ok(json!({}))
}

pub fn health(account: &mut Account, params: &Params, now: Now) -> Answer {
    let group = group_mut(account, params)?;
    group.targets.retain(|_, until| is_present(*until, now));
    let target = |((id, port), until): (&(String, String), &Option<Instant>)| {
        let health = match until {
            None => json!({"State": "healthy"}),
            Some(_) => json!({"State": "draining", "Reason": "Target.DeregistrationInProgress"}),
        };
        json!({"Target": {"Id": id, "Port": port}, "TargetHealth": health})
    };
    Ok(json!({"TargetHealthDescriptions": group.targets.iter().map(target).collect::<Value>()}))
}

fn is_present(until: Option<Instant>, now: Now) -> bool {
    until.is_none_or(|until| now.instant < until)
}

/// The targets of a request: at most 100. Without a port, the port is that of the group.
fn targets_in(params: &Params) -> Result<Vec<(String, String)>, Refusal> {
    let targets = params.list("Targets");
    if targets.len() > 100 {
        return Err(invalid("Up to 100 targets can be given in one call"));
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(targets
        .iter()
        .map(|target| (text(&target["Id"]), text(&target["Port"])))
        .collect())
}

pub fn attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    Ok(json!({"Attributes": pairs(&group_mut(account, params)?.attributes)}))
}

pub fn modify_attributes(account: &mut Account, params: &Params, _: Now) -> Answer {
    set_attributes(&mut group_mut(account, params)?.attributes, params)
}

fn group_mut<'a>(account: &'a mut Account, params: &Params) -> Result<&'a mut TargetGroup, Refusal> {
    account
        .target_groups
        .get_mut(params.required("TargetGroupArn")?)
        .ok_or_else(not_found)
}

pub fn not_found() -> Refusal {
    Refusal::new("TargetGroupNotFound", "One or more target groups not found")
}
