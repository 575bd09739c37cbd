//! The table of keys describes what the keys do.

use super::*;
use provider_kit::keys::{Effect, Key, Kind};
use std::collections::BTreeSet;

#[test]
fn every_key_stands_once_with_its_meaning() {
    let mut seen = BTreeSet::new();
    for (section, key) in KEYS.keys() {
        assert!(seen.insert((section, key.name)), "{} twice", key.name);
        assert!(!key.meaning.is_empty() && !key.meaning.ends_with('.'), "{}", key.name);
    }
}

#[test]
fn a_default_written_down_changes_nothing() {
    let base = format!("[Global]\n{LOGIN}");
    let without = shown(&base);
    let with_default = |key: &Key| key.effect == Effect::Used && !key.default.is_empty();
    for (section, key) in KEYS.keys().filter(|(_, key)| with_default(key)) {
        let with = shown(&format!("{base}[{section}]\n{}={}\n", key.name, key.default));
        assert_eq!(with, without, "{section} {}={}", key.name, key.default);
    }
}

#[test]
fn every_key_does_something() {
    for (name, key) in KEYS.keys().filter(|(_, key)| key.effect == Effect::Used) {
        let section = match name {
            "LoadBalancerClass" => "LoadBalancerClass \"c\"",
            section => section,
        };
        let base = format!(
            "[Global]\nauth-url=http://auth.url\n{}\n[{section}]\n",
            context(key.name)
        );
        let with = shown(&format!("{base}{}={}\n", key.name, sample(key)));
        assert_ne!(with, shown(&base), "{name} {}", key.name);
    }
}

#[test]
fn the_other_keys_have_no_effect() {
    let base = format!("[Global]\n{LOGIN}");
    let config = |text: &str| format!("{:?}", file(text));
    for (section, key) in KEYS.keys().filter(|(_, key)| key.effect != Effect::Used) {
        let with = config(&format!("{base}[{section}]\n{}=banana\n", key.name));
        assert_eq!(with, config(&base), "{section} {}", key.name);
    }
}

/// Everything that a key can change.
fn shown(text: &str) -> String {
    match try_file(text) {
        Ok(Loaded {
            config,
            warnings,
            files,
        }) => {
            format!("{config:?} {} {warnings:?} {files:?}", login(&config.global))
        }
        Err(error) => error,
    }
}

/// Other settings without which a key has no effect.
fn context(key: &str) -> &'static str {
    match key {
        "username" => "username=u\nuser-domain-id=d\npassword=p",
        "user-domain-id" | "user-domain-name" | "domain-id" | "domain-name" => "username=u\ndomain-name=d\npassword=p",
        "tenant-name" | "tenant-domain-name" => "user-id=u\npassword=p\ntenant-name=t\ndomain-name=d",
        "tenant-domain-id" => "user-id=u\npassword=p\ntenant-name=t\ndomain-id=d",
        "application-credential-id" | "application-credential-secret" => {
            "application-credential-id=i\napplication-credential-secret=s"
        }
        "application-credential-name" => "application-credential-name=n\napplication-credential-secret=s\nuser-id=u",
        "trustee-id" | "trustee-password" => "user-id=u\npassword=p\ntrust-id=t",
        "cert-file" => "user-id=u\npassword=p\nkey-file=/k",
        "key-file" => "user-id=u\npassword=p\ncert-file=/c",
        "clouds-file" => "use-clouds=true",
        "secret-name" => "secret-namespace=n",
        "secret-namespace" => "secret-name=n",
        _ => "user-id=u\npassword=p\ntenant-id=1",
    }
}

fn sample(key: &Key) -> &'static str {
    match (key.name, key.kind, key.default) {
        ("tls-insecure", ..) => "true",
        ("address-sort-order", ..) => "10.0.0.0/8",
        (_, Kind::Text | Kind::LenientText | Kind::Secret | Kind::List, _) => "sample",
        (_, Kind::Path, _) => "/sample",
        (_, Kind::Boolean, "true") => "false",
        (_, Kind::Boolean, _) => "true",
        (_, Kind::Int | Kind::Uint, _) => "7",
        (_, Kind::Duration, _) => "7s",
        (_, Kind::Word, _) => "internal",
    }
}
