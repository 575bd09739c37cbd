//! Validates a spec, with messages for its author.
//!
//! An API server with the current definition rejects most of this at once; with an older definition it may not.

use crate::Key;
use crate::standalone::{
    controllers::Controller,
    names,
    provider::{self, Config, Provider},
    scope::selector,
};
use operator_api::{
    CloudControllerManager,
    cloud_controller_manager::{CLUSTER_NAME, IMAGE, OWN_FLAGS, Routes, Spec},
};
use regex_lite::Regex;
use std::collections::BTreeSet;

/// The longest name that leaves room for the suffix.
const LONGEST: usize = 38;

/// All problems, each one sentence with the remedy.
pub fn problems(manager: &CloudControllerManager, providers: &[Provider], flags: &[String]) -> Vec<String> {
    let spec = &manager.spec;
    let name = manager.metadata.name.as_deref().unwrap_or_default();
    let mut problems = Vec::new();
    if name.is_empty() || name.len() > LONGEST {
        problems.push(format!(
            "metadata.name must have between 1 and {LONGEST} characters, not {}",
            name.len()
        ));
    }
    problems.extend(provider(spec, providers));
    problems.extend(references(spec));
    problems.extend(forms(spec));
    problems.extend(controllers(spec));
    problems.extend(args(spec, flags));
    if spec.routes == Routes::Enabled && spec.cluster_cidrs.is_empty() {
        problems
            .push("spec.routes is Enabled but spec.clusterCIDRs is empty: name the networks of the pods".to_owned());
    }
    if spec.replicas < 1 {
        problems.push(format!("spec.replicas must be at least 1, not {}", spec.replicas));
    }
    problems.extend(selector::problems(&spec.scope.node_selector));
    problems
}

/// The problem of a name that would give a manager's objects the names of these, which are the platform's.
pub(in crate::standalone) fn taken(name: &str, platform: &BTreeSet<Key>) -> Option<String> {
    let full = names::full(name);
    let theirs = platform.iter().find(|key| key.name == full)?;
    Some(format!(
        "metadata.name {name:?} is kept for a platform of OpenShift, whose {theirs} would be this manager's, too: \
         give it another name"
    ))
}

/// Another image may have providers that this program does not know.
fn provider(spec: &Spec, providers: &[Provider]) -> Option<String> {
    match provider::find(providers, &spec.provider) {
        None if spec.image.is_none() => {
            let known: Vec<&str> = providers.iter().map(|provider| provider.name).collect();
            Some(format!(
                "spec.provider {:?} is not known: it is one of {}, unless spec.image names an image that has another",
                spec.provider,
                known.join(", ")
            ))
        }
        Some(provider) if provider.needs.config == Config::Needed && spec.cloud_config.is_none() => Some(format!(
            "provider {} needs a configuration: name a ConfigMap or a Secret in spec.cloudConfig",
            provider.name
        )),
        _ => None,
    }
}

fn references(spec: &Spec) -> Option<String> {
    let config = spec.cloud_config.as_ref()?;
    let either = config.config_map.is_some() != config.secret.is_some();
    (!either).then(|| "spec.cloudConfig must name either a configMap or a secret".to_owned())
}

/// The format of texts, as the current definition requires it.
fn forms(spec: &Spec) -> Vec<String> {
    let image = "is not an image: it has the form [registry/]repository[:tag][@digest]";
    let cluster_name = "may not contain blanks: it becomes part of names in the cloud";
    let fields = [
        ("image", &spec.image, IMAGE, image),
        ("clusterName", &spec.cluster_name, CLUSTER_NAME, cluster_name),
    ];
    let wrong = fields.into_iter().filter_map(|(field, value, form, problem)| {
        let value = value.as_ref()?;
        let has_form = Regex::new(form).is_ok_and(|form| form.is_match(value));
        (!has_form).then(|| format!("spec.{field} {value:?} {problem}"))
    });
    wrong.collect()
}

fn controllers(spec: &Spec) -> Vec<String> {
    let names = spec
        .controllers
        .iter()
        .map(|item| item.strip_prefix('-').unwrap_or(item));
    let unknown = names.filter(|name| *name != "*" && Controller::find(name).is_none());
    let known: Vec<&str> = Controller::ALL.iter().map(|known| known.names()[0]).collect();
    unknown
        .map(|name| format!("spec.controllers: {name:?} is not one of {}", known.join(", ")))
        .collect()
}

/// Another image may have flags that this program does not know, and without a list of flags none are checked.
fn args(spec: &Spec, flags: &[String]) -> Vec<String> {
    let is_unknown = |flag: &str| {
        let name = flag.trim_start_matches('-');
        spec.image.is_none() && !flags.is_empty() && !flags.iter().any(|known| known == name)
    };
    let mut problems = Vec::new();
    for arg in &spec.extra_args {
        let flag = arg.split_once('=').map_or(arg.as_str(), |(flag, _)| flag);
        if !flag.starts_with("--") {
            problems.push(format!("spec.extraArgs: {arg:?} is not of the form --flag=value"));
        } else if OWN_FLAGS.contains(&flag) {
            problems.push(format!(
                "spec.extraArgs: {flag} is set by the operator: use the other fields of spec"
            ));
        } else if is_unknown(flag) {
            problems.push(format!(
                "spec.extraArgs: the manager has no flag {flag}: correct or remove it"
            ));
        }
    }
    problems
}
