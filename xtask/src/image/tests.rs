use super::{contents, elf::static_architecture, pack};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{Cursor, Read},
};

const NAME: &str = "registry.example.com/outrigger:1.2";
const ROOTS: &str = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n";

/// The header of a program with one segment of this kind, and a loader's path behind it.
fn program(machine: u16, segment: u32) -> Vec<u8> {
    let loader = b"/lib64/ld-linux-x86-64.so.2\0";
    let mut program = b"\x7fELF\x02\x01\x01".to_vec();
    program.resize(64 + 56, 0);
    program[18..20].copy_from_slice(&machine.to_le_bytes());
    program[32..40].copy_from_slice(&64_u64.to_le_bytes());
    program[54..56].copy_from_slice(&56_u16.to_le_bytes());
    program[56..58].copy_from_slice(&1_u16.to_le_bytes());
    program[64..68].copy_from_slice(&segment.to_le_bytes());
    program[72..80].copy_from_slice(&120_u64.to_le_bytes());
    program[96..104].copy_from_slice(&(loader.len() as u64).to_le_bytes());
    program.extend(loader);
    program
}

fn small() -> Vec<u8> {
    program(62, 1)
}

/// Path → content, of a tar.
fn files(archive: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(Cursor::new(archive));
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.path().unwrap().display().to_string(), content)
    });
    entries.collect()
}

/// Path → what a listing shows, of all layers of an image.
fn listing(archive: &[u8]) -> BTreeMap<String, String> {
    let files = files(archive);
    let docker: Value = serde_json::from_slice(&files["manifest.json"]).unwrap();
    let mut listing = BTreeMap::new();
    for layer in docker[0]["Layers"].as_array().unwrap() {
        let mut layer = tar::Archive::new(Cursor::new(unzip(&files[layer.as_str().unwrap()])));
        for entry in layer.entries().unwrap() {
            let entry = entry.unwrap();
            let header = entry.header();
            assert_eq!(
                (header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()),
                (0, 0, 0)
            );
            let link = entry.link_name().unwrap().map(|to| format!(" -> {}", to.display()));
            let shown = format!("{:o}{}", header.mode().unwrap(), link.unwrap_or_default());
            let path = entry.path().unwrap().display().to_string();
            listing.insert(format!("/{}", path.trim_end_matches('/')), shown);
        }
    }
    listing
}

fn unzip(content: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(content).read_to_end(&mut plain).unwrap();
    plain
}

fn digest(content: &[u8]) -> String {
    Sha256::digest(content)
        .iter()
        .fold("sha256:".to_owned(), |mut text, byte| {
            write!(text, "{byte:02x}").unwrap();
            text
        })
}

#[test]
fn has_every_name_that_manifests_expect() {
    let image = pack(&small(), ROOTS, NAME, 10_000).unwrap();
    let listing = listing(&image.archive);
    assert_eq!(listing["/outrigger"], "755");
    for name in [
        "/cluster-controller-manager-operator",
        "/config-sync-controllers",
        "/azure-config-credentials-injector",
        "/bin/aws-cloud-controller-manager",
        "/bin/openstack-cloud-controller-manager",
        "/usr/bin/openstack-cloud-controller-manager",
        "/bin/vsphere-cloud-controller-manager",
        "/bin/cloud-controller-manager",
        "/bin/bash",
        "/bin/sh",
    ] {
        assert_eq!(
            listing.get(name).map(String::as_str),
            Some("777 -> /outrigger"),
            "{name}"
        );
    }
    // A manager of a cloud that we do not have would be a lie.
    for cloud in ["azure", "gcp", "ibm", "nutanix"] {
        assert!(
            !listing.contains_key(&format!("/bin/{cloud}-cloud-controller-manager")),
            "{cloud}"
        );
    }
}

#[test]
fn has_what_a_program_needs_around_it() {
    let image = pack(&small(), ROOTS, NAME, 10_000).unwrap();
    let listing = listing(&image.archive);
    assert_eq!(listing["/tmp"], "1777");
    assert_eq!(listing["/etc/passwd"], "644");
    assert_eq!(listing["/etc"], "755");
    let bundle = "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem";
    assert_eq!(listing[bundle], "644");
    for link in ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"] {
        assert_eq!(listing[link], format!("777 -> {bundle}"));
    }
}

#[test]
fn both_descriptions_lead_to_the_same_parts() {
    let image = pack(&small(), ROOTS, NAME, 10_000).unwrap();
    let files = files(&image.archive);
    for (path, content) in files.iter().filter(|(path, _)| path.starts_with("blobs/")) {
        assert_eq!(format!("blobs/{}", digest(content).replace(':', "/")), *path);
    }
    let json = |path: &str| serde_json::from_slice::<Value>(&files[path]).unwrap();
    let blob = |digest: &Value| format!("blobs/{}", digest.as_str().unwrap().replace(':', "/"));
    let (index, docker) = (json("index.json"), json("manifest.json"));
    assert_eq!(index["manifests"][0]["digest"], image.digest);
    assert_eq!(index["manifests"][0]["annotations"]["io.containerd.image.name"], NAME);
    assert_eq!(docker[0]["RepoTags"][0], NAME);
    let manifest = json(&blob(&index["manifests"][0]["digest"]));
    assert_eq!(docker[0]["Config"], blob(&manifest["config"]["digest"]));
    let config = json(&blob(&manifest["config"]["digest"]));
    assert_eq!(config["config"]["User"], "65532:0");
    // It gets all that a manifest for an image without an entrypoint gives as arguments, the program first: no other word
    // may come between.
    assert_eq!(config["config"]["Entrypoint"], json!(["/outrigger"]));
    assert_eq!(config["config"]["Cmd"], Value::Null);
    assert_eq!(config["architecture"], "amd64");
    let layers = manifest["layers"].as_array().unwrap();
    assert_eq!(layers.len(), config["rootfs"]["diff_ids"].as_array().unwrap().len());
    for (at, layer) in layers.iter().enumerate() {
        let packed = &files[&blob(&layer["digest"])];
        assert_eq!(layer["size"], packed.len());
        assert_eq!(docker[0]["Layers"][at], blob(&layer["digest"]));
        assert_eq!(config["rootfs"]["diff_ids"][at], digest(&unzip(packed)));
    }
}

#[test]
fn the_same_binary_gives_the_same_image() {
    let image = |program: &[u8]| pack(program, ROOTS, NAME, 10_000).unwrap();
    assert_eq!(image(&small()), image(&small()));
    let other = [small(), vec![0]].concat();
    assert_ne!(image(&small()).digest, image(&other).digest);
}

#[test]
fn refuses_what_would_not_start() {
    let refused = |program: &[u8]| pack(program, ROOTS, NAME, 10_000).unwrap_err().to_string();
    assert_eq!(
        refused(&program(62, 3)),
        "it needs /lib64/ld-linux-x86-64.so.2, which the image does not have: build a static one with make binary"
    );
    assert_eq!(refused(b"#!/bin/sh\n"), "not a program for 64-bit Linux");
    assert_eq!(refused(&small()[..40]), "a broken program: its header is cut off");
    assert_eq!(refused(&program(243, 1)), "a program for an unknown machine (243)");
    assert_eq!(static_architecture(&program(183, 1)).unwrap(), "arm64");
}

/// The tests themselves are a dynamic program.
#[cfg(target_env = "gnu")]
#[test]
fn refuses_a_real_dynamic_program() {
    let ourselves = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let refused = static_architecture(&ourselves).unwrap_err().to_string();
    assert!(refused.contains("build a static one with make binary"), "{refused}");
}

#[test]
fn refuses_a_binary_that_is_too_large() {
    let refused = pack(&small(), ROOTS, NAME, 1_000).unwrap_err().to_string();
    assert!(
        refused.ends_with("MB compressed, more than the 0.0 MB that it may have"),
        "{refused}"
    );
}

#[test]
fn trusts_what_mozilla_trusts() {
    let roots = contents::mozilla_roots();
    let count = roots.matches("-----BEGIN CERTIFICATE-----\n").count();
    assert!(count > 100, "{count} roots");
    assert_eq!(count, roots.matches("-----END CERTIFICATE-----\n").count());
    assert!(roots.lines().all(|line| line.len() <= 64));
}
