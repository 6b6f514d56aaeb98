//! Addresses of Git repositories that are read over SSH: `ssh://user@host:port/path`, and the short form `user@host:path`.

use std::fmt;
use std::net::Ipv6Addr;

/// The port of SSH if none is named.
pub const DEFAULT_SSH_PORT: u16 = 22;

/// How an address over SSH begins.
const SSH_SCHEME: &str = "ssh://";
/// Longest name of a user.
const MAX_USER_BYTES: usize = 64;
/// Longest name of a host.
const MAX_HOST_BYTES: usize = 253;

/// The address of a repository over SSH. Every part consists of characters without a meaning to a shell or a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SshUrl {
    /// The user on the server, which is usually `git`.
    pub user: String,
    /// The host, in lower case; an IPv6 address without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The path: absolute for a URL, and relative to the home of the user for the short form.
    pub path: String,
}

/// Why a text is no address over SSH, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidSshUrl(&'static str);

/// Whether a text is meant as an address over SSH.
pub fn is_ssh_url(url: &str) -> bool {
    let url = url.trim();
    url.starts_with(SSH_SCHEME) || is_short_form(url)
}

fn is_short_form(url: &str) -> bool {
    let login = url.split_once(':').map_or("", |(login, _)| login);
    !url.contains("://") && login.contains('@') && !login.contains('/')
}

impl SshUrl {
    /// Parses either form.
    ///
    /// # Errors
    /// A part is missing, or has a character that is not allowed in it.
    pub fn parse(url: &str) -> Result<Self, InvalidSshUrl> {
        let url = url.trim();
        let (login, port, path) = match url.strip_prefix(SSH_SCHEME) {
            Some(rest) => {
                let (authority, path) = rest.split_once('/').ok_or(InvalidSshUrl("it names no path"))?;
                let (login, port) = split_port(authority)?;
                (login, port, format!("/{path}"))
            }
            None if is_short_form(url) => {
                let end = if url.contains("@[") { "]:" } else { ":" };
                let at = url.find(end).ok_or(InvalidSshUrl("it names no path"))?;
                let (login, path) = (&url[..at + end.len() - 1], &url[at + end.len()..]);
                (login, DEFAULT_SSH_PORT, path.to_owned())
            }
            None => return Err(InvalidSshUrl("it begins neither with ssh:// nor with user@host:")),
        };
        let (user, host) =
            login.split_once('@').ok_or(InvalidSshUrl("it names no user; the user is usually git"))?;
        let path = path.trim_end_matches('/').to_owned();
        check_user(user)?;
        check_path(&path)?;
        Ok(Self { user: user.to_owned(), host: read_host(host)?, port, path })
    }

    /// The form that all spellings of a repository share: of a URL and of the short form, in lower case and without `.git` at its end.
    pub fn identity(&self) -> String {
        let path = self.path.trim_start_matches('/').to_ascii_lowercase();
        let mut path = path.as_str();
        while let Some(rest) = path.strip_suffix(".git").or_else(|| path.strip_suffix('/')) {
            path = rest;
        }
        format!("{SSH_SCHEME}{}@{}/{path}", self.user, self.authority())
    }

    /// Whether another address has the same user, host and port, so that the same key is for it.
    pub fn has_same_server(&self, other: &Self) -> bool {
        (&self.user, &self.host, self.port) == (&other.user, &other.host, other.port)
    }

    /// The host as it stands in a file of known hosts: with its port in brackets, if that is another one than usual.
    pub fn known_host(&self) -> String {
        if self.port == DEFAULT_SSH_PORT {
            return self.host.clone();
        }
        format!("[{}]:{}", self.host, self.port)
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == DEFAULT_SSH_PORT { host } else { format!("{host}:{}", self.port) }
    }
}

impl fmt::Display for SshUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SSH_SCHEME}{}@{}/{}", self.user, self.authority(), self.path.trim_start_matches('/'))
    }
}

/// User and host, and the port behind them.
fn split_port(authority: &str) -> Result<(&str, u16), InvalidSshUrl> {
    let after_address = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_address..].rfind(':').map(|at| at + after_address) {
        None => Ok((authority, DEFAULT_SSH_PORT)),
        Some(at) => {
            let digits = &authority[at + 1..];
            let port = digits.parse::<u16>().ok().filter(|port| *port > 0 && !digits.starts_with(['+', '0']));
            let port = port.ok_or(InvalidSshUrl("its port is not a number from 1 to 65535"))?;
            Ok((&authority[..at], port))
        }
    }
}

fn check_user(user: &str) -> Result<(), InvalidSshUrl> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_valid = !user.is_empty()
        && user.len() <= MAX_USER_BYTES
        && !user.starts_with('-')
        && user.chars().all(is_allowed);
    if is_valid { Ok(()) } else { Err(InvalidSshUrl("the user before @ is not a name; it is usually git")) }
}

fn read_host(host: &str) -> Result<String, InvalidSshUrl> {
    const INVALID: InvalidSshUrl = InvalidSshUrl("its host is neither a name nor an address");
    if let Some(literal) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return literal.parse::<Ipv6Addr>().map(|address| address.to_string()).map_err(|_| INVALID);
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty()
            && !label.starts_with('-')
            && label.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
    };
    let is_valid = host.len() <= MAX_HOST_BYTES && host.split('.').all(is_label);
    if is_valid { Ok(host) } else { Err(INVALID) }
}

/// A shell of the server reads the path, in quotes.
fn check_path(path: &str) -> Result<(), InvalidSshUrl> {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._~/+@-".contains(c);
    let relative = path.strip_prefix('/').unwrap_or(path);
    if relative.is_empty() {
        return Err(InvalidSshUrl("it names no path"));
    }
    if !path.chars().all(is_allowed) || relative.starts_with('-') {
        return Err(InvalidSshUrl("its path has other characters than letters, digits and . _ ~ / + @ -"));
    }
    if relative.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return Err(InvalidSshUrl("its path has an empty part, \".\" or \"..\""));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_an_address_over_ssh_have_one_identity() {
        let identity = |url: &str| SshUrl::parse(url).unwrap().identity();
        let one = "ssh://git@git.example.com/acme/deploy";
        for spelling in [
            "ssh://git@git.example.com/acme/deploy.git",
            "ssh://git@GIT.example.com.:22/Acme/deploy/",
            "git@git.example.com:acme/deploy.git",
            "git@git.example.com:/acme/deploy",
        ] {
            assert!(is_ssh_url(spelling), "{spelling}");
            assert_eq!(identity(spelling), one, "{spelling}");
        }
        for other in [
            "ssh://git@git.example.com:2222/acme/deploy",
            "ssh://ada@git.example.com/acme/deploy",
            "git@git.example.com:acme/deploy2",
        ] {
            assert_ne!(identity(other), one, "{other}");
        }
        assert_eq!(identity("git@[2001:DB8::1]:a"), identity("ssh://git@[2001:db8:0::1]:22/a"));
    }

    #[test]
    fn the_path_of_the_short_form_is_relative_and_that_of_a_url_is_not() {
        assert_eq!(SshUrl::parse("git@a.test:acme/b.git").unwrap().path, "acme/b.git");
        assert_eq!(SshUrl::parse("ssh://git@a.test/acme/b.git").unwrap().path, "/acme/b.git");
        let other = SshUrl::parse("ssh://git@[::1]:2222/a").unwrap();
        assert_eq!((&*other.host, other.port, &*other.known_host()), ("::1", 2222, "[::1]:2222"));
        assert_eq!(other.to_string(), "ssh://git@[::1]:2222/a");
        assert_eq!(SshUrl::parse("git@a.test:b").unwrap().known_host(), "a.test");
    }

    #[test]
    fn what_a_shell_or_a_command_line_could_read_otherwise_is_refused() {
        for refused in [
            "ssh://-oProxyCommand=x@host/a",
            "ssh://git@-oProxyCommand=x/a",
            "git@host:-upload",
            "git@host:a'b",
            "git@host:$(x)",
            "git@host:a b",
            "git@host:a/../b",
            "ssh://git@host/a//b",
            "ssh://git@host/",
            "ssh://git@host",
            "ssh://host/a",
            "ssh://git@host:0/a",
            "ssh://git@host:x/a",
            "ssh://git:secret@host/a",
            "ssh://git@ho%73t/a",
            "ssh://git@/a",
            "git@host:",
        ] {
            assert!(SshUrl::parse(refused).is_err(), "{refused}");
        }
        for other in ["https://git@host/a:b", "file:///etc", "git://a/b", "a:b"] {
            assert!(!is_ssh_url(other), "{other}");
        }
    }
}
