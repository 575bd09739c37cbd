//! Credentials in files: if they are replaced while the process runs, the new ones are used.

use crate::{
    fixture::{Fixture, PASSWORD, metric, red},
    process_fixture::Manager,
    secret::clouds,
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

/// The file with the password.
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

    fn content(self, fixture: &Fixture, password: &str) -> String {
        match self {
            Self::CloudConf => format!("{}{}", fixture.global(password), fixture.load_balancer("")),
            Self::CloudsYaml => clouds(fixture, password),
        }
    }

    /// Replaces the file as an editor does, in one step.
    fn write(self, fixture: &Fixture, content: &str) {
        let written = fixture.folder.write("new", content);
        fs::rename(written, fixture.folder.path().join(self.name())).unwrap();
    }

    fn start(self, fixture: &Fixture) -> Manager {
        let launch = match self {
            Self::CloudConf => fixture.manager(),
            Self::CloudsYaml => {
                self.write(fixture, &self.content(fixture, PASSWORD));
                let file = fixture.folder.path().join(self.name());
                fixture.manager_with(&using(fixture, &file))
            }
        };
        launch.start()
    }
}

fn using(fixture: &Fixture, file: &Path) -> String {
    let file = file.display();
    let balancing = fixture.load_balancer("");
    format!("[Global]\nuse-clouds=true\nclouds-file={file}\ncloud=openstack\n{balancing}")
}

#[rstest]
#[case::of_cloud_conf(Place::CloudConf)]
#[case::of_clouds_yaml(Place::CloudsYaml)]
#[tokio::test]
async fn a_new_password(#[case] place: Place) {
    let fixture = Fixture::new().await;
    let manager = place.start(&fixture);
    manager.leading().await;
    let name = fixture.join("before").await.0;
    fixture.initialised(&manager, &name).await;

    place.write(&fixture, "[\"this is nothing");
    let refused = async || match metric(&manager, FAILURES).await {
        Ok(count) if count > 0 => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the nonsense to be refused", refused).await;
    manager.ready().await;

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    fixture.cloud.set_password("demo", "rotated");
    place.write(&fixture, &place.content(&fixture, "rotated"));
    let taken = async || match metric(&manager, SUCCESSES).await {
        Ok(count) if count > accepted => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the new one to be taken over", taken).await;
    let name = fixture.join("after").await.0;
    fixture.initialised(&manager, &name).await;
    assert!(manager.ended().is_none());
}

#[rstest]
#[case::of_cloud_conf(Place::CloudConf)]
#[case::of_clouds_yaml(Place::CloudsYaml)]
#[tokio::test]
async fn a_password_changed_in_the_cloud_first(#[case] place: Place) {
    let fixture = Fixture::new().await;
    let manager = place.start(&fixture);
    manager.leading().await;
    fixture.cloud.set_password("demo", "rotated");
    fixture.cloud.revoke_tokens();
    let name = fixture.join("node").await.0;
    let read = async || match metric(&manager, FAILURES).await {
        Ok(count) if count > 0 => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until("the unchanged file to be read again", read).await;
    place.write(&fixture, &place.content(&fixture, "rotated"));
    fixture.initialised(&manager, &name).await;
    manager.ready().await;
    assert!(manager.ended().is_none());
    let lines = manager.lines_with("the cloud refuses the credentials");
    assert_eq!(lines.len(), 1, "once, not for each call: {lines:#?}");
    assert!(!manager.log().contains(PASSWORD));
}

/// How a file is replaced.
#[derive(Debug, Clone, Copy)]
enum Swap {
    /// By another one.
    File,
    /// As kubelets replace a mounted file: by a link to another folder.
    Mount,
}

impl Swap {
    fn path(self, fixture: &Fixture) -> PathBuf {
        match self {
            Self::File => fixture.folder.path().join("ca.crt"),
            Self::Mount => fixture.folder.path().join("mounted/ca.crt"),
        }
    }

    fn write(self, fixture: &Fixture, content: &str) {
        let path = self.path(fixture);
        match self {
            Self::File => fs::rename(fixture.folder.write("new", content), path).unwrap(),
            Self::Mount => {
                let (root, version) = (fixture.folder.path().join("mounted"), lab::unique("..version"));
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

/// Waits until one more configuration than these was accepted, or rejected.
async fn counted(manager: &Manager, series: &str, before: u64) {
    let look = async || match metric(manager, series).await {
        Ok(count) if count > before => Ok(()),
        other => Err(format!("{other:?}")),
    };
    manager.until(&format!("{series} to be more than {before}"), look).await;
}

/// A cloud that requires a client certificate.
#[tokio::test]
async fn a_client_certificate_is_replaced_on_disk() {
    let fixture = Fixture::new().await;
    let secure = Sim::start_mutual_tls(&fixture.cloud).await.unwrap();
    let stranger = Sim::start_mutual_tls(&fixture.cloud).await.unwrap();
    let path = |name: &str| fixture.folder.path().join(name).display().to_string();
    let show = |of: &Sim| {
        let (certificate, key) = of.client_certificate().unwrap();
        fixture.folder.write("client.crt", certificate);
        fixture.folder.write("client.key", key);
    };
    fixture.folder.write("ca.crt", secure.authority().unwrap());
    show(&stranger);
    let global = fixture
        .global(PASSWORD)
        .replace(&fixture.sim.auth_url(), &secure.auth_url());
    let files = format!(
        "ca-file={}\ncert-file={}\nkey-file={}\n",
        path("ca.crt"),
        path("client.crt"),
        path("client.key")
    );
    let config = format!("{global}{files}{}", fixture.load_balancer(""));
    let manager = fixture.manager_with(&config).start();
    red(&manager, &["token create"]).await;
    assert_eq!(fixture.cloud.calls(), [], "who let it in?");

    show(&secure);
    manager.ready().await;
    manager.leading().await;
    let name = fixture.join("before").await.0;
    fixture.initialised(&manager, &name).await;

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    show(&stranger);
    counted(&manager, FAILURES, refused).await;
    let name = fixture.join("meanwhile").await.0;
    fixture.initialised(&manager, &name).await;

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
    let fixture = Fixture::new().await;
    let secure = Sim::start_tls(&fixture.cloud).await.unwrap();
    let stranger = Sim::start_tls(&fixture.cloud).await.unwrap();
    swap.write(&fixture, stranger.authority().unwrap());
    let global = fixture
        .global(PASSWORD)
        .replace(&fixture.sim.auth_url(), &secure.auth_url());
    let config = format!(
        "{global}ca-file={}\n{}",
        swap.path(&fixture).display(),
        fixture.load_balancer("")
    );
    let manager = fixture.manager_with(&config).start();
    red(&manager, &["no trusted TLS connection", "certificate"]).await;

    swap.write(&fixture, secure.authority().unwrap());
    manager.ready().await;
    manager.leading().await;
    let name = fixture.join("before").await.0;
    fixture.initialised(&manager, &name).await;

    let refused = metric(&manager, FAILURES).await.unwrap_or_default();
    swap.write(&fixture, stranger.authority().unwrap());
    counted(&manager, FAILURES, refused).await;
    let name = fixture.join("meanwhile").await.0;
    fixture.initialised(&manager, &name).await;

    let accepted = metric(&manager, SUCCESSES).await.unwrap();
    let both = format!("{}{}", stranger.authority().unwrap(), secure.authority().unwrap());
    swap.write(&fixture, &both);
    counted(&manager, SUCCESSES, accepted).await;
    assert!(manager.ended().is_none());
}
