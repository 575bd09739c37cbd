//! `[ServiceOverride "n"]`: services at other places.

use cloud_http::Url;
use provider_kit::keys::Settings;

const SECTION: &str = "ServiceOverride";

/// A service at another place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceOverride {
    /// The service, as AWS's SDKs name it.
    pub service: String,
    /// The region that it holds for.
    pub region: String,
    /// Where it is.
    pub url: Url,
    /// The region in signatures.
    pub signing_region: String,
    /// The service in signatures, if it is another one.
    pub signing_name: Option<String>,
}

/// All of them.
pub(super) fn of(settings: &Settings) -> Result<Vec<ServiceOverride>, String> {
    let mut all: Vec<ServiceOverride> = Vec::new();
    for name in settings.subsections(SECTION) {
        let one = one(settings, name)?;
        let is_same = |other: &&ServiceOverride| other.service == one.service && other.region == one.region;
        if all.iter().any(|other| is_same(&other)) {
            let (service, region) = (one.service, one.region);
            return Err(format!(
                "[{SECTION} {name:?}] is a second one for {service} in {region}"
            ));
        }
        all.push(one);
    }
    Ok(all)
}

fn one(settings: &Settings, name: &str) -> Result<ServiceOverride, String> {
    let text = |key| {
        let value = settings.given(SECTION, name, key).map_or("", str::trim);
        (!value.is_empty()).then(|| value.to_owned())
    };
    let required = |key| text(key).ok_or_else(|| format!("[{SECTION} {name:?}]: {key} is required"));
    let (service, region, url) = (required("Service")?, required("Region")?, required("URL")?);
    Ok(ServiceOverride {
        service,
        region,
        url: url
            .parse()
            .map_err(|error| format!("[{SECTION} {name:?}]: URL {url:?}: {error}"))?,
        signing_region: required("SigningRegion")?,
        signing_name: text("SigningName"),
    })
}
