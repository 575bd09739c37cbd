//! Errors of the API in one sentence, for logs, events and health checks.

use super::failure::{Failure, chain};
use kube::{client::AuthError, core::Status};
use std::error::Error;

/// Says in one sentence why a request failed: what the API server said, or what the connection did and to which address.
/// Takes any error of [`kube`], or one that was caused by such.
///
/// A missing permission names verb and resource. No secret is printed.
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
    let said: Vec<_> = causes
        .iter()
        .filter(|error| says_something(**error))
        .map(|error| explain_one(*error))
        .collect();
    match said.as_slice() {
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

/// A plugin's output may have a token in it.
fn explain_plugin(error: &AuthError) -> Option<String> {
    match error {
        AuthError::AuthExecRun { out, .. } => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let said = stderr.lines().rfind(|line| !line.trim().is_empty());
            let said = said.map_or_else(String::new, |line| format!(": {}", line.trim()));
            Some(format!(
                "the credential plugin of the kubeconfig failed with {}{said}",
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

/// Wrappers that only repeat what is inside them, or that speak of the library's own parts, say nothing.
fn says_something(error: &(dyn Error + 'static)) -> bool {
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
