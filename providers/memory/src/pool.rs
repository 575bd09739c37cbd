//! Addresses for load balancers. Pure.

use crate::Settings;
use cloud::{Error, IpFamily, Result};
use ipnet::IpNet;
use std::{
    collections::HashSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

/// Gives addresses round robin, so that one that was freed is not given again at once.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    next_v4: u32,
    next_v6: u64,
}

impl Pool {
    /// The first of `wishes` that is in the pool and free, else the next free one.
    pub(crate) fn take(
        &mut self,
        family: IpFamily,
        wishes: &[IpAddr],
        used: &HashSet<IpAddr>,
        settings: &Settings,
    ) -> Result<IpAddr> {
        let net = match family {
            IpFamily::V4 => IpNet::V4(settings.pool_v4),
            IpFamily::V6 => IpNet::V6(settings.pool_v6),
        };
        let wish = wishes.iter().find(|ip| net.contains(*ip) && !used.contains(ip));
        if let Some(ip) = wish {
            return Ok(*ip);
        }
        (0..=used.len())
            .find_map(|_| Some(self.next(net)).filter(|ip| !used.contains(ip)))
            .ok_or_else(|| Error::quota("addresses", format!("{net} is used up")))
    }

    fn next(&mut self, net: IpNet) -> IpAddr {
        match net {
            IpNet::V4(net) => {
                let size = 1_u64 << (32 - net.prefix_len());
                let offset = u32::try_from(u64::from(self.next_v4) % size.saturating_sub(2).max(1)).unwrap_or_default();
                self.next_v4 = self.next_v4.wrapping_add(1);
                let first = u32::from(net.network()) + u32::from(size > 2);
                Ipv4Addr::from(first + offset).into()
            }
            IpNet::V6(net) => {
                let bits = u32::from(128 - net.prefix_len()).min(63);
                let offset = 1 + self.next_v6 % ((1_u64 << bits) - 1).max(1);
                self.next_v6 = self.next_v6.wrapping_add(1);
                Ipv6Addr::from(u128::from(net.network()) + u128::from(offset)).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn take(pool: &mut Pool, net: &str, wishes: &[&str], used: &[&str]) -> Result<String> {
        let ips = |texts: &[&str]| {
            texts
                .iter()
                .map(|text| text.parse().expect("an address"))
                .collect::<Vec<IpAddr>>()
        };
        let (family, settings) = match net.parse().expect("a network") {
            IpNet::V4(pool_v4) => (
                IpFamily::V4,
                Settings {
                    pool_v4,
                    ..Settings::default()
                },
            ),
            IpNet::V6(pool_v6) => (
                IpFamily::V6,
                Settings {
                    pool_v6,
                    ..Settings::default()
                },
            ),
        };
        let used = ips(used).into_iter().collect();
        pool.take(family, &ips(wishes), &used, &settings)
            .map(|ip| ip.to_string())
    }

    #[rstest]
    #[case::first("192.0.2.0/24", &[], &[], "192.0.2.1")]
    #[case::next_free("192.0.2.0/24", &[], &["192.0.2.1", "192.0.2.2"], "192.0.2.3")]
    #[case::wish("192.0.2.0/24", &["192.0.2.77"], &[], "192.0.2.77")]
    #[case::wish_outside("192.0.2.0/24", &["8.8.8.8"], &[], "192.0.2.1")]
    #[case::wish_used("192.0.2.0/24", &["192.0.2.77"], &["192.0.2.77"], "192.0.2.1")]
    #[case::single("192.0.2.9/32", &[], &[], "192.0.2.9")]
    #[case::v6("2001:db8::/64", &[], &[], "2001:db8::1")]
    #[case::everything("0.0.0.0/0", &[], &[], "0.0.0.1")]
    fn gives(#[case] net: &str, #[case] wishes: &[&str], #[case] used: &[&str], #[case] expected: &str) {
        assert_eq!(
            take(&mut Pool::default(), net, wishes, used).expect("an address"),
            expected
        );
    }

    #[test]
    fn reuses_addresses_in_turn() {
        let mut pool = Pool::default();
        let taken: Vec<_> = (0..3)
            .map(|_| take(&mut pool, "192.0.2.0/30", &[], &[]).expect("an address"))
            .collect();
        assert_eq!(taken, ["192.0.2.1", "192.0.2.2", "192.0.2.1"]);
    }

    #[test]
    fn is_used_up() {
        let error = take(&mut Pool::default(), "192.0.2.0/30", &[], &["192.0.2.1", "192.0.2.2"]).unwrap_err();
        assert_eq!(
            error.report(),
            "the quota for addresses is exceeded: 192.0.2.0/30 is used up"
        );
    }
}
