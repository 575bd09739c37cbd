//! What the binary is made of, in the form of `CycloneDX`.

use crate::metadata::Metadata;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// The product's crate.
const PRODUCT: &str = "outrigger";

/// Every crate that is linked into the binary, or that builds it.
pub(super) fn document(metadata: &Metadata, lock: &str, version: &str) -> Result<Value> {
    let linked = metadata.closure(PRODUCT)?;
    let sums = checksums(lock);
    let components: BTreeSet<_> = metadata
        .packages
        .iter()
        .filter(|package| linked.contains(&package.id) && package.name != PRODUCT)
        .map(|package| {
            (
                package.name.clone(),
                package.version.clone(),
                package.license.clone(),
                package.source.is_some(),
            )
        })
        .collect();
    let components: Vec<_> = components
        .into_iter()
        .map(|(name, version, licence, is_foreign)| {
            let reference = format!("pkg:cargo/{name}@{version}");
            let mut component = json!({"type": "library", "bom-ref": reference, "name": name, "version": version});
            if let Some(licence) = licence {
                component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
            }
            if is_foreign {
                component["purl"] = json!(reference);
            }
            if let Some(sum) = sums.get(&(name, version)) {
                component["hashes"] = json!([{"alg": "SHA-256", "content": sum}]);
            }
            component
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": PRODUCT, "name": PRODUCT, "version": version,
                          "licenses": [{"license": {"id": env!("CARGO_PKG_LICENSE")}}]},
        },
        "components": components,
    }))
}

/// The checksum of each crate of the registry, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |package: &str, key: &str| {
        let line = package
            .lines()
            .find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|value| value.trim_matches('"').to_owned())
    };
    let packages = lock.split("[[package]]").skip(1);
    packages
        .filter_map(|package| {
            Some((
                (value(package, "name")?, value(package, "version")?),
                value(package, "checksum")?,
            ))
        })
        .collect()
}
