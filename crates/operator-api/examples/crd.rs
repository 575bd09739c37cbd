//! temporary
fn main() { print!("{}", operator_api::cloud_controller_manager::crd_yaml()); }
