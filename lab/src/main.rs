//! `lab prepare` builds the programs of the lab; `lab exec -- COMMAND` runs a command beside a control plane, and an
//! `OpenStack` if asked, that its tests share; `lab openstack`, `lab aws` and `lab vsphere` run a cloud to try out, and `lab kubelet` a whole cluster.

#![allow(clippy::print_stderr, reason = "it is a command")]

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use lab::{
    aws::{Aws, Fixture},
    openstack::{self, OpenStack, Region},
    vsphere::VCenter,
};
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// What an image that is loaded is called in a pod.
const IMAGE: &str = "localhost/outrigger:lab";

#[derive(Parser)]
#[command(about = "Real systems on loopback to test and demonstrate against")]
struct Args {
    #[command(subcommand)]
    command: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Build what is not in the cache yet, so that no test waits for it.
    Prepare {
        /// Install an `OpenStack` too.
        #[arg(long)]
        openstack: bool,
        /// Install what AWS needs too, and build the Go programs for it.
        #[arg(long)]
        aws: bool,
        /// Build the Go programs for vSphere too.
        #[arg(long)]
        vsphere: bool,
        /// Build and fetch what a node needs too.
        #[arg(long)]
        kubelet: bool,
    },
    /// Run a command with `OUTRIGGER_LAB` set to a running control plane, and stop that afterwards.
    Exec {
        /// Start an `OpenStack` too, and set `OUTRIGGER_LAB_OPENSTACK` to it.
        #[arg(long)]
        openstack: bool,
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, required = true)]
        command: Vec<String>,
    },
    /// Run a cluster with one real node until interrupted, and print how to use it. Needs root.
    Kubelet {
        /// The node's name; with `localhost`, `kubectl logs` and `kubectl exec` work.
        #[arg(long, default_value = "lab-node")]
        name: String,
        /// An archive of an image to load, as `make image` writes it; it becomes `localhost/outrigger:lab`.
        #[arg(long)]
        image: Option<PathBuf>,
    },
    /// Run a fresh `OpenStack` until interrupted, and print how to use it.
    Openstack {
        /// Where it keeps its state; removed at the end.
        #[arg(long)]
        folder: Option<PathBuf>,
    },
    /// Run a fresh AWS with the network of a cluster until interrupted, and say how to use it.
    Aws,
    /// Run a fresh vCenter with one machine until interrupted, and print how to use it.
    Vsphere,
}

fn main() -> Result<ExitCode> {
    match Args::parse().command {
        Verb::Prepare {
            openstack,
            aws,
            vsphere,
            kubelet,
        } => {
            lab::assets::prepare(&["etcd", "kube-apiserver", "kubectl"])?;
            lab::assets::prepare(&["kube-controller-manager", "kube-scheduler"])?;
            if kubelet {
                lab::node::prepare()?;
            }
            lab::peer::program()?;
            lab::peer::occm()?;
            lab::peer::helm()?;
            lab::peer::kustomize()?;
            lab::openshift::prepare()?;
            if openstack {
                lab::openstack::prepare()?;
            }
            if aws {
                lab::aws::prepare()?;
                lab::peer::aws()?;
                lab::peer::ecr()?;
            }
            if vsphere {
                lab::peer::vcenter()?;
                lab::peer::vsphere()?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Verb::Exec { openstack, command } => {
            let cloud = openstack.then(OpenStack::start).transpose()?;
            exec(cloud.as_ref(), &command)
        }
        Verb::Kubelet { name, image } => run_kubelet(name, image.as_deref()),
        Verb::Openstack { folder } => run_openstack(folder),
        Verb::Aws => tokio::runtime::Runtime::new()?.block_on(run_aws()),
        Verb::Vsphere => tokio::runtime::Runtime::new()?.block_on(run_vsphere()),
    }
}

fn exec(cloud: Option<&OpenStack>, command: &[String]) -> Result<ExitCode> {
    let plane = lab::ControlPlane::start()?;
    let mut child = Command::new(&command[0]);
    child.args(&command[1..]).env("OUTRIGGER_LAB", plane.dir());
    if let Some(cloud) = cloud {
        child.env(openstack::VARIABLE, cloud.dir());
    }
    let status = child.status().with_context(|| format!("cannot run {}", command[0]))?;
    Ok(if status.success() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn run_openstack(folder: Option<PathBuf>) -> Result<ExitCode> {
    let cloud = folder.map_or_else(OpenStack::start, |folder| OpenStack::start_in(&folder))?;
    eprintln!(
        "Keystone {} and {} (CA {})\nusers admin and demo, password {}\nclouds.yaml {}\ntests: export {}={}",
        cloud.keystone(Region::Plain),
        cloud.keystone(Region::Tls),
        cloud.ca_file().display(),
        openstack::PASSWORD,
        cloud.clouds_yaml().display(),
        openstack::VARIABLE,
        cloud.dir().display(),
    );
    tokio::runtime::Runtime::new()?.block_on(tokio::signal::ctrl_c())?;
    Ok(ExitCode::SUCCESS)
}

async fn run_aws() -> Result<ExitCode> {
    let cloud = tokio::task::spawn_blocking(Aws::start).await??;
    let fixture = Fixture::new(&cloud).await?;
    let file = cloud.dir().join("cloud.conf");
    std::fs::write(&file, fixture.cloud_conf(""))?;
    for (name, value) in fixture.account.environment() {
        eprintln!("export {name}={value}");
    }
    eprintln!(
        "export AWS_ENDPOINT_URL={}\n--cloud-config={}",
        cloud.url(),
        file.display()
    );
    tokio::signal::ctrl_c().await?;
    Ok(ExitCode::SUCCESS)
}

async fn run_vsphere() -> Result<ExitCode> {
    let vcenter = tokio::task::spawn_blocking(|| VCenter::start(&[])).await??;
    let machine = json!({
        "Name": "node-1", "Hostname": "node-1", "UUID": "42060000-0000-4000-8000-000000000001",
        "Nics": [{"Network": "VM Network", "IPs": ["10.0.0.1"]}],
    });
    vcenter.create(&machine).await?;
    let file = vcenter.dir().join("vsphere.yaml");
    std::fs::write(&file, vcenter.cloud_config(""))?;
    eprintln!("machine {machine}\n--cloud-config={}", file.display());
    tokio::signal::ctrl_c().await?;
    Ok(ExitCode::SUCCESS)
}

fn run_kubelet(name: String, image: Option<&Path>) -> Result<ExitCode> {
    let options = lab::node::Options {
        name,
        ..lab::node::Options::default()
    };
    let cluster = lab::Cluster::start(options)?;
    if let Some(image) = image {
        cluster.node.import_image(image, IMAGE)?;
    }
    eprintln!(
        "export KUBECONFIG={}\n{} get nodes,pods -A\nnode {}, waiting for a cloud controller manager\nstatic pods {}\nlogs {} and {}",
        cluster.plane.kubeconfig().display(),
        lab::assets::program("kubectl")?.display(),
        cluster.node.name(),
        cluster.node.manifests().display(),
        cluster.plane.dir().display(),
        cluster.node.dir().display(),
    );
    if image.is_some() {
        eprintln!("image {IMAGE} (imagePullPolicy: Never)");
    }
    tokio::runtime::Runtime::new()?.block_on(tokio::signal::ctrl_c())?;
    Ok(ExitCode::SUCCESS)
}
