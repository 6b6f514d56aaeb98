//! Listeners that survive a panic: the socket stays open while the task that accepts connections is restarted, counted, and
//! named by `/readyz`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use hub::Hub;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Name of the console's listener among the supervised tasks.
pub const CONSOLE: &str = "consoleListener";
/// Name of the agents' listener among the supervised tasks.
pub const AGENTS: &str = "agentsListener";
/// Both.
pub const LISTENERS: [&str; 2] = [CONSOLE, AGENTS];

/// Pause after a connection could not be accepted, for example because no file descriptors are left.
const RETRY_DELAY: Duration = Duration::from_secs(1);

/// Accepts a connection; errors are logged and retried.
pub async fn accept_connection(socket: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        match socket.accept().await {
            Ok(accepted) => return accepted,
            Err(error) => {
                tracing::warn!(%error, "can't accept a connection; retrying in 1 s");
                tokio::time::sleep(RETRY_DELAY).await;
            }
        }
    }
}

/// Disables Nagle's algorithm: otherwise the second event of a stream waits for the acknowledgement of the first, which
/// takes 40 ms on Linux.
pub fn disable_nagle(stream: &mut TcpStream) {
    // Fails only on a closed socket.
    let _ = stream.set_nodelay(true);
}

/// The console's listener.
pub struct ConsoleListener(pub Arc<TcpListener>);

impl Listener for ConsoleListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        accept_connection(&self.0).await
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Runs `serve` until `stop` under supervision: if it panics or ends before, it is started again.
pub fn spawn_listener<F: Future<Output = std::io::Result<()>> + Send + 'static>(
    hub: &Hub,
    name: &'static str,
    stop: CancellationToken,
    serve: impl Fn() -> F + Send + Sync + 'static,
) -> JoinHandle<()> {
    hub.expect_task(name);
    let supervised = hub.clone().supervise(name, stop, move || {
        let serving = serve();
        async move {
            if let Err(error) = serving.await {
                tracing::error!(task = name, %error, "a listener failed");
            }
        }
    });
    tokio::spawn(supervised)
}

/// The next result of a set of tasks; a panic in one of them is logged and ends only that task.
pub async fn join_next<T: 'static>(tasks: &mut JoinSet<Option<T>>) -> Option<T> {
    match tasks.join_next().await {
        Some(Ok(result)) => result,
        Some(Err(error)) => {
            tracing::error!(%error, "a handshake panicked; its connection is closed");
            None
        }
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use axum::Router;
    use axum::extract::State;
    use axum::routing::get;
    use hub::{Clock, HubConfig};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;
    use crate::site::{Site, SiteOptions};

    /// Panics when it accepts its first connection.
    struct PanickingListener(ConsoleListener, Arc<AtomicU32>);

    impl Listener for PanickingListener {
        type Io = TcpStream;
        type Addr = SocketAddr;

        async fn accept(&mut self) -> (TcpStream, SocketAddr) {
            let accepted = self.0.accept().await;
            if self.1.fetch_add(1, SeqCst) == 0 {
                std::panic::panic_any("poison");
            }
            accepted
        }

        fn local_addr(&self) -> std::io::Result<SocketAddr> {
            self.0.local_addr()
        }
    }

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
        let hub = Hub::open(HubConfig { database, clock: Clock::system() }).await.unwrap();
        let site = Site::new(SiteOptions::bare(hub.clone()));
        let socket = Arc::new(TcpListener::bind("127.0.0.1:0").await.unwrap());
        let (address, stop) = (socket.local_addr().unwrap(), CancellationToken::new());
        let (accepted, cancelled) = (Arc::new(AtomicU32::new(0)), stop.clone());
        let serving = spawn_listener(&hub, CONSOLE, stop.clone(), move || {
            let listener = PanickingListener(ConsoleListener(socket.clone()), accepted.clone());
            let router = Router::new().route("/", get(async || "served"));
            axum::serve(listener, router)
                .with_graceful_shutdown(cancelled.clone().cancelled_owned())
                .into_future()
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
