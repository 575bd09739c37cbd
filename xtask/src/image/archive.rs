//! The archive: an OCI layout and a Docker archive at once.

use super::contents::{BINARY, Entry, Layer};
use anyhow::Result;
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fmt::Write as _, io::Write as _};

/// As everywhere where there is no time: the digest must not depend on it.
const CREATED: &str = "1970-01-01T00:00:00Z";
/// Not root. A number, so that `runAsNonRoot` can be checked. Its group is root's, as of every user on `OpenShift`: what one
/// container of a Pod writes for another, which runs as another user, both may read by that.
const USER: &str = "65532:0";

/// A packed image.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) archive: Vec<u8>,
    /// Of its manifest, by which registries know it.
    pub(super) digest: String,
    pub(super) compressed: usize,
    pub(super) unpacked: usize,
}

/// A part of an image, known by its digest.
struct Blob {
    digest: String,
    content: Vec<u8>,
}

impl Blob {
    fn new(content: Vec<u8>) -> Self {
        let digest = digest(&content);
        Self { digest, content }
    }

    fn descriptor(&self, media: &str) -> Value {
        json!({
            "mediaType": format!("application/vnd.oci.image.{media}"),
            "digest": self.digest,
            "size": self.content.len(),
        })
    }

    fn path(&self) -> String {
        format!("blobs/{}", self.digest.replace(':', "/"))
    }
}

/// Packs these layers.
pub(super) fn build(layers: &[Layer<'_>], architecture: &str, name: &str) -> Result<Image> {
    let plain = layers.iter().map(tar_of).collect::<Result<Vec<_>>>()?;
    let unpacked = plain.iter().map(Vec::len).sum();
    let config = Blob::new(config(&plain, architecture).to_string().into_bytes());
    let layers = plain
        .iter()
        .map(|layer| Ok(Blob::new(gzip(layer)?)))
        .collect::<Result<Vec<_>>>()?;
    let manifest = Blob::new(manifest(&config, &layers).to_string().into_bytes());
    let mut files = vec![
        (
            "oci-layout".to_owned(),
            json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes(),
        ),
        ("index.json".to_owned(), index(&manifest, name).to_string().into_bytes()),
        (
            "manifest.json".to_owned(),
            docker(&config, &layers, name).to_string().into_bytes(),
        ),
    ];
    let digest = manifest.digest.clone();
    let blobs: Vec<_> = [config, manifest].into_iter().chain(layers).collect();
    let compressed = blobs.iter().map(|blob| blob.content.len()).sum();
    files.extend(blobs.into_iter().map(|blob| (blob.path(), blob.content)));
    Ok(Image {
        archive: tar_of_files(&files)?,
        digest,
        compressed,
        unpacked,
    })
}

/// Packs several images, and an index of them: an OCI layout, for tools that copy it to a registry.
pub(super) fn build_index(images: &[(&str, Vec<Layer<'_>>)], name: &str, limit: usize) -> Result<Vec<u8>> {
    let mut blobs: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut manifests = Vec::new();
    for (architecture, layers) in images {
        let plain = layers.iter().map(tar_of).collect::<Result<Vec<_>>>()?;
        let config = Blob::new(config(&plain, architecture).to_string().into_bytes());
        let layers = plain
            .iter()
            .map(|layer| Ok(Blob::new(gzip(layer)?)))
            .collect::<Result<Vec<_>>>()?;
        let compressed: usize = layers.iter().map(|layer| layer.content.len()).sum();
        if compressed > limit {
            anyhow::bail!("the image for {architecture} has {compressed} bytes compressed, more than {limit}");
        }
        let manifest = Blob::new(manifest(&config, &layers).to_string().into_bytes());
        let mut descriptor = manifest.descriptor("manifest.v1+json");
        descriptor["platform"] = json!({"architecture": architecture, "os": "linux"});
        manifests.push(descriptor);
        let all = [config, manifest].into_iter().chain(layers);
        blobs.extend(all.map(|blob| (blob.path(), blob.content)));
    }
    let media = "application/vnd.oci.image.index.v1+json";
    let list = Blob::new(
        json!({"schemaVersion": 2, "mediaType": media, "manifests": manifests})
            .to_string()
            .into_bytes(),
    );
    let files = [
        (
            "oci-layout".to_owned(),
            json!({"imageLayoutVersion": "1.0.0"}).to_string().into_bytes(),
        ),
        (
            "index.json".to_owned(),
            top(&list, "index.v1+json", name).to_string().into_bytes(),
        ),
        (list.path(), list.content),
    ];
    let files: Vec<_> = files.into_iter().chain(blobs).collect();
    tar_of_files(&files)
}

fn config(layers: &[Vec<u8>], architecture: &str) -> Value {
    let history: Vec<_> = ["roots, users and folders", "outrigger and its names"]
        .map(|what| json!({"created": CREATED, "created_by": "xtask image", "comment": what}))
        .into_iter()
        .take(layers.len())
        .collect();
    json!({
        "created": CREATED,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": USER,
            "Entrypoint": [BINARY],
            "Env": ["PATH=/usr/bin:/bin"],
            "WorkingDir": "/",
            "Labels": {
                "org.opencontainers.image.title": "outrigger",
                "org.opencontainers.image.description": "A Kubernetes cloud controller manager, and the operator that installs it",
                "org.opencontainers.image.version": env!("CARGO_PKG_VERSION"),
                "org.opencontainers.image.licenses": env!("CARGO_PKG_LICENSE"),
            },
        },
        "rootfs": {"type": "layers", "diff_ids": layers.iter().map(|layer| digest(layer)).collect::<Vec<_>>()},
        "history": history,
    })
}

fn manifest(config: &Blob, layers: &[Blob]) -> Value {
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config.descriptor("config.v1+json"),
        "layers": layers.iter().map(|layer| layer.descriptor("layer.v1.tar+gzip")).collect::<Vec<_>>(),
    })
}

fn index(manifest: &Blob, name: &str) -> Value {
    top(manifest, "manifest.v1+json", name)
}

/// The index of a layout. containerd takes the whole name, others only the tag.
fn top(blob: &Blob, media: &str, name: &str) -> Value {
    let tag = name.rsplit_once(':').map_or("latest", |(_, tag)| tag);
    let mut descriptor = blob.descriptor(media);
    descriptor["annotations"] = json!({
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": tag,
    });
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [descriptor],
    })
}

fn docker(config: &Blob, layers: &[Blob], name: &str) -> Value {
    let layers: Vec<_> = layers.iter().map(Blob::path).collect();
    json!([{"Config": config.path(), "RepoTags": [name], "Layers": layers}])
}

fn tar_of(layer: &Layer<'_>) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, entry) in layer {
        let path = path.trim_start_matches('/');
        match entry {
            Entry::Folder { mode } => {
                let mut header = header(tar::EntryType::Directory, *mode, 0);
                archive.append_data(&mut header, format!("{path}/"), &[][..])?;
            }
            Entry::File { content, mode } => {
                archive.append_data(
                    &mut header(tar::EntryType::Regular, *mode, content.len()),
                    path,
                    *content,
                )?;
            }
            Entry::Link { to } => archive.append_link(&mut header(tar::EntryType::Symlink, 0o777, 0), path, to)?,
        }
    }
    Ok(archive.into_inner()?)
}

pub(crate) fn tar_of_files(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (path, content) in files {
        let mut header = header(tar::EntryType::Regular, 0o644, content.len());
        archive.append_data(&mut header, path, content.as_slice())?;
    }
    Ok(archive.into_inner()?)
}

/// Owned by root, without a time.
fn header(kind: tar::EntryType, mode: u32, size: usize) -> tar::Header {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size as u64);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header
}

/// The encoder writes no time and no system into the header.
pub(crate) fn gzip(content: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

fn digest(content: &[u8]) -> String {
    let mut text = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        // Writing to a text cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}
