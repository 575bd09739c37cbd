//! Pod networks for nodes.

use crate::{Options, controllers_flag::NODE_IPAM};
use runtime::flags::{Problems, quote};

pub(super) fn validate(options: &Options) -> Problems {
    let mut problems = Problems::default();
    if !runs(options) {
        return problems;
    }
    let cloud = &options.generic.cloud;
    if cloud.cidr_allocator_type != "RangeAllocator" {
        let given = quote(&cloud.cidr_allocator_type);
        problems.push(format!(
            "--cidr-allocator-type must be RangeAllocator, {given} is not supported"
        ));
    }
    for problem in options
        .node_ipam
        .settings(&cloud.cluster_cidr)
        .err()
        .unwrap_or_default()
    {
        problems.push(problem);
    }
    problems
}

pub(super) fn warnings(options: &Options) -> Option<String> {
    match (
        options.wants(NODE_IPAM.name),
        options.generic.cloud.allocate_node_cidrs.is_on(),
    ) {
        (true, false) => Some(format!(
            "{} has no effect without --allocate-node-cidrs",
            NODE_IPAM.name
        )),
        (false, true) => Some(format!(
            "--allocate-node-cidrs has no effect, because --controllers does not name {}",
            NODE_IPAM.name
        )),
        _ => None,
    }
}

fn runs(options: &Options) -> bool {
    options.wants(NODE_IPAM.name) && options.generic.cloud.allocate_node_cidrs.is_on()
}
