//! The user of a kubeconfig.

use super::{File, filled, named};
use crate::client::config::{ConfigError, read};
use kube::config::{AuthInfo, Cluster, Context, ExecConfig, ExecInteractiveMode, KubeconfigError};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use secrecy::{ExposeSecret, SecretString};
use std::{io::IsTerminal, path::Path};

impl File<'_> {
    pub(super) fn find_user(&self, context: &Context) -> Option<&AuthInfo> {
        let name = filled(context.user.as_deref())?;
        let found = self.content.auth_infos.iter().find(|user| user.name == name)?;
        found.auth_info.as_ref()
    }

    /// The user of the context; anonymous if it names none.
    pub(super) fn user(&self, context: &Context, cluster: &Cluster) -> Result<AuthInfo, ConfigError> {
        let Some(name) = filled(context.user.as_deref()) else {
            return Ok(AuthInfo::default());
        };
        if !self.content.auth_infos.iter().any(|user| user.name == name) {
            return Err(self.wrong(format!("has no user {name:?}, which its current context names")));
        }
        let mut user = self.find_user(context).cloned().unwrap_or_default();
        remove_empty(&mut user);
        if has_credentials(&user) {
            user.exec = None;
        }
        self.check_certificate(name, &user)?;
        self.check_token(name, &user)?;
        if let Some(exec) = &mut user.exec {
            self.check_exec(name, exec, cluster)?;
        }
        Ok(user)
    }

    fn check_certificate(&self, name: &str, user: &AuthInfo) -> Result<(), ConfigError> {
        let (file, data) = (&user.client_certificate, &user.client_certificate_data);
        if file.is_none() && data.is_none() {
            return Ok(());
        }
        self.check_pem::<CertificateDer<'_>>("client-certificate", name, data.as_deref(), file.as_deref())?;
        let data = user.client_key_data.as_ref().map(ExposeSecret::expose_secret);
        self.check_pem::<PrivateKeyDer<'_>>("client-key", name, data, user.client_key.as_deref())
    }

    fn check_pem<T: PemObject>(
        &self,
        key: &str,
        name: &str,
        data: Option<&str>,
        file: Option<&str>,
    ) -> Result<(), ConfigError> {
        let Some(pem) = self.data_or_file(&format!("{key} of user {name:?}"), data, file)? else {
            return Err(self.wrong(format!("has a client-certificate but no {key} of user {name:?}")));
        };
        T::from_pem_slice(&pem).map(drop).map_err(|_| {
            let key = format!("{key}{}", named(data, file));
            self.wrong(format!("has a {key} of user {name:?} that is not valid PEM"))
        })
    }

    fn check_token(&self, name: &str, user: &AuthInfo) -> Result<(), ConfigError> {
        if let (None, Some(path)) = (&user.token, &user.token_file) {
            let kubeconfig = self.path.display();
            let what = format!("the tokenFile of user {name:?} in --kubeconfig={kubeconfig}:");
            read(&what, Path::new(path))?;
        }
        Ok(())
    }

    fn check_exec(&self, name: &str, exec: &mut ExecConfig, cluster: &Cluster) -> Result<(), ConfigError> {
        let wrong = |what: &str| self.wrong(format!("has a user {name:?} whose exec {what}"));
        if filled(exec.command.as_deref()).is_none() || filled(exec.api_version.as_deref()).is_none() {
            return Err(wrong("needs both command and apiVersion"));
        }
        if !std::io::stdin().is_terminal() {
            if exec.interactive_mode == Some(ExecInteractiveMode::Always) {
                return Err(wrong("has interactiveMode Always, but there is no terminal"));
            }
            exec.interactive_mode = Some(ExecInteractiveMode::Never);
        }
        if exec.provide_cluster_info {
            let cluster = cluster.try_into();
            let cluster = cluster.map_err(|source: KubeconfigError| {
                self.because("has a cluster that cannot be passed to its exec plugin", source)
            })?;
            exec.cluster = Some(cluster);
        }
        Ok(())
    }
}

/// Whether the user has credentials without a plugin. As in client-go, the plugin is not run then.
fn has_credentials(user: &AuthInfo) -> bool {
    user.token.is_some()
        || user.token_file.is_some()
        || user.username.is_some()
        || user.client_certificate.is_some()
        || user.client_certificate_data.is_some()
}

/// An empty value counts as absent, and so does a key without a certificate.
fn remove_empty(user: &mut AuthInfo) {
    let text = |value: &mut Option<String>| *value = value.take().filter(|value| !value.is_empty());
    let secret =
        |value: &mut Option<SecretString>| *value = value.take().filter(|value| !value.expose_secret().is_empty());
    text(&mut user.username);
    text(&mut user.token_file);
    text(&mut user.client_certificate);
    text(&mut user.client_certificate_data);
    text(&mut user.client_key);
    secret(&mut user.client_key_data);
    secret(&mut user.password);
    secret(&mut user.token);
    if user.client_certificate.is_none() && user.client_certificate_data.is_none() {
        (user.client_key, user.client_key_data) = (None, None);
    }
}
