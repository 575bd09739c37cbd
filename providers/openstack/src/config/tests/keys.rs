//! The table of keys says the truth.

use super::*;
use std::collections::BTreeSet;

#[test]
fn every_key_stands_once_with_its_meaning() {
    let mut seen = BTreeSet::new();
    for doc in reference() {
        assert!(seen.insert((doc.section, doc.key)), "{} twice", doc.key);
        assert!(!doc.meaning.is_empty() && !doc.meaning.ends_with('.'), "{}", doc.key);
    }
}

#[test]
fn a_default_written_down_changes_nothing() {
    let base = format!("[Global]\n{LOGIN}");
    let without = shown(&base);
    for doc in reference()
        .iter()
        .filter(|doc| doc.effect == Effect::Used && !doc.default.is_empty())
    {
        let with = shown(&format!("{base}[{}]\n{}={}\n", doc.section, doc.key, doc.default));
        assert_eq!(with, without, "{} {}={}", doc.section, doc.key, doc.default);
    }
}

#[test]
fn every_key_does_something() {
    for doc in reference().iter().filter(|doc| doc.effect == Effect::Used) {
        let section = match doc.section {
            "LoadBalancerClass" => "LoadBalancerClass \"c\"",
            section => section,
        };
        let base = format!(
            "[Global]\nauth-url=http://auth.url\n{}\n[{section}]\n",
            context(doc.key)
        );
        let with = shown(&format!("{base}{}={}\n", doc.key, sample(doc)));
        assert_ne!(with, shown(&base), "{} {}", doc.section, doc.key);
    }
}

#[test]
fn the_others_do_nothing() {
    let base = format!("[Global]\n{LOGIN}");
    let config = |text: &str| format!("{:?}", file(text));
    for doc in reference().iter().filter(|doc| doc.effect != Effect::Used) {
        let with = config(&format!("{base}[{}]\n{}=banana\n", doc.section, doc.key));
        assert_eq!(with, config(&base), "{} {}", doc.section, doc.key);
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

/// What else must stand in the file for a key to count.
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

fn sample(doc: &KeyDoc) -> &'static str {
    match (doc.key, doc.kind, doc.default) {
        ("tls-insecure", ..) => "true",
        ("address-sort-order", ..) => "10.0.0.0/8",
        (_, Kind::Text | Kind::Secret | Kind::List, _) => "sample",
        (_, Kind::Path, _) => "/sample",
        (_, Kind::Boolean, "true") => "false",
        (_, Kind::Boolean, _) => "true",
        (_, Kind::Int | Kind::Uint, _) => "7",
        (_, Kind::Duration, _) => "7s",
        (_, Kind::Word, _) => "internal",
    }
}
