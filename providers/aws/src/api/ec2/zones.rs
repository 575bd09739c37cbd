//! `DescribeAvailabilityZones`.

use crate::api::{Api, List, Service};
use cloud::Result;
use cloud_http::Idempotency;
use serde::Deserialize;
use serde_json::json;

/// An availability zone, a local zone or a wavelength zone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Zone {
    /// Its name, such as `us-east-1a`, which means another zone in another account.
    pub zone_name: String,
    /// Its ID, such as `use1-az1`.
    pub zone_id: String,
    /// `availability-zone`, `local-zone` or `wavelength-zone`.
    #[serde(default)]
    pub zone_type: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Zones {
    availability_zone_info: List<Zone>,
}

impl Api {
    /// Lists the zones of the region.
    pub async fn list_zones(&self) -> Result<Vec<Zone>> {
        let answer: Zones = self
            .call(Service::Ec2, "DescribeAvailabilityZones", Idempotency::Safe, &json!({}))
            .await?;
        Ok(answer.availability_zone_info.0)
    }
}
