//! A TCP balancer in front of the servers, whose connections can be cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// A server behind balancers.
pub struct Backend {
    pub address: SocketAddr,
    /// It accepts connections and answers nothing, as a health check would find.
    pub is_suspended: AtomicBool,
}

/// A balancer. New connections go to a random server that accepts them.
pub struct Balancer {
    pub address: SocketAddr,
    is_cut: Arc<watch::Sender<bool>>,
    _accepting: AbortOnDropHandle<()>,
}

impl Balancer {
    pub async fn start(backends: Vec<Arc<Backend>>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let is_cut = Arc::new(watch::Sender::new(false));
        let state = is_cut.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                // A cut link: the connection is dropped.
                if !*state.borrow() {
                    tokio::spawn(forward(near, backends.clone(), state.subscribe()));
                }
            }
        });
        Ok(Self { address, is_cut, _accepting: AbortOnDropHandle::new(accepting) })
    }

    /// Breaks all connections and accepts none, or accepts them again.
    pub fn set_cut(&self, is_cut: bool) {
        self.is_cut.send_replace(is_cut);
    }
}

async fn forward(mut near: TcpStream, backends: Vec<Arc<Backend>>, mut is_cut: watch::Receiver<bool>) {
    let Some(mut far) = connect(&backends).await else { return };
    tokio::select! {
        // Both ends of a broken connection get an error or an end.
        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
        _ = is_cut.wait_for(|is_cut| *is_cut) => {}
    }
}

async fn connect(backends: &[Arc<Backend>]) -> Option<TcpStream> {
    let first: usize = rand::random_range(0..backends.len());
    for number in 0..backends.len() {
        let backend = &backends[(first + number) % backends.len()];
        if !backend.is_suspended.load(Ordering::SeqCst)
            && let Ok(stream) = TcpStream::connect(backend.address).await
        {
            return Some(stream);
        }
    }
    None
}
