//! The socket that agents dial: TLS with a certificate of the hub's own authority.
//!
//! Handshakes run beside each other and are bounded in number and time, so that nobody who dials and then says nothing
//! keeps others out.

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

/// How long a handshake may take.
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Handshakes under way at once (P20).
const HANDSHAKES: usize = 256;
/// The pause after the system refuses a connection, such as when it has no file handles left.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// Why nobody can dial.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The port can't be had.
    #[error("can't listen on {0}: {1}")]
    Port(SocketAddr, std::io::Error),
    /// There is no certificate.
    #[error(transparent)]
    Authority(#[from] AuthorityError),
    /// The certificate can't be used.
    #[error("can't use the certificate: {0}")]
    Tls(String),
}

type Arrived = (TlsStream<TcpStream>, SocketAddr);

/// Gives out connections whose handshake is over.
pub struct AgentListener {
    arrived: mpsc::Receiver<Arrived>,
    address: SocketAddr,
    _accepting: AbortOnDropHandle<()>,
}

impl AgentListener {
    /// Listens; agents dial under these names and addresses.
    ///
    /// # Errors
    /// The port is taken or the certificate can't be made.
    pub async fn bind(
        address: SocketAddr,
        authority: Arc<Authority>,
        names: Vec<String>,
        clock: Clock,
    ) -> Result<Self, ListenError> {
        let socket = TcpListener::bind(address).await.map_err(|error| ListenError::Port(address, error))?;
        let address = socket.local_addr().map_err(|error| ListenError::Port(address, error))?;
        let certificates = Certificates { authority, names, clock };
        let first = certificates.acceptor()?;
        let (sender, arrived) = mpsc::channel(64);
        let accepting = tokio::spawn(accept(socket, certificates, first, sender));
        Ok(Self { arrived, address, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// The address it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl axum::serve::Listener for AgentListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> Arrived {
        match self.arrived.recv().await {
            Some(arrived) => arrived,
            // Its task ends only with this listener.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.address)
    }
}

/// Makes the listener's certificate, and another one long before it ends.
struct Certificates {
    authority: Arc<Authority>,
    names: Vec<String>,
    clock: Clock,
}

struct Acceptor {
    tls: TlsAcceptor,
    renew_at: domain::Timestamp,
}

impl Certificates {
    fn acceptor(&self) -> Result<Acceptor, ListenError> {
        let bad = |error: &dyn std::fmt::Display| ListenError::Tls(error.to_string());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from(self.authority.der().to_vec())).map_err(|error| bad(&error))?;
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .allow_unauthenticated()
            .build()
            .map_err(|error| bad(&error))?;
        let made = self.authority.for_listener(&self.names)?;
        let chain = made.chain.into_iter().map(CertificateDer::from).collect();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.key));
        let time = Arc::new(HubTime(self.clock.clone()));
        let config = ServerConfig::builder_with_details(provider, time)
            .with_safe_default_protocol_versions()
            .map_err(|error| bad(&error))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, key)
            .map_err(|error| bad(&error))?;
        Ok(Acceptor { tls: TlsAcceptor::from(Arc::new(config)), renew_at: made.renew_at })
    }
}

/// Certificates are judged by the hub's clock, which also wrote them.
#[derive(Debug)]
struct HubTime(Clock);

impl TimeProvider for HubTime {
    fn current_time(&self) -> Option<UnixTime> {
        let millis = u64::try_from(self.0.now().millis()).ok()?;
        Some(UnixTime::since_unix_epoch(Duration::from_millis(millis)))
    }
}

async fn accept(
    socket: TcpListener,
    certificates: Certificates,
    mut acceptor: Acceptor,
    arrived: mpsc::Sender<Arrived>,
) {
    let room = Arc::new(Semaphore::new(HANDSHAKES));
    while let Ok(place) = room.clone().acquire_owned().await {
        let (mut stream, address) = match socket.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "can't take an agent's connection");
                tokio::time::sleep(AFTER_FAILURE).await;
                continue;
            }
        };
        crate::running::at_once(&mut stream);
        if acceptor.renew_at <= certificates.clock.now() {
            match certificates.acceptor() {
                Ok(renewed) => acceptor = renewed,
                Err(error) => tracing::error!(%error, "the agents' listener keeps its old certificate"),
            }
        }
        let (tls, arrived) = (acceptor.tls.clone(), arrived.clone());
        tokio::spawn(async move {
            match tokio::time::timeout(HANDSHAKE_WITHIN, tls.accept(stream)).await {
                Ok(Ok(stream)) => {
                    // A closed channel means that the server ends.
                    let _ = arrived.send((stream, address)).await;
                }
                Ok(Err(error)) => tracing::debug!(%address, %error, "a handshake failed"),
                Err(_) => tracing::debug!(%address, "a handshake took too long"),
            }
            drop(place);
        });
    }
}
