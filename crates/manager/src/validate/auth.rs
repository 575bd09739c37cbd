//! Authentication and authorization on the secure port.

use crate::{
    Options,
    options::{Authentication, REQUEST_HEADER_UID, RequestHeader},
};
use runtime::{
    flags::{Problems, Strings},
    serve::authz,
};

pub(super) fn validate(options: &Options) -> Problems {
    let RequestHeader {
        client_ca_file: _,
        allowed_names,
        username_headers,
        uid_headers,
        group_headers,
        extra_headers_prefix,
    } = &options.authentication.request_header;
    let lists = [
        ("allowed-names", allowed_names),
        ("username-headers", username_headers),
        ("uid-headers", uid_headers),
        ("group-headers", group_headers),
        ("extra-headers-prefix", extra_headers_prefix),
    ];
    let blank = lists
        .into_iter()
        .filter(|(_, list)| list.iter().any(|item| item.trim().is_empty()));
    let mut problems: Problems = blank
        .map(|(flag, _)| format!("empty value in --requestheader-{flag}, leave it out"))
        .collect();
    if !uid_headers.is_empty() && !options.generic.feature_gates.is_on(REQUEST_HEADER_UID) {
        problems.push(format!(
            "--requestheader-uid-headers requires --feature-gates={REQUEST_HEADER_UID}=true"
        ));
    } else if lacks(uid_headers, "X-Remote-Uid") {
        problems.push("--requestheader-uid-headers is set without the standard X-Remote-Uid header, add it");
    }
    // As in the Go framework, only if there is a port.
    if options.secure_serving.serving.port.0 != 0 {
        let paths = authz::check_paths(&options.authorization.always_allow_paths);
        problems.check(paths.map_err(|error| format!("--authorization-always-allow-paths: {error}")));
    }
    problems
}

pub(super) fn warnings(authentication: &Authentication) -> Vec<String> {
    let header = &authentication.request_header;
    let standard = [
        ("username-headers", &header.username_headers, "X-Remote-User"),
        ("group-headers", &header.group_headers, "X-Remote-Group"),
        ("extra-headers-prefix", &header.extra_headers_prefix, "X-Remote-Extra-"),
    ];
    let lacking = standard.into_iter().filter(|(_, list, name)| lacks(list, name));
    let sentences = lacking.map(|(flag, _, name)| {
        format!("--requestheader-{flag} is set without the standard {name}, so API aggregation will not work")
    });
    sentences.collect()
}

fn lacks(list: &Strings, name: &str) -> bool {
    !list.is_empty() && !list.iter().any(|item| item.eq_ignore_ascii_case(name))
}
