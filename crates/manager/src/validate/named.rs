//! Files and addresses that the flags refer to. Only problems that would end the process later.

use crate::{Options, options::SecureServing};
use runtime::{client::Source, flags::Problems, logging};
use std::{fs, io, path::Path};

/// All files and addresses that cannot be used. Reads files, and sends no requests.
#[must_use]
pub fn named(options: &Options) -> Problems {
    let mut problems = Problems::default();
    // The in-cluster configuration is not part of the command line.
    if !(options.misc.kubeconfig.is_empty() && options.misc.master.is_empty()) {
        problems.check(api_server(&options.misc.kubeconfig, &options.misc.master));
    }
    problems.check(readable("cloud-config", &options.generic.cloud.config));
    // Files that only the port needs are not checked without it, as in the Go framework.
    if options.secure_serving.serving.port.0 != 0 {
        problems.append(secure_port(options));
    }
    problems
}

fn secure_port(options: &Options) -> Problems {
    let (authentication, authorization) = (&options.authentication, &options.authorization);
    let mut problems = certificates(&options.secure_serving);
    for (flag, path) in [
        ("client-ca-file", &authentication.client_ca_file),
        (
            "requestheader-client-ca-file",
            &authentication.request_header.client_ca_file,
        ),
    ] {
        problems.check(readable(flag, path));
    }
    for (flag, path) in [
        ("authentication-kubeconfig", &authentication.kubeconfig),
        ("authorization-kubeconfig", &authorization.kubeconfig),
    ] {
        if !path.is_empty() {
            problems.check(api_server(path, "").map_err(|problem| format!("--{flag}: {problem}")));
        }
    }
    problems
}

fn certificates(flags: &SecureServing) -> Problems {
    let serving = &flags.serving;
    let mut problems = Problems::default();
    // One without the other is rejected already.
    if !serving.cert_file.is_empty() && !serving.key_file.is_empty() {
        problems.check(readable("tls-cert-file", &serving.cert_file));
        problems.check(readable("tls-private-key-file", &serving.key_file));
    }
    for pair in serving.sni_certs.pairs() {
        for path in [&pair.cert, &pair.key] {
            problems.check(readable_path("tls-sni-cert-key", path));
        }
    }
    problems
}

/// The kubeconfig and the address.
fn api_server(kubeconfig: &str, master: &str) -> Result<(), String> {
    if is_stream(Path::new(kubeconfig)) {
        return Ok(());
    }
    let given = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    let source = Source {
        kubeconfig: given(kubeconfig).map(Into::into),
        master: given(master),
    };
    let config = source.load();
    config.map(drop).map_err(|error| logging::chain(&error).to_string())
}

fn readable(flag: &str, path: &str) -> Result<(), String> {
    if path.is_empty() {
        return Ok(());
    }
    readable_path(flag, Path::new(path))
}

fn readable_path(flag: &str, path: &Path) -> Result<(), String> {
    if is_stream(path) {
        return Ok(());
    }
    let opened = fs::File::open(path).and_then(|file| {
        if file.metadata()?.is_dir() {
            Err(io::ErrorKind::IsADirectory.into())
        } else {
            Ok(())
        }
    });
    opened.map_err(|error| format!("--{flag}: cannot read {}: {error}", path.display()))
}

/// A file that can be read only once, such as a pipe, is not opened.
fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| !file.is_file() && !file.is_dir())
}
