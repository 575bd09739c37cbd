//! A folder that goes with its owner.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// A folder in the temporary one, removed when dropped.
pub struct Folder(PathBuf);

impl Folder {
    /// Makes it.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("outrigger-{name}"));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file in it.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is in the temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}
