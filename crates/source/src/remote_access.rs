//! Which servers sources are fetched from.

use egress::{EgressPolicy, ReachableNetwork};

/// Which servers charts, artifacts and Git repositories are fetched from. On a server, a private or loopback address can
/// belong to somebody else than the user who names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RemoteAccess {
    /// HTTPS, at public addresses.
    Https,
    /// HTTPS, also at private and loopback addresses: for servers of a closed network.
    PrivateHttps,
    /// As [`Self::PrivateHttps`], and plain HTTP at private and loopback addresses.
    PrivateHttp,
}

impl RemoteAccess {
    /// The addresses that may be connected to.
    pub const fn policy(self) -> EgressPolicy {
        let https = Some(ReachableNetwork::PublicAndPrivate);
        match self {
            Self::Https => EgressPolicy::PUBLIC_HTTPS,
            Self::PrivateHttps => EgressPolicy { https, http: None },
            Self::PrivateHttp => EgressPolicy { https, http: Some(ReachableNetwork::Private) },
        }
    }
}
