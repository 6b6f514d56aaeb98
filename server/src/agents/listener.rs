//! The agents' listener: TLS with a certificate of the hub's own authority.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hub::{Authority, AuthorityError, Clock, read_certificate_cluster};
use parking_lot::Mutex;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::listener::{AcceptedStream, ConnectionLimits, Handshake, HttpListener};

/// Why the listener can't start.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can't be bound.
    #[error("can't listen on {0}: {1}")]
    Bind(SocketAddr, std::io::Error),
    /// The authority can't issue a certificate.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The TLS configuration is not valid.
    #[error("can't use the certificate: {0}")]
    Tls(String),
}

/// The agents' port: TLS.
pub type AgentListener = HttpListener<AgentTls>;

/// Binds the agents' port. `names` are the DNS names and IP addresses in its certificate.
///
/// # Errors
/// The port is in use or the certificate can't be issued.
pub async fn bind(
    address: SocketAddr,
    authority: Arc<Authority>,
    names: Vec<String>,
    clock: Clock,
    limits: ConnectionLimits,
) -> Result<AgentListener, ListenError> {
    let certificates = ListenerCertificates { authority, names, clock };
    let acceptor = Mutex::new(certificates.create_acceptor()?);
    let bound = HttpListener::bind(address, AgentTls { certificates, acceptor }, limits).await;
    bound.map_err(|error| ListenError::Bind(address, error))
}

/// The TLS handshake of the agents' listener.
pub struct AgentTls {
    certificates: ListenerCertificates,
    acceptor: Mutex<RenewableAcceptor>,
}

impl AgentTls {
    fn acceptor(&self) -> TlsAcceptor {
        let mut acceptor = self.acceptor.lock();
        if acceptor.renew_at <= self.certificates.clock.now() {
            match self.certificates.create_acceptor() {
                Ok(renewed) => *acceptor = renewed,
                Err(error) => {
                    tracing::error!(%error, "can't renew the certificate of the agents' listener; the current one stays in use")
                }
            }
        }
        acceptor.tls.clone()
    }
}

impl Handshake for AgentTls {
    type Io = TlsStream<TcpStream>;

    async fn accept(&self, stream: TcpStream) -> io::Result<AcceptedStream<Self::Io>> {
        let acceptor = self.acceptor();
        let io = acceptor.accept(stream).await?;
        let certificate = io.get_ref().1.peer_certificates().and_then(<[_]>::first);
        let certificate = certificate.map(|der| Bytes::copy_from_slice(der));
        let cluster = certificate.as_deref().and_then(read_certificate_cluster);
        Ok(AcceptedStream { io, certificate, cluster })
    }
}

/// Issues the listener's certificate, and renews it before it expires.
struct ListenerCertificates {
    authority: Arc<Authority>,
    names: Vec<String>,
    clock: Clock,
}

#[derive(Clone)]
struct RenewableAcceptor {
    tls: TlsAcceptor,
    renew_at: domain::Timestamp,
}

impl ListenerCertificates {
    fn create_acceptor(&self) -> Result<RenewableAcceptor, ListenError> {
        let tls_error = |error: &dyn std::fmt::Display| ListenError::Tls(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.authority.der().to_vec())).map_err(|error| tls_error(&error))?;
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| tls_error(&error))?;
        let issued = self.authority.issue_listener_certificate(&self.names)?;
        let chain = issued.chain.into_iter().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(issued.key));
        let time = Arc::new(HubTimeProvider(self.clock.clone()));
        let config = ServerConfig::builder_with_details(provider, time)
            .with_safe_default_protocol_versions()
            .map_err(|error| tls_error(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| tls_error(&error))?;
        Ok(RenewableAcceptor { tls: TlsAcceptor::from(Arc::new(config)), renew_at: issued.renew_at })
    }
}

/// Certificates are verified against the hub's clock, which also set their validity.
#[derive(Debug)]
struct HubTimeProvider(Clock);

impl TimeProvider for HubTimeProvider {
    fn current_time(&self) -> Option<UnixTime> {
        let millis = u64::try_from(self.0.now().millis()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}
