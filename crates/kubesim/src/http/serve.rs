//! The API on a TCP socket.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::service::ApiService;
use crate::cluster::SimCluster;

/// Grace period of open connections when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(1);

/// The handle of a served cluster. Dropping it stops listening and ends its watches and connections.
#[derive(Debug)]
pub struct ServerHandle {
    /// The listen address.
    pub addr: SocketAddr,
    closing: watch::Sender<bool>,
}

impl ServerHandle {
    /// The address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for ServerHandle {
    fn drop(&mut self) {
        self.closing.send_replace(true);
    }
}

impl SimCluster {
    /// Serves the API over plain HTTP; port 0 selects a free port.
    ///
    /// # Errors
    /// The address cannot be bound.
    pub async fn serve(&self, addr: SocketAddr) -> std::io::Result<ServerHandle> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let closing = watch::Sender::new(false);
        tokio::spawn(accept_connections(listener, self.clone(), closing.subscribe()));
        Ok(ServerHandle { addr, closing })
    }

    /// A kubeconfig for the URL of a served cluster.
    pub fn kubeconfig(&self, url: &str) -> String {
        let name = self.name();
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {name}\n\
             clusters:\n- name: {name}\n  cluster:\n    server: {url}\n\
             users:\n- name: {name}\n  user: {{}}\n\
             contexts:\n- name: {name}\n  context:\n    cluster: {name}\n    user: {name}\n    namespace: default\n"
        )
    }
}

async fn accept_connections(listener: TcpListener, cluster: SimCluster, mut closing: watch::Receiver<bool>) {
    let closing_for_connections = closing.clone();
    loop {
        tokio::select! {
            () = wait_for_close(&mut closing) => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !cluster.sim.faults.is_offline() => {
                    let service = ApiService { cluster: cluster.clone(), closing: Some(closing_for_connections.clone()) };
                    tokio::spawn(serve_connection(stream, service, closing_for_connections.clone()));
                }
                // Offline: the connection is dropped without a response.
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
}

async fn wait_for_close(closing: &mut watch::Receiver<bool>) {
    // A dropped sender also means closed.
    let _ = closing.wait_for(|closing| *closing).await.is_ok();
}

/// Serves one connection; a service error (the cluster is offline) ends it without a response.
async fn serve_connection(stream: TcpStream, service: ApiService, mut closing: watch::Receiver<bool>) {
    // Responses are small; with Nagle's algorithm each would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(service);
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => {
            if let Err(error) = ended {
                tracing::debug!(%error, "connection ended");
            }
            return;
        }
        () = wait_for_close(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, connection).await;
}
