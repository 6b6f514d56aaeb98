//! Which addresses may be connected to.
//!
//! Users choose the hosts, and a name can resolve to any address, at each connection to another. So the address decides, not the
//! spelling of the host: names are resolved here, and a connection is possible only to the addresses that remain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::error::{AddressRefused, FetchError, FetchErrorKind};
use crate::metadata_address::{is_metadata_v4, is_metadata_v6};

/// The addresses that may be connected to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReachableNetwork {
    /// Public addresses.
    Public,
    /// Private addresses, and this host itself: for servers of a closed network. Never link-local addresses, and never those of the
    /// metadata services of clouds, which give credentials of this host to whoever can reach them.
    Private,
    /// Public and private addresses.
    PublicAndPrivate,
}

impl ReachableNetwork {
    /// Whether this address may be connected to.
    pub fn contains(self, address: IpAddr) -> bool {
        match AddressScope::new(address) {
            AddressScope::Public => self.includes_public(),
            AddressScope::Private => self != Self::Public,
            AddressScope::Special => false,
        }
    }

    pub(crate) const fn includes_public(self) -> bool {
        matches!(self, Self::Public | Self::PublicAndPrivate)
    }

    /// Why an address is refused, as a sentence without its full stop.
    pub(crate) const fn describe_refusal(self) -> &'static str {
        match self {
            Self::Public => "its address is not a public one",
            Self::Private => "its address is not a private one, which plain HTTP requires",
            Self::PublicAndPrivate => "its address is neither a public nor a private one",
        }
    }

    /// The addresses of a host that may be connected to, for a program that makes the connection itself: it is given an address, so that
    /// it resolves no name again. `url` is that of the connection, for messages.
    ///
    /// # Errors
    /// The host has no address, or none that may be connected to.
    pub async fn resolve_host(self, host: &str, port: u16, url: &Url) -> Result<Vec<SocketAddr>, FetchError> {
        let found = tokio::net::lookup_host((host, port)).await.map_err(|error| {
            FetchError::new(FetchErrorKind::Unreachable, url, format!("the host can't be resolved: {error}"))
        })?;
        let found: Vec<SocketAddr> = found.collect();
        let allowed: Vec<SocketAddr> =
            found.iter().copied().filter(|address| self.contains(address.ip())).collect();
        match (found.is_empty(), allowed.is_empty()) {
            (true, _) => Err(FetchError::new(FetchErrorKind::Unreachable, url, "the host has no address")),
            (false, true) => Err(FetchError::new(FetchErrorKind::NotAllowed, url, self.describe_refusal())),
            (false, false) => Ok(allowed),
        }
    }

    /// Whether a connection to this URL can be attempted: names are decided by the resolver, but it is not called for a host
    /// that is an address, in whatever notation.
    pub fn allows_host(self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        literal.parse().map_or(true, |address| self.contains(address))
    }
}

impl Resolve for ReachableNetwork {
    fn resolve(&self, name: Name) -> Resolving {
        let network = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<_> = found.filter(|address| network.contains(address.ip())).collect();
            if allowed.is_empty() {
                return Err(AddressRefused { reason: network.describe_refusal() }.into());
            }
            let addresses: Addrs = Box::new(allowed.into_iter());
            Ok(addresses)
        })
    }
}

/// Where an address is valid, by the registries of special-purpose addresses (RFC 6890).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressScope {
    /// Everywhere.
    Public,
    /// On this host or in a closed network.
    Private,
    /// On one link, for groups, for examples, reserved, or that of a metadata service.
    Special,
}

impl AddressScope {
    fn new(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(address) => Self::from_v4(address),
            IpAddr::V6(address) => Self::from_v6(address),
        }
    }

    fn from_v4(address: Ipv4Addr) -> Self {
        match address.octets() {
            _ if is_metadata_v4(address) => Self::Special,
            [10 | 127, ..] | [100, 64..=127, ..] | [172, 16..=31, ..] | [192, 168, ..] => Self::Private,
            [0 | 224.., ..]
            | [169, 254, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _] => Self::Special,
            _ => Self::Public,
        }
    }

    fn from_v6(address: Ipv6Addr) -> Self {
        match address.segments() {
            _ if is_metadata_v6(address) => Self::Special,
            _ if address.is_loopback() || address.is_unique_local() => Self::Private,
            // A translator of the network forwards to the IPv4 address in it.
            [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
                Self::from_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
            }
            // Protocol assignments, documentation, and tunnels to an IPv4 address.
            [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, ..] => Self::Special,
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Special,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scope(address: &str) -> AddressScope {
        AddressScope::new(address.parse().unwrap())
    }

    #[test]
    fn g204_addresses_are_public_private_or_special() {
        for public in
            ["8.8.8.8", "100.128.0.1", "172.32.0.1", "2606:4700::1", "64:ff9b::808:808", "::ffff:8.8.8.8"]
        {
            assert_eq!(scope(public), AddressScope::Public, "{public}");
        }
        for private in [
            "127.0.0.1",
            "127.8.9.1",
            "10.1.2.3",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.1",
            "::1",
            "fd00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
        ] {
            assert_eq!(scope(private), AddressScope::Private, "{private}");
        }
        for special in [
            "0.0.0.0",
            "0.1.2.3",
            "169.254.169.254",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "198.18.0.1",
            "::",
            "::7f00:1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "64:ff9b:1::1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
        ] {
            assert_eq!(scope(special), AddressScope::Special, "{special}");
        }
    }

    /// Metadata services of IPv4.
    const SERVICES_V4: [&str; 10] = [
        "169.254.169.254",
        "169.254.169.252",
        "169.254.170.2",
        "169.254.170.23",
        "169.254.42.42",
        "169.254.0.23",
        "169.254.10.10",
        "100.100.100.200",
        "192.0.0.192",
        "168.63.129.16",
    ];

    /// Those of IPv6, and link-local addresses.
    const SERVICES_V6: [&str; 11] = [
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",
        "fd00:c1::a9fe:a9fe",
        "fd00:42::42",
        "fd00:a9fe:a9fe::1",
        "fd00:100::100:200",
        "fd12::a9fe:1",
        "fe80::a9fe:a9fe",
        "febf::1",
        "169.254.0.1",
    ];

    #[test]
    fn g204_no_network_contains_the_metadata_service_of_a_cloud_in_any_form_of_its_address() {
        let mut addresses: Vec<IpAddr> = SERVICES_V4.iter().map(|text| text.parse().unwrap()).collect();
        for address in SERVICES_V4.map(|text| text.parse::<Ipv4Addr>().unwrap()) {
            let (high, low) = ((address.to_bits() >> 16) as u16, address.to_bits() as u16);
            addresses.extend([
                IpAddr::V6(address.to_ipv6_mapped()),
                Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low).into(),
                Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into(),
                // A translator with a prefix of the network (RFC 6052), of 96, 64, 48 and 32 bits, and ISATAP.
                Ipv6Addr::new(0xfd12, 0x3456, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0x2a01, 0x4f8, 0, 0, 0, 0, high, low).into(),
                Ipv6Addr::new(0xfd12, 0x3456, 0, 1, high >> 8, (high << 8) | (low >> 8), low << 8, 0).into(),
                Ipv6Addr::new(0xfd12, 0x3456, 0, high, low >> 8, low << 8, 0, 0).into(),
                Ipv6Addr::new(0xfd12, 0x3456, high, low, 0, 0, 0, 0).into(),
                Ipv6Addr::new(0xfd12, 0x3456, 0, 1, 0, 0x5efe, high, low).into(),
            ]);
        }
        addresses.extend(SERVICES_V6.iter().map(|text| text.parse::<IpAddr>().unwrap()));
        for network in
            [ReachableNetwork::Public, ReachableNetwork::Private, ReachableNetwork::PublicAndPrivate]
        {
            for address in &addresses {
                assert!(!network.contains(*address), "{network:?} {address}");
            }
        }
        for private in [
            "100.100.100.201",
            "fd00:ec3::254",
            "fd20:cf::254",
            "fd00:c2::1",
            "fd00:43::42",
            "fd00:100::100:201",
            "fd00:a9fe::1",
            "fd12::a9ff:a9fe",
            "fd00::1",
        ] {
            assert!(ReachableNetwork::Private.contains(private.parse().unwrap()), "{private}");
        }
        assert!(ReachableNetwork::Public.contains("2a01:4f8::a9fe:1".parse().unwrap()), "a public host");
        for host in [
            "100.100.100.200",
            "0x646464c8",
            "1684301000",
            "[fd00:ec2::254]",
            "[fd00:42::42]",
            "[::ffff:6464:64c8]",
        ] {
            let url = Url::parse(&format!("http://{host}/latest")).unwrap();
            assert!(!ReachableNetwork::PublicAndPrivate.allows_host(&url), "{host}");
        }
    }

    #[test]
    fn g204_a_host_that_is_an_address_is_decided_in_every_notation() {
        for (host, in_private) in [
            ("127.0.0.1", true),
            ("0x7f000001", true),
            ("2130706433", true),
            ("0177.0.0.1", true),
            ("127.1", true),
            ("[::1]", true),
            ("[::ffff:7f00:1]", true),
            ("0.0.0.0", false),
            ("0", false),
            ("[::]", false),
            ("169.254.169.254", false),
            ("0xa9fea9fe", false),
        ] {
            let url = Url::parse(&format!("https://{host}:5000/v2/")).unwrap();
            assert!(!ReachableNetwork::Public.allows_host(&url), "{host}");
            assert_eq!(ReachableNetwork::Private.allows_host(&url), in_private, "{host}");
            assert_eq!(ReachableNetwork::PublicAndPrivate.allows_host(&url), in_private, "{host}");
        }
        let public = Url::parse("https://8.8.8.8/v2/").unwrap();
        assert!(!ReachableNetwork::Private.allows_host(&public));
        assert!(ReachableNetwork::PublicAndPrivate.allows_host(&public));
        let name = Url::parse("https://reg.example.com/v2/").unwrap();
        assert!(ReachableNetwork::Public.allows_host(&name), "the resolver decides");
    }

    #[tokio::test]
    async fn g204_a_name_resolves_only_to_addresses_that_may_be_connected_to() {
        let resolve = |network: ReachableNetwork, name: &str| network.resolve(name.parse().unwrap());
        for name in ["localhost", "LOCALHOST", "LocalHost"] {
            assert!(resolve(ReachableNetwork::Public, name).await.is_err(), "{name}");
            assert!(resolve(ReachableNetwork::Private, name).await.unwrap().next().is_some(), "{name}");
        }
    }

    #[tokio::test]
    async fn a_host_is_resolved_to_the_addresses_that_may_be_connected_to() {
        let url = Url::parse("ssh://git@host/deploy").unwrap();
        let local = ReachableNetwork::Private.resolve_host("127.0.0.1", 22, &url).await.unwrap();
        assert_eq!(local, [SocketAddr::from(([127, 0, 0, 1], 22))]);
        for (network, host) in [
            (ReachableNetwork::Public, "127.0.0.1"),
            (ReachableNetwork::Public, "localhost"),
            (ReachableNetwork::Public, "10.0.0.7"),
            (ReachableNetwork::PublicAndPrivate, "169.254.169.254"),
            (ReachableNetwork::PublicAndPrivate, "::ffff:169.254.169.254"),
        ] {
            let refused = network.resolve_host(host, 22, &url).await.unwrap_err();
            assert_eq!(refused.kind, FetchErrorKind::NotAllowed, "{host}: {refused}");
        }
    }
}
