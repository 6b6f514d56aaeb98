//! References to container images, as registries read them (`distribution/reference`).

/// A reference to a container image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageReference<'a> {
    /// The host, with its port.
    pub registry: &'a str,
    /// The repository as written; the default registry prefixes a bare name with `library/`.
    pub repository: &'a str,
    /// The tag, if there is one.
    pub tag: Option<&'a str>,
    /// The digest, if there is one; it takes precedence over the tag.
    pub digest: Option<&'a str>,
}

/// The registry of references without one.
pub const DEFAULT_REGISTRY: &str = "docker.io";

impl<'a> ImageReference<'a> {
    /// Reads `[registry_host[:port]/]path[:tag][@digest]`.
    ///
    /// # Errors
    /// The text is not a reference; the error completes "is not valid: …".
    pub fn parse(image: &'a str) -> Result<Self, &'static str> {
        if image.contains("{{") {
            return Err("it contains a template expression that was not rendered");
        }
        if image.is_empty() || image.contains(char::is_whitespace) {
            return Err("it must not be empty or contain spaces");
        }
        let (rest, digest) =
            image.split_once('@').map_or((image, None), |(rest, digest)| (rest, Some(digest)));
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return Err("a digest is sha256: and 64 lower-case hex digits");
        }
        // A colon after the last slash begins the tag; one before it is a port.
        let tag_at = rest.rfind(':').filter(|at| !rest[*at..].contains('/'));
        let (name, tag) = tag_at.map_or((rest, None), |at| (&rest[..at], Some(&rest[at + 1..])));
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return Err("a tag has at most 128 letters, digits, \"_\", \".\" and \"-\"");
        }
        let host = registry_host(name);
        let repository = host.map_or(name, |host| &name[host.len() + 1..]);
        check_name(name, repository)?;
        if host.is_some_and(|host| !is_host(host)) {
            return Err("a registry is a host name or an address, with a port if it needs one");
        }
        Ok(Self { registry: host.unwrap_or(DEFAULT_REGISTRY), repository, tag, digest })
    }
}

/// The first part of a name, if it is a host.
fn registry_host(name: &str) -> Option<&str> {
    let (first, _) = name.split_once('/')?;
    (first.contains(['.', ':', '[']) || first == "localhost").then_some(first)
}

/// Whether a text is `name[:port]` or `[address][:port]`, where the parts of a name are letters, digits and inner hyphens.
fn is_host(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let has_port = port
        .is_none_or(|port| !port.is_empty() && port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit()));
    let is_address = || {
        let address = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        address.is_some_and(|address| address.parse::<std::net::Ipv6Addr>().is_ok())
    };
    has_port && (name.split('.').all(is_host_label) || is_address())
}

fn is_host_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first()) && edge(bytes.last()) && bytes.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

fn check_name(name: &str, repository: &str) -> Result<(), &'static str> {
    if name.contains("://") {
        return Err("it is not a URL: remove https://");
    }
    if repository.chars().any(|c| c.is_ascii_uppercase()) {
        return Err("repository names are lower case");
    }
    if repository.is_empty() || !repository.split('/').all(is_component) {
        return Err(
            "a repository name has lower-case letters and digits, with single \".\", \"_\" or \"-\" between them",
        );
    }
    Ok(())
}

fn is_component(part: &str) -> bool {
    let edge = |b: Option<&u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = part.as_bytes();
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'.' | b'_' | b'-'))
        && !part.contains("..")
        && !part.contains("___")
}

pub(crate) fn is_tag(tag: &str) -> bool {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let bytes = tag.as_bytes();
    bytes.len() <= 128
        && bytes.first().is_some_and(is_word)
        && bytes.iter().all(|b| is_word(b) || matches!(b, b'.' | b'-'))
}

fn is_algorithm_part(part: &str) -> bool {
    part.starts_with(|c: char| c.is_ascii_alphabetic()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
}

pub(crate) fn is_digest(digest: &str) -> bool {
    digest.split_once(':').is_some_and(|(algorithm, hex)| {
        let has_length = if algorithm == "sha256" { hex.len() == 64 } else { hex.len() >= 32 };
        let is_hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        algorithm.split(['+', '.', '-', '_']).all(is_algorithm_part) && has_length && hex.bytes().all(is_hex)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g201_references_are_read_as_registries_read_them() {
        for good in [
            "nginx",
            "nginx:1.29",
            "library/nginx",
            "localhost/web",
            "localhost:5000/web:a",
            "reg.example.com:443/a/b__c/d--e:V_1.0-x",
            "gcr.io/google_containers/cassandra:v14",
            "a@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
            "Reg.Example.com/web:1",
            "[2001:db8::1]:5000/web:1",
            "[::ffff:10.0.0.1]/web",
            "a@sha512+b64:0123456789abcdef0123456789abcdef",
        ] {
            assert!(ImageReference::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "Nginx",
            "a b",
            "https://a.b/c",
            "a:",
            "a:-x",
            "a@sha256:12",
            "a/",
            "/a",
            "-a",
            "a..b",
            "x:{{ .tag }}",
            "reg.example.com:5000\\a/b:1",
            "reg.example.com?a=/b",
            "reg.example.com#/b",
            "reg.example.com%2fa/b",
            "reg.example.com:port/b",
            "reg.example.com:/b",
            "reg..example.com/b",
            "-reg.example.com/b",
            "reg.example.com-/b",
            "reg_.example.com/b",
            "[::1/b",
            "[::1]x/b",
            "[reg.example.com]/b",
            "a@x?y:0123456789abcdef0123456789abcdef",
            "a@:0123456789abcdef0123456789abcdef",
            "a@sha256:0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef",
        ] {
            assert!(ImageReference::parse(bad).is_err(), "{bad}");
        }
        let parts = |image| {
            ImageReference::parse(image).map(|it| (it.registry, it.repository, it.tag, it.digest.is_some()))
        };
        assert_eq!(parts("nginx"), Ok(("docker.io", "nginx", None, false)));
        assert_eq!(parts("reg.example.com:443/a/b:1"), Ok(("reg.example.com:443", "a/b", Some("1"), false)));
    }
}
