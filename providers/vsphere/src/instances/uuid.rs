//! BIOS UUIDs, by which nodes are virtual machines.

use cloud::{Error, ProviderId, Result};
use std::fmt;

/// Stands in every Node's `spec.providerID`; changing it orphans running nodes.
const PREFIX: &str = "vsphere://";

/// A BIOS UUID. It is written in small letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BiosUuid([u8; 16]);

impl BiosUuid {
    /// Reads `564d9a6d-8e4f-1b2c-3d4e-5f6071829304`.
    pub fn parse(text: &str) -> Option<Self> {
        let groups: Vec<&str> = text.trim().split('-').collect();
        if !groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12]) {
            return None;
        }
        let digits = groups.concat();
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let number = u128::from_str_radix(&digits, 16).ok()?;
        Some(Self(number.to_be_bytes()))
    }

    /// The UUID in a provider ID.
    ///
    /// # Errors
    /// [`Error::Invalid`] if it is not a provider ID of vSphere.
    pub fn of(id: &ProviderId) -> Result<Self> {
        let uuid = id.as_str().strip_prefix(PREFIX).and_then(Self::parse);
        uuid.ok_or_else(|| {
            Error::invalid(
                "spec.providerID",
                format!("{id} is not {PREFIX} and the BIOS UUID of a virtual machine"),
            )
        })
    }

    /// The same UUID with the other byte order of its first three groups: the firmware of newer machines reports it so.
    #[must_use]
    pub fn swapped(self) -> Self {
        let mut bytes = self.0;
        bytes[..4].reverse();
        bytes[4..6].reverse();
        bytes[6..8].reverse();
        Self(bytes)
    }

    /// Whether both are the UUID of one machine, in any byte order.
    pub fn is_same(self, other: Self) -> bool {
        self == other || self.swapped() == other
    }

    /// The provider ID of the machine with this UUID.
    pub fn provider_id(self) -> Option<ProviderId> {
        ProviderId::parse(format!("{PREFIX}{self}"))
    }
}

impl fmt::Display for BiosUuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let dash = if matches!(index, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{dash}{byte:02x}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const UUID: &str = "564d9a6d-8e4f-1b2c-3d4e-5f6071829304";

    #[rstest]
    #[case::good(&format!("vsphere://{UUID}"), Some(UUID))]
    #[case::capitals(&format!("vsphere://{}", UUID.to_uppercase()), Some(UUID))]
    #[case::blank(&format!("vsphere:// {UUID} "), Some(UUID))]
    #[case::nothing("vsphere://", None)]
    #[case::other_cloud(&format!("openstack:///{UUID}"), None)]
    #[case::bare(UUID, None)]
    #[case::short("vsphere://564d9a6d-8e4f-1b2c-3d4e-5f60718293", None)]
    #[case::no_digits("vsphere://564d9a6d-8e4f-1b2c-3d4e-5f60718293zz", None)]
    #[case::sign("vsphere://+64d9a6d-8e4f-1b2c-3d4e-5f6071829304", None)]
    #[case::path(&format!("vsphere:///{UUID}"), None)]
    fn provider_ids(#[case] id: &str, #[case] expected: Option<&str>) {
        let uuid = BiosUuid::of(&ProviderId::parse(id).unwrap())
            .ok()
            .map(|uuid| uuid.to_string());
        assert_eq!(uuid.as_deref(), expected);
    }

    #[test]
    fn byte_orders() {
        let uuid = BiosUuid::parse(UUID).unwrap();
        let other = BiosUuid::parse("6d9a4d56-4f8e-2c1b-3d4e-5f6071829304").unwrap();
        assert_eq!((uuid.swapped(), other.swapped()), (other, uuid));
        assert!(uuid.is_same(other) && uuid.is_same(uuid));
        assert!(!uuid.is_same(BiosUuid::parse("00000000-8e4f-1b2c-3d4e-5f6071829304").unwrap()));
    }
}
