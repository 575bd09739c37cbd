//! The tools, as a user runs them.

use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub fn documents(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    documents.into_iter().filter(|document| !document.is_null()).collect()
}

/// The result of a command.
pub struct Ran {
    pub ok: bool,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Its output; it has to succeed.
    pub fn printed(self) -> String {
        assert!(self.ok, "{}{}", self.out, self.err);
        self.out
    }

    /// Its error; it has to fail.
    pub fn refused(self) -> String {
        assert!(!self.ok, "{}", self.out);
        self.err
    }
}

pub fn run(program: &Path, args: &[&str], variables: &[(&str, &Path)]) -> Ran {
    let output = Command::new(program)
        .args(args)
        .current_dir(root())
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    Ran {
        ok: output.status.success(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

pub fn helm(args: &[&str]) -> Ran {
    run(&lab::peer::helm().unwrap(), args, &[])
}

/// The chart as a release called outrigger, with these further arguments.
pub fn template(args: &[&str]) -> Ran {
    let all = [
        "template",
        "outrigger",
        "charts/outrigger",
        "--namespace=clouds",
        "--kube-version=v1.35.4",
    ];
    helm(&[&all, args].concat())
}

pub fn kustomize(folder: &str) -> Ran {
    run(&lab::peer::kustomize().unwrap(), &["build", folder], &[])
}

/// The only object of this kind.
pub fn one<'a>(objects: &'a [Value], kind: &str) -> &'a Value {
    let found: Vec<_> = objects.iter().filter(|object| object["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{kind}");
    found[0]
}
