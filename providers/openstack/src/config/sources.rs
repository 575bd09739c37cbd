//! Where the configuration comes from.

use super::ProviderIds;
use std::{
    cell::RefCell,
    collections::BTreeMap,
    fmt, io,
    path::{Path, PathBuf},
};

/// All there is to read.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The file of `--cloud-config`, if one is given.
    pub file: Option<File<'a>>,
    /// The Secret that the file names, once there is one.
    pub secret: Option<&'a Secret>,
    /// What the environment says.
    pub environment: &'a Environment,
    /// The other files.
    pub files: &'a dyn Files,
}

/// A file that has been read.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its content.
    pub content: &'a [u8],
}

/// The Secret of `secret-name` and `secret-namespace`. Its `Debug` shows its keys only.
#[derive(Clone, Default)]
pub struct Secret {
    /// Its data.
    pub data: BTreeMap<String, Vec<u8>>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.data.keys()).finish()
    }
}

/// What the environment says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// `OS_CLIENT_CONFIG_FILE`: where `clouds.yaml` is.
    pub client_config_file: Option<PathBuf>,
    /// `OS_CLOUD`: which entry of it.
    pub cloud: Option<String>,
    /// `OS_CCM_REGIONAL`
    pub provider_ids: ProviderIds,
    /// `HOME`
    pub home: Option<PathBuf>,
    /// The working directory.
    pub directory: Option<PathBuf>,
}

impl Environment {
    /// The environment of this process.
    pub fn of_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let regional = set("OS_CCM_REGIONAL").and_then(|value| value.into_string().ok());
        Self {
            client_config_file: set("OS_CLIENT_CONFIG_FILE").map(PathBuf::from),
            cloud: set("OS_CLOUD").and_then(|cloud| cloud.into_string().ok()),
            provider_ids: ProviderIds::of(regional.as_deref()),
            home: set("HOME").map(PathBuf::from),
            directory: std::env::current_dir().ok(),
        }
    }
}

/// Files that can be read.
pub trait Files {
    /// The content of a file, or nothing if there is none.
    ///
    /// # Errors
    /// If there is one and it cannot be read.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;
}

/// The files on disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(path) {
            Ok(content) => Ok(Some(content)),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Remembers which files were there.
pub(super) struct Reader<'a> {
    files: &'a dyn Files,
    read: RefCell<Vec<PathBuf>>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            read: RefCell::default(),
        }
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let content = self.files.read(path)?;
        let mut read = self.read.borrow_mut();
        if content.is_some() && !read.iter().any(|known| known == path) {
            read.push(path.to_owned());
        }
        Ok(content)
    }

    pub(super) fn into_read(self) -> Vec<PathBuf> {
        self.read.into_inner()
    }
}
