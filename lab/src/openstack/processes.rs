//! What each process of a cloud is: its program, its arguments, its environment.

use super::{
    catalog::{Ports, Service},
    writes,
};
use anyhow::{Context, Result};
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const RABBITMQ: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
/// What must be installed, and the Debian package it is in.
const PROGRAMS: [(&str, &str); 7] = [
    ("mariadbd", "mariadb-server-core"),
    ("mariadb-install-db", "mariadb-server-core"),
    ("mariadb", "mariadb-client-core"),
    (RABBITMQ, "rabbitmq-server"),
    ("epmd", "erlang-base"),
    ("nginx", "nginx-light"),
    ("memcached", "memcached"),
];

/// Environment variables.
pub(super) type Environment = Vec<(&'static str, String)>;

/// A process to be started.
pub(super) struct Process {
    pub name: &'static str,
    pub program: PathBuf,
    pub args: Vec<String>,
    pub env: Environment,
}

/// Where the parts of a cloud are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    pub folder: &'a Path,
    pub venv: &'a Path,
    pub drivers: &'a Path,
}

impl Place<'_> {
    pub fn mariadb(self) -> Result<Process> {
        let folder = self.folder.display();
        // Nothing here has to survive a power failure.
        let args = format!(
            "--no-defaults{} --datadir={folder}/mysql --skip-networking --socket={folder}/mysql.sock \
             --pid-file={folder}/mysqld.pid --tmpdir={folder}/data --skip-log-bin --skip-name-resolve \
             --max-connections=1000 --performance-schema=OFF --character-set-server=utf8mb3 \
             --innodb-flush-log-at-trx-commit=0 --innodb-doublewrite=0 --innodb-flush-method=nosync \
             --innodb-buffer-pool-size=256M --innodb-log-file-size=32M",
            as_root(" --user=root")
        );
        Ok(process("mariadb", find("mariadbd")?, &args))
    }

    pub fn memcached(ports: &Ports) -> Result<Process> {
        let args = format!("-l 127.0.0.1 -p {} -U 0 -m 64{}", ports.memcached, as_root(" -u root"));
        Ok(process("memcached", find("memcached")?, &args))
    }

    pub fn nginx(self) -> Result<Process> {
        let folder = self.folder.display();
        let args = format!("-e stderr -p {folder} -c {folder}/etc/nginx.conf");
        Ok(process("nginx", find("nginx")?, &args))
    }

    /// Configures where the broker's processes find each other.
    pub fn epmd(ports: &Ports) -> Result<Process> {
        let args = format!("-address 127.0.0.1 -port {}", ports.epmd);
        Ok(process("epmd", find("epmd")?, &args))
    }

    pub fn rabbitmq(self, ports: &Ports) -> Result<Process> {
        let folder = self.folder.join("rabbit");
        let own = |file: &str| folder.join(file).display().to_string();
        let erlang = "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none +A 8";
        let mut broker = process("rabbitmq", find(RABBITMQ)?, "");
        broker.env = vec![
            ("HOME", own("")),
            ("ERL_EPMD_PORT", ports.epmd.to_string()),
            ("ERL_EPMD_ADDRESS", "127.0.0.1".to_owned()),
            ("RABBITMQ_NODENAME", "lab@localhost".to_owned()),
            ("RABBITMQ_MNESIA_BASE", own("")),
            ("RABBITMQ_LOG_BASE", own("")),
            ("RABBITMQ_PID_FILE", own("pid")),
            ("RABBITMQ_ENABLED_PLUGINS_FILE", own("plugins")),
            ("RABBITMQ_CONFIG_FILE", self.etc("rabbitmq.conf")),
            ("RABBITMQ_CONF_ENV_FILE", "/dev/null".to_owned()),
            ("RABBITMQ_DIST_PORT", ports.distribution.to_string()),
            ("RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS", erlang.to_owned()),
            // Then the script becomes the broker, instead of waiting for it: what we kill is the broker itself.
            ("RUNNING_UNDER_SYSTEMD", "true".to_owned()),
            ("LC_ALL", "C.UTF-8".to_owned()),
        ];
        Ok(broker)
    }

    /// An API: processes with threads, each on its own, so that there is no master that its workers could outlive.
    pub fn api(self, service: Service) -> Vec<Process> {
        let names = service.processes().iter();
        names.map(|name| self.api_process(service, name)).collect()
    }

    fn api_process(self, service: Service, name: &'static str) -> Process {
        let (module, threads) = match service {
            // It keeps the token of the request it serves where all its threads see it: with two, one is taken for the other.
            Service::Keystone => ("keystone.wsgi.api", 1),
            Service::Nova => ("nova.wsgi.osapi_compute", 10),
            Service::Neutron => ("neutron.wsgi.api", 10),
            Service::Placement => ("placement.wsgi.api", 6),
            Service::Glance => ("glance.wsgi.api", 4),
            Service::Octavia => ("octavia.wsgi.api", 8),
        };
        let socket = self.folder.join(format!("{name}.sock"));
        let args = format!(
            "--socket {} --module labdrivers.door:application --processes 1 --threads {threads} --listen 100 \
             --buffer-size 65535 --need-app --single-interpreter --disable-logging --die-on-term",
            socket.display()
        );
        let mut api = process(name, self.venv.join("bin/uwsgi"), &args);
        api.env = self.python();
        api.env.push(("LAB_APPLICATION", module.to_owned()));
        let writes = self.folder.join(writes::FOLDER);
        api.env.push(("LAB_WRITES", writes.display().to_string()));
        if service == Service::Octavia {
            api.args
                .push(format!("--pyargv=--config-file={}", self.etc("octavia.conf")));
        }
        api
    }

    /// What works behind an API: `nova-compute` for example.
    pub fn worker(self, name: &'static str, configuration: &str) -> Process {
        let mut worker = process(name, self.venv.join("bin").join(name), "");
        worker.args = vec!["--config-file".to_owned(), self.etc(configuration)];
        worker.env = self.python();
        worker
    }

    /// What everything in Python needs: where our drivers and the configuration are, and that there is no proxy between
    /// two ends of the loopback.
    pub fn python(self) -> Environment {
        let (etc, paste) = (self.etc(""), self.venv.join("etc/nova/api-paste.ini"));
        vec![
            ("PYTHONPATH", self.drivers.display().to_string()),
            ("XDG_CACHE_HOME", self.venv.join("cache").display().to_string()),
            ("PYTHONUNBUFFERED", "1".to_owned()),
            ("MALLOC_ARENA_MAX", "2".to_owned()),
            ("NO_PROXY", "127.0.0.1,localhost".to_owned()),
            ("no_proxy", "127.0.0.1,localhost".to_owned()),
            ("LAB_BALANCERS", self.folder.join("balancers").display().to_string()),
            ("OS_KEYSTONE_CONFIG_FILES", self.etc("keystone.conf")),
            ("OS_PLACEMENT_CONFIG_DIR", etc.clone()),
            ("OS_GLANCE_CONFIG_DIR", etc.clone()),
            ("OS_NEUTRON_CONFIG_DIR", etc.clone()),
            ("OS_NEUTRON_CONFIG_FILES", "neutron.conf".to_owned()),
            ("OS_NOVA_CONFIG_DIR", etc),
            // Nova takes the first of them for its paste configuration.
            ("OS_NOVA_CONFIG_FILES", format!("{};nova.conf", paste.display())),
        ]
    }

    fn etc(self, file: &str) -> String {
        self.folder.join("etc").join(file).display().to_string()
    }
}

/// The Debian packages of what is not there.
pub(super) fn missing_packages() -> Vec<&'static str> {
    let missing = PROGRAMS.iter().filter(|(program, _)| find(program).is_err());
    let mut packages: Vec<_> = missing.map(|(_, package)| *package).collect();
    packages.dedup();
    packages
}

/// A program in PATH, or where Debian puts what is for administrators.
pub(super) fn find(program: &str) -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/bin"].map(PathBuf::from));
    let found = folders
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file());
    found.with_context(|| format!("{program} is not installed"))
}

/// Whether this process may do anything.
pub(super) fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

/// Some servers run as root only with an option.
fn as_root(option: &'static str) -> &'static str {
    if is_root() { option } else { "" }
}

fn process(name: &'static str, program: PathBuf, args: &str) -> Process {
    Process {
        name,
        program,
        args: args.split_whitespace().map(str::to_owned).collect(),
        env: Environment::new(),
    }
}
