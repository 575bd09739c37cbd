//! The ignored tests that `make test` runs. `make test-full` runs all of them.
//!
//! On the real `OpenStack` services `make test` keeps what a simulation cannot prove: the recordings that hold the simulation to
//! the truth, the conformance suite, and a few scenarios from end to end. Everything else that runs there runs on the simulation,
//! too. What is left out is listed at the end of `make test`.

use super::{programs::Program, results::Record};
use anyhow::{Result, bail};
use std::collections::VecDeque;

/// The test program, and how the names of the tests begin that are kept.
const KEPT: &[(&str, &str)] = &[
    // The simulation answers as the services do.
    ("sim truth", ""),
    ("openstack conformance", "on_the_real_services"),
    // The manager as a process: nodes, a Service that is created, changed and deleted, and a restart that writes nothing.
    ("outrigger openstack", "real::"),
    // The manager takes over from the Go program, with its state.
    ("outrigger openstack", "swap::nothing_changes_on_the_real_services"),
    // One story of each kind of object.
    (
        "openstack",
        "load_balancers::tests::error_status::on_the_real_services::error_during_creation",
    ),
    (
        "openstack",
        "load_balancers::tests::create::on_the_real_services::create_annotate_nothing",
    ),
    (
        "openstack",
        "load_balancers::tests::addresses::on_the_real_services::two_families",
    ),
    (
        "openstack",
        "load_balancers::tests::calls::on_the_real_services::restart",
    ),
    (
        "openstack",
        "load_balancers::floating_ip::tests::scenarios::on_the_real_services::deleted_with_the_load_balancer",
    ),
    (
        "openstack",
        "load_balancers::security_group::tests::scenarios::on_the_real_services::opens_node_ports_on_the_nodes",
    ),
];

/// Which of the tests of one program to run, by name.
#[derive(Debug, Default, PartialEq, Eq)]
struct Selection {
    kept: Vec<String>,
    left: Vec<String>,
}

/// Confines the programs to what is kept; returns them, and what is left out.
pub(super) fn apply(programs: VecDeque<Program>) -> Result<(VecDeque<Program>, Vec<Record>)> {
    let (mut chosen, mut left) = (VecDeque::new(), Vec::new());
    for mut program in programs {
        let selection = select(&program.name, program.list()?)?;
        left.extend(selection.left.into_iter().map(|name| Record::Left {
            program: program.name.clone(),
            name,
        }));
        if !selection.kept.is_empty() {
            program.confine(&selection.kept);
            chosen.push_back(program);
        }
    }
    Ok((chosen, left))
}

fn select(program: &str, tests: Vec<String>) -> Result<Selection> {
    let kept: Vec<_> = KEPT.iter().filter(|(name, _)| *name == program).collect();
    for (_, beginning) in &kept {
        if !tests.iter().any(|test| test.starts_with(beginning)) {
            bail!("{program} has no ignored test {beginning}…, which xtask/src/suite/selection.rs keeps");
        }
    }
    let (kept, left) = tests
        .into_iter()
        .partition(|test| kept.iter().any(|(_, beginning)| test.starts_with(beginning)));
    Ok(Selection { kept, left })
}

#[cfg(test)]
mod tests {
    use super::{Selection, select};

    fn tests(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn tests_that_are_not_kept_are_left_out_and_named() {
        let all = tests(&["on_the_real_services", "other"]);
        let expected = Selection {
            kept: tests(&["on_the_real_services"]),
            left: tests(&["other"]),
        };
        assert_eq!(select("openstack conformance", all).unwrap(), expected);
    }

    #[test]
    fn a_program_that_is_not_listed_is_left_out() {
        let selection = select("outrigger operator", tests(&["for_long"])).unwrap();
        assert_eq!(selection.left, ["for_long"]);
    }

    #[test]
    fn a_kept_test_that_does_not_exist_is_an_error() {
        let error = select("openstack conformance", tests(&["renamed"])).unwrap_err();
        assert!(error.to_string().contains("on_the_real_services"), "{error}");
    }
}
