//! The configuration of `OpenStack`: the git-config dialect.

use super::{Invalid, KEY};
use gcfg::{Document, Place};

/// Where the in-tree provider found its credentials: keys that the installer wrote, and that stay unchanged.
const IN_TREE: [(&str, &str); 3] = [
    ("secret-name", "openstack-credentials"),
    ("secret-namespace", "kube-system"),
    ("kubeconfig-path", ""),
];

/// Where the operand finds its credentials.
const CREDENTIALS: [(&str, &str); 3] = [
    ("use-clouds", "true"),
    ("clouds-file", "/etc/openstack/secret/clouds.yaml"),
    ("cloud", "openstack"),
];

/// The defaults of load balancers, unless the user sets other values.
const LOAD_BALANCERS: [(&str, &str); 2] = [("max-shared-lb", "1"), ("manage-security-groups", "true")];

/// Removes keys that only the in-tree provider reads, and adds where the credentials are.
///
/// The layout is the Go operator's: without comments, the results are identical byte for byte.
pub(crate) fn transform(text: &str) -> Result<String, Invalid> {
    let mut document = Document::parse_file(KEY, text.as_bytes())?;
    check(&document)?;
    for (key, _) in IN_TREE {
        document.remove("Global", None, key);
    }
    for (key, value) in CREDENTIALS {
        set(&mut document, "Global", key, value)?;
    }
    document.remove_section("BlockStorage", None);
    document.remove("LoadBalancer", None, "use-octavia");
    for (key, value) in LOAD_BALANCERS {
        if !document.section("LoadBalancer").has(key) {
            set(&mut document, "LoadBalancer", key, value)?;
        }
    }
    Ok(document.aligned(|_| Place { rank: (), keys: &[] }))
}

fn check(document: &Document) -> Result<(), gcfg::Error> {
    let global = document.section("Global");
    for (key, usual) in IN_TREE {
        let value = global.text(key)?.unwrap_or_default();
        if !value.is_empty() && value != usual {
            return Err(global.error(key, unusual(key, usual)));
        }
    }
    Ok(())
}

fn unusual(key: &str, usual: &str) -> String {
    let instead = match usual {
        "" => String::new(),
        usual => format!(" or write {usual:?}"),
    };
    format!("{key} in [Global] is not supported with another value than the installer's: remove the line{instead}")
}

fn set(document: &mut Document, section: &str, key: &str, value: &str) -> Result<(), Invalid> {
    document
        .set(section, None, key, value)
        .map_err(|error| Invalid(format!("{KEY}: {error}")))
}

#[cfg(test)]
mod tests;
