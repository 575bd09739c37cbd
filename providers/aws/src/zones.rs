//! The zones of the region. They are read once, and again when a zone appears that is not among them.

use crate::api::{Api, ec2::zones::Zone};
use cloud::Result;
use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

/// Zones by their names.
pub type ByName = Arc<HashMap<String, Zone>>;

/// What was read.
#[derive(Default)]
pub struct Zones(Mutex<ByName>);

impl Api {
    /// The zones of the region: a list that has these, unless EC2 itself does not show them.
    ///
    /// # Errors
    /// As EC2.
    pub async fn zones(&self, names: &BTreeSet<&str>) -> Result<ByName> {
        let known = self.zones.get();
        if names.iter().all(|name| known.contains_key(*name)) {
            return Ok(known);
        }
        let zones = self.list_zones().await?.into_iter();
        let zones: ByName = Arc::new(zones.map(|zone| (zone.zone_name.clone(), zone)).collect());
        self.zones.set(&zones);
        Ok(zones)
    }
}

impl Zones {
    fn get(&self) -> ByName {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn set(&self, zones: &ByName) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::clone(zones);
    }
}
