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
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::task::AbortOnDropHandle;

/// Time limit of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Concurrent handshakes (P20).
const MAX_HANDSHAKES: usize = 256;
/// Pause after `accept_connections` failed, for example because no file descriptors are left.
const RETRY_DELAY: Duration = Duration::from_secs(1);

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

/// Accepts connections after a completed TLS handshake.
pub struct AgentListener {
    accepted: mpsc::Receiver<AcceptedConnection>,
    address: SocketAddr,
    _accepting: AbortOnDropHandle<()>,
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
        let certificates = ListenerCertificates { authority, names, clock };
        let first = certificates.create_acceptor()?;
        let (sender, arrived) = mpsc::channel(64);
        let accepting = tokio::spawn(accept_connections(socket, certificates, first, sender));
        Ok(Self { accepted: arrived, address, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl axum::serve::Listener for AgentListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> AcceptedConnection {
        match self.accepted.recv().await {
            Some(arrived) => arrived,
            // The accepting task ends only when this listener is dropped.
            None => std::future::pending().await,
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

async fn accept_connections(
    socket: TcpListener,
    certificates: ListenerCertificates,
    mut acceptor: RenewableAcceptor,
    arrived: mpsc::Sender<AcceptedConnection>,
) {
    let handshakes = Arc::new(Semaphore::new(MAX_HANDSHAKES));
    while let Ok(permit) = handshakes.clone().acquire_owned().await {
        let (mut stream, address) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "can't accept an agent's connection; retrying in 1 s");
                tokio::time::sleep(RETRY_DELAY).await;
                continue;
            }
        };
        crate::lifecycle::disable_nagle(&mut stream);
        if acceptor.renew_at <= certificates.clock.now() {
            match certificates.create_acceptor() {
                Ok(renewed) => acceptor = renewed,
                Err(error) => {
                    tracing::error!(%error, "can't renew the certificate of the agents' listener; the current one stays in use")
                }
            }
        }
        let (tls, arrived) = (acceptor.tls.clone(), arrived.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(HANDSHAKE_TIMEOUT, tls.accept(stream)).await {
                Ok(Ok(stream)) => {
                    // A closed channel means that the server is shutting down.
                    let _ = arrived.send((stream, address)).await;
                }
                Ok(Err(error)) => tracing::debug!(%address, %error, "a TLS handshake failed"),
                Err(_) => tracing::debug!(%address, "a TLS handshake timed out"),
            }
            drop(permit);
        });
    }
}
