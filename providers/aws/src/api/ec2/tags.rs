//! `CreateTags` and `DeleteTags`.

use super::Tag;
use crate::api::{Api, Done, Service};
use cloud::Result;
use cloud_http::Idempotency;
use serde_json::json;

impl Api {
    /// Sets tags of objects, whatever values they had.
    pub async fn create_tags(&self, ids: &[&str], tags: &[Tag]) -> Result<()> {
        let request = json!({"ResourceId": ids, "Tag": tags});
        self.call::<Done>(Service::Ec2, "CreateTags", Idempotency::Idempotent, &request)
            .await
            .map(drop)
    }

    /// Removes these tags from objects, if they have these values.
    pub async fn delete_tags(&self, ids: &[&str], tags: &[Tag]) -> Result<()> {
        let request = json!({"ResourceId": ids, "Tag": tags});
        self.call::<Done>(Service::Ec2, "DeleteTags", Idempotency::Idempotent, &request)
            .await
            .map(drop)
    }
}
