//! A virtual machine, as the property collector describes it.

use super::{
    addresses::{self, Device, Nic},
    guest_info, os,
    uuid::BiosUuid,
};
use crate::{
    api::{properties::Object, soap::Reference, xml::Element},
    config::{Family, Networks},
};
use cloud::{Address, Error, Power, Result};

/// The properties that tell whether it runs.
pub const FEW: &[&str] = &[
    "name",
    "config.uuid",
    "config.template",
    "guest.hostName",
    "runtime.connectionState",
    "runtime.powerState",
];

/// All properties that describe it.
pub const ALL: &[&str] = &[
    "name",
    "config.uuid",
    "config.template",
    "config.extraConfig[\"guestinfo.metadata\"]",
    "config.extraConfig[\"guestinfo.metadata.encoding\"]",
    "guest.hostName",
    "guest.net",
    "resourcePool",
    "runtime.connectionState",
    "runtime.host",
    "runtime.powerState",
    "summary.config.guestId",
    "summary.config.memorySizeMB",
    "summary.config.numCpu",
];

/// A virtual machine.
#[derive(Debug, Clone)]
pub struct Machine(Object);

impl Machine {
    /// The machine with these properties.
    pub fn new(object: Object) -> Self {
        Self(object)
    }

    /// Which object it is.
    pub fn reference(&self) -> &Reference {
        &self.0.reference
    }

    /// Its host.
    pub fn host(&self) -> Option<Reference> {
        self.0.reference("runtime.host")
    }

    /// Its resource pool.
    pub fn pool(&self) -> Option<Reference> {
        self.0.reference("resourcePool")
    }

    /// Its BIOS UUID; a machine that is being created or is not accessible has none.
    pub fn uuid(&self) -> Option<BiosUuid> {
        BiosUuid::parse(self.0.text("config.uuid"))
    }

    /// Whether it is a template, which cannot run.
    pub fn is_template(&self) -> bool {
        self.0.text("config.template") == "true"
    }

    /// The host name of its guest; empty if it is not known.
    pub fn host_name(&self) -> &str {
        self.0.text("guest.hostName")
    }

    /// As a user would name it.
    pub fn what(&self) -> String {
        match self.0.text("name") {
            "" => self.0.reference.to_string(),
            name => format!("virtual machine {name}"),
        }
    }

    /// Whether it runs. Of one on a host that does not answer, the vCenter has the last state.
    pub fn power(&self) -> Power {
        match self.0.text("runtime.powerState") {
            "poweredOn" => Power::On,
            "" => Power::Unknown,
            _ => Power::Off,
        }
    }

    /// Its instance type.
    pub fn instance_type(&self) -> String {
        let number = |path| self.0.text(path).trim().parse::<i64>().unwrap_or_default();
        let (cpus, memory) = (
            number("summary.config.numCpu"),
            number("summary.config.memorySizeMB") / 1024,
        );
        let os = os::name(self.0.text("summary.config.guestId"));
        format!("vsphere-vm.cpu-{cpus}.mem-{memory}gb.os-{os}")
    }

    /// The addresses of its node.
    ///
    /// # Errors
    /// [`Error::Unusable`] with the reason if there are none, most often because VMware Tools have not started yet.
    pub fn addresses(&self, networks: &Networks, families: &[Family]) -> Result<Vec<Address>> {
        let host_name = self.host_name();
        if host_name.is_empty() {
            return Err(self.unusable("VMware Tools report no host name (yet)"));
        }
        let option = |key: &str| {
            self.0
                .value(&format!("config.extraConfig[\"{key}\"]"))
                .map_or("", |one| one.text_of("value"))
        };
        let (metadata, encoding) = (option("guestinfo.metadata"), option("guestinfo.metadata.encoding"));
        let first = guest_info::addresses(metadata, encoding).map_err(|why| self.unusable(why))?;
        addresses::of(host_name, &self.nics(), &first, networks, families).map_err(|why| self.unusable(why))
    }

    /// An error about it.
    pub fn unusable(&self, why: impl Into<String>) -> Error {
        Error::unusable(self.what(), why)
    }

    fn nics(&self) -> Vec<Nic> {
        let nics = self.0.value("guest.net").into_iter().flat_map(|array| &array.children);
        nics.map(nic).collect()
    }
}

fn nic(element: &Element) -> Nic {
    Nic {
        network: element.text_of("network").to_owned(),
        addresses: element.all("ipAddress").map(|address| address.text.clone()).collect(),
        device: match element.text_of("deviceConfigId") {
            "-1" => Device::Guest,
            _ => Device::Hardware,
        },
    }
}
