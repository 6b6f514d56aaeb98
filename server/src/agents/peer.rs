//! Who is at the other end of a connection, as far as TLS tells.

use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use bytes::Bytes;

use super::AgentListener;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Where it dials from.
    pub address: SocketAddr,
    /// Its certificate in DER, if it showed one; our authority signed it and its key was proven.
    pub certificate: Option<Bytes>,
}

impl Connected<IncomingStream<'_, AgentListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, AgentListener>) -> Self {
        let (_, tls) = stream.io().get_ref();
        let shown = tls.peer_certificates().and_then(<[_]>::first);
        Self {
            address: *stream.remote_addr(),
            certificate: shown.map(|certificate| Bytes::copy_from_slice(certificate)),
        }
    }
}
