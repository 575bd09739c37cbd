//! Routes to the pods of each node, in one route table of the VPC.

use crate::{
    api::{
        Api,
        ec2::routes::{Route as Entry, RouteTable},
        errors,
    },
    instances::instance_id,
};
use async_trait::async_trait;
use cloud::{Error, NewRoute, Result, Route, RouteTarget};
use ipnet::IpNet;
use provider_kit::concurrently;
use std::sync::Arc;

/// The routes of the cluster.
pub struct Routes {
    api: Arc<Api>,
}

impl Routes {
    /// Routes that are read and written through this API.
    pub fn new(api: &Arc<Api>) -> Self {
        Self { api: Arc::clone(api) }
    }

    /// The route table: that of the configuration, or the only one with the tag of the cluster.
    async fn table(&self) -> Result<RouteTable> {
        let cluster = self.api.cluster().await?;
        let mut tables = if let Some(id) = &self.api.config.route_table_id {
            self.api.route_table(id).await?
        } else {
            let mut tables = self.api.route_tables(&cluster.vpc_id).await?;
            tables.retain(|table| cluster.has_tag(&table.tag_set));
            tables
        };
        match (tables.pop(), tables.len()) {
            (Some(table), 0) => Ok(table),
            (None, _) => {
                let reason = "no route table has the tag of the cluster: tag one, or set RouteTableID";
                Err(Error::unusable("route table", reason))
            }
            (Some(_), more) => {
                let reason = format!(
                    "{} route tables have the tag of the cluster: set RouteTableID",
                    more + 1
                );
                Err(Error::unusable("route table", reason))
            }
        }
    }

    async fn create_one(&self, table: &RouteTable, new: &NewRoute) -> Result<()> {
        let id = match &new.provider_id {
            Some(id) => instance_id(id.as_str())?,
            None => None,
        };
        let id =
            id.ok_or_else(|| Error::unusable(format!("node {}", new.node), "it has no EC2 instance to route to"))?;
        self.api.disable_source_dest_check(id).await?;
        let there = find(table, new.destination);
        if leads_to(there, id) {
            return Ok(());
        }
        if there.is_some_and(|entry| entry.state == "blackhole") {
            self.api.delete_route(&table.route_table_id, &new.destination).await?;
        }
        match self.api.create_route(&table.route_table_id, &new.destination, id).await {
            Err(error) if errors::code(&error) == Some("RouteAlreadyExists") => {
                // Another call may have created it since the table was read, or this one, and its answer was lost.
                let table = self.table().await?;
                if leads_to(find(&table, new.destination), id) {
                    return Ok(());
                }
                Err(error)
            }
            answer => answer,
        }
    }
}

#[async_trait]
impl cloud::Routes for Routes {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>> {
        let table = self.table().await?;
        // Which node an instance is only its provider ID tells: the name of a node may be any.
        let target = |entry: &Entry| match entry.state.as_str() {
            "blackhole" => Some(RouteTarget::Blackhole),
            _ if entry.instance_id.is_empty() => None,
            _ => Some(RouteTarget::Machine(entry.instance_id.clone())),
        };
        let route = |entry: &Entry| {
            let destination = destination(entry)?;
            Some(Route {
                name: format!("{cluster}-{destination}"),
                destination,
                target: target(entry)?,
                addresses: None,
            })
        };
        Ok(table.route_set.iter().filter_map(route).collect())
    }

    async fn create(&self, _: &str, routes: &[NewRoute]) -> Vec<Result<()>> {
        if routes.is_empty() {
            return Vec::new();
        }
        match self.table().await {
            Ok(table) => concurrently(routes.iter().map(|route| self.create_one(&table, route))).await,
            Err(error) => vec![Err(error.of_batch()); routes.len()],
        }
    }

    async fn delete(&self, _: &str, routes: &[Route]) -> Vec<Result<()>> {
        if routes.is_empty() {
            return Vec::new();
        }
        match self.table().await {
            Ok(table) => {
                let delete = |route: &Route| {
                    let destination = route.destination;
                    let table = table.route_table_id.clone();
                    async move { self.api.delete_route(&table, &destination).await }
                };
                concurrently(routes.iter().map(delete)).await
            }
            Err(error) => vec![Err(error.of_batch()); routes.len()],
        }
    }
}

fn destination(entry: &Entry) -> Option<IpNet> {
    let blocks = [&entry.destination_cidr_block, &entry.destination_ipv6_cidr_block];
    blocks.iter().find_map(|block| block.parse().ok())
}

fn find(table: &RouteTable, to: IpNet) -> Option<&Entry> {
    table.route_set.iter().find(|entry| destination(entry) == Some(to))
}

fn leads_to(entry: Option<&Entry>, id: &str) -> bool {
    entry.is_some_and(|entry| entry.instance_id == id && entry.state != "blackhole")
}
