//! Zones and regions: the tags of what is above a machine in the inventory.

use super::machine::Machine;
use crate::{
    api::{
        Api,
        properties::Inventory,
        soap::Reference,
        tags::{Names, Tag, Tags},
    },
    config::Categories,
};
use cloud::{Error, Result};
use std::collections::{BTreeSet, HashMap};

/// An inventory is not as deep as this.
const DEPTH: usize = 64;

/// A zone and its region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The zone.
    pub zone: String,
    /// The region.
    pub region: String,
}

/// The places of machines; without a place if none of their ways has both tags.
pub type Places = HashMap<Reference, Option<Place>>;

/// The ways upwards: from the host, from the resource pool, from the machine itself. The first one that has both tags counts.
const WAYS: [fn(&Machine) -> Option<Reference>; 3] = [Machine::host, Machine::pool, |machine| {
    Some(machine.reference().clone())
}];

/// Finds the places of machines, with few calls for all of them.
///
/// # Errors
/// If the inventory or the tags cannot be read.
pub async fn find(api: &Api, names: &Names, categories: &Categories, machines: &[&Machine]) -> Result<Places> {
    let mut places = Places::new();
    for way in WAYS {
        let open = machines
            .iter()
            .filter(|machine| places.get(machine.reference()).is_none_or(Option::is_none));
        let starts: Vec<(Reference, Reference)> = open
            .filter_map(|machine| Some((machine.reference().clone(), way(machine)?)))
            .collect();
        if starts.is_empty() {
            continue;
        }
        let distinct: BTreeSet<Reference> = starts.iter().map(|(_, start)| start.clone()).collect();
        let inventory = api
            .ancestors(&Vec::from_iter(distinct))
            .await
            .map_err(Error::of_batch)?;
        let objects: Vec<Reference> = inventory.keys().cloned().collect();
        let tags = api.tags(&objects, names).await.map_err(Error::of_batch)?;
        for (machine, start) in starts {
            places.insert(machine, place(&chain(&inventory, &start), &tags, categories));
        }
    }
    Ok(places)
}

/// The error of a machine without a place.
pub fn missing(machine: &Machine, categories: &Categories) -> Error {
    let Categories { zone, region } = categories;
    machine.unusable(format!(
        "neither its host, nor its resource pool, nor its folder, nor what is above them, has tags of both categories {zone:?} and {region:?}"
    ))
}

/// An object and those above it, the nearest first.
fn chain(inventory: &Inventory, start: &Reference) -> Vec<Reference> {
    let parent = |reference: &Reference| inventory.get(reference)?.1.clone();
    std::iter::successors(Some(start.clone()), parent).take(DEPTH).collect()
}

/// The nearest tag of each category; a place has both.
fn place(chain: &[Reference], tags: &Tags, categories: &Categories) -> Option<Place> {
    let nearest = |category: &str| {
        let mut above = chain.iter().filter_map(|object| tags.get(object)).flatten();
        let tag: &Tag = above.find(|tag| tag.category == category)?;
        Some(tag.name.clone())
    };
    Some(Place {
        zone: nearest(&categories.zone)?,
        region: nearest(&categories.region)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    /// `host cluster datacenter`, each with the tags in `tags`: `cluster:zone=a`.
    fn found(tags: &str) -> String {
        let objects = ["host", "cluster", "datacenter"].map(|id| Reference::new("ManagedEntity", id));
        let parents = objects[1..].iter().cloned().map(Some).chain([None]);
        let inventory: Inventory = objects
            .iter()
            .cloned()
            .zip(parents.map(|parent| (String::new(), parent)))
            .collect();
        let mut all = Tags::new();
        for (object, tag) in tags.split_whitespace().map(|tag| tag.split_once(':').unwrap()) {
            let (category, name) = tag.split_once('=').unwrap();
            let tag = Tag {
                name: name.to_owned(),
                category: category.to_owned(),
            };
            all.entry(Reference::new("ManagedEntity", object))
                .or_default()
                .push(tag);
        }
        let categories = Categories {
            zone: "zone".to_owned(),
            region: "region".to_owned(),
        };
        let place = place(&chain(&inventory, &objects[0]), &all, &categories);
        place.map_or_else(String::new, |place| format!("{}/{}", place.region, place.zone))
    }

    #[rstest]
    #[case::different_levels("cluster:zone=a datacenter:region=r", "r/a")]
    #[case::the_nearest_counts("host:zone=h cluster:zone=a cluster:region=r datacenter:region=s", "r/h")]
    #[case::other_categories("host:rack=1 cluster:zone=a datacenter:region=r", "r/a")]
    #[case::zone_only("cluster:zone=a", "")]
    #[case::region_only("datacenter:region=r", "")]
    #[case::nothing("", "")]
    #[case::names_are_exact("cluster:Zone=a datacenter:region=r", "")]
    fn places(#[case] tags: &str, #[case] expected: &str) {
        assert_eq!(found(tags), expected);
    }

    #[test]
    fn a_loop_in_the_inventory_ends() {
        let [a, b] = ["a", "b"].map(|id| Reference::new("Folder", id));
        let inventory = Inventory::from([
            (a.clone(), (String::new(), Some(b.clone()))),
            (b, (String::new(), Some(a.clone()))),
        ]);
        assert_eq!(chain(&inventory, &a).len(), DEPTH);
    }
}
