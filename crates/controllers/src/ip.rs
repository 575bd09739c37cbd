//! IP addresses as Kubernetes reads them.

/// `010.0.0.1` is `10.0.0.1`, as it has always been in Kubernetes; the same in a range.
pub(crate) fn without_leading_zeros(address: &str) -> String {
    if address.contains(':') {
        return address.to_owned();
    }
    let octet = |part: &str| match part.trim_start_matches('0') {
        rest if rest.len() == part.len() => part.to_owned(),
        rest if rest.starts_with(|c: char| c.is_ascii_digit()) => rest.to_owned(),
        rest => format!("0{rest}"),
    };
    address.split('.').map(octet).collect::<Vec<_>>().join(".")
}
