//! Errors of the API in one sentence, for logs, events and health checks.

use super::failure::{Failure, chain};
use kube::{client::AuthError, core::Status};
use std::error::Error;

/// Explains in one sentence why a request failed: the response of the API server, or the failure of the connection with its
/// address. Accepts every error of [`kube`], and errors with such a source.
///
/// A missing permission includes verb and resource. No secret is printed.
#[must_use]
pub fn explain(error: &(dyn Error + 'static)) -> String {
    let causes: Vec<_> = chain(error).collect();
    if let Some(status) = causes.iter().find_map(|error| as_status(*error)) {
        return explain_status(status);
    }
    if let Some(plugin) = causes
        .iter()
        .find_map(|error| error.downcast_ref().and_then(explain_plugin))
    {
        return plugin;
    }
    let message: Vec<_> = causes
        .iter()
        .filter(|error| is_informative(**error))
        .map(|error| explain_one(*error))
        .collect();
    match message.as_slice() {
        [] => error.to_string(),
        [only] => only.clone(),
        [first, .., last] if first.contains(last.as_str()) => first.clone(),
        [first, .., last] => format!("{first}: {last}"),
    }
}

fn as_status<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Status> {
    match error.downcast_ref::<kube::Error>() {
        Some(kube::Error::Api(status)) => Some(status),
        _ => error
            .downcast_ref()
            .or_else(|| error.downcast_ref::<Box<Status>>().map(|status| &**status)),
    }
}

fn explain_status(status: &Status) -> String {
    let Status {
        code, message, reason, ..
    } = status;
    match code {
        401 => "the API server does not accept our credentials (401 Unauthorized): renew the token or certificate"
            .to_owned(),
        403 if message.contains(" cannot ") => format!("missing permission: {message}"),
        _ if message.is_empty() => format!("the API server answered {code} {reason}"),
        _ => message.clone(),
    }
}

/// Without the output of the plugin, which may contain a token.
fn explain_plugin(error: &AuthError) -> Option<String> {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let message = stderr.lines().rfind(|line| !line.trim().is_empty());
            let message = message.map_or_else(String::new, |line| format!(": {}", line.trim()));
            Some(format!(
                "the credential plugin of the kubeconfig failed with {}{message}",
                out.status
            ))
        }
        AuthError::AuthExecStart(source) => Some(format!(
            "the credential plugin of the kubeconfig cannot be run: {source}"
        )),
        AuthError::AuthExecParse(_) => {
            Some("the credential plugin of the kubeconfig did not answer with an ExecCredential".to_owned())
        }
        _ => None,
    }
}

/// Whether an error adds information: wrappers that repeat their source, or name internals of a library, do not.
fn is_informative(error: &(dyn Error + 'static)) -> bool {
    if error.is::<hyper_util::client::legacy::Error>() {
        return false;
    }
    let Some(inner) = chain(error).nth(1) else { return true };
    error.is::<Failure>() || !error.to_string().contains(&inner.to_string())
}

fn explain_one(error: &(dyn Error + 'static)) -> String {
    use rustls::CertificateError::UnknownIssuer;
    match error.downcast_ref() {
        Some(rustls::Error::InvalidCertificate(UnknownIssuer)) => {
            "its certificate is not signed by the configured certificate authority".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
