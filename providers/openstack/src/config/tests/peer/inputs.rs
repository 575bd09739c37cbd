//! The files that both programs read.

use super::super::{KEYS, LOGIN};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use provider_kit::keys::{Effect, Key};
use std::{fs, path::Path};

/// Values for any key.
const VALUES: &[&str] = &[
    "=",
    "=sample",
    "=true",
    "=Yes",
    "=off",
    "=7",
    "=-7",
    "=0x7",
    "=07",
    "=7s",
    "=-7s",
    "=1500ms",
    "=0",
    "=7.5",
    "=two words",
    "=a, b",
    "=\"quoted # text\"",
    "=cut#off",
    "=\" internal \"",
    "=admin",
    "=v2",
    "=configDrive",
    "=metadataService, configDrive",
    "=configDrive,",
    "",
];

/// Keys that decide how to authenticate.
const AUTH: &[&str] = &[
    "username",
    "user-id",
    "password",
    "tenant-id",
    "tenant-name",
    "tenant-domain-id",
    "tenant-domain-name",
    "user-domain-id",
    "user-domain-name",
    "domain-id",
    "domain-name",
    "trust-id",
    "trustee-id",
    "trustee-password",
    "application-credential-id",
    "application-credential-name",
    "application-credential-secret",
    "token",
    "region",
];

const CLOUDS: &[&str] = &[
    "clouds: {a: {auth: {auth_url: http://a, user_id: ua, password: pa, project_id: ta}, region_name: ra}}",
    "clouds: {a: {auth: {auth_url: http://a, username: ua, password: pa, project_name: ta, domain_name: da}, interface: internal}}",
    "clouds: {a: {auth: {auth_url: http://a, username: ua, password: 0123, project_name: ta, user_domain_name: da, \
     project_domain_id: db}}, b: {}}",
    "clouds: {a: {auth: {auth_url: http://a, application_credential_id: ia, application_credential_secret: sa}, \
     auth_type: v3applicationcredential, endpoint_type: admin, interface: public, verify: true}}",
    "clouds: {a: {auth: {auth_url: http://a, token: ka, project_id: ta}}}",
    "clouds: {a: {auth: {auth_url: http://a, username: ua, password: pa, project_name: ta, default_domain: da}}}",
    "clouds: {a: {region_name: ra}}",
    "clouds: {b: {}, c: {}}",
    "clouds: [wrong]",
];

/// Every file; those of `clouds-file` are in the folder.
pub(super) fn all(folder: &Path) -> Vec<String> {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut all = single_keys();
    all.extend(generated(&mut runner, 1500, 0.35).map(|lines| format!("[Global]\nauth-url=http://g\n{lines}")));
    for (number, clouds) in CLOUDS.iter().enumerate() {
        let path = folder.join(format!("{number}.yaml"));
        fs::write(&path, clouds).unwrap();
        for lines in generated(&mut runner, 100, 0.15) {
            let base = format!("[Global]\nuse-clouds=true\nclouds-file={}\n{lines}", path.display());
            all.push(format!("{base}\nauth-url=http://g"));
            all.push(format!("{base}\ncloud=a"));
            all.push(base);
        }
    }
    all
}

fn single_keys() -> Vec<String> {
    let reads_files = |key: &Key| matches!(key.name, "ca-file" | "cert-file" | "key-file" | "cafilecontents");
    let keys = KEYS
        .keys()
        .filter(|(_, key)| key.effect == Effect::Used && !reads_files(key));
    let mut all = Vec::new();
    for (section, key) in keys {
        for value in VALUES {
            let line = format!("{}{value}", key.name);
            all.push(format!("[Global]\n{LOGIN}[{section}]\n{line}\n"));
            all.push(format!("[Global]\n{LOGIN}[{section} \"x\"]\n{line}\n{line}\n"));
            all.push(format!(
                "[Global]\n{LOGIN}[{section}]\n{line}\n{}=true\n",
                key.name.to_uppercase()
            ));
        }
    }
    all
}

fn generated(runner: &mut TestRunner, count: usize, often: f64) -> impl Iterator<Item = String> {
    let line = |key: &'static str| {
        let value = prop_oneof![4 => Just("x"), 1 => Just("\"y z\""), 1 => Just("")];
        prop::option::weighted(often, value.prop_map(move |value| format!("{key}={value}")))
    };
    let lines: Vec<_> = AUTH.iter().map(|key| line(key)).collect();
    let text = lines.prop_map(|lines| lines.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    (0..count).filter_map(move |_| Some(text.new_tree(runner).ok()?.current()))
}
