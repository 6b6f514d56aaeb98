//! Peer address and client certificate of a connection.

use std::net::SocketAddr;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use bytes::Bytes;

use super::AgentListener;

/// The other end of a connection.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Its client certificate in DER, if it presented one. TLS has verified the authority's signature and the key.
    pub certificate: Option<Bytes>,
}

impl Connected<IncomingStream<'_, AgentListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, AgentListener>) -> Self {
        let (_, tls) = stream.io().get_ref();
        let certificate = tls.peer_certificates().and_then(<[_]>::first);
        Self {
            address: *stream.remote_addr(),
            certificate: certificate.map(|der| Bytes::copy_from_slice(der)),
        }
    }
}
