//! The API on a socket.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::service::ApiService;
use crate::cluster::Cluster;

/// How long connections get to finish when the server stops.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A served cluster. Stops listening, and ends its watches and connections, when dropped.
#[derive(Debug)]
pub struct Server {
    /// Where it listens.
    pub addr: SocketAddr,
    closing: watch::Sender<bool>,
}

impl Server {
    /// The address as a URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.send_replace(true);
    }
}

impl Cluster {
    /// Serves the API in clear text; port 0 picks a free one.
    ///
    /// # Errors
    /// The address cannot be listened on.
    pub async fn serve(&self, addr: SocketAddr) -> std::io::Result<Server> {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        let closing = watch::Sender::new(false);
        tokio::spawn(listen(listener, self.clone(), closing.subscribe()));
        Ok(Server { addr, closing })
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

async fn listen(listener: TcpListener, cluster: Cluster, mut closing: watch::Receiver<bool>) {
    let handed = closing.clone();
    loop {
        tokio::select! {
            () = closed(&mut closing) => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if !cluster.sim.faults.is_offline() => {
                    let service = ApiService { cluster: cluster.clone(), closing: Some(handed.clone()) };
                    tokio::spawn(converse(stream, service, handed.clone()));
                }
                // Cut off: the connection is dropped unanswered.
                Ok(_) => {}
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            },
        }
    }
}

async fn closed(closing: &mut watch::Receiver<bool>) {
    // A sender that is gone means closed too.
    let _ = closing.wait_for(|closing| *closing).await.is_ok();
}

/// One connection; a service error (the cluster is cut off) ends it without an answer.
async fn converse(stream: TcpStream, service: ApiService, mut closing: watch::Receiver<bool>) {
    // Answers are small; without this each would wait for the client's acknowledgement.
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
        () = closed(&mut closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = tokio::time::timeout(LAST_WORDS, connection).await;
}
