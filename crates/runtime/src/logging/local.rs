//! The time zone of the process, found as Go finds it.

use jiff::tz::TimeZone;
use std::{env, fs, path::PathBuf};

const ZONES: &str = "/usr/share/zoneinfo";

/// The zone that `TZ` names, else the machine's; UTC if neither can be read.
pub(super) fn zone() -> TimeZone {
    file(env::var("TZ").ok().as_deref())
        .and_then(|path| fs::read(path).ok())
        .map_or(TimeZone::UTC, |data| of(&data))
}

/// The file that describes the zone; `None` for UTC.
fn file(name: Option<&str>) -> Option<PathBuf> {
    match name.map(|name| name.strip_prefix(':').unwrap_or(name)) {
        None => Some("/etc/localtime".into()),
        Some("" | "UTC") => None,
        Some(name) => Some([ZONES, name].iter().collect()),
    }
}

fn of(data: &[u8]) -> TimeZone {
    TimeZone::tzif("Local", data).unwrap_or(TimeZone::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::not_set(None, Some("/etc/localtime"))]
    #[case::empty(Some(""), None)]
    #[case::utc(Some("UTC"), None)]
    #[case::name(Some("Europe/Berlin"), Some("/usr/share/zoneinfo/Europe/Berlin"))]
    #[case::colon(Some(":Europe/Berlin"), Some("/usr/share/zoneinfo/Europe/Berlin"))]
    #[case::path(Some("/srv/zone"), Some("/srv/zone"))]
    fn files(#[case] name: Option<&str>, #[case] path: Option<&str>) {
        assert_eq!(file(name), path.map(PathBuf::from));
    }

    #[test]
    fn garbage_is_utc() {
        assert_eq!(of(b"not a zone"), TimeZone::UTC);
    }
}
