use super::*;
use rstest::rstest;

/// What is wrong with a command line, besides what is not well formed. A cloud is given.
fn problems(args: &str) -> String {
    let mut options = Options::default();
    let args = std::iter::once("--cloud-provider=memory").chain(args.split_whitespace());
    options.parsed = options.set("ccm", Vec::new()).parse_all(args);
    validate(&options).iter().collect::<Vec<_>>().join("; ")
}

/// What is wrong with what a command line names; every one of these can reach an API server.
fn unusable(args: &str) -> String {
    let mut options = Options::default();
    let args = std::iter::once("--master=http://127.0.0.1:1").chain(args.split_whitespace());
    options.parsed = options.set("ccm", Vec::new()).parse_all(args);
    named(&options).iter().collect::<Vec<_>>().join("; ")
}

fn warned(args: &str) -> String {
    let mut options = Options::default();
    options.parsed = options.set("ccm", Vec::new()).parse(args.split_whitespace()).unwrap();
    warnings(&options).join("; ")
}

// upstream: TestNodeControllerValidation
#[rstest]
#[case("empty options", "", "")]
#[case(
    "concurrent-node-syncs negative value",
    "--concurrent-node-syncs=-5",
    "--concurrent-node-syncs must be a positive number"
)]
#[case(
    "concurrent-node-syncs zero value",
    "--concurrent-node-syncs=0",
    "--concurrent-node-syncs must be a positive number"
)]
#[case(
    "concurrent-node-syncs positive value, concurrent-node-status-updates default 0",
    "--concurrent-node-syncs=5",
    ""
)]
#[case(
    "concurrent-node-syncs positive value, concurrent-node-status-updates positive value",
    "--concurrent-node-syncs=5 --concurrent-node-status-updates=5",
    ""
)]
#[case(
    "concurrent-node-syncs positive value, concurrent-node-status-updates negative value",
    "--concurrent-node-syncs=5 --concurrent-node-status-updates=-1",
    "--concurrent-node-status-updates cannot be a negative number"
)]
fn node_controller(#[case] case: &str, #[case] args: &str, #[case] problem: &str) {
    let found = problems(args);
    assert!(
        found.starts_with(problem) && found.is_empty() == problem.is_empty(),
        "{case}: {found}"
    );
}

// upstream: TestValidateGenericControllerManagerConfigurationOptions
#[test]
fn only_leases() {
    let case = "leader election accepts only leases";
    let found = problems("--leader-elect-resource-lock=configmapsleases");
    assert!(
        found.ends_with("resourceLock value must be \"leases\""),
        "{case}: {found}"
    );
    assert_eq!(
        problems("--leader-elect=false --leader-elect-resource-lock=configmapsleases"),
        "",
        "{case}"
    );
}

#[rstest]
#[case::nothing_wrong("", "")]
#[case::no_cloud(
    "--cloud-provider=",
    "--cloud-provider cannot be empty, set it to the name of a cloud provider"
)]
#[case::controller(
    "--controllers=foo",
    "\"foo\" is not in the list of known controllers (--controllers)"
)]
#[case::near_controller(
    "--controllers=*,-rout",
    "\"rout\" is not in the list of known controllers, did you mean route? (--controllers)"
)]
#[case::webhook("--webhooks=x", "\"x\" is not in the list of known webhooks (--webhooks)")]
#[case::burst("--kube-api-burst=-1", "--kube-api-burst cannot be a negative number")]
#[case::no_limit("--kube-api-qps=-1", "")]
#[case::service_workers(
    "--concurrent-service-syncs=0",
    "--concurrent-service-syncs must be a positive number"
)]
#[case::lifecycle_workers(
    "--concurrent-node-lifecycle-syncs=0",
    "--concurrent-node-lifecycle-syncs must be a positive number"
)]
#[case::routes_without_networks("--configure-cloud-routes=true", "")]
fn generally(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case::usual("15s", "10s", "2s", "")]
#[case::equal(
    "10s",
    "10s",
    "2s",
    "--leader-elect-lease-duration (10s) must be greater than --leader-elect-renew-deadline (10s)"
)]
#[case::shorter(
    "5s",
    "10s",
    "2s",
    "--leader-elect-lease-duration (5s) must be greater than --leader-elect-renew-deadline (10s)"
)]
#[case::no_room(
    "15s",
    "10s",
    "9s",
    "--leader-elect-renew-deadline (10s) must be greater than 1.2 times --leader-elect-retry-period (9s)"
)]
#[case::just_room("15s", "10s", "8.3s", "")]
#[case::no_seconds(
    "900ms",
    "10ms",
    "1ms",
    "--leader-elect-lease-duration must be at least 1s, not 900ms"
)]
#[case::no_pause("15s", "10s", "0", "--leader-elect-retry-period must be at least 1ms, not 0s")]
#[case::negative("15s", "10s", "-2s", "--leader-elect-retry-period must be at least 1ms, not -2s")]
fn timings(#[case] lease: &str, #[case] renew: &str, #[case] retry: &str, #[case] problem: &str) {
    let args = format!(
        "--leader-elect-lease-duration={lease} --leader-elect-renew-deadline={renew} --leader-elect-retry-period={retry}"
    );
    assert_eq!(problems(&args), problem);
    assert_eq!(
        problems(&format!("--leader-elect=false {args}")),
        "",
        "no matter without an election"
    );
}

#[test]
fn a_lock_has_a_name() {
    let found = problems("--leader-elect-resource-name= --leader-elect-resource-namespace=");
    assert_eq!(
        found,
        "--leader-elect-resource-name cannot be empty while --leader-elect is true; \
         --leader-elect-resource-namespace cannot be empty while --leader-elect is true"
    );
}

#[rstest]
#[case("load-balancer-orphan-period")]
#[case("node-monitor-period")]
#[case("node-status-update-frequency")]
#[case("route-reconciliation-period")]
fn loops_pause(#[case] flag: &str) {
    assert_eq!(
        problems(&format!("--{flag}=0")),
        format!("--{flag} must be greater than zero, not 0s")
    );
    assert_eq!(
        problems(&format!("--{flag}=-1s")),
        format!("--{flag} must be greater than zero, not -1s")
    );
    assert_eq!(problems(&format!("--{flag}=1ms")), "");
}

#[rstest]
#[case("controller-start-interval")]
#[case("min-resync-period")]
#[case("authentication-token-webhook-cache-ttl")]
#[case("authorization-webhook-cache-authorized-ttl")]
#[case("authorization-webhook-cache-unauthorized-ttl")]
#[case("node-deletion-confirmation")]
#[case("node-deletion-grace-period")]
#[case("node-deletion-window")]
#[case("shutdown-grace-period")]
fn time_does_not_run_backwards(#[case] flag: &str) {
    assert_eq!(problems(&format!("--{flag}=0")), "");
    assert_eq!(
        problems(&format!("--{flag}=-1s")),
        format!("--{flag} cannot be negative, but is -1s")
    );
}

#[rstest]
#[case::same_port(
    "--secure-port=9000 --webhook-secure-port=9000",
    "--webhook-secure-port cannot be the same value as --secure-port"
)]
#[case::both_off("--secure-port=0 --webhook-secure-port=0", "")]
#[case::webhooks_nowhere(
    "--webhooks=* --webhook-secure-port=0",
    "--webhooks needs a port to serve them on, but --webhook-secure-port is 0"
)]
#[case::cert_alone(
    "--tls-cert-file=a",
    "--tls-cert-file is given without --tls-private-key-file, give both or none"
)]
#[case::key_alone(
    "--webhook-tls-private-key-file=a",
    "--webhook-tls-private-key-file is given without --webhook-tls-cert-file, give both or none"
)]
#[case::pair("--tls-cert-file=a --tls-private-key-file=b", "")]
#[case::ciphers_that_only_go_has_for_webhooks("--webhook-tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA", "")]
#[case::curves_that_only_go_has_for_webhooks("--webhook-tls-curve-preferences=25", "")]
#[case::streams(
    "--http2-max-streams-per-connection=-1",
    "--http2-max-streams-per-connection cannot be a negative number"
)]
fn serving(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case::version("--tls-min-version=TLS1.3", "--tls-min-version: ")]
#[case::cipher("--tls-cipher-suites=TLS_NONE", "--tls-cipher-suites: ")]
#[case::curve("--tls-curve-preferences=1", "--tls-curve-preferences: ")]
#[case::webhook("--webhook-tls-min-version=1", "--webhook-tls-min-version: ")]
#[case::nothing_left("--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA", "--tls-cipher-suites: ")]
#[case::no_curve_left("--tls-curve-preferences=25", "--tls-curve-preferences: ")]
fn tls(#[case] args: &str, #[case] start: &str) {
    let found = problems(args);
    assert!(found.starts_with(start), "{found}");
}

#[rstest]
#[case::blank(
    "--requestheader-username-headers=x-remote-user,",
    "empty value in --requestheader-username-headers, leave it out"
)]
#[case::blank_name(
    "--requestheader-allowed-names=,a",
    "empty value in --requestheader-allowed-names, leave it out"
)]
#[case::uid("--requestheader-uid-headers=X-Remote-Uid", "")]
#[case::uid_in_small_letters("--requestheader-uid-headers=x-remote-uid,other", "")]
#[case::not_the_uid(
    "--requestheader-uid-headers=X-Uid",
    "--requestheader-uid-headers is set without the standard X-Remote-Uid header, add it"
)]
#[case::no_gate(
    "--requestheader-uid-headers=X-Remote-Uid --feature-gates=RemoteRequestHeaderUID=false",
    "--requestheader-uid-headers requires --feature-gates=RemoteRequestHeaderUID=true"
)]
fn request_headers(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case::off_by_default("", "")]
#[case::works("--cluster-cidr=10.0.0.0/16", "")]
#[case::no_network(
    "",
    "node-ipam-controller needs --cluster-cidr: name the range that pods get their addresses from"
)]
#[case::allocator(
    "--cluster-cidr=10.0.0.0/16 --cidr-allocator-type=CloudAllocator",
    "--cidr-allocator-type must be RangeAllocator, \"CloudAllocator\" is not supported"
)]
#[case::does_not_fit(
    "--cluster-cidr=10.0.0.0/25",
    "a node's range /24 does not fit into the cluster CIDR 10.0.0.0/25: choose a mask from 25 to 32"
)]
#[case::all_of_it_is_for_services(
    "--cluster-cidr=10.0.0.0/16 --service-cluster-ip-range=10.0.0.0/12",
    "--service-cluster-ip-range leaves no /24 of the cluster CIDR 10.0.0.0/16 for a node: choose ranges that do not overlap"
)]
#[case::wrong_family(
    "--cluster-cidr=10.0.0.0/16 --node-cidr-mask-size-ipv6=64",
    "--node-cidr-mask-size-ipv6 is given, but no cluster CIDR is IPv6: remove it"
)]
fn allocation(#[case] args: &str, #[case] problem: &str) {
    let asked = if args.is_empty() && problem.is_empty() {
        ""
    } else {
        "--controllers=*,nodeipam"
    };
    assert_eq!(problems(&format!("--allocate-node-cidrs {asked} {args}")), problem);
}

#[rstest]
#[case::no_class(
    "--load-balancer-class=,a",
    "--load-balancer-class contains an empty class, use --load-balancer-without-class for Services without one"
)]
#[case::scheme(
    "--provider-id-scheme=openstack://",
    "--provider-id-scheme is the part before \"://\" of a provider ID, for example openstack"
)]
#[case::schemes("--provider-id-scheme=openstack,aws", "")]
#[case::nothing(
    "--node-deletion-max-fraction=0",
    "--node-deletion-max-fraction must be more than 0 and at most 1, not 0"
)]
#[case::too_much(
    "--node-deletion-max-fraction=1.5",
    "--node-deletion-max-fraction must be more than 0 and at most 1, not 1.5"
)]
#[case::all("--node-deletion-max-fraction=1", "")]
#[case::orphans_with_the_default_cluster_name(
    "--load-balancer-orphans=delete",
    "--load-balancer-orphans=delete needs a --cluster-name that no other cluster of the cloud has, not \"kubernetes\", \
     which is the default of all clusters"
)]
#[case::orphans_of_our_own("--load-balancer-orphans=delete --cluster-name=one", "")]
#[case::orphans_reported("--load-balancer-orphans=report", "")]
fn own_flags(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case::logging(
    "--log-text-split-stream",
    "--log-text-split-stream needs --feature-gates=LoggingAlphaOptions=true"
)]
#[case::version("--version=v99.0.0", "")]
fn global_flags(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case::refused("--leader-elect-renew-deadline=x --leader-elect-lease-duration=5s", "")]
#[case::only_alike(
    "--leader-elect-renew-deadline=x --kube-api-burst=-1",
    "--kube-api-burst cannot be a negative number"
)]
fn defaults_in_place_of_refused_values_are_not_criticised(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}

#[rstest]
#[case("the flag --a is wrong", "a", true)]
#[case("the flag --ab is wrong", "a", false)]
#[case("the flag --a-b is wrong", "a", false)]
#[case("the flags --a-b and --a", "a", true)]
#[case("(--a)", "a", true)]
fn names_flags(#[case] sentence: &str, #[case] flag: &str, #[case] named: bool) {
    assert_eq!(names(sentence, flag), named);
}

#[rstest]
#[case::nothing("", "")]
#[case::user(
    "--requestheader-username-headers=x-user",
    "--requestheader-username-headers is set without the standard X-Remote-User, so API aggregation will not work"
)]
#[case::capitals("--requestheader-group-headers=X-Remote-Group", "")]
#[case::ipam_idle(
    "--controllers=nodeipam",
    "node-ipam-controller has no effect without --allocate-node-cidrs"
)]
#[case::ipam_elsewhere(
    "--allocate-node-cidrs",
    "--allocate-node-cidrs has no effect, because --controllers does not name node-ipam-controller"
)]
#[case::no_service(
    "--load-balancer-without-class=false",
    "no Service will be served, because --load-balancer-without-class is false and no --load-balancer-class is given"
)]
#[case::only_a_class("--load-balancer-without-class=false --load-balancer-class=a", "")]
#[case::no_services_wanted("--load-balancer-without-class=false --controllers=*,-service", "")]
#[case::webhooks(
    "--webhooks=*",
    "--webhooks has no effect without --feature-gates=CloudControllerManagerWebhook=true"
)]
#[case::old_tls(
    "--tls-min-version=VersionTLS10",
    "--tls-*: VersionTLS10 is too old to be served, the minimum is VersionTLS12"
)]
fn warns(#[case] args: &str, #[case] warning: &str) {
    assert_eq!(warned(args), warning);
}

#[rstest]
#[case::nothing("", "")]
#[case::all(
    "--cloud-config=/n/a --tls-cert-file=/n/b --tls-private-key-file=/n/c --tls-sni-cert-key=/n/d,/n/e --client-ca-file=/n/f \
     --requestheader-client-ca-file=/n/g",
    "--cloud-config: cannot read /n/a: NONE; --tls-cert-file: cannot read /n/b: NONE; --tls-private-key-file: cannot read \
     /n/c: NONE; --tls-sni-cert-key: cannot read /n/d: NONE; --tls-sni-cert-key: cannot read /n/e: NONE; --client-ca-file: \
     cannot read /n/f: NONE; --requestheader-client-ca-file: cannot read /n/g: NONE"
)]
#[case::a_folder("--cloud-config=/", "--cloud-config: cannot read /: is a directory")]
#[case::existing_files("--cloud-config=/etc/passwd --client-ca-file=/etc/passwd", "")]
#[case::files_that_are_read_once("--cloud-config=/dev/null --kubeconfig=/dev/stdin", "")]
#[case::kubeconfigs(
    "--kubeconfig=/n/a --authentication-kubeconfig=/n/b --authorization-kubeconfig=/n/c",
    "cannot read --kubeconfig=/n/a: NONE; --authentication-kubeconfig: cannot read --kubeconfig=/n/b: NONE; \
     --authorization-kubeconfig: cannot read --kubeconfig=/n/c: NONE"
)]
#[case::a_bad_address(
    "--master=ftp://x",
    "--master=\"ftp://x\" is not the URL of an API server: the scheme must be http or https"
)]
#[case::flags_of_a_closed_port(
    "--secure-port=0 --tls-cert-file=/n/b --tls-private-key-file=/n/c --client-ca-file=/n/d --authentication-kubeconfig=/n/e",
    ""
)]
#[case::flags_of_disabled_webhooks("--webhook-tls-cert-file=/n/b --webhook-tls-private-key-file=/n/c", "")]
fn unusable_names_are_reported(#[case] args: &str, #[case] expected: &str) {
    let problems = unusable(args).replace("No such file or directory (os error 2)", "NONE");
    assert_eq!(problems, expected);
}

#[rstest]
#[case::a_star_inside(
    "--authorization-always-allow-paths=/a*b",
    r#"--authorization-always-allow-paths: only trailing * allowed in "a*b""#
)]
#[case::a_star_at_the_end("--authorization-always-allow-paths=/a*,/b", "")]
#[case::without_a_port("--authorization-always-allow-paths=/a*b --secure-port=0", "")]
fn public_paths_need_no_credentials(#[case] args: &str, #[case] expected: &str) {
    assert_eq!(problems(args), expected);
}

#[rstest]
#[case::of_the_manifests(
    "--cluster-name=CHANGE-ME",
    "--cluster-name=CHANGE-ME is the placeholder of a manifest: choose a name that no other cluster of the project has"
)]
#[case::a_name("--cluster-name=prod", "")]
fn a_placeholder_is_no_name(#[case] args: &str, #[case] problem: &str) {
    assert_eq!(problems(args), problem);
}
