//! Certificate authorities and the client certificate.

use super::{Identity, Tls, Verification, credentials::Values, error::Error};
use provider_kit::{keys::Settings, live_config::Reader};
use secrecy::SecretString;
use std::path::{Path, PathBuf};

/// Reads the files that are named.
pub(super) fn read(values: &Values, reader: &Reader<'_>, warnings: &mut Vec<String>) -> Result<Tls, Error> {
    let mut files = Vec::new();
    let authorities = authorities(values, reader, &mut files)?;
    let identity = identity(values, reader, &mut files, warnings)?;
    let verification = match values.get("tls-insecure") {
        Some("true") => Verification::Off,
        _ => Verification::On,
    };
    Ok(Tls {
        authorities,
        identity,
        verification,
        files,
    })
}

/// Warns about a value that looks like `true` and has no effect.
pub(super) fn warn(settings: &Settings, warnings: &mut Vec<String>) {
    let Some(value) = settings.text("Global", "tls-insecure") else {
        return;
    };
    if value != "true" && ["true", "yes", "on", "1"].contains(&value.to_lowercase().as_str()) {
        let place = settings.position("Global", "tls-insecure");
        warnings.push(format!(
            "{place}: tls-insecure={value} does nothing, certificates are checked: only the exact word true turns that off"
        ));
    }
}

fn authorities(values: &Values, reader: &Reader<'_>, files: &mut Vec<PathBuf>) -> Result<Option<Vec<u8>>, Error> {
    let (content, from) = match (values.get("ca-file"), values.get("cafilecontents")) {
        (Some(path), _) => (file("ca-file", path, reader, files)?, format!("ca-file: {path}")),
        (None, Some(text)) => (text.as_bytes().to_vec(), "cafilecontents".to_owned()),
        (None, None) => return Ok(None),
    };
    if String::from_utf8_lossy(&content).contains("-----BEGIN CERTIFICATE-----") {
        Ok(Some(content))
    } else {
        Err(Error::new(format!(
            "{from} has no certificate: it must be in PEM, with -----BEGIN CERTIFICATE-----"
        )))
    }
}

fn identity(
    values: &Values,
    reader: &Reader<'_>,
    files: &mut Vec<PathBuf>,
    warnings: &mut Vec<String>,
) -> Result<Option<Identity>, Error> {
    let (certificate, key) = match (values.get("cert-file"), values.get("key-file")) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return Ok(None),
        (only, _) => {
            let (given, other) = if only.is_some() {
                ("cert-file", "key-file")
            } else {
                ("key-file", "cert-file")
            };
            warnings.push(format!(
                "{given} is ignored because there is no {other}: set both or none"
            ));
            return Ok(None);
        }
    };
    let certificate = file("cert-file", certificate, reader, files)?;
    let content = file("key-file", key, reader, files)?;
    let text = String::from_utf8(content)
        .map_err(|_| Error::new(format!("key-file: {key} is not text: it must be in PEM")))?;
    Ok(Some(Identity {
        certificate,
        key: SecretString::from(text),
    }))
}

fn file(key: &str, path: &str, reader: &Reader<'_>, files: &mut Vec<PathBuf>) -> Result<Vec<u8>, Error> {
    let content = reader
        .read(Path::new(path))
        .map_err(|error| Error::unreadable(format!("{key}: {path} cannot be read: correct its rights"), error))?;
    files.push(PathBuf::from(path));
    content.ok_or_else(|| {
        Error::new(format!(
            "{key}: {path} is not there: correct the path or mount the file"
        ))
    })
}
