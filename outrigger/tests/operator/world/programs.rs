//! The operator as a process, under all its names.

use super::{OPERATOR_NAMESPACE, RELEASE, World};
use crate::process_fixture::{Launch, Manager, free_port};

impl World {
    /// The operator's command line.
    pub fn operator(&self) -> Launch {
        self.launch()
            .arg("operator")
            .flag(&format!(
                "--images-json={}",
                self.folder.path().join("images.json").display()
            ))
            .flag("--metrics-bind-address=0")
    }

    /// The program under one of its other names, without arguments.
    pub fn program(&self, name: &str) -> Launch {
        let link = self.folder.path().join(name);
        if !link.exists() {
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_outrigger"), &link).unwrap();
        }
        self.launch().program(&link)
    }

    fn launch(&self) -> Launch {
        Launch::new(self.folder.path())
            .env("RELEASE_VERSION", RELEASE)
            .env("KUBECONFIG", &self.plane().kubeconfig().display().to_string())
    }

    /// Starts the operator.
    pub fn start(&self) -> Manager {
        self.common(self.operator()).start()
    }

    /// A cluster on this platform in which an operator runs, and has installed everything.
    pub async fn running(platform: &str) -> (Self, Manager) {
        let world = Self::new(platform).await;
        let operator = world.start();
        world.runs(&operator, name_on(platform)).await;
        (world, operator)
    }

    /// The same after the operator has ended.
    pub async fn left_behind(platform: &str) -> Self {
        let (world, operator) = Self::running(platform).await;
        operator.signal("TERM");
        operator.exited().await;
        world
    }

    /// With the flags that every program of the operator has.
    pub fn common(&self, launch: Launch) -> Launch {
        let bundle = self.folder.path().join("bundle.pem");
        launch
            .flag(&format!("--namespace={}", self.namespace))
            .flag(&format!("--leader-elect-resource-namespace={OPERATOR_NAMESPACE}"))
            .flag(&format!("--system-ca-bundle={}", bundle.display()))
            .flag(&format!("--health-addr={}", free_port()))
            .flag("-v=2")
    }
}

/// The beginning of the names of the manager's objects on a platform.
pub fn name_on(platform: &str) -> &str {
    match platform.split([' ', '/']).next() {
        Some("AWS") => "aws",
        Some("Azure") => "azure",
        Some("GCP") => "gcp",
        Some("IBMCloud") => "ibm",
        Some("Nutanix") => "nutanix",
        Some("OpenStack") => "openstack",
        Some("PowerVS") => "powervs",
        Some("VSphere") => "vsphere",
        _ => panic!("no manager runs on {platform}"),
    }
}
