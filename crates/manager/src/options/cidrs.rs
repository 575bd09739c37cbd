//! One or two networks, of different families.

use ipnet::IpNet;
use runtime::flags::{Value, quote, whole};

/// A comma-separated list of at most one IPv4 and one IPv6 network. Empty if the flag is not given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cidrs {
    written: String,
    nets: Vec<IpNet>,
}

/// The length of a network's prefix; `None`, which is written 0, for the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PrefixLength(pub Option<u8>);

impl Cidrs {
    /// The networks in the order they were written, without host bits.
    pub fn nets(&self) -> &[IpNet] {
        &self.nets
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.nets.is_empty()
    }

    /// As the user wrote it.
    pub fn written(&self) -> &str {
        &self.written
    }
}

impl std::str::FromStr for Cidrs {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let items = text.split(',').map(str::trim).filter(|_| !text.trim().is_empty());
        let nets = items.map(net).collect::<Result<Vec<_>, _>>()?;
        match nets.as_slice() {
            [] | [_] | [IpNet::V4(_), IpNet::V6(_)] | [IpNet::V6(_), IpNet::V4(_)] => {}
            [_, _] => return Err("two networks must be of different families, one IPv4 and one IPv6".to_owned()),
            _ => return Err(format!("at most two networks are possible, not {}", nets.len())),
        }
        Ok(Self {
            written: text.to_owned(),
            nets,
        })
    }
}

fn net(text: &str) -> Result<IpNet, String> {
    let net = text
        .parse::<IpNet>()
        .map_err(|_| format!("{} is not a network such as 10.244.0.0/16", quote(text)));
    net.map(|net| net.trunc())
}

impl Value for Cidrs {
    fn kind(&self) -> &'static str {
        "string"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            *self = text.parse()?;
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.written.clone()
    }
}

impl Value for PrefixLength {
    fn kind(&self) -> &'static str {
        "int32"
    }

    fn set(&mut self, given: &[String]) -> Result<(), String> {
        for text in given {
            let length = whole(text).and_then(|length| u8::try_from(length).ok());
            let length = length.filter(|length| *length <= 128);
            let length = length.ok_or("not the length of a prefix, between 0 and 128")?;
            self.0 = Some(length).filter(|length| *length > 0);
        }
        Ok(())
    }

    fn print(&self) -> String {
        self.0.unwrap_or(0).to_string()
    }
}
