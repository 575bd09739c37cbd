//! The flags of the Go program of this name.

use super::{ManagedIdentity, PROGRAM};
use crate::options::klog::Klog;
use runtime::{
    flags::{Problems, Section, Set, Show, Switch, Value},
    logging,
};

const ABOUT: &str = "Puts the credentials of Azure into a cloud configuration.";

/// The flags, with their defaults.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flags {
    /// The configuration to read.
    pub cloud_config_file_path: String,
    /// The configuration to write.
    pub output_file_path: String,
    /// Whether the managed identity of the virtual machine is disabled.
    pub disable_identity_extension_auth: Switch,
    /// Whether a token of the cluster may be used.
    pub workload_identity: WorkloadIdentity,
    /// The folder with the credentials.
    pub creds_path: String,
    /// How to log.
    pub logging: logging::Options,
    /// Further flags of the Go program's log library.
    klog: Klog,
    help: Switch,
}

/// Whether a token of the cluster may be used instead of a secret.
///
/// The Go program ignores this flag, and some of its manifests omit it although a token is used: unless it is explicitly
/// false, the credentials decide.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WorkloadIdentity {
    /// If the credentials name one.
    #[default]
    Allowed,
    /// Never.
    Never,
}

/// What a command line requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Invocation {
    /// Print a text.
    Print(String),
    /// Run with these flags.
    Run(Box<Flags>),
}

impl Default for Flags {
    fn default() -> Self {
        Self {
            cloud_config_file_path: "/tmp/cloud-config/cloud.conf".to_owned(),
            output_file_path: "/tmp/merged-cloud-config/cloud.conf".to_owned(),
            disable_identity_extension_auth: Switch::Off,
            workload_identity: WorkloadIdentity::default(),
            creds_path: "/etc/azure/credentials".to_owned(),
            logging: logging::Options::default(),
            klog: Klog::default(),
            help: Switch::Off,
        }
    }
}

impl Flags {
    /// Parses a command line without the program's name.
    ///
    /// # Errors
    /// All problems of the command line.
    pub fn parse<A: Into<String>>(args: impl IntoIterator<Item = A>) -> Result<Invocation, Problems> {
        let mut flags = Self::default();
        let set = flags.set();
        let help = set.help(Show::for_stdout());
        set.parse(args)?;
        Ok(match flags.help {
            Switch::On => Invocation::Print(help),
            Switch::Off => Invocation::Run(Box::new(flags)),
        })
    }

    /// What to do with the managed identity of the virtual machine.
    pub(super) fn managed_identity(&self) -> ManagedIdentity {
        match self.disable_identity_extension_auth {
            Switch::On => ManagedIdentity::Disabled,
            Switch::Off => ManagedIdentity::AsConfigured,
        }
    }

    fn set(&mut self) -> Set<'_> {
        let section = Section::new("generic")
            .flag(
                "cloud-config-file-path",
                &mut self.cloud_config_file_path,
                "Location of the original cloud config file.",
            )
            .flag(
                "output-file-path",
                &mut self.output_file_path,
                "Location of the generated cloud config file.",
            )
            .flag(
                "disable-identity-extension-auth",
                &mut self.disable_identity_extension_auth,
                "Switch useManagedIdentityExtension off, if the cloud config has it.",
            )
            .flag(
                "enable-azure-workload-identity",
                &mut self.workload_identity,
                "Use the federated token file of the credentials, if there is one. With false, it is never used.",
            )
            .flag(
                "creds-path",
                &mut self.creds_path,
                "Folder with the credentials, one value a file.",
            )
            .short('h', "help", &mut self.help, "Show all flags.");
        let log = self.klog.flags(self.logging.flags(Section::new("log")));
        Set::new(PROGRAM, ABOUT, vec![section, log])
    }
}

impl Value for WorkloadIdentity {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        let mut all = given.iter().map(|text| text.parse::<Switch>());
        let last = all.try_fold(Switch::Off, |_, switch| switch)?;
        *self = if last.is_on() { Self::Allowed } else { Self::Never };
        Ok(())
    }

    fn print(&self) -> String {
        match self {
            Self::Allowed => "true".to_owned(),
            Self::Never => "false".to_owned(),
        }
    }
}
