use super::*;
use std::{fs, path::Path};

#[test]
fn the_file_that_is_deployed_is_this_definition() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/crd.yaml");
    let file = fs::read_to_string(path).unwrap_or_default();
    assert!(file == crd_yaml(), "deploy/kubernetes/crd.yaml is stale: run make docs");
}
