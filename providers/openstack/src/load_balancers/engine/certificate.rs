//! Checks that a certificate exists before a listener is created with it.

use crate::{
    api::barbican::Existence,
    load_balancers::{Reconciler, annotations as key, balancer::desired::Inputs},
};
use cloud::{Error, Result};

/// The only certificate store that can be checked.
const BARBICAN: &str = "barbican";

/// The object that a reference names.
#[derive(Debug, PartialEq, Eq)]
enum Reference<'a> {
    Container(&'a str),
    Secret(&'a str),
}

impl Reconciler {
    /// Checks that the certificate exists, once for each.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the reference is malformed; [`Error::NotFound`] if Barbican does not know it.
    pub(super) async fn check_certificate(&self, inputs: &Inputs<'_>) -> Result<()> {
        let Some(reference) = &inputs.settings.tls_container_ref else {
            return Ok(());
        };
        if inputs.config.load_balancer.container_store != BARBICAN || self.learned.has_certificate(reference) {
            return Ok(());
        }
        let existence = match parse(reference)? {
            Reference::Container(id) => self.barbican.container(id).await?,
            Reference::Secret(id) => self.barbican.secret(id).await?,
        };
        if existence == Existence::Absent {
            return Err(Error::NotFound {
                what: format!("certificate {reference}"),
            });
        }
        self.learned.found_certificate(reference);
        Ok(())
    }
}

fn parse(reference: &str) -> Result<Reference<'_>> {
    let mut parts = reference.rsplit('/');
    match (parts.next(), parts.next()) {
        (Some(id), Some("containers")) if !id.is_empty() => Ok(Reference::Container(id)),
        (Some(id), Some("secrets")) if !id.is_empty() => Ok(Reference::Secret(id)),
        _ => Err(key::TLS_CONTAINER_REF.invalid(format!(
            "{reference:?} does not end with /containers/<id> or /secrets/<id>"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("https://b/v1/containers/1", Some(Reference::Container("1")))]
    #[case("https://b/v1/secrets/2", Some(Reference::Secret("2")))]
    #[case("https://b/v1/secrets/", None)]
    #[case("https://b/v1/orders/3", None)]
    #[case("4", None)]
    fn parses(#[case] reference: &str, #[case] expected: Option<Reference<'_>>) {
        assert_eq!(parse(reference).ok(), expected);
    }
}
