//! The files on disk.

use super::*;

#[test]
fn disk() {
    let folder = std::env::temp_dir().join(format!("outrigger-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("clouds.yaml");
    std::fs::write(&path, "clouds:").unwrap();
    assert_eq!(Disk.read(&path).unwrap().as_deref(), Some(b"clouds:".as_slice()));
    assert_eq!(Disk.read(&folder.join("none")).unwrap(), None);
    assert_eq!(Disk.read(&path.join("below-a-file")).unwrap(), None);
    assert!(Disk.read(&folder).is_err());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_process_has_an_environment() {
    let environment = Environment::of_process();
    assert_eq!(environment.directory, std::env::current_dir().ok());
}
