//! Credentials in files: replaced while the process runs, they are taken over.

use crate::{
    rig::Manager,
    secret::clouds,
    stage::{PASSWORD, Stage, metric, red},
};
use openstack_sim::Sim;
use rstest::rstest;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

const SUCCESSES: &str = "cloud_config_reloads_total{outcome=\"success\"}";
const FAILURES: &str = "cloud_config_reloads_total{outcome=\"failure\"}";

/// In which file the password is.
#[derive(Debug, Clone, Copy)]
enum Place {
    CloudConf,
    CloudsYaml,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Self::CloudConf => "cloud.conf",
            Self::CloudsYaml => "clouds.yaml",
        }
    }

    fn content(self, stage: &Stage, password: &str) -> String {
        match self {
            Self::CloudConf => format!("{}{}", stage.global(password), stage.load_balancer("")),
            Self::CloudsYaml => clouds(stage, password),
        }
    }

    /// Replaces the file as an editor does, in one step.
    fn write(self, stage: &Stage, content: &str) {
        let written = stage.folder.write("new", content);
        fs::rename(written, stage.folder.path().join(self.name())).unwrap();
    }

    fn start(self, stage: &Stage) -> Manager {
        let launch = match self {
            Self::CloudConf => stage.manager(),
            Self::CloudsYaml => {
                self.write(stage, &self.content(stage, PASSWORD));
                let file = stage.folder.path().join(self.name());
                stage.manager_with(&using(stage, &file))
            }
        };
        launch.start()
    }
}

fn using(stage: &Stage, file: &Path) -> String {
    let file = file.display();
    let balancing = stage.load_balancer("");
    format!("[Global]\nuse-clouds=true\nclouds-file={file}\ncloud=openstack\n{balancing}")
}

#[rstest]
#[case::of_cloud_conf(Place::CloudConf)]
#[case::of_clouds_yaml(Place::CloudsYaml)]
#[tokio::test]
async fn a_new_password(#[case] place: Place) {
    let stage = Stage::new().await;
    let manager = place.start(&stage);
    manager.leading().await;
    let name = stage.join("before").await.0;
    stage.initialised(&manager, &name).await;

    place.write(&stage, "[\"this is nothing");
    let refused = async || match metric(&manager, FAILURES).await {
        Ok(count) if count > 0 => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the nonsense to be refused", refused).await;
    manager.ready().await;

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    stage.cloud.set_password("demo", "rotated");
    place.write(&stage, &place.content(&stage, "rotated"));
    let taken = async || match metric(&manager, SUCCESSES).await {
        Ok(count) if count > accepted => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the new one to be taken over", taken).await;
    let name = stage.join("after").await.0;
    stage.initialised(&manager, &name).await;
    assert!(manager.ended().is_none());
}

// openstack.md §1.8, item 5
#[rstest]
#[case::of_cloud_conf(Place::CloudConf)]
#[case::of_clouds_yaml(Place::CloudsYaml)]
#[tokio::test]
async fn a_password_that_the_cloud_has_first(#[case] place: Place) {
    let stage = Stage::new().await;
    let manager = place.start(&stage);
    manager.leading().await;
    stage.cloud.set_password("demo", "rotated");
    stage.cloud.revoke_tokens();
    let name = stage.join("node").await.0;
    let read = async || match metric(&manager, FAILURES).await {
        Ok(count) if count > 0 => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager
        .until("the file to be read anew, though it is as it was", read)
        .await;
    place.write(&stage, &place.content(&stage, "rotated"));
    stage.initialised(&manager, &name).await;
    manager.ready().await;
    assert!(manager.ended().is_none());
    let told = manager.lines_with("the cloud refuses the credentials");
    assert_eq!(told.len(), 1, "once, not for each call: {told:#?}");
    assert!(!manager.log().contains(PASSWORD));
}

/// How a file is replaced.
#[derive(Debug, Clone, Copy)]
enum Swap {
    /// By another one.
    File,
    /// As kubelets replace what is mounted: by a link to another folder.
    Mount,
}

impl Swap {
    fn path(self, stage: &Stage) -> PathBuf {
        match self {
            Self::File => stage.folder.path().join("ca.crt"),
            Self::Mount => stage.folder.path().join("mounted/ca.crt"),
        }
    }

    fn write(self, stage: &Stage, content: &str) {
        let path = self.path(stage);
        match self {
            Self::File => fs::rename(stage.folder.write("new", content), path).unwrap(),
            Self::Mount => {
                let (root, version) = (stage.folder.path().join("mounted"), lab::unique("..version"));
                fs::create_dir_all(root.join(&version)).unwrap();
                fs::write(root.join(&version).join("ca.crt"), content).unwrap();
                symlink(&version, root.join("..data_tmp")).unwrap();
                fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
                if !path.is_symlink() {
                    symlink("..data/ca.crt", path).unwrap();
                }
            }
        }
    }
}

/// Waits until one more configuration than these was accepted, or refused.
async fn counted(manager: &Manager, series: &str, before: u64) {
    let look = async || match metric(manager, series).await {
        Ok(count) if count > before => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until(&format!("{series} to be more than {before}"), look).await;
}

/// A cloud that lets in only those whose certificate it knows.
#[tokio::test]
async fn a_client_certificate_is_replaced_on_disk() {
    let stage = Stage::new().await;
    let secure = Sim::start_mutual_tls(&stage.cloud).await.unwrap();
    let stranger = Sim::start_mutual_tls(&stage.cloud).await.unwrap();
    let path = |name: &str| stage.folder.path().join(name).display().to_string();
    let show = |of: &Sim| {
        let (certificate, key) = of.client_certificate().unwrap();
        stage.folder.write("client.crt", certificate);
        stage.folder.write("client.key", key);
    };
    stage.folder.write("ca.crt", secure.authority().unwrap());
    show(&stranger);
    let global = stage
        .global(PASSWORD)
        .replace(&stage.sim.auth_url(), &secure.auth_url());
    let files = format!(
        "ca-file={}\ncert-file={}\nkey-file={}\n",
        path("ca.crt"),
        path("client.crt"),
        path("client.key")
    );
    let config = format!("{global}{files}{}", stage.load_balancer(""));
    let manager = stage.manager_with(&config).start();
    red(&manager, &["token create"]).await;
    assert_eq!(stage.cloud.calls(), [], "who let it in?");

    show(&secure);
    manager.ready().await;
    manager.leading().await;
    let name = stage.join("before").await.0;
    stage.initialised(&manager, &name).await;

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    show(&stranger);
    counted(&manager, FAILURES, refused).await;
    let name = stage.join("meanwhile").await.0;
    stage.initialised(&manager, &name).await;

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    show(&secure);
    counted(&manager, SUCCESSES, accepted).await;
    assert!(manager.ended().is_none());
}

#[rstest]
#[case::file(Swap::File)]
#[case::mount(Swap::Mount)]
#[tokio::test]
async fn an_authority_is_replaced_on_disk(#[case] swap: Swap) {
    let stage = Stage::new().await;
    let secure = Sim::start_tls(&stage.cloud).await.unwrap();
    let stranger = Sim::start_tls(&stage.cloud).await.unwrap();
    swap.write(&stage, stranger.authority().unwrap());
    let global = stage
        .global(PASSWORD)
        .replace(&stage.sim.auth_url(), &secure.auth_url());
    let config = format!(
        "{global}ca-file={}\n{}",
        swap.path(&stage).display(),
        stage.load_balancer("")
    );
    let manager = stage.manager_with(&config).start();
    red(&manager, &["no trusted TLS connection", "certificate"]).await;

    swap.write(&stage, secure.authority().unwrap());
    manager.ready().await;
    manager.leading().await;
    let name = stage.join("before").await.0;
    stage.initialised(&manager, &name).await;

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    swap.write(&stage, stranger.authority().unwrap());
    counted(&manager, FAILURES, refused).await;
    let name = stage.join("meanwhile").await.0;
    stage.initialised(&manager, &name).await;

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    let both = format!("{}{}", stranger.authority().unwrap(), secure.authority().unwrap());
    swap.write(&stage, &both);
    counted(&manager, SUCCESSES, accepted).await;
    assert!(manager.ended().is_none());
}
