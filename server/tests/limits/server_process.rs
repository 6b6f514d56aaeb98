//! The server as a process of its own, and connections to it byte by byte.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use domain::api_token::NewApiToken;
use domain::role::Role;
use hub::{Actor, ActorKind, Clock, Hub, HubConfig};
use testkit::StartedServer;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::{Child, Command};

/// After this time a test fails.
pub const WAIT_TIMEOUT: Duration = testkit::patience();

/// How long a connection may wait for what a limit of a few seconds ends or keeps free: far below what as many limits in a row take.
pub const LIMIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A server with one user; killed when dropped.
pub struct ServerProcess {
    /// An API token of the user.
    pub token: String,
    pub console: SocketAddr,
    pub agents: SocketAddr,
    child: Child,
    _folder: tempfile::TempDir,
}

impl ServerProcess {
    /// Starts a server that may open this many files and sockets.
    pub async fn start(descriptors: u32, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let token = create_user(folder.path()).await;
        let mut server = Command::new("sh");
        server.args(["-c", r#"ulimit -n "$0" && exec "$@""#, &descriptors.to_string()]);
        server.args([env!("CARGO_BIN_EXE_flotilla-server"), "--log", "error", "serve"]);
        server.args(["--listen", "127.0.0.1:0", "--agent-listen", "127.0.0.1:0", "--data"]);
        server.arg(folder.path()).args(options);
        let started = StartedServer::spawn(&mut server).await.expect("the server starts");
        let address = |url: &str| url.rsplit('/').next().unwrap().parse().unwrap();
        Self {
            token,
            console: address(&started.url),
            agents: address(&started.agents_url),
            child: started.child,
            _folder: folder,
        }
    }

    /// The environment with which the program began.
    pub fn environment(&self) -> String {
        let file = format!("/proc/{}/environ", self.child.id().unwrap());
        std::fs::read_to_string(file).unwrap()
    }
}

/// Creates a user before the server starts, because SQLite allows one server at a time; returns an API token.
async fn create_user(folder: &std::path::Path) -> String {
    let database = format!("sqlite://{}", folder.join("flotilla.db").display());
    let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
    let user = hub.ensure_user("ada", "correct horse battery").await.unwrap();
    let actor = Actor::new("ada", ActorKind::Session(user), Role::Admin);
    let token = hub.create_token(&actor, &NewApiToken::new("test", 1)).await.unwrap().secret;
    drop(hub);
    // Its connections close asynchronously.
    let lock = std::fs::File::open(folder.join("flotilla.db.lock")).unwrap();
    tokio::task::spawn_blocking(move || lock.lock().unwrap()).await.unwrap();
    token
}

/// Connects from the loopback address with this last byte.
pub async fn connect_from(last: u8, to: SocketAddr) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 0, 0, last)), 0)).unwrap();
    socket.connect(to).await.unwrap()
}

/// Sends a request on a connection of its own; the response with its head, empty if the server closed the connection.
pub async fn get(to: SocketAddr, path: &str) -> String {
    let exchange = async {
        let mut stream = TcpStream::connect(to).await?;
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await?;
        Ok::<_, std::io::Error>(text)
    };
    tokio::time::timeout(WAIT_TIMEOUT, exchange).await.expect("an answer").unwrap_or_default()
}

/// Waits until the server closes the connection.
pub async fn wait_until_closed(stream: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut bytes = Vec::new();
    let closed = tokio::time::timeout(LIMIT_TIMEOUT, stream.read_to_end(&mut bytes)).await;
    // A reset is an end, too.
    assert!(closed.is_ok(), "the connection is still open after {LIMIT_TIMEOUT:?}");
}
