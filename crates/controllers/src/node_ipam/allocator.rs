//! Which node has which ranges. Pure: no client, no clock.

use super::{CidrSet, Options};
use crate::nodes::pod_cidrs;
use ipnet::IpNet;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use std::collections::HashMap;

/// Which node has which ranges.
#[derive(Debug)]
pub struct Allocator {
    sets: Vec<CidrSet>,
    /// What each node has, or will have when the write that is under way is through; by UID.
    nodes: HashMap<String, Vec<IpNet>>,
}

/// What a node's own ranges say about the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// They are ours, and known now.
    Known,
    /// These cannot be read, or are outside of our ranges: somebody else gave them.
    Foreign(Vec<String>),
}

impl Allocator {
    /// Nothing is taken but the Services' own range.
    pub fn new(options: &Options) -> Self {
        Self {
            sets: options.sets().collect(),
            nodes: HashMap::new(),
        }
    }

    /// Learns what a node has.
    pub fn learn(&mut self, node: &Node) -> Taken {
        let (uid, named) = (node.uid().unwrap_or_default(), pod_cidrs(node));
        let read: Vec<IpNet> = named.iter().filter_map(|cidr| cidr.parse().ok()).collect();
        let foreign = named
            .iter()
            .filter(|cidr| !self.is_ours(cidr))
            .cloned()
            .collect::<Vec<_>>();
        if self.nodes.get(&uid) != Some(&read) {
            self.release(&uid);
            for cidr in &read {
                self.take(cidr);
            }
            self.nodes.insert(uid, read);
        }
        if foreign.is_empty() {
            Taken::Known
        } else {
            Taken::Foreign(foreign)
        }
    }

    /// The ranges that a node without any is to get: the same ones however often it asks, one of each of our ranges;
    /// `None` if one of those is used up.
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
                    .for_each(|(set, cidr)| set.give_back(cidr));
                return None;
            };
            chosen.push(cidr);
        }
        self.nodes.insert(uid.to_owned(), chosen.clone());
        Some(chosen)
    }

    /// Forgets a node, and frees what it had.
    pub fn release(&mut self, uid: &str) {
        for cidr in self.nodes.remove(uid).into_iter().flatten() {
            for set in &mut self.sets {
                set.give_back(&cidr);
            }
        }
    }

    fn take(&mut self, cidr: &IpNet) {
        for set in &mut self.sets {
            set.take(cidr);
        }
    }

    fn is_ours(&self, cidr: &str) -> bool {
        cidr.parse::<IpNet>()
            .is_ok_and(|cidr| self.sets.iter().any(|set| set.concerns(&cidr)))
    }
}
