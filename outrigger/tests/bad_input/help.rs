//! `--help`, and the flags of the program that this one replaces.

use crate::fixture::run;
use std::{collections::BTreeMap, process::Command};

/// The flags of the Go program, by the groups of its help.
const PEER: &str = include_str!("peer-flags.txt");

/// Flags of which ours decides the value if it is not given.
const AUTO: [&str; 6] = [
    "kube-api-burst",
    "kube-api-qps",
    "concurrent-node-syncs",
    "concurrent-node-status-updates",
    "concurrent-node-lifecycle-syncs",
    "concurrent-service-syncs",
];

#[derive(Debug, Default, PartialEq, Eq)]
struct Flag {
    group: String,
    kind: String,
    default: String,
}

/// The flags of the fixture, and its groups in order.
fn peer() -> (BTreeMap<String, Flag>, Vec<String>) {
    let (mut flags, mut groups) = (BTreeMap::new(), Vec::<String>::new());
    for line in PEER.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_prefix("  ") {
            None => groups.push(line.to_owned()),
            Some(flag) => {
                let mut words = flag.splitn(3, ' ').map(str::to_owned);
                let (name, kind, default) = (words.next(), words.next(), words.next());
                let group = groups.last().cloned().unwrap();
                let (kind, default) = (kind.unwrap(), default.unwrap().replace("[]", "-"));
                flags.insert(name.unwrap(), Flag { group, kind, default });
            }
        }
    }
    (flags, groups)
}

/// The same of a help text.
fn help(text: &str) -> (BTreeMap<String, Flag>, Vec<String>) {
    let (mut flags, mut groups, mut last) = (BTreeMap::new(), Vec::<String>::new(), String::new());
    for line in text.lines() {
        if let Some(group) = line.strip_suffix(':').filter(|group| group.ends_with(" flags")) {
            groups.push(group.to_owned());
            continue;
        }
        let word = line.trim_start();
        let long = word.strip_prefix("--").or_else(|| word.get(4..)?.strip_prefix("--"));
        if let Some(long) = long.filter(|_| !groups.is_empty()) {
            let (head, _) = long.split_once("  ").unwrap_or((long, ""));
            let (name, kind) = head.split_once(' ').unwrap_or((head, "bool"));
            name.clone_into(&mut last);
            let flag = Flag {
                group: groups.last().cloned().unwrap(),
                kind: kind.to_owned(),
                default: "-".to_owned(),
            };
            flags.insert(last.clone(), flag);
        }
        if let (Some(flag), Some((_, default))) = (flags.get_mut(&last), line.rsplit_once("(default ")) {
            default.trim_end_matches(')').clone_into(&mut flag.default);
        }
    }
    (flags, groups)
}

#[test]
fn groups_types_and_defaults_are_those_of_the_peer() {
    let exit = run(&["ccm", "--help"]);
    assert_eq!((exit.code, exit.stderr.as_str()), (0, ""));
    let ((theirs, their_groups), (ours, our_groups)) = (peer(), help(&exit.stdout));
    let shared: Vec<_> = our_groups.iter().filter(|group| their_groups.contains(group)).collect();
    assert_eq!(
        shared,
        their_groups.iter().collect::<Vec<_>>(),
        "the groups are in another order"
    );
    for (name, mut expected) in theirs {
        if AUTO.contains(&name.as_str()) {
            expected.default = "auto".to_owned();
        }
        assert_eq!(ours.get(&name), Some(&expected), "--{name}");
    }
}

#[test]
fn the_list_equals_the_help_of_the_peer() {
    let program = lab::peer::program().unwrap();
    let output = Command::new(&program).arg("--help").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let (mut ours, groups) = help(&String::from_utf8_lossy(&output.stdout));
    for flag in ours.values_mut() {
        flag.default = flag.default.replace("[]", "-");
    }
    let (listed, listed_groups) = peer();
    assert_eq!(listed_groups, groups);
    let names = |flags: &BTreeMap<String, Flag>| flags.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&listed), names(&ours), "other flags are listed");
    for (name, flag) in &ours {
        assert_eq!(&listed[name], flag, "--{name}");
    }
}

/// A valid value of a flag.
fn sample(name: &str, flag: &Flag) -> String {
    let value = match (name, flag.kind.as_str(), flag.default.as_str()) {
        ("cloud-provider", ..) => "memory",
        (_, "bool", "-") => "false",
        (_, "duration" | "int32" | "int" | "quantity" | "Level", "-") => "0",
        (_, _, "-") => "",
        (_, "strings", default) => default.trim_matches(['[', ']']),
        (_, _, default) => default.trim_matches('"'),
    };
    format!("--{name}={value}")
}

#[test]
fn every_flag_of_the_peer_is_accepted() {
    let (flags, _) = peer();
    let asked: Vec<_> = flags
        .iter()
        .filter(|(name, _)| !["help", "version", "requestheader-uid-headers"].contains(&name.as_str()))
        .filter(|(_, flag)| !matches!(flag.kind.as_str(), "namedCertKey"))
        .map(|(name, flag)| sample(name, flag))
        .collect();
    assert!(asked.len() > 70, "the fixture has lost its flags");
    let further = [
        "--tls-sni-cert-key=a.crt,a.key",
        "--requestheader-uid-headers=X-Remote-Uid",
    ];
    let mut args: Vec<_> = ["ccm"]
        .into_iter()
        .chain(asked.iter().map(String::as_str))
        .chain(further)
        .collect();
    args.push("--version");
    let exit = run(&args);
    assert_eq!((exit.code, exit.stderr.as_str()), (0, ""));
    args.push("--not-a-flag");
    let exit = run(&args);
    assert_eq!(
        (exit.code, exit.stderr.as_str()),
        (1, "Error: unknown flag: --not-a-flag\n")
    );
}
