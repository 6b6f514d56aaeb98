//! The listeners of both ports. Their connections are bounded in number and in silence, so that clients which open
//! connections and send nothing take neither port from the others (P20).
//!
//! A connection waits, for its handshake or for a request, or it serves a request. At a limit the connection that has
//! waited longest is closed for the new one. If none waits, a few more connections are accepted: they are answered with an
//! error and `Retry-After`, or, on a path that the router answers without any work, as usual. So `/livez` responds at the
//! limit. docs/limits.md lists the limits.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use bytes::Bytes;
use domain::ClusterId;
use hub::Hub;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

mod connection;
mod limits;
mod minimum_rate;
mod table;

pub use limits::{ConnectionLimits, DescriptorBudget, limit_by_memory};
pub use minimum_rate::RetainedResponse;
pub use table::ConnectionStatistics;

use connection::Connection;
use table::ConnectionTable;

/// Name of the console's listener among the supervised tasks.
pub const CONSOLE: &str = "consoleListener";
/// Name of the agents' listener among the supervised tasks.
pub const AGENTS: &str = "agentsListener";
/// Both.
pub const LISTENERS: [&str; 2] = [CONSOLE, AGENTS];

/// Pause after a connection could not be accepted, for example because no file descriptors are left.
const RETRY_DELAY: Duration = Duration::from_millis(100);

/// The other end of a connection; requests have it as `ConnectInfo<Peer>`.
#[derive(Debug, Clone)]
pub struct Peer {
    /// Its address.
    pub address: SocketAddr,
    /// Its client certificate in DER, if it presented one. TLS has verified the authority's signature and the key.
    pub certificate: Option<Bytes>,
}

/// What happens on a connection before its first request: nothing, or a TLS handshake.
pub trait Handshake: Send + Sync + 'static {
    /// The stream after it.
    type Io: AsyncRead + AsyncWrite + Send + 'static;

    /// Performs it.
    fn accept(&self, stream: TcpStream) -> impl Future<Output = io::Result<AcceptedStream<Self::Io>>> + Send;
}

/// A connection after its handshake.
pub struct AcceptedStream<Io> {
    /// The stream.
    pub io: Io,
    /// The client's certificate in DER, if it presented one.
    pub certificate: Option<Bytes>,
    /// The cluster that the certificate names. Its connections are counted together, and not under their address, which
    /// many agents may share.
    pub cluster: Option<ClusterId>,
}

/// No handshake: plain HTTP.
#[derive(Debug, Clone, Copy)]
pub struct PlainText;

impl Handshake for PlainText {
    type Io = TcpStream;

    async fn accept(&self, stream: TcpStream) -> io::Result<AcceptedStream<TcpStream>> {
        Ok(AcceptedStream { io: stream, certificate: None, cluster: None })
    }
}

/// A bound port. Clones share it; when the last one is dropped, the port is free.
pub struct HttpListener<H> {
    socket: Arc<TcpListener>,
    address: SocketAddr,
    shared: Arc<ListenerState<H>>,
}

impl<H> Clone for HttpListener<H> {
    fn clone(&self) -> Self {
        Self { socket: self.socket.clone(), address: self.address, shared: self.shared.clone() }
    }
}

/// What the connections of a listener share.
struct ListenerState<H> {
    handshake: H,
    limits: ConnectionLimits,
    table: ConnectionTable,
}

impl<H: Handshake> HttpListener<H> {
    /// Binds the address.
    ///
    /// # Errors
    /// The address can't be bound.
    pub async fn bind(address: SocketAddr, handshake: H, limits: ConnectionLimits) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        let table = ConnectionTable::new(&limits);
        Ok(Self {
            socket: Arc::new(socket),
            address,
            shared: Arc::new(ListenerState { handshake, limits, table }),
        })
    }

    /// The bound address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The open, closed and refused connections.
    pub fn statistics(&self) -> Arc<ConnectionStatistics> {
        self.shared.table.statistics().clone()
    }

    /// Serves until `stop`, then until the pending requests are answered.
    pub async fn serve(self, router: Router, stop: CancellationToken) {
        let connections = TaskTracker::new();
        loop {
            tokio::select! {
                accepted = self.socket.accept() => match accepted {
                    Ok(accepted) => {
                        if let Some(connection) = self.open_connection(accepted) {
                            connections.spawn(connection.run(router.clone(), stop.clone()));
                        }
                    }
                    Err(error) => {
                        tracing::warn!(%error, "can't accept a connection; closing the one that has waited longest");
                        self.shared.table.close_longest_waiting();
                        tokio::time::sleep(RETRY_DELAY).await;
                    }
                },
                () = stop.cancelled() => break,
            }
        }
        connections.close();
        connections.wait().await;
    }

    /// An accepted connection; `None` if it has to be closed because of a limit.
    fn open_connection(&self, (stream, address): (TcpStream, SocketAddr)) -> Option<Connection<H>> {
        // Otherwise the second event of a stream waits for the acknowledgement of the first, which takes 40 ms on Linux.
        // Fails only on a closed socket.
        let _ = stream.set_nodelay(true);
        let Some(entry) = self.shared.table.admit(address.ip()) else {
            tracing::debug!(%address, "a connection is closed: too many are open");
            return None;
        };
        Some(Connection { shared: self.shared.clone(), entry: Arc::new(entry), stream, address })
    }
}

/// Runs `serve` until `stop` under supervision: if it panics or ends before, it is started again.
pub fn spawn_listener<F: Future<Output = ()> + Send + 'static>(
    hub: &Hub,
    name: &'static str,
    stop: CancellationToken,
    serve: impl Fn() -> F + Send + Sync + 'static,
) -> JoinHandle<()> {
    hub.expect_task(name);
    tokio::spawn(hub.clone().supervise(name, stop, serve))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use axum::extract::State;
    use axum::routing::get;
    use hub::{Clock, HubConfig};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::site::{Site, SiteOptions};

    async fn request(address: SocketAddr) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(address).await?;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok(text)
    }

    #[tokio::test]
    async fn a_listener_that_panics_is_restarted_on_its_port_counted_and_named_by_readyz() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let site = Site::new(SiteOptions::bare(hub.clone()));
        let any_port = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = HttpListener::bind(any_port, PlainText, ConnectionLimits::console()).await.unwrap();
        let (address, stop) = (listener.address(), CancellationToken::new());
        let (starts, cancelled) = (Arc::new(AtomicU32::new(0)), stop.clone());
        let serving = spawn_listener(&hub, CONSOLE, stop.clone(), move || {
            let (listener, starts, stop) = (listener.clone(), starts.clone(), cancelled.clone());
            async move {
                if starts.fetch_add(1, SeqCst) == 0 {
                    drop(listener.socket.accept().await);
                    std::panic::panic_any("poison");
                }
                listener.serve(Router::new().route("/", get(async || "served")), stop).await;
            }
        });
        assert_ne!(
            request(address).await.unwrap_or_default().lines().last(),
            Some("served"),
            "its connection is lost"
        );
        while hub.task_statuses()[CONSOLE].running == 1 && hub.task_statuses()[CONSOLE].restarts == 0 {
            tokio::task::yield_now().await;
        }
        if hub.task_statuses()[CONSOLE].running == 0 {
            let (status, text) = crate::health::ready(State(site)).await;
            assert_eq!(
                (status.as_u16(), text.as_str()),
                (503, "these tasks are not running: consoleListener\n")
            );
        }
        assert_eq!(request(address).await.unwrap().lines().last(), Some("served"), "after the restart");
        let status = hub.task_statuses()[CONSOLE];
        assert_eq!((status.running, status.restarts), (1, 1));
        stop.cancel();
        serving.await.unwrap();
    }
}
