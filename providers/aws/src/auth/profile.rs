//! Keys in the files of AWS's command line.

use super::Keys;
use crate::config::Variables;
use cloud::{Error, Result};
use std::{collections::HashMap, fs, io, path::PathBuf};

/// The keys of the selected profile; `None` if no profile is selected and there is no default one.
pub fn keys(variables: &Variables) -> Result<Option<Keys>> {
    let selected = variables.text("AWS_PROFILE");
    let name = selected.clone().unwrap_or_else(|| "default".to_owned());
    let mut settings = HashMap::new();
    // The file of credentials wins.
    for (variable, file, prefix) in [
        ("AWS_CONFIG_FILE", "config", "profile "),
        ("AWS_SHARED_CREDENTIALS_FILE", "credentials", ""),
    ] {
        if let Some(text) = read(variables, variable, file)? {
            settings.extend(section(&text, &name, prefix));
        }
    }
    of(&settings, &name, selected.is_some())
}

fn of(settings: &HashMap<String, String>, name: &str, is_selected: bool) -> Result<Option<Keys>> {
    let refused = |reason: String| Error::invalid(format!("AWS profile {name:?}"), reason);
    let setting = |key: &str| settings.get(key).cloned();
    match (setting("aws_access_key_id"), setting("aws_secret_access_key")) {
        (Some(access_key_id), Some(secret)) => Ok(Some(Keys {
            access_key_id,
            secret_access_key: secret.into(),
            session_token: setting("aws_session_token").map(Into::into),
            expiration: None,
        })),
        (None, None) => {
            let unsupported = ["role_arn", "credential_process", "sso_session", "sso_account_id"];
            match unsupported.iter().find(|key| settings.contains_key(**key)) {
                Some(key) => Err(refused(format!(
                    "{key} is not supported here: use keys, or RoleARN in the configuration"
                ))),
                None if is_selected => Err(refused("it has no aws_access_key_id".to_owned())),
                None => Ok(None),
            }
        }
        _ => Err(refused(
            "aws_access_key_id and aws_secret_access_key must be set together".to_owned(),
        )),
    }
}

fn read(variables: &Variables, variable: &str, name: &str) -> Result<Option<String>> {
    let home = || {
        variables
            .text("HOME")
            .map(|home| PathBuf::from(home).join(".aws").join(name))
    };
    let Some(path) = variables.text(variable).map(PathBuf::from).or_else(home) else {
        return Ok(None);
    };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::invalid(
            variable,
            format!("cannot read {}: {error}", path.display()),
        )),
    }
}

/// The settings in `[name]`, or in `[<prefix>name]` unless it is the default one.
fn section(text: &str, name: &str, prefix: &str) -> HashMap<String, String> {
    let title = match name {
        "default" => name.to_owned(),
        name => format!("{prefix}{name}"),
    };
    let mut settings = HashMap::new();
    let mut is_inside = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(found) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
            is_inside = found.0.split_whitespace().eq(title.split_whitespace());
        } else if let (true, Some((key, value))) = (is_inside, line.split_once('=')) {
            settings.insert(key.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use secrecy::ExposeSecret;

    const CREDENTIALS: &str = "# comment\n[default]\naws_access_key_id = A\naws_secret_access_key=B=\n\n[other]\naws_access_key_id=C\naws_secret_access_key=D\naws_session_token=E\n";
    const CONFIG: &str = "[default]\nregion=r\n[profile role]\nrole_arn = x\nsource_profile = default\n[profile  spaced ]\naws_access_key_id=F\naws_secret_access_key=G\n[half]\n";

    fn summary(name: &str, is_selected: bool) -> String {
        let mut settings = section(CONFIG, name, "profile ");
        settings.extend(section(CREDENTIALS, name, ""));
        match of(&settings, name, is_selected) {
            Ok(None) => "none".to_owned(),
            Ok(Some(keys)) => {
                let token = keys.session_token.map(|token| token.expose_secret().to_owned());
                format!(
                    "{} {} {}",
                    keys.access_key_id,
                    keys.secret_access_key.expose_secret(),
                    token.unwrap_or_default()
                )
            }
            Err(error) => error.report(),
        }
    }

    #[rstest]
    #[case::default("default", false, "A B= ")]
    #[case::selected("other", true, "C D E")]
    #[case::in_the_config("spaced", true, "F G ")]
    #[case::role(
        "role",
        true,
        "invalid AWS profile \"role\": role_arn is not supported here: use keys, or RoleARN in the configuration"
    )]
    #[case::missing("nobody", true, "invalid AWS profile \"nobody\": it has no aws_access_key_id")]
    #[case::not_selected("nobody", false, "none")]
    fn profiles(#[case] name: &str, #[case] is_selected: bool, #[case] expected: &str) {
        assert_eq!(summary(name, is_selected), expected);
    }

    #[test]
    fn one_key_alone_is_an_error() {
        let settings = [("aws_access_key_id".to_owned(), "A".to_owned())].into();
        assert!(of(&settings, "default", false).is_err());
    }
}
