//! A database of a test on PostgreSQL, and a proxy before it that loses messages and connections.

use std::net::SocketAddr;

use sqlx::{AssertSqlSafe, ConnectOptions as _, Executor as _, PgConnection};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Address of a PostgreSQL server whose user may create databases, or `off`.
const SERVER_VARIABLE: &str = "FLOTILLA_TEST_POSTGRES";

/// An empty database on PostgreSQL, and a proxy before it.
pub struct TestDatabase {
    server: String,
    name: String,
    proxy: PostgresProxy,
}

impl TestDatabase {
    /// A database with this name; `None` if the tests run without PostgreSQL.
    pub async fn create(test: &str) -> Option<Self> {
        let server = match std::env::var(SERVER_VARIABLE) {
            Ok(off) if off == "off" => {
                eprintln!("{SERVER_VARIABLE}=off: this test did not run");
                return None;
            }
            Ok(server) => server,
            Err(_) => panic!(
                "set {SERVER_VARIABLE} to the address of a PostgreSQL server, or to `off`; `cargo xtask test` does"
            ),
        };
        let options: sqlx::postgres::PgConnectOptions = server.parse().unwrap();
        let name = format!("flotilla_api_{test}_{}", std::process::id());
        let address = format!("{}:{}", options.get_host(), options.get_port());
        let database = Self { server, name, proxy: PostgresProxy::start(address).await };
        let name = &database.name;
        for statement in
            [format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"), format!("CREATE DATABASE {name}")]
        {
            database
                .connect_to_server()
                .await
                .execute(sqlx::raw_sql(AssertSqlSafe(statement)))
                .await
                .unwrap();
        }
        Some(database)
    }

    /// The address of the database through the proxy.
    pub fn url(&self) -> String {
        let user = self.server.split_once("://").unwrap().1.split_once('@').map_or("", |(user, _)| user);
        format!("postgres://{user}@{}/{}?sslmode=disable", self.proxy.address, self.name)
    }

    /// The address of the database without the proxy.
    pub fn direct_url(&self) -> String {
        format!("{}/{}?sslmode=disable", self.server.rsplit_once('/').unwrap().0, self.name)
    }

    /// What happens to messages and connections from now on.
    pub fn set_fault(&self, fault: ProxyFault) {
        self.proxy.fault.send_replace(fault);
    }

    async fn connect_to_server(&self) -> PgConnection {
        let options: sqlx::postgres::PgConnectOptions = self.server.parse().unwrap();
        options.connect().await.unwrap()
    }

    /// A connection to the database that does not pass the proxy.
    pub async fn connect(&self) -> PgConnection {
        let options: sqlx::postgres::PgConnectOptions = self.server.parse().unwrap();
        options.database(&self.name).connect().await.unwrap()
    }

    /// Executes statements on a connection of their own.
    pub async fn execute(&self, statements: &str) {
        let statements = statements.replace("{database}", &self.name);
        self.connect().await.execute(sqlx::raw_sql(AssertSqlSafe(statements))).await.unwrap();
    }
}

/// What a proxy does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyFault {
    /// It forwards everything.
    None,
    /// The next COMMIT does not reach the server, and its connection is lost.
    LoseCommit {
        /// Whether all connections are then lost, as with [`ProxyFault::Cut`].
        then_cut: bool,
    },
    /// The next COMMIT is executed, and its connection is lost before the answer arrives.
    LoseCommitAnswer {
        /// Whether all connections are then lost, as with [`ProxyFault::Cut`].
        then_cut: bool,
    },
    /// All connections are lost, and new ones too.
    Cut,
    /// Connections stay open, and nothing arrives.
    Silence,
}

struct PostgresProxy {
    address: SocketAddr,
    fault: watch::Sender<ProxyFault>,
    _task: AbortOnDropHandle<()>,
}

impl PostgresProxy {
    async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let fault = watch::Sender::new(ProxyFault::None);
        let shared = fault.clone();
        let task = tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let connection =
                    ProxyConnection { client, upstream: upstream.clone(), fault: shared.clone() };
                tokio::spawn(connection.run());
            }
        });
        Self { address, fault, _task: AbortOnDropHandle::new(task) }
    }
}

struct ProxyConnection {
    client: TcpStream,
    upstream: String,
    fault: watch::Sender<ProxyFault>,
}

impl ProxyConnection {
    /// Forwards until a connection or the fault ends it.
    async fn run(self) {
        let Self { client, upstream, fault } = self;
        if *fault.borrow() == ProxyFault::Cut {
            return;
        }
        let Ok(server) = TcpStream::connect(upstream).await else { return };
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let mut changes = fault.subscribe();
        let (mut requests, mut answers) = (MessageReader::default(), [0; 16 * 1024]);
        loop {
            let current = *changes.borrow_and_update();
            match current {
                ProxyFault::Cut => return,
                ProxyFault::Silence => {
                    let _ = changes.changed().await;
                    continue;
                }
                _ => {}
            }
            tokio::select! {
                _ = changes.changed() => {}
                message = requests.next(&mut from_client) => {
                    let Some(message) = message else { return };
                    let is_commit = message.starts_with(b"Q") && message[5..].starts_with(b"COMMIT");
                    match current {
                        ProxyFault::LoseCommit { then_cut } if is_commit => {
                            end_fault(&fault, then_cut);
                            return;
                        }
                        ProxyFault::LoseCommitAnswer { then_cut } if is_commit => {
                            to_server.write_all(&message).await.unwrap();
                            // The answer ends with ReadyForQuery.
                            let mut answer = Vec::new();
                            while !answer.ends_with(b"Z\0\0\0\x05I") {
                                answer.push(from_server.read_u8().await.unwrap());
                            }
                            end_fault(&fault, then_cut);
                            return;
                        }
                        _ => if to_server.write_all(&message).await.is_err() { return },
                    }
                }
                read = from_server.read(&mut answers) => match read {
                    Ok(n) if n > 0 => if to_client.write_all(&answers[..n]).await.is_err() { return },
                    _ => return,
                }
            }
        }
    }
}

fn end_fault(fault: &watch::Sender<ProxyFault>, then_cut: bool) {
    fault.send_replace(if then_cut { ProxyFault::Cut } else { ProxyFault::None });
}

/// Splits what a client sends into messages. Cancelling a read loses nothing.
#[derive(Default)]
struct MessageReader {
    buffer: Vec<u8>,
    is_started: bool,
}

impl MessageReader {
    /// The next message; `None` at the end.
    async fn next(&mut self, stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> Option<Vec<u8>> {
        loop {
            // All but the first begin with a byte for the type.
            let prefix = usize::from(self.is_started);
            if let Some(length) = self.buffer.get(prefix..prefix + 4) {
                let length = u32::from_be_bytes(length.try_into().unwrap()) as usize;
                if self.buffer.len() >= prefix + length {
                    self.is_started = true;
                    return Some(self.buffer.drain(..prefix + length).collect());
                }
            }
            let mut chunk = [0; 16 * 1024];
            match stream.read(&mut chunk).await {
                Ok(n) if n > 0 => self.buffer.extend_from_slice(&chunk[..n]),
                _ => return None,
            }
        }
    }
}
