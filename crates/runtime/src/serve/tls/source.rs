//! The sources of certificates and keys: files, or self-signed certificates.

use super::{
    self_signed::{self, VALID_DAYS},
    sni::SniPair,
};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    net::IpAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::Instant;

/// A self-signed certificate is replaced at this age.
pub(super) const RENEW_AFTER: Duration = Duration::from_hours((VALID_DAYS.unsigned_abs() - 30) * 24);

/// The source of the default certificate, which is served if no other certificate matches the server name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Certificate {
    /// These files.
    Files {
        /// The certificate chain.
        cert: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// The files `<name>.crt` and `<name>.key` in a directory, which are created if they do not exist.
    Directory {
        /// The directory.
        dir: PathBuf,
        /// The name of the files.
        name: String,
    },
    /// These files once both exist; until then a self-signed certificate in memory.
    FilesOnceThere {
        /// The certificate chain.
        cert: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// A self-signed certificate in memory.
    Memory,
}

/// Why no certificate can be served.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Only one of two flags is given.
    #[error("a certificate file and a private key file must be given together")]
    OnlyOne,
    /// Only one of two files exists.
    #[error("{there} exists but {missing} does not: certificate and key must be supplied as a pair")]
    HalfAPair {
        /// The existing file.
        there: PathBuf,
        /// The missing file.
        missing: PathBuf,
    },
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A self-signed certificate cannot be created.
    #[error("cannot generate a certificate")]
    Generate(#[source] rcgen::Error),
}

impl Certificate {
    /// From `--tls-cert-file`, `--tls-private-key-file` and `--cert-dir`; `name` is the name of the files in the directory.
    ///
    /// # Errors
    /// If only one of the two files is given.
    pub fn parse(cert: &str, key: &str, dir: &str, name: &str) -> Result<Self, SourceError> {
        match (cert, key, dir) {
            ("", "", "") => Ok(Self::Memory),
            ("", "", dir) => Ok(Self::Directory {
                dir: dir.into(),
                name: name.to_owned(),
            }),
            ("", ..) | (_, "", _) => Err(SourceError::OnlyOne),
            (cert, key, _) => Ok(Self::Files {
                cert: cert.into(),
                key: key.into(),
            }),
        }
    }
}

/// A certificate and its key, in PEM.
pub(super) struct Pem {
    pub(super) cert: Vec<u8>,
    pub(super) key: SecretSlice<u8>,
}

/// A source that is read periodically.
pub(super) struct Source {
    default: Default,
    sni: Vec<SniPair>,
}

enum Default {
    Files { cert: PathBuf, key: PathBuf },
    FilesOnceThere { cert: PathBuf, key: PathBuf, until: Made },
    Memory(Made),
}

/// A self-signed certificate.
struct Made {
    cert: String,
    key: SecretString,
    since: Instant,
    address: IpAddr,
}

/// The content of all sources; the first is the default.
pub(super) struct Content {
    pub(super) pems: Vec<Pem>,
    pub(super) fingerprint: u64,
}

impl Source {
    /// Creates self-signed certificates; [`Source::read`] reads the files.
    pub(super) fn new(certificate: &Certificate, sni: Vec<SniPair>, address: IpAddr) -> Result<Self, SourceError> {
        let default = match certificate {
            Certificate::Files { cert, key } => Default::Files {
                cert: cert.clone(),
                key: key.clone(),
            },
            Certificate::Directory { dir, name } => in_directory(dir, name, address)?,
            Certificate::FilesOnceThere { cert, key } => Default::FilesOnceThere {
                cert: cert.clone(),
                key: key.clone(),
                until: in_memory(address)?,
            },
            Certificate::Memory => Default::Memory(in_memory(address)?),
        };
        Ok(Self { default, sni })
    }

    /// Replaces a self-signed certificate before it expires.
    pub(super) fn renew(&mut self) -> Result<(), SourceError> {
        match &mut self.default {
            Default::Memory(made) | Default::FilesOnceThere { until: made, .. } => {
                if made.since.elapsed() > RENEW_AFTER {
                    *made = in_memory(made.address)?;
                }
            }
            Default::Files { .. } => {}
        }
        Ok(())
    }

    pub(super) fn read(&self) -> Result<Content, SourceError> {
        let default = match &self.default {
            Default::Files { cert, key } => pair(cert, key)?,
            Default::FilesOnceThere { cert, key, .. } if cert.exists() && key.exists() => pair(cert, key)?,
            Default::Memory(made) | Default::FilesOnceThere { until: made, .. } => made.pem(),
        };
        let mut pems = vec![default];
        for SniPair { cert, key, names: _ } in &self.sni {
            pems.push(pair(cert, key)?);
        }
        Ok(Content {
            fingerprint: fingerprint(&pems),
            pems,
        })
    }
}

impl Made {
    fn pem(&self) -> Pem {
        Pem {
            cert: self.cert.clone().into_bytes(),
            key: self.key.expose_secret().as_bytes().to_vec().into(),
        }
    }
}

fn in_memory(address: IpAddr) -> Result<Made, SourceError> {
    let self_signed::Generated { cert, key } = self_signed::generate(address).map_err(SourceError::Generate)?;
    tracing::info!("generated a self-signed certificate in memory");
    Ok(Made {
        cert,
        key,
        since: Instant::now(),
        address,
    })
}

fn in_directory(dir: &Path, name: &str, address: IpAddr) -> Result<Default, SourceError> {
    let (cert, key) = (dir.join(format!("{name}.crt")), dir.join(format!("{name}.key")));
    match (cert.exists(), key.exists()) {
        (true, true) => {}
        (true, false) => {
            return Err(SourceError::HalfAPair {
                there: cert,
                missing: key,
            });
        }
        (false, true) => {
            return Err(SourceError::HalfAPair {
                there: key,
                missing: cert,
            });
        }
        (false, false) => {
            let generated = self_signed::generate(address).map_err(SourceError::Generate)?;
            fs::create_dir_all(dir).map_err(|source| SourceError::Write {
                path: dir.to_owned(),
                source,
            })?;
            write(&cert, 0o644, &generated.cert)?;
            write(&key, 0o600, generated.key.expose_secret())?;
            tracing::info!(cert = %cert.display(), key = %key.display(), "generated a self-signed certificate");
        }
    }
    Ok(Default::Files { cert, key })
}

fn pair(cert: &Path, key: &Path) -> Result<Pem, SourceError> {
    Ok(Pem {
        cert: read(cert)?,
        key: read(key)?.into(),
    })
}

fn read(path: &Path) -> Result<Vec<u8>, SourceError> {
    fs::read(path).map_err(|source| SourceError::Read {
        path: path.to_owned(),
        source,
    })
}

fn write(path: &Path, mode: u32, content: &str) -> Result<(), SourceError> {
    let file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path);
    file.and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(|source| SourceError::Write {
            path: path.to_owned(),
            source,
        })
}

fn fingerprint(pems: &[Pem]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for Pem { cert, key } in pems {
        cert.hash(&mut hasher);
        key.expose_secret().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::nothing("", "", "", "Memory")]
    #[case::directory("", "", "/d", "Directory { dir: \"/d\", name: \"ccm\" }")]
    #[case::files("/c", "/k", "", "Files { cert: \"/c\", key: \"/k\" }")]
    #[case::files_win("/c", "/k", "/d", "Files { cert: \"/c\", key: \"/k\" }")]
    #[case::no_key("/c", "", "/d", "OnlyOne")]
    #[case::no_cert("", "/k", "", "OnlyOne")]
    fn chooses(#[case] cert: &str, #[case] key: &str, #[case] dir: &str, #[case] expected: &str) {
        let chosen = Certificate::parse(cert, key, dir, "ccm");
        assert_eq!(
            chosen.map_or_else(|error| format!("{error:?}"), |chosen| format!("{chosen:?}")),
            expected
        );
    }
}
