//! Which Node gets which CIDRs. Pure.

mod cidr_set;

pub use cidr_set::CidrSet;

use super::Options;
use crate::nodes::pod_cidrs;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use std::collections::HashMap;

/// The CIDRs of all Nodes.
#[derive(Debug)]
pub struct Allocator {
    sets: Vec<CidrSet>,
    /// The CIDRs of each Node, including those that are being written; by UID.
    nodes: HashMap<String, Vec<IpNet>>,
}

/// The result of recording a Node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// All its CIDRs are within the cluster CIDRs.
    Managed,
    /// These CIDRs are invalid or outside of the cluster CIDRs.
    Foreign(Vec<String>),
}

impl Allocator {
    /// Only the CIDRs of Services are in use.
    pub fn new(options: &Options) -> Self {
        Self {
            sets: options.sets().collect(),
            nodes: HashMap::new(),
        }
    }

    /// Records the CIDRs of a Node.
    pub fn record(&mut self, node: &Node) -> Recorded {
        let (uid, texts) = (node.uid().unwrap_or_default(), pod_cidrs(node));
        let cidrs: Vec<IpNet> = texts.iter().filter_map(|cidr| cidr.parse().ok()).collect();
        let foreign = texts
            .iter()
            .filter(|cidr| !self.is_ours(cidr))
            .cloned()
            .collect::<Vec<_>>();
        if self.nodes.get(&uid) != Some(&cidrs) {
            self.release(&uid);
            for set in &mut self.sets {
                for cidr in &cidrs {
                    set.take(cidr);
                }
            }
            self.nodes.insert(uid, cidrs);
        }
        if foreign.is_empty() {
            Recorded::Managed
        } else {
            Recorded::Foreign(foreign)
        }
    }

    /// The CIDRs for a Node that has none, one of each cluster CIDR; `None` if one of these is used up. The same ones are
    /// returned until the Node is released.
    pub fn allocate(&mut self, uid: &str) -> Option<Vec<IpNet>> {
        if let Some(reserved) = self.nodes.get(uid).filter(|reserved| !reserved.is_empty()) {
            return Some(reserved.clone());
        }
        let mut chosen = Vec::new();
        for index in 0..self.sets.len() {
            let Some(cidr) = self.sets[index].take_next() else {
                self.sets
                    .iter_mut()
                    .zip(&chosen)
                    .for_each(|(set, cidr)| set.release(cidr));
                return None;
            };
            chosen.push(cidr);
        }
        self.nodes.insert(uid.to_owned(), chosen.clone());
        Some(chosen)
    }

    /// Releases the CIDRs of a Node.
    pub fn release(&mut self, uid: &str) {
        for cidr in self.nodes.remove(uid).into_iter().flatten() {
            for set in &mut self.sets {
                set.release(&cidr);
            }
        }
    }

    fn is_ours(&self, cidr: &str) -> bool {
        cidr.parse::<IpNet>()
            .is_ok_and(|cidr| self.sets.iter().any(|set| set.overlaps(&cidr)))
    }
}
