//! The address of a client, also behind reverse proxies.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Once};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, HeaderMap};
use ipnet::IpNet;

use crate::listener::Peer;

/// The prefix of IPv6 addresses that one client has at least.
const CLIENT_PREFIX_V6: u32 = 64;

/// The networks of reverse proxies, whose `X-Forwarded-For` is trusted; of all others it is ignored, because any client
/// can send it.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

impl TrustedProxies {
    /// These networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }

    /// Whether this is the address of a trusted proxy.
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The client of a request from this peer: the last address in `X-Forwarded-For` that is not a trusted proxy. A proxy
    /// appends the address it received the request from, so that everything before that is the client's own claim.
    pub fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        let values = headers.get_all("x-forwarded-for");
        let lines: Vec<&str> = values.iter().map(|value| value.to_str().unwrap_or_default()).collect();
        for entry in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
            if !self.contains(client) {
                break;
            }
            // A proxy that hides the address: its own is all that is known.
            let Some(address) = parse_entry(entry) else { break };
            client = address;
        }
        client
    }
}

/// The address of the client of a request.
pub fn read_client_address(proxies: &TrustedProxies, headers: &HeaderMap, extensions: &Extensions) -> IpAddr {
    let peer = extensions.get::<ConnectInfo<Peer>>().map(|ConnectInfo(peer)| peer.address.ip());
    // Only a test sends requests without a connection.
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    if headers.contains_key("x-forwarded-for") && !proxies.contains(peer) {
        warn_about_untrusted_proxy(peer);
    }
    proxies.client_address(peer, headers)
}

/// Logs once that a header is ignored which a reverse proxy may have sent: all its clients share the limits of its address.
fn warn_about_untrusted_proxy(peer: IpAddr) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        tracing::warn!(
            %peer,
            "X-Forwarded-For is ignored, because its sender is not a trusted proxy; if it is your reverse proxy, set --trusted-proxy"
        );
    });
}

/// An entry of `X-Forwarded-For`; some proxies add the port.
fn parse_entry(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let address = entry.parse().ok().or_else(|| Some(entry.parse::<std::net::SocketAddr>().ok()?.ip()));
    address
        .or_else(|| entry.strip_prefix('[')?.strip_suffix(']')?.parse().ok())
        .map(|ip: IpAddr| ip.to_canonical())
}

/// The network under which a client is counted: its IPv4 address, or the /64 network of its IPv6 address, which is the
/// smallest that providers assign.
pub fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << (128 - CLIENT_PREFIX_V6))))
        }
        address => address,
    }
}

/// Reads the value of `--trusted-proxy`: a network or one address.
///
/// # Errors
/// It is neither.
pub fn parse_network(text: &str) -> Result<IpNet, String> {
    let parsed = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
    parsed.map_err(|_| format!("{text:?} is neither a network such as 10.0.0.0/8 nor an address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(proxies: &[&str], peer: &str, lines: &[&'static str]) -> String {
        let networks = proxies.iter().map(|text| parse_network(text).unwrap()).collect();
        let name = axum::http::HeaderName::from_static("x-forwarded-for");
        let headers = lines.iter().map(|line| (name.clone(), line.parse().unwrap())).collect();
        TrustedProxies::new(networks).client_address(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn the_forwarded_address_is_trusted_from_trusted_proxies_only() {
        assert_eq!(client(&[], "10.0.0.7", &["203.0.113.9"]), "10.0.0.7", "private, but not trusted");
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.7", &["203.0.113.9"]), "203.0.113.9");
        assert_eq!(client(&["10.0.0.7"], "10.0.0.8", &["203.0.113.9"]), "10.0.0.8");
        assert_eq!(client(&["::1"], "::1", &["2001:db8::9"]), "2001:db8::9");
        assert_eq!(client(&["10.0.0.0/8"], "::ffff:10.0.0.7", &["203.0.113.9:5000"]), "203.0.113.9");
    }

    #[test]
    fn a_client_cannot_choose_its_address_by_sending_the_header_itself() {
        let proxies = ["10.0.0.0/8"];
        assert_eq!(client(&proxies, "10.0.0.7", &["6.6.6.6, 203.0.113.9"]), "203.0.113.9");
        assert_eq!(client(&proxies, "10.0.0.7", &["6.6.6.6", "203.0.113.9, 10.0.0.8"]), "203.0.113.9");
        assert_eq!(client(&proxies, "10.0.0.7", &["6.6.6.6, unknown"]), "10.0.0.7");
        assert_eq!(client(&proxies, "10.0.0.7", &[]), "10.0.0.7");
    }

    #[test]
    fn addresses_of_one_client_network_are_counted_together() {
        let network = |text: &str| client_network(text.parse().unwrap()).to_string();
        assert_eq!(network("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::");
        assert_eq!(
            (network("192.0.2.7"), network("::ffff:192.0.2.7")),
            ("192.0.2.7".into(), "192.0.2.7".into())
        );
    }
}
