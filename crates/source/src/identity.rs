//! The identity of a repository: one text for all spellings of its URL. Credentials and allowed signers are found by it, so that
//! another spelling is never another repository without them.

use std::net::Ipv6Addr;

use egress::Url;

/// Scheme, host, port and path of a URL in the one form that its spellings share (RFC 3986, 6.2.2 and 6.2.3).
pub(crate) fn url_identity(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), authority_identity(url), path_identity(url))
}

/// Host and port: in lower case, without the full stop at the end of a host and without the usual port of the scheme.
pub(crate) fn authority_identity(url: &Url) -> String {
    let host = host_identity(url.host_str().unwrap_or_default());
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}")
}

/// One form of a host that the parser has read: it writes names in lower case, removes the usual port, and knows every spelling of an
/// IPv4 address but the one within an IPv6 address.
fn host_identity(host: &str) -> String {
    let literal = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    match literal.and_then(|literal| literal.parse::<Ipv6Addr>().ok()) {
        // The socket of `::ffff:192.0.2.1` connects to 192.0.2.1 (RFC 4291, 2.5.5.2).
        Some(address) => match address.to_ipv4_mapped() {
            Some(mapped) => mapped.to_string(),
            None => format!("[{address}]"),
        },
        None => host.trim_end_matches('.').to_owned(),
    }
}

/// The path without dot segments and slashes at its end, with percent-encoding in upper case and only where it is needed.
pub(crate) fn path_identity(url: &Url) -> String {
    // The parser removes dot segments.
    normalize_percent_encoding(url.path()).trim_end_matches('/').to_owned()
}

/// Decodes what needs no percent-encoding, and writes the digits of the rest in upper case.
fn normalize_percent_encoding(path: &str) -> String {
    let mut parts = path.split('%');
    let mut normalized = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        let (encoded, rest) = part.split_at(if byte.is_some() { 2 } else { 0 });
        match byte {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                normalized.push(byte.into());
            }
            _ => normalized.extend(["%", &encoded.to_ascii_uppercase()]),
        }
        normalized.push_str(rest);
    }
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_url_have_one_identity_and_other_urls_another() {
        let identity = |url: &str| url_identity(&Url::parse(url).unwrap());
        let one = "https://git.example.com/acme/deploy-1";
        for spelling in [
            one,
            "HTTPS://Git.Example.COM/acme/deploy-1",
            "https://git.example.com:443/acme/deploy-1",
            "https://git.example.com./acme/deploy-1",
            "https://git.example.com/acme/deploy-1//",
            "https://git.example.com/x/../acme/./deploy-1",
            "https://git.example.com/%61cme/deploy%2d1",
        ] {
            assert_eq!(identity(spelling), one, "{spelling}");
        }
        for other in [
            "http://git.example.com/acme/deploy-1",
            "https://git.example.com:8443/acme/deploy-1",
            "https://git.example.com/acme/deploy-2",
            "https://git.example.com/Acme/deploy-1",
            "https://git.example.com/acme%2fdeploy-1",
        ] {
            assert_ne!(identity(other), one, "{other}");
        }
        assert_eq!(identity("https://a.test/b%2fc%2F%zz%"), "https://a.test/b%2Fc%2F%zz%");
        assert_eq!(identity("https://a.test/%2525"), "https://a.test/%2525", "it is decoded once");
    }

    #[test]
    fn spellings_of_one_address_have_one_identity() {
        let identity = |host: &str| url_identity(&Url::parse(&format!("http://{host}/deploy")).unwrap());
        let four = "http://192.0.2.1/deploy";
        for host in [
            "192.0.2.1",
            "192.0.2.1.",
            "192.0.2.1:80",
            "3221225985",
            "0xc0.0.0x201",
            "0300.0.2.1",
            "[::ffff:192.0.2.1]",
            "[::FFFF:c000:0201]:80",
            "[0:0:0:0:0:ffff:c000:201]",
        ] {
            assert_eq!(identity(host), four, "{host}");
        }
        assert_eq!(identity("[::ffff:192.0.2.1]:8080"), "http://192.0.2.1:8080/deploy");
        for host in ["[2001:db8::1]", "[2001:DB8:0:0::0001]", "[2001:db8:0:0:0:0:0:1]:80"] {
            assert_eq!(identity(host), "http://[2001:db8::1]/deploy", "{host}");
        }
        for host in ["192.0.2.2", "[64:ff9b::192.0.2.1]", "[2001:db8::192.0.2.1]", "192.0.2.1.test"] {
            assert_ne!(identity(host), four, "{host}");
        }
    }
}
