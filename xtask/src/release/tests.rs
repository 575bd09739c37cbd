use super::*;
use std::io::{Cursor, Read};

/// The header of a static program for this machine.
fn program(machine: u16) -> Vec<u8> {
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64, 0);
    program[18..20].copy_from_slice(&machine.to_le_bytes());
    program
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Of amd64, and if asked of a stand-in for arm64.
fn options(folder: &Path, arm64: Option<u16>) -> Options {
    fs::create_dir_all(folder).unwrap();
    let write = |name: &str, machine| {
        let path = folder.join(name);
        fs::write(&path, program(machine)).unwrap();
        path
    };
    Options {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        repository: "registry.example.com/outrigger".to_owned(),
        amd64: Some(write("amd64", 62)),
        arm64: arm64.map(|machine| write("arm64", machine)),
        commit: "0123".to_owned(),
        output: None,
    }
}

fn folder(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("outrigger-release-{}-{name}", std::process::id()))
}

fn untar(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(Cursor::new(archive));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    });
    entries.collect()
}

#[test]
fn has_everything_and_is_reproducible() {
    let folder = folder("both");
    let options = options(&folder, Some(183));
    let files = files(root(), &options).unwrap();
    let again = super::files(root(), &options).unwrap();
    assert_eq!(files, again);
    let version = env!("CARGO_PKG_VERSION");
    let names: Vec<_> = files.keys().cloned().collect();
    let chart = format!("outrigger-{version}.tgz");
    for name in [
        "SHA256SUMS",
        "NOTES.md",
        "outrigger-image.tar",
        "outrigger-linux-amd64",
        "outrigger-linux-arm64",
        "outrigger.cdx.json",
        "outrigger.provenance.json",
        "kubernetes-operator.yaml",
        &chart,
    ] {
        assert!(names.iter().any(|each| each == name), "{name}: {names:?}");
    }
    let sums = String::from_utf8(files["SHA256SUMS"].clone()).unwrap();
    assert_eq!(sums.lines().count(), files.len() - 1);
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        assert_eq!(sum, hex(&files[name]), "{name}");
    }
    fs::remove_dir_all(folder).unwrap();
}

/// The layout leads from the index to each platform's program.
#[test]
fn the_index_has_an_image_for_each_platform() {
    let folder = folder("index");
    let all = files(root(), &options(&folder, Some(183))).unwrap();
    let layout = untar(&all["outrigger-image.tar"]);
    let json = |content: &[u8]| serde_json::from_slice::<serde_json::Value>(content).unwrap();
    let blob = |descriptor: &serde_json::Value| {
        let digest = descriptor["digest"].as_str().unwrap();
        let content = &layout[&format!("blobs/{}", digest.replace(':', "/"))];
        assert_eq!(format!("sha256:{}", hex(content)), digest);
        assert_eq!(descriptor["size"], content.len());
        content.clone()
    };
    let top = json(&layout["index.json"]);
    let index = json(&blob(&top["manifests"][0]));
    let platforms: Vec<_> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|manifest| {
            let config = json(&blob(&json(&blob(manifest))["config"]));
            assert_eq!(config["architecture"], manifest["platform"]["architecture"]);
            config["architecture"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn refuses_a_program_for_another_architecture() {
    let folder = folder("wrong");
    let problem = files(root(), &options(&folder, Some(62))).unwrap_err().to_string();
    assert!(problem.ends_with("is for amd64, not for arm64"), "{problem}");
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_image_is_that_of_the_release() {
    let folder = folder("image");
    let all = files(root(), &options(&folder, None)).unwrap();
    let image = format!("registry.example.com/outrigger:{}", env!("CARGO_PKG_VERSION"));
    for name in [
        "kubernetes-operator.yaml",
        "manager-deployment.yaml",
        "manager-daemonset.yaml",
    ] {
        let text = String::from_utf8(all[name].clone()).unwrap();
        assert_eq!(text.matches(&image).count(), 1, "{name}");
        assert!(!text.contains("localhost/"), "{name}");
    }
    let mut plain = Vec::new();
    let chart = &all[&format!("outrigger-{}.tgz", env!("CARGO_PKG_VERSION"))];
    flate2::read::GzDecoder::new(chart.as_slice())
        .read_to_end(&mut plain)
        .unwrap();
    let chart = untar(&plain);
    let values = String::from_utf8(chart["outrigger/values.yaml"].clone()).unwrap();
    assert!(
        values.contains("repository: registry.example.com/outrigger\n"),
        "{values}"
    );
    assert!(chart.contains_key("outrigger/templates/operator.yaml") && chart.contains_key("outrigger/crds/crd.yaml"));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_sbom_has_what_is_linked_and_no_more() {
    let metadata = metadata::read(root()).unwrap();
    let lock = read(root(), "Cargo.lock").unwrap();
    let sbom = sbom::document(&metadata, &lock, "1.2.3").unwrap();
    let names: Vec<_> = sbom["components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|component| component["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"rustls") && names.contains(&"operator"), "{names:?}");
    assert!(!names.contains(&"lab") && !names.contains(&"proptest"), "{names:?}");
    let tokio = sbom["components"]
        .as_array()
        .unwrap()
        .iter()
        .find(|component| component["name"] == "tokio")
        .unwrap();
    assert_eq!(tokio["hashes"][0]["content"].as_str().unwrap().len(), 64);
    assert!(tokio["purl"].as_str().unwrap().starts_with("pkg:cargo/tokio@"));
}

#[test]
fn notes_are_the_section_of_the_version() {
    let changelog = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.2.3 - 2026-01-01\n\n- old\n";
    assert_eq!(notes(changelog, "1.2.3"), "# Outrigger 1.2.3\n\n- old\n");
    assert_eq!(notes(changelog, "1.3.0"), "# Outrigger 1.3.0\n\n- new\n");
}
