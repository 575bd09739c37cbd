//! The addresses that a user configured for a machine, in the metadata for cloud-init.

use base64::{Engine, engine::general_purpose::STANDARD};
use flate2::read::GzDecoder;
use serde::{Deserialize, de::DeserializeOwned};
use std::{collections::BTreeMap, io::Read, net::IpAddr};

/// The largest network configuration that is read.
const LIMIT: u64 = 1 << 20;

#[derive(Deserialize)]
struct Encoding {
    #[serde(rename = "network.encoding", default)]
    network: String,
}

#[derive(Deserialize)]
struct Encoded {
    #[serde(default)]
    network: String,
}

#[derive(Deserialize)]
struct Raw {
    network: Option<Network>,
}

#[derive(Default, Deserialize)]
struct Network {
    /// Sorted, unlike in the Go program: the order of addresses must not change from call to call.
    #[serde(default)]
    ethernets: BTreeMap<String, Ethernet>,
}

#[derive(Default, Deserialize)]
struct Ethernet {
    #[serde(default)]
    addresses: Vec<String>,
}

/// The addresses in `guestinfo.metadata`, in their order; none unless it is encoded in base64.
///
/// # Errors
/// One sentence, if it cannot be read.
pub fn addresses(metadata: &str, encoding: &str) -> Result<Vec<IpAddr>, String> {
    if metadata.is_empty() || encoding != "base64" {
        return Ok(Vec::new());
    }
    let text = base64(metadata.as_bytes())?;
    let network = match yaml::<Encoding>(&text)?.network.as_str() {
        "base64" | "b64" => yaml(&base64(yaml::<Encoded>(&text)?.network.as_bytes())?)?,
        "gzip+base64" | "gz+b64" => yaml(&unzipped(&base64(yaml::<Encoded>(&text)?.network.as_bytes())?)?)?,
        _ => yaml::<Raw>(&text)?.network.unwrap_or_default(),
    };
    let addresses = network.ethernets.into_values().flat_map(|ethernet| ethernet.addresses);
    let address = |text: String| text.split('/').next()?.parse().ok();
    Ok(addresses.filter_map(address).collect())
}

fn base64(text: &[u8]) -> Result<Vec<u8>, String> {
    // As in Go, line breaks are no part of it.
    let text: Vec<u8> = text
        .iter()
        .copied()
        .filter(|byte| !matches!(byte, b'\n' | b'\r'))
        .collect();
    STANDARD
        .decode(text)
        .map_err(|_| "guestinfo.metadata is not base64".to_owned())
}

fn unzipped(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let read = GzDecoder::new(bytes).take(LIMIT).read_to_end(&mut text);
    read.map_err(|_| "the network in guestinfo.metadata is not gzip".to_owned())?;
    Ok(text)
}

fn yaml<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "guestinfo.metadata is not UTF-8".to_owned())?;
    // Without the reason: it may quote the metadata.
    serde_saphyr::from_str(text).map_err(|_| "guestinfo.metadata is not YAML with a network".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use rstest::rstest;
    use std::io::Write;

    const NETWORK: &str = "version: 2\nethernets:\n  nic1:\n    addresses: [\"2001:db8::5/64\"]\n  nic0:\n    dhcp4: false\n    addresses: [10.0.0.5/24, 10.0.0.4/24]\n";

    fn indented() -> String {
        NETWORK
            .lines()
            .fold("network:\n".to_owned(), |text, line| text + "  " + line + "\n")
    }

    fn zipped() -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(NETWORK.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[rstest]
    #[case::raw(indented())]
    #[case::base64(format!("network: {}\nnetwork.encoding: base64\n", STANDARD.encode(NETWORK)))]
    #[case::b64(format!("network: {}\nnetwork.encoding: b64\n", STANDARD.encode(NETWORK)))]
    #[case::zipped(format!("network: {}\nnetwork.encoding: gzip+base64\n", STANDARD.encode(zipped())))]
    #[case::gz(format!("network: {}\nnetwork.encoding: gz+b64\n", STANDARD.encode(zipped())))]
    fn reads_all_encodings(#[case] metadata: String) {
        let found = addresses(&STANDARD.encode(metadata), "base64").unwrap();
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.5", "10.0.0.4", "2001:db8::5"]);
    }

    #[rstest]
    #[case::none("", "base64")]
    #[case::other_encoding("bmV0d29yazoK", "gzip+base64")]
    #[case::no_network(&STANDARD.encode("instance-id: a\n"), "base64")]
    fn without_addresses(#[case] metadata: &str, #[case] encoding: &str) {
        assert_eq!(addresses(metadata, encoding), Ok(Vec::new()));
    }

    #[rstest]
    #[case::no_base64("???", "not base64")]
    #[case::no_yaml(&STANDARD.encode("network: [s3cr3t"), "not YAML")]
    #[case::no_gzip(&STANDARD.encode("network: AAAA\nnetwork.encoding: gz+b64\n"), "not gzip")]
    fn refuses(#[case] metadata: &str, #[case] why: &str) {
        let error = addresses(metadata, "base64").unwrap_err();
        assert!(error.contains(why) && !error.contains("s3cr3t"), "{error}");
    }
}
