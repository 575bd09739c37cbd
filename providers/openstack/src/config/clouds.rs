//! `clouds.yaml`: the file, the entry, and its values as keys of `[Global]`.

mod entry;
mod find;

pub(super) use entry::Entry;

use super::{Environment, error::Error};
use entry::{Clouds, PublicClouds};
use find::Found;
use provider_kit::live_config::Reader;
use std::path::Path;

/// The entry to read, and the file.
pub(super) struct Request<'a> {
    /// `clouds-file`, if it applies.
    pub(super) file: Option<&'a Path>,
    /// The name of the entry, if one was chosen.
    pub(super) cloud: Option<&'a str>,
    /// `[Global] region`, which chooses among the overrides for regions.
    pub(super) region: Option<&'a str>,
    pub(super) environment: &'a Environment,
}

/// The entry of the `clouds.yaml` on disk, with `secure.yaml` and `clouds-public.yaml` merged in.
pub(super) fn load(request: &Request<'_>, reader: &Reader<'_>, warnings: &mut Vec<String>) -> Result<Entry, Error> {
    let found = find::clouds(request, reader, warnings)?;
    let file = found.name();
    let clouds: Clouds = entry::parse(&file, &found.content)?;
    let secure = find::optional("secure", request.environment, reader)?;
    let secure = secure
        .map(|found| entry::parse::<Clouds>(&found.name(), &found.content))
        .transpose()?;
    let secure = secure.unwrap_or_default();

    let chosen = choose(&file, &clouds, request.cloud, &secure)?;
    let mut entry = clouds.entry(&chosen).unwrap_or_default();
    entry = with_profile(entry, &file, request.environment, reader)?;
    if let Some(secret) = secure.entry(&chosen) {
        entry.overlay(secret);
    }
    Ok(finish(entry, &format!("{file}: {chosen}"), request.region, warnings))
}

/// The entry of a `clouds.yaml` that is not on disk: by this name, or the only one.
pub(super) fn from_text(
    file: &str,
    content: &[u8],
    request: &Request<'_>,
    reader: &Reader<'_>,
    warnings: &mut Vec<String>,
) -> Result<Entry, Error> {
    let clouds: Clouds = entry::parse(file, content)?;
    let wanted = request.cloud.filter(|name| clouds.has(name) || !clouds.is_single());
    let chosen = choose(file, &clouds, wanted, &Clouds::default())?;
    let entry = clouds.entry(&chosen).unwrap_or_default();
    let entry = with_profile(entry, file, request.environment, reader)?;
    Ok(finish(entry, &format!("{file}: {chosen}"), request.region, warnings))
}

/// The named entry, or the only one.
fn choose(file: &str, clouds: &Clouds, wanted: Option<&str>, secure: &Clouds) -> Result<String, Error> {
    let names = clouds.names().join(", ");
    match wanted {
        Some(name) if clouds.has(name) => Ok(name.to_owned()),
        Some(name) => Err(Error::new(format!(
            "{file}: there is no cloud {name}: set cloud in [Global] to one of its entries ({names})"
        ))),
        None => clouds.single().or_else(|| secure.single().filter(|_| clouds.is_empty())).ok_or_else(|| {
            Error::new(format!(
                "{file}: it is not clear which cloud is meant: set cloud in [Global] to one of its entries ({names})"
            ))
        }),
    }
}

/// Adds the values of the profile that the entry does not have.
fn with_profile(entry: Entry, file: &str, environment: &Environment, reader: &Reader<'_>) -> Result<Entry, Error> {
    let Some(profile) = entry.profile().map(str::to_owned) else {
        return Ok(entry);
    };
    let found = find::optional("clouds-public", environment, reader)?;
    let public: PublicClouds = match &found {
        Some(Found { content, .. }) => entry::parse(&found.as_ref().map(Found::name).unwrap_or_default(), content)?,
        None => PublicClouds::default(),
    };
    let mut base = public.entry(&profile).ok_or_else(|| {
        Error::new(format!(
            "{file}: the profile {profile} is in no clouds-public.yaml: add it there, or remove the key profile (or cloud)"
        ))
    })?;
    base.overlay(entry);
    Ok(base)
}

fn finish(mut entry: Entry, place: &str, region: Option<&str>, warnings: &mut Vec<String>) -> Entry {
    let region = region
        .map(str::to_owned)
        .or_else(|| entry.get("region_name").map(str::to_owned));
    let listed = entry.regions();
    match region {
        Some(region) => entry.choose_region(&region),
        None if !listed.is_empty() => warnings.push(format!(
            "{place}: there are regions and none is chosen, so the first endpoint of each service is used: set region in \
             [Global] to one of them ({})",
            listed.join(", ")
        )),
        None => {}
    }
    if entry.get("system_scope").is_some() {
        warnings.push(format!("{place}: system_scope is ignored: name a project"));
    }
    if entry
        .get("identity_api_version")
        .is_some_and(|version| version.starts_with('2'))
    {
        warnings.push(format!(
            "{place}: identity_api_version is ignored: Keystone's version 3 is used"
        ));
    }
    if !entry.has_auth() {
        entry.miss_auth(format!(
            "{place}: there is no auth: block: add one with auth_url and the credentials, or set them in [Global]"
        ));
    }
    entry
}
