//! Invalid flags: one sentence each, all of them at once, before anything starts.

use crate::fixture::{Exit, run};
use rstest::rstest;

fn ccm(flags: &str) -> Exit {
    let args: Vec<_> = ["ccm"].into_iter().chain(flags.split_whitespace()).collect();
    run(&args)
}

#[rstest]
#[case::near_miss("--leader-elekt", "unknown flag: --leader-elekt, did you mean --leader-elect?")]
#[case::nothing_like_it("--frobnicate=1", "unknown flag: --frobnicate")]
#[case::no_value("--kubeconfig", "flag needs an argument: --kubeconfig")]
#[case::argument("start", r#""outrigger ccm" does not take any arguments, got "start""#)]
#[case::unknown_controller(
    "--controllers=*,-fantasy",
    r#""fantasy" is not in the list of known controllers (--controllers)"#
)]
#[case::near_controller(
    "--controllers=servce",
    r#""servce" is not in the list of known controllers, did you mean service? (--controllers)"#
)]
#[case::bad_cidr(
    "--cluster-cidr=10.0.0.0/33",
    r#"invalid argument "10.0.0.0/33" for "--cluster-cidr" flag: "10.0.0.0/33" is not a network such as 10.244.0.0/16"#
)]
#[case::two_of_one_family(
    "--cluster-cidr=10.0.0.0/16,10.1.0.0/16",
    r#"invalid argument "10.0.0.0/16,10.1.0.0/16" for "--cluster-cidr" flag: two networks must be of different families, one IPv4 and one IPv6"#
)]
#[case::node_range_larger_than_all(
    "--controllers=node-ipam-controller --allocate-node-cidrs --cluster-cidr=10.0.0.0/16 --node-cidr-mask-size=12",
    "a node's range /12 does not fit into the cluster CIDR 10.0.0.0/16: choose a mask from 16 to 32"
)]
#[case::no_range_for_nodes(
    "--controllers=node-ipam-controller --allocate-node-cidrs",
    "node-ipam-controller needs --cluster-cidr: name the range that pods get their addresses from"
)]
#[case::equal_ports(
    "--secure-port=10260",
    "--webhook-secure-port cannot be the same value as --secure-port"
)]
#[case::port_out_of_range(
    "--secure-port=65536",
    r#"invalid argument "65536" for "--secure-port" flag: must be between 0 and 65535, inclusive"#
)]
#[case::lease_shorter_than_renewal(
    "--leader-elect-lease-duration=5s",
    "--leader-elect-lease-duration (5s) must be greater than --leader-elect-renew-deadline (10s)"
)]
#[case::renewal_shorter_than_a_try(
    "--leader-elect-renew-deadline=2s",
    "--leader-elect-renew-deadline (2s) must be greater than 1.2 times --leader-elect-retry-period (2s)"
)]
#[case::not_a_duration(
    "--node-monitor-period=5",
    r#"invalid argument "5" for "--node-monitor-period" flag: not a duration such as 300ms, 1.5h or 2h45m"#
)]
#[case::no_workers(
    "--concurrent-service-syncs=0",
    "--concurrent-service-syncs must be a positive number"
)]
#[case::certificate_without_key(
    "--tls-cert-file=/tmp/a.crt",
    "--tls-cert-file is given without --tls-private-key-file, give both or none"
)]
#[case::log_format(
    "--logging-format=xml",
    r#"invalid argument "xml" for "--logging-format" flag: unsupported log format, use text or json"#
)]
#[case::not_a_switch(
    "--leader-elect=maybe",
    r#"invalid argument "maybe" for "--leader-elect" flag: neither true nor false"#
)]
fn one_wrong_flag_is_one_sentence(#[case] flags: &str, #[case] sentence: &str) {
    let exit = ccm(&format!("--cloud-provider=memory {flags}"));
    assert_eq!((exit.code, exit.stderr), (1, format!("Error: {sentence}\n")));
    assert_eq!(exit.stdout, "");
}

#[test]
fn no_provider_is_an_error() {
    let exit = ccm("");
    let sentence = "Error: --cloud-provider cannot be empty, set it to the name of a cloud provider\n";
    assert_eq!((exit.code, exit.stderr.as_str()), (1, sentence));
}

#[test]
fn all_wrong_flags_are_reported_together() {
    let exit = ccm(
        "--secure-port=99999 --kube-api-qps=fast --controllers=fantasy --cluster-cidr=here \
         --leader-elect-lease-duration=5s --concurrent-node-syncs=0",
    );
    assert_eq!(exit.code, 1);
    let lines: Vec<_> = exit.stderr.lines().collect();
    let wrong = [
        "--secure-port",
        "--kube-api-qps",
        "fantasy",
        "--cluster-cidr",
        "--leader-elect-lease-duration",
        "--concurrent-node-syncs",
        "--cloud-provider",
    ];
    for flag in wrong {
        let about: Vec<_> = lines.iter().filter(|line| line.contains(flag)).collect();
        assert_eq!(about.len(), 1, "{flag} must be in one line of:\n{}", exit.stderr);
    }
    assert_eq!(lines.len(), wrong.len(), "{}", exit.stderr);
    assert!(lines.iter().all(|line| line.starts_with("Error: ")), "{}", exit.stderr);
}
