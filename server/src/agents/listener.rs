//! The agents' listener: TLS with a certificate of the hub's own authority.
//!
//! Handshakes run concurrently and are bounded in number and time, so that stalled connections don't block others.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hub::{Authority, AuthorityError, Clock};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::time_provider::TimeProvider;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::listening::{accept_connection, disable_nagle, join_next};

/// Time limit of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent handshakes (P20).
const MAX_HANDSHAKES: usize = 256;

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

type AcceptedConnection = (TlsStream<TcpStream>, SocketAddr);

/// Accepts connections after a completed TLS handshake. When it is dropped, the port is free at once.
pub struct AgentListener {
    socket: Arc<TcpListener>,
    address: SocketAddr,
    certificates: Arc<ListenerCertificates>,
    acceptor: RenewableAcceptor,
    /// Handshakes in progress; a failed one returns `None`.
    handshakes: JoinSet<Option<AcceptedConnection>>,
}

impl AgentListener {
    /// Binds the address. `names` are the DNS names and IP addresses in the certificate.
    ///
    /// # Errors
    /// The port is in use or the certificate can't be issued.
    pub async fn bind(
        address: SocketAddr,
        authority: Arc<Authority>,
        names: Vec<String>,
        clock: Clock,
    ) -> Result<Self, ListenError> {
        let socket = TcpListener::bind(address).await.map_err(|error| ListenError::Bind(address, error))?;
        let address = socket.local_addr().map_err(|error| ListenError::Bind(address, error))?;
        let certificates = Arc::new(ListenerCertificates { authority, names, clock });
        let acceptor = certificates.create_acceptor()?;
        Ok(Self { socket: Arc::new(socket), address, certificates, acceptor, handshakes: JoinSet::new() })
    }

    /// Another listener on the same socket, without the handshakes in progress.
    pub fn reopen(&self) -> Self {
        Self {
            socket: self.socket.clone(),
            address: self.address,
            certificates: self.certificates.clone(),
            acceptor: self.acceptor.clone(),
            handshakes: JoinSet::new(),
        }
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    fn start_handshake(&mut self, mut stream: TcpStream, address: SocketAddr) {
        disable_nagle(&mut stream);
        if self.acceptor.renew_at <= self.certificates.clock.now() {
            match self.certificates.create_acceptor() {
                Ok(renewed) => self.acceptor = renewed,
                Err(error) => {
                    tracing::error!(%error, "can't renew the certificate of the agents' listener; the current one stays in use")
                }
            }
        }
        let tls = self.acceptor.tls.clone();
        self.handshakes.spawn(async move {
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                Ok(Ok(stream)) => return Some((stream, address)),
                Ok(Err(error)) => tracing::debug!(%address, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%address, "a TLS handshake timed out"),
            }
            None
        });
    }
}

impl axum::serve::Listener for AgentListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> AcceptedConnection {
        loop {
            let has_capacity = self.handshakes.len() < MAX_HANDSHAKES;
            tokio::select! {
                handshake = join_next(&mut self.handshakes) => {
                    if let Some(connection) = handshake {
                        return connection;
                    }
                }
                (stream, address) = accept_connection(&self.socket), if has_capacity => {
                    self.start_handshake(stream, address);
                }
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
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
