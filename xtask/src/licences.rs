//! Which licences, sources and crates we accept.

use crate::metadata::Metadata;

const ACCEPTED: &[&str] = &[
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Crates that must not come in by way of another, and why.
const BANNED: &[(&str, &str)] = &[
    ("openssl", "TLS is rustls"),
    ("openssl-sys", "TLS is rustls"),
    ("native-tls", "TLS is rustls"),
    (
        "aws-lc-rs",
        "the crypto provider is ring; two of them make rustls refuse to choose",
    ),
    ("serde_yaml", "deprecated; serde-saphyr reads YAML"),
    ("chrono", "times are jiff"),
];

pub(crate) fn problems(metadata: &Metadata) -> Vec<String> {
    let mut problems = Vec::new();
    for package in metadata.foreign() {
        let name = format!("{} {}", package.name, package.version);
        match package.license.as_deref() {
            None => problems.push(format!("licences: {name} names none")),
            Some(licence) if !accepted(licence) => problems.push(format!("licences: {name} is under {licence}")),
            Some(_) => {}
        }
        if !package
            .source
            .as_deref()
            .is_some_and(|source| source.starts_with("registry+"))
        {
            problems.push(format!("sources: {name} does not come from the registry"));
        }
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == package.name) {
            problems.push(format!("bans: {name}: {why}"));
        }
    }
    problems
}

/// Where deny.toml, which the workflows use, differs from the lists here.
pub(crate) fn drift(deny: &str) -> Vec<String> {
    let mut quoted = deny.split('"').skip(1).step_by(2);
    let has = |name: &str| deny.contains(&format!("\"{name}\""));
    let wanted = ACCEPTED.iter().copied().chain(BANNED.iter().map(|(name, _)| *name));
    let missing: Vec<_> = wanted.clone().filter(|name| !has(name)).collect();
    let settings = ["deny", "allow"];
    let more = quoted.find(|name| !settings.contains(name) && !wanted.clone().any(|known| known == *name));
    let missing = missing
        .iter()
        .map(|name| format!("licences: deny.toml does not have {name}"));
    missing
        .chain(more.map(|name| format!("licences: deny.toml has {name}, which xtask does not know")))
        .collect()
}

/// Whether an SPDX expression can be satisfied: every `AND` part by one of its `OR` parts.
fn accepted(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    expression
        .split(" AND ")
        .all(|part| part.split(" OR ").any(|licence| ACCEPTED.contains(&licence.trim())))
}

#[cfg(test)]
mod tests {
    use super::accepted;

    #[test]
    fn expressions() {
        for (expression, expected) in [
            ("MIT", true),
            ("MIT/Apache-2.0", true),
            ("GPL-3.0 OR MIT", true),
            ("GPL-3.0", false),
            ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
            ("MIT AND OpenSSL", false),
        ] {
            assert_eq!(accepted(expression), expected, "{expression}");
        }
    }
}
