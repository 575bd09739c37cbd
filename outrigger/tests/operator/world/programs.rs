//! The operator as a process, under all its names.

use super::{OPERATOR_NAMESPACE, RELEASE, World};
use crate::rig::{Launch, Manager, free_port};

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

    /// The operator, on its way.
    pub fn start(&self) -> Manager {
        self.common(self.operator()).start()
    }

    /// An operator was here, installed this, and has ended.
    pub async fn left_behind(&self, operand: &str) {
        let operator = self.start();
        self.roll_out_until(&operator, operand).await;
        operator.signal("TERM");
        operator.exited().await;
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
