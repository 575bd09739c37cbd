//! The options of the operator: the flags of the two programs that it replaces, and a few of its own.

pub(crate) mod klog;

use crate::platforms::tls;
use crate::trusted_ca;
use klog::Klog;
use runtime::{
    flags::{GoDuration, Parsed, Problems, Section, Set, Show, Strings, Switch, Version},
    logging,
    serve::address,
    version,
};
use std::collections::BTreeMap;

/// The name of the lock of the operator.
pub const OPERATOR_LOCK: &str = "cluster-cloud-controller-manager-leader";
/// The name of the lock of the process that writes the cloud configuration.
pub const SYNC_LOCK: &str = "cluster-cloud-config-sync-leader";
/// The namespace of the operands by default.
pub const MANAGED_NAMESPACE: &str = "openshift-cloud-controller-manager";

const ABOUT: &str = "Installs, configures, upgrades and removes the cloud controller manager.";

/// Which of the two original programs is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Role {
    /// Both: `cluster-controller-manager-operator`.
    #[default]
    Operator,
    /// Only the cloud configuration and the trusted certificates: `config-sync-controllers`.
    ConfigSync,
}

/// The options of the operator.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The requested program.
    pub role: Role,
    /// Where metrics are served; `0` disables them.
    pub metrics_address: String,
    /// Where health is served.
    pub health_address: String,
    /// Accepted without effect, as in the original, which serves no webhook either.
    pub webhook_port: i32,
    /// The namespace of the operands.
    pub namespace: String,
    /// The file with the images of the operands.
    pub images: String,
    /// The name of the operator's own Pod; empty if its image is in `images`.
    pub own_pod: String,
    /// The Service of the metrics, if the operator has to issue its certificate; else empty.
    pub metrics_service: String,
    /// Additional labels of the objects for Prometheus, each as `label=value`.
    pub monitor_labels: Strings,
    /// The certificates of the system.
    pub system_bundle: String,
    /// The folder with the certificate of the metrics port.
    pub cert_dir: String,
    /// The minimum version of TLS; empty for the cluster's profile.
    pub tls_min_version: String,
    /// The cipher suites; empty for the cluster's profile.
    pub tls_cipher_suites: Strings,
    /// The leader election.
    pub election: Election,
    /// How to reach the API server.
    pub kubeconfig: String,
    /// Whether to print what would change, and exit.
    pub dry_run: Switch,
    /// How to log.
    pub logging: logging::Options,
    /// Further flags of the log library of the original programs.
    pub klog: Klog,
    /// `--help`.
    pub help: Switch,
    /// `--version`.
    pub version: Version,
    /// Which flags were given, and warnings.
    pub parsed: Parsed,
}

/// The leader election. Durations of zero are set when the operator starts.
#[derive(Debug, Clone, PartialEq)]
pub struct Election {
    /// Whether there is an election.
    pub elect: Switch,
    /// How long other replicas wait after the last renewal of the leader.
    pub lease_duration: GoDuration,
    /// How long the leader retries a renewal before it gives up.
    pub renew_deadline: GoDuration,
    /// The pause between attempts.
    pub retry_period: GoDuration,
    /// Ignored: it is always a Lease.
    pub resource_lock: String,
    /// The name of the lock.
    pub resource_name: String,
    /// The namespace of the lock; empty for the operator's own.
    pub resource_namespace: String,
}

/// What a command line requests.
#[derive(Debug)]
pub enum Invocation {
    /// Run with these options.
    Run(Box<Options>),
    /// Print this and exit with 0.
    Print(String),
}

/// All problems of a command line.
#[derive(Debug)]
pub struct Refused {
    /// Each one sentence.
    pub problems: Problems,
    /// The kind of the problems.
    pub because: Because,
}

/// The kind of problems; the original programs exit with different codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Because {
    /// A flag does not exist, or its value cannot be parsed.
    Syntax,
    /// Every flag can be parsed, but the values cannot be used.
    Values,
}

impl Options {
    /// The defaults of a program.
    #[must_use]
    pub fn new(role: Role) -> Self {
        let lock = match role {
            Role::Operator => OPERATOR_LOCK,
            Role::ConfigSync => SYNC_LOCK,
        };
        Self {
            role,
            metrics_address: if role == Role::Operator { ":9258" } else { "0" }.to_owned(),
            health_address: ":9440".to_owned(),
            webhook_port: 9443,
            namespace: MANAGED_NAMESPACE.to_owned(),
            images: "/etc/cloud-controller-manager-config/images.json".to_owned(),
            own_pod: String::new(),
            metrics_service: String::new(),
            monitor_labels: Strings::default(),
            system_bundle: trusted_ca::SYSTEM_FILE.to_owned(),
            cert_dir: "/tmp/k8s-metrics-server/serving-certs".to_owned(),
            tls_min_version: String::new(),
            tls_cipher_suites: Strings::default(),
            election: Election::new(lock),
            kubeconfig: String::new(),
            dry_run: Switch::Off,
            logging: logging::Options::default(),
            klog: Klog::default(),
            help: Switch::Off,
            version: Version::default(),
            parsed: Parsed::default(),
        }
    }

    /// Parses and validates a command line (without the program's name).
    ///
    /// # Errors
    /// All problems at once.
    pub fn parse(program: &str, role: Role, args: Vec<String>) -> Result<Invocation, Refused> {
        let mut options = Self::new(role);
        let set = options.set(program);
        let help = set.help(Show::for_stdout());
        options.parsed = set.parse_all(args);
        let mut problems = std::mem::take(&mut options.parsed.unknown);
        let to_print = options.to_print(help);
        if to_print.is_none() {
            problems.append(std::mem::take(&mut options.parsed.problems));
        }
        let because = match problems.iter().next() {
            Some(_) => Because::Syntax,
            None => Because::Values,
        };
        let invocation = if let Some(text) = to_print {
            Invocation::Print(text)
        } else {
            options.validate(&mut problems);
            Invocation::Run(Box::new(options))
        };
        problems
            .or(invocation)
            .map_err(|problems| Refused { problems, because })
    }

    /// All flags, borrowed from the options.
    pub fn set<'a>(&'a mut self, program: &str) -> Set<'a> {
        let role = self.role;
        let mut sections = vec![
            Section::new("operator")
                .flag(
                    "health-addr",
                    &mut self.health_address,
                    "Where /healthz and /readyz are served, without TLS.",
                )
                .flag(
                    "namespace",
                    &mut self.namespace,
                    "Namespace of the cloud controller manager and everything that belongs to it.",
                )
                .flag(
                    "system-ca-bundle",
                    &mut self.system_bundle,
                    "Certificates of the system, to which those of the cluster are added.",
                )
                .flag(
                    "kubeconfig",
                    &mut self.kubeconfig,
                    "Path of a kubeconfig file. Empty: KUBECONFIG, the in-cluster configuration, then ~/.kube/config.",
                ),
            self.election.section(),
        ];
        if role == Role::Operator {
            sections.push(
                Section::new("serving and operands")
                    .flag("metrics-bind-address", &mut self.metrics_address, "Where metrics are served, with TLS. 0: nowhere.")
                    .flag("metrics-cert-dir", &mut self.cert_dir, "Folder with tls.crt and tls.key for the metrics; read again when they change. A self-signed certificate serves until there is one.")
                    .flag("webhook-port", &mut self.webhook_port, "Accepted and unused: there is no webhook.")
                    .flag("images-json", &mut self.images, "File that says which image each cloud controller manager runs.")
                    .flag("own-pod", &mut self.own_pod, "Name of the Pod that this runs in: managers run the image of its first container, and --images-json is not read for them.")
                    .flag("metrics-service", &mut self.metrics_service, "Service of the metrics, in --namespace: the operator issues the certificate for its name, into a Secret that --metrics-cert-dir mounts, and configures Prometheus.")
                    .flag("monitor-labels", &mut self.monitor_labels, "Additional labels of every ServiceMonitor and PrometheusRule, as label=value, for a Prometheus that selects by label.")
                    .flag("tls-min-version", &mut self.tls_min_version, "Oldest version of TLS, for the metrics and for what is installed, instead of the cluster's profile.")
                    .flag("tls-cipher-suites", &mut self.tls_cipher_suites, "Cipher suites, likewise. Ignored with TLS 1.3.")
                    .flag("dry-run", &mut self.dry_run, "Print what would change, as kubectl diff would, and end without changing anything."),
            );
        }
        let global = Section::new("global")
            .short('h', "help", &mut self.help, "Show all flags.")
            .flag("version", &mut self.version, "Print the version and quit.");
        sections.push(self.klog.flags(self.logging.flags(global)));
        Set::new(program, ABOUT, sections)
    }

    fn to_print(&self, help: String) -> Option<String> {
        match self.version {
            _ if self.help.is_on() => Some(help),
            Version::Print => Some(format!("Outrigger {}\n", version::Info::current())),
            Version::Raw => Some(format!("{:?}\n", version::Info::current())),
            Version::Run => None,
        }
    }

    fn validate(&self, problems: &mut Problems) {
        for (flag, value) in [
            ("metrics-bind-address", &self.metrics_address),
            ("health-addr", &self.health_address),
        ] {
            problems.check(
                address(value)
                    .map(|_| ())
                    .map_err(|why| format!("--{flag}={value}: {why}")),
            );
        }
        let tls = tls::resolve(&self.tls_min_version, &self.tls_cipher_suites.0, None);
        problems.check(tls.map(|_| ()).map_err(|error| error.to_string()));
        if let Err(label) = labels(&self.monitor_labels) {
            problems.push(format!("--monitor-labels: {label:?} is not of the form label=value"));
        }
        if self.namespace.is_empty() {
            problems.push("--namespace is empty: say where the operands live");
        }
        let durations = self.election.durations();
        let given = durations.iter().filter(|duration| duration.is_positive()).count();
        if durations.iter().any(|duration| duration.is_negative()) {
            problems.push("--leader-elect-lease-duration, -renew-deadline and -retry-period must not be negative");
        } else if given == durations.len() && !(durations[0] > durations[1] && durations[1] > durations[2]) {
            problems.push(
                "--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline, \
                 and that longer than --leader-elect-retry-period",
            );
        }
    }
}

/// Labels, each given as `label=value`.
///
/// # Errors
/// The first one that has another form.
pub(crate) fn labels(given: &Strings) -> Result<BTreeMap<String, String>, String> {
    let pairs = given.0.iter().map(|label| match label.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(label.clone()),
    });
    pairs.collect()
}

impl Election {
    fn new(lock: &str) -> Self {
        Self {
            elect: Switch::On,
            lease_duration: GoDuration::default(),
            renew_deadline: GoDuration::default(),
            retry_period: GoDuration::default(),
            resource_lock: String::new(),
            resource_name: lock.to_owned(),
            resource_namespace: String::new(),
        }
    }

    /// Lease, renewal, retry.
    #[must_use]
    pub fn durations(&self) -> [GoDuration; 3] {
        [self.lease_duration, self.renew_deadline, self.retry_period]
    }

    fn section(&mut self) -> Section<'_> {
        Section::new("leader election")
            .flag(
                "leader-elect",
                &mut self.elect,
                "Elect a leader among the replicas, and work only while leading.",
            )
            .flag(
                "leader-elect-lease-duration",
                &mut self.lease_duration,
                "How long the others wait after the leader's last renewal. 0: 137s, or 270s on a single node.",
            )
            .flag(
                "leader-elect-renew-deadline",
                &mut self.renew_deadline,
                "How long the leader tries to renew before it stops leading. 0: 107s, or 240s on a single node.",
            )
            .flag(
                "leader-elect-retry-period",
                &mut self.retry_period,
                "Pause between tries. 0: 26s, or 60s on a single node.",
            )
            .flag(
                "leader-elect-resource-lock",
                &mut self.resource_lock,
                "Accepted and ignored: the lock is a Lease.",
            )
            .flag(
                "leader-elect-resource-name",
                &mut self.resource_name,
                "Name of the lock.",
            )
            .flag(
                "leader-elect-resource-namespace",
                &mut self.resource_namespace,
                "Namespace of the lock. Empty: the one this runs in.",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn parse(role: Role, line: &str) -> Result<Options, Vec<String>> {
        let args = line.split_whitespace().map(str::to_owned).collect();
        match Options::parse("operator", role, args) {
            Ok(Invocation::Run(options)) => Ok(*options),
            Ok(Invocation::Print(text)) => Err(vec![text]),
            Err(refused) => Err(refused.problems.iter().map(str::to_owned).collect()),
        }
    }

    /// The klog flags that a customised Deployment may have, as klog spells them, in both programs.
    #[rstest]
    fn klogs_flags_are_accepted_without_effect(
        #[values(Role::Operator, Role::ConfigSync)] role: Role,
        #[values(
            "--add_dir_header",
            "--alsologtostderr",
            "--alsologtostderr=true",
            "--alsologtostderrthreshold=WARNING",
            "--legacy_stderr_threshold_behavior=false",
            "--log_backtrace_at=main.go:12",
            "--log_dir=/var/log",
            "--log_file=/var/log/operator.log",
            "--log_file /var/log/operator.log",
            "--log_file_max_size=100",
            "--logtostderr",
            "--logtostderr=false",
            "--one_output",
            "--skip_headers=true",
            "--skip_log_headers",
            "--stderrthreshold=2",
            "--stderrthreshold=INFO"
        )]
        line: &str,
    ) {
        let options = parse(role, line).expect("accepted");
        let plain = parse(role, "").expect("accepted");
        assert_eq!(
            Options {
                klog: plain.klog.clone(),
                parsed: plain.parsed.clone(),
                ..options
            },
            plain
        );
        let name = line.trim_start_matches('-').split(['=', ' ']).next().expect("a name");
        let help = parse(role, "--help").expect_err("printed").remove(0);
        let message = help
            .lines()
            .find(|text| text.split_whitespace().next() == Some(&format!("--{}", name.replace('_', "-"))));
        assert!(
            message.is_some_and(|text| text.contains("Accepted, without effect")),
            "{name}: {help}"
        );
    }

    /// The arguments of the original Deployment, for both containers.
    #[rstest]
    #[case::operator(
        Role::Operator,
        "--leader-elect=true --leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s \
         --leader-elect-retry-period=26s --leader-elect-resource-namespace=openshift-cloud-controller-manager-operator \
         --images-json=/etc/cloud-controller-manager-config/images.json --metrics-bind-address=:9258 \
         --health-addr=127.0.0.1:9259 --webhook-port=9443"
    )]
    #[case::config_sync(
        Role::ConfigSync,
        "--leader-elect=true --leader-elect-lease-duration=137s --leader-elect-renew-deadline=107s \
         --leader-elect-retry-period=26s --leader-elect-resource-namespace=openshift-cloud-controller-manager-operator \
         --health-addr=127.0.0.1:9260"
    )]
    fn starts_as_shipped(#[case] role: Role, #[case] line: &str) {
        let options = parse(role, line).expect("accepted");
        assert_eq!(options.namespace, MANAGED_NAMESPACE);
        assert_eq!(
            options.election.durations().map(|duration| duration.std().as_secs()),
            [137, 107, 26]
        );
    }

    #[test]
    fn reports_all_problems_at_once() {
        let problems = parse(
            Role::Operator,
            "--metrics-bind-address=here --namespace= --leader-elect-lease-duration=1s \
             --leader-elect-renew-deadline=2s --leader-elect-retry-period=3s --monitor-labels=release --frobnicate",
        )
        .expect_err("refused");
        assert_eq!(problems.len(), 5, "{problems:#?}");
    }
}
