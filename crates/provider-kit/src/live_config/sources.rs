//! What a configuration is read from.

use cloud::LiveData;
use std::{
    cell::RefCell,
    io,
    path::{Path, PathBuf},
};

/// What a configuration is read from. A cloud adds its own environment variables.
#[derive(Clone, Copy)]
pub struct Sources<'a> {
    /// The file of `--cloud-config`, if one is given.
    pub file: Option<File<'a>>,
    /// The data of the objects in the cluster that the configuration names, once they exist.
    pub data: &'a LiveData,
    /// The files that the configuration names.
    pub files: &'a dyn Files,
}

/// A file that was read.
#[derive(Clone, Copy)]
pub struct File<'a> {
    /// Its name, for messages.
    pub name: &'a str,
    /// Its content.
    pub content: &'a [u8],
}

/// Files that can be read.
pub trait Files {
    /// The content of a file, or `None` if it does not exist.
    ///
    /// # Errors
    /// If it exists and cannot be read.
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

/// Reads files, and records which existed, so that they are watched.
pub struct Reader<'a> {
    files: &'a dyn Files,
    read: RefCell<Vec<PathBuf>>,
}

impl<'a> Reader<'a> {
    /// Reads these files.
    pub fn new(files: &'a dyn Files) -> Self {
        Self {
            files,
            read: RefCell::default(),
        }
    }

    /// As [`Files::read`].
    ///
    /// # Errors
    /// As [`Files::read`].
    pub fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        let content = self.files.read(path)?;
        let mut read = self.read.borrow_mut();
        if content.is_some() && !read.iter().any(|known| known == path) {
            read.push(path.to_owned());
        }
        Ok(content)
    }

    /// The files that were read, each once.
    pub fn into_read(self) -> Vec<PathBuf> {
        self.read.into_inner()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disk() {
        let folder = std::env::temp_dir().join(format!("outrigger-config-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("clouds.yaml");
        std::fs::write(&path, "clouds:").unwrap();
        let files = Reader::new(&Disk);
        for _ in 0..2 {
            assert_eq!(files.read(&path).unwrap().as_deref(), Some(b"clouds:".as_slice()));
        }
        assert_eq!(files.read(&folder.join("none")).unwrap(), None);
        assert_eq!(files.read(&path.join("below-a-file")).unwrap(), None);
        assert!(files.read(&folder).is_err());
        assert_eq!(files.into_read(), [path]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
