use super::*;
use cloud::ObjectRef;
use rstest::rstest;

/// A cloud whose configuration is one line: `project user`, or `secret` for what is in the Secret `ns/login`.
struct Cloud;

#[derive(Debug, PartialEq)]
struct Connection {
    project: String,
    user: String,
}

#[async_trait]
impl Configured for Cloud {
    type Config = String;
    type Connection = Connection;

    fn load(&self, sources: &Sources<'_>, warnings: &mut Vec<String>) -> Result<Loaded<String>> {
        let file = sources
            .file
            .ok_or_else(|| Error::invalid("--cloud-config", "it is missing"))?;
        let text = String::from_utf8_lossy(file.content).trim().to_owned();
        if text.ends_with('!') {
            warnings.push(format!("{text} is loud"));
        }
        let is_secret = text == "secret";
        let object = ObjectRef::new("ns", "login");
        let secret = sources.data.secrets.get(&object).and_then(|data| data.get("login"));
        let secret = secret.filter(|_| is_secret);
        let config = secret.map_or(text, |login| String::from_utf8_lossy(login).into_owned());
        Ok(Loaded {
            config,
            files: vec!["/ca.pem".into()],
            sources: is_secret.then_some(LiveSource::Secret(object)).into_iter().collect(),
        })
    }

    fn connect(&self, config: String) -> Result<Connection> {
        let words = config.split_once(' ').unwrap_or((&config, ""));
        Ok(Connection {
            project: words.0.to_owned(),
            user: words.1.to_owned(),
        })
    }

    async fn verify(&self, new: &Connection, running: &Connection) -> Result<Vec<String>> {
        if new.user == "wrong" {
            return Err(Error::unavailable("authentication", "wrong user"));
        }
        if new.project != running.project && running.project != "secret" {
            return Err(another("project", Some(&running.project), Some(&new.project)));
        }
        Ok(vec![format!("hello {}", new.user)])
    }

    async fn refused(&self, _: &Connection) {
        std::future::pending::<()>().await;
    }
}

struct Fixture {
    folder: PathBuf,
    config: LiveConfig<Cloud>,
}

impl Fixture {
    fn new(test: &str, text: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("outrigger-live-config-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("cloud.conf"), text).unwrap();
        let config = LiveConfig::watched(Cloud, Some(&folder.join("cloud.conf"))).unwrap();
        Self { folder, config }
    }

    async fn reload(&self, text: &str, secret: Option<&str>) -> String {
        fs::write(self.folder.join("cloud.conf"), text).unwrap();
        let secret = secret.map(|login| [("login".to_owned(), login.into())].into());
        let secret = secret.map(|secret| (ObjectRef::new("ns", "login"), secret));
        let data = LiveData {
            secrets: secret.into_iter().collect(),
            ..LiveData::default()
        };
        let reloaded = self.config.live().unwrap().reload(&data).await;
        reloaded.map_or_else(|error| error.report(), |warnings| warnings.join(", "))
    }

    fn current(&self) -> String {
        let current = self.config.current().load();
        format!("{} {}", current.project, current.user)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[rstest]
#[case::the_same("demo a", "hello a", "demo a")]
#[case::another_user("demo b", "hello b", "demo b")]
#[case::a_wrong_user("demo wrong", "authentication is unavailable: wrong user", "demo a")]
#[case::another_project(
    "other a",
    "invalid project: this configuration is for project other, and the running one is for project demo; restart the manager if you mean it",
    "demo a"
)]
#[tokio::test]
async fn a_change_takes_effect_if_the_cloud_accepts_it(
    #[case] text: &str,
    #[case] expected: &str,
    #[case] current: &str,
) {
    let fixture = Fixture::new(&text.replace(' ', "-"), "demo a");
    assert_eq!(fixture.reload(text, None).await, expected);
    assert_eq!(fixture.current(), current);
}

#[tokio::test]
async fn an_operation_ends_with_the_connection_that_it_began_with() {
    let fixture = Fixture::new("operation", "demo a");
    let before = fixture.config.current().load();
    fixture.reload("demo b", None).await;
    assert_eq!((before.user.as_str(), fixture.current().as_str()), ("a", "demo b"));
}

#[tokio::test]
async fn credentials_may_be_in_a_secret() {
    let fixture = Fixture::new("secret", "demo a");
    let live = fixture.config.live().unwrap();
    assert_eq!(live.sources(), []);
    assert_eq!(fixture.reload("secret", None).await, "", "the Secret was not known");
    assert_eq!(fixture.current(), "demo a");
    assert_eq!(live.sources(), [LiveSource::Secret(ObjectRef::new("ns", "login"))]);
    assert_eq!(fixture.reload("secret", Some("demo b")).await, "hello b");
    assert_eq!(fixture.current(), "demo b");
}

#[tokio::test]
async fn every_file_is_watched() {
    let fixture = Fixture::new("files", "demo a");
    let files = fixture.config.live().unwrap().files();
    assert_eq!(files, [PathBuf::from("/ca.pem"), fixture.folder.join("cloud.conf")]);
    fs::remove_file(fixture.folder.join("cloud.conf")).unwrap();
    let error = fixture
        .config
        .live()
        .unwrap()
        .reload(&LiveData::default())
        .await
        .unwrap_err();
    assert!(
        error.to_string().starts_with("invalid --cloud-config: cannot read"),
        "{error}"
    );
}

#[tokio::test]
async fn warnings_are_logged_once_until_they_disappear() {
    let fixture = Fixture::new("warnings", "demo a!");
    let warnings = || fixture.config.source.state().unwrap().warnings.clone();
    assert_eq!(warnings(), ["demo a! is loud"]);
    fixture.reload("demo a", None).await;
    assert!(warnings().is_empty());
}

#[tokio::test]
async fn a_given_configuration_is_not_watched() {
    let config = LiveConfig::given(Cloud, "demo a".to_owned()).unwrap();
    assert!(config.live().is_none());
    config.replace("demo b".to_owned()).await.unwrap();
    assert_eq!(config.current().load().user, "b");
}
