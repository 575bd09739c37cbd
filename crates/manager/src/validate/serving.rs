//! The secure port and the webhooks' port.

use crate::{Options, controllers_flag, options::Serving};
use runtime::{
    flags::Problems,
    serve::tls::{Profile, ProfileError},
};

pub(super) fn validate(options: &Options) -> Problems {
    let (secure, webhook) = (&options.secure_serving, &options.webhook);
    let mut problems = tls("", &secure.serving, |_| true);
    // These flags have no effect, so only values that Go rejects, too, are rejected.
    problems.append(tls("webhook-", &webhook.serving, |error| !is_only_ours(error)));
    if secure.http2_max_streams < 0 {
        problems.push("--http2-max-streams-per-connection cannot be a negative number");
    }
    if webhook.serving.port == secure.serving.port && webhook.serving.port.0 != 0 {
        problems.push("--webhook-secure-port cannot be the same value as --secure-port");
    }
    if !webhook.webhooks.is_empty() && webhook.serving.port.0 == 0 {
        problems.push("--webhooks needs a port to serve them on, but --webhook-secure-port is 0");
    }
    for unknown in controllers_flag::webhooks().unknown(&webhook.webhooks) {
        problems.push(format!("{unknown} (--webhooks)"));
    }
    problems
}

pub(super) fn warnings(options: &Options) -> Vec<String> {
    let servings = [
        ("", &options.secure_serving.serving),
        ("webhook-", &options.webhook.serving),
    ];
    let profiles = servings
        .into_iter()
        .filter_map(|(prefix, serving)| Some((prefix, profile(serving).ok()?)));
    let sentences = profiles.flat_map(|(prefix, profile)| {
        profile
            .warnings
            .into_iter()
            .map(move |warning| format!("--{prefix}tls-*: {warning}"))
    });
    sentences.collect()
}

fn profile(serving: &Serving) -> Result<Profile, Vec<ProfileError>> {
    Profile::parse(&serving.min_version, &serving.cipher_suites, &serving.curves.0)
}

/// Whether the value is valid, but not supported by this program.
fn is_only_ours(error: &ProfileError) -> bool {
    matches!(error, ProfileError::NoCipher(_) | ProfileError::NoCurve(_))
}

fn tls(prefix: &str, serving: &Serving, counts: fn(&ProfileError) -> bool) -> Problems {
    let mut problems = Problems::default();
    for error in profile(serving).err().unwrap_or_default().into_iter().filter(counts) {
        problems.push(format!("--{prefix}{}: {error}", flag(&error)));
    }
    let missing = match (serving.cert_file.is_empty(), serving.key_file.is_empty()) {
        (true, false) => Some(("tls-private-key-file", "tls-cert-file")),
        (false, true) => Some(("tls-cert-file", "tls-private-key-file")),
        _ => None,
    };
    if let Some((given, missing)) = missing {
        problems.push(format!(
            "--{prefix}{given} is given without --{prefix}{missing}, give both or none"
        ));
    }
    problems
}

fn flag(error: &ProfileError) -> &'static str {
    match error {
        ProfileError::Version(_) => "tls-min-version",
        ProfileError::Cipher(_) | ProfileError::NoCipher(_) => "tls-cipher-suites",
        ProfileError::Curve(_) | ProfileError::DuplicateCurve(_) | ProfileError::NoCurve(_) => "tls-curve-preferences",
    }
}
