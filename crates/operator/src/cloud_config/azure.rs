//! Azure's configuration: JSON.

mod keys;

use super::{Invalid, KEY, json::Document};
use operator_api::Infrastructure;

/// The name of Azure Stack Hub among the clouds.
pub(crate) const STACK: &str = "AzureStackCloud";

const PUBLIC: &str = "AzurePublicCloud";
const CLOUDS: [&str; 5] = [
    "AzureChinaCloud",
    "AzureGermanCloud",
    PUBLIC,
    STACK,
    "AzureUSGovernmentCloud",
];

/// The cloud that the Infrastructure names; the public one if it names none.
pub(crate) fn cloud_name(infrastructure: &Infrastructure) -> &str {
    let status = infrastructure.status.platform_status.as_ref();
    let azure = status.and_then(|status| status.azure.as_ref());
    azure
        .map(|azure| azure.cloud_name.as_str())
        .filter(|name| !name.is_empty())
        .unwrap_or(PUBLIC)
}

/// Sets the name of the cloud, and uses the health probe of kube-proxy for all Services.
pub(crate) fn transform(text: &str, cloud: &str) -> Result<String, Invalid> {
    if !CLOUDS.contains(&cloud) {
        let choices: Vec<_> = CLOUDS.iter().map(|name| format!("{name:?}")).collect();
        return Err(Invalid(format!(
            "status.platformStatus.azure.cloudName: Unsupported value: {cloud:?}: supported values: {}",
            choices.join(", ")
        )));
    }
    let mut document = read(text)?;
    match document.text("cloud").map_err(|problem| problem.within(KEY))? {
        Some(named) if !named.is_empty() && !named.eq_ignore_ascii_case(cloud) => {
            return Err(Invalid(format!(
                "{KEY}: \"cloud\" is {named:?}, but the Infrastructure says {cloud:?}: correct it or remove it"
            )));
        }
        _ => document.set("cloud", cloud),
    }
    default_machines(&mut document)?;
    document.set("clusterServiceLoadBalancerHealthProbeMode", "shared");
    Ok(document.to_string())
}

/// The configuration of Azure Stack Hub: its cloud is described by the file of endpoints.
pub(crate) fn transform_stack(text: &str) -> Result<String, Invalid> {
    let mut document = read(text)?;
    default_machines(&mut document)?;
    Ok(document.to_string())
}

/// Reports here, where a user sees it, what the operand would reject.
fn read(text: &str) -> Result<Document, Invalid> {
    let document = Document::parse(KEY, text)?;
    keys::check(&document).map_err(|problem| problem.within(KEY))?;
    Ok(document)
}

/// The default of the provider is scale sets; the machines of `OpenShift` are not in scale sets.
fn default_machines(document: &mut Document) -> Result<(), Invalid> {
    if document
        .text("vmType")
        .map_err(|problem| problem.within(KEY))?
        .is_none_or(|kind| kind.is_empty())
    {
        document.set("vmType", "standard");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
