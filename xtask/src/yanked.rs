//! Versions that their authors have withdrawn, as far as the local copy of the registry's index knows: what can be
//! known of advisories without a request.

use crate::metadata::Metadata;
use std::{env, fs, path::PathBuf};

pub(crate) fn problems(metadata: &Metadata) -> Vec<String> {
    let indexes = indexes();
    let withdrawn = metadata.foreign().filter(|package| {
        indexes.iter().any(|index| {
            fs::read(index.join(shard(&package.name))).is_ok_and(|entry| is_yanked(&entry, &package.version))
        })
    });
    withdrawn
        .map(|package| format!("yanked: {} {} was withdrawn: update it", package.name, package.version))
        .collect()
}

/// The caches of all sparse indexes that cargo has.
fn indexes() -> Vec<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")))
        .unwrap_or_default();
    let entries = fs::read_dir(home.join("registry/index"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .map(|entry| entry.path().join(".cache"))
        .filter(|cache| cache.is_dir())
        .collect()
}

/// Where a sparse index keeps a crate.
fn shard(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        1 | 2 => format!("{}/{name}", name.len()),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

/// The cache holds, between zero bytes, a version and its JSON line.
fn is_yanked(entry: &[u8], version: &str) -> bool {
    let mut fields = entry.split(|byte| *byte == 0);
    fields.any(|field| field == version.as_bytes())
        && fields
            .next()
            .is_some_and(|line| String::from_utf8_lossy(line).contains("\"yanked\":true"))
}

#[cfg(test)]
mod tests {
    use super::{is_yanked, shard};

    #[test]
    fn finds_the_version() {
        let entry =
            b"\x031.0.0\0{\"vers\":\"1.0.0\",\"yanked\":true}\x001.0.1\0{\"vers\":\"1.0.1\",\"yanked\":false}\0";
        assert!(!is_yanked(entry, "1.0.1"));
        let entry = b"etag\x001.0.0\0{\"vers\":\"1.0.0\",\"yanked\":true}\0";
        assert!(is_yanked(entry, "1.0.0"));
    }

    #[test]
    fn shards() {
        assert_eq!(
            [shard("http"), shard("log"), shard("tokio")],
            ["ht/tp/http", "3/l/log", "to/ki/tokio"]
        );
    }
}
