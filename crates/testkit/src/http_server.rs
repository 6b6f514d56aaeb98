//! An HTTP server for tests of clients: it records the requests, and responds as a function of the test decides.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Most bytes of the head of a request.
const MAX_HEAD_BYTES: usize = 64 << 10;
/// Pause between two bytes of a slow body.
const BYTE_PAUSE: Duration = Duration::from_millis(100);

/// A server on 127.0.0.1, until it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<HttpRequest>>>,
    task: JoinHandle<()>,
}

/// The head of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// Path and query.
    pub path: String,
    /// The headers, with names in lower case.
    pub headers: Vec<(String, String)>,
}

/// A response. The connection is closed after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpResponse {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: ResponseBody,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ResponseBody {
    Complete(Vec<u8>),
    Endless,
    Unfinished,
    Slow,
    SlowHead,
}

impl HttpRequest {
    /// The value of a header, whose name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    fn parse(head: &str) -> Self {
        let mut lines = head.lines();
        let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
        let header = |line: &str| {
            let (name, value) = line.split_once(':')?;
            Some((name.to_ascii_lowercase(), value.trim().to_owned()))
        };
        Self { path, headers: lines.filter_map(header).collect() }
    }
}

impl HttpResponse {
    /// A response with status 200 and this body.
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, headers: Vec::new(), body: ResponseBody::Complete(body.into()) }
    }

    /// An empty response with this status.
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::ok("") }
    }

    /// A redirect to this URL.
    pub fn redirect(location: impl Into<String>) -> Self {
        Self::status(302).with_header("location", location)
    }

    /// A body without end, as fast as the client reads it.
    pub fn endless() -> Self {
        Self { body: ResponseBody::Endless, ..Self::ok("") }
    }

    /// A response whose first byte is followed by nothing, on an open connection.
    pub fn unfinished() -> Self {
        Self { body: ResponseBody::Unfinished, ..Self::ok("") }
    }

    /// A body without end, of which a byte is sent now and then.
    pub fn slow() -> Self {
        Self { body: ResponseBody::Slow, ..Self::ok("") }
    }

    /// A response whose head does not end, and of which a byte is sent now and then.
    pub fn slow_head() -> Self {
        Self { body: ResponseBody::SlowHead, ..Self::ok("") }
    }

    /// The same with another header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    /// The same with another status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    async fn write(self, socket: &mut TcpStream) -> std::io::Result<()> {
        let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", self.status);
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.body {
            ResponseBody::Complete(body) => {
                head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
                socket.write_all(head.as_bytes()).await?;
                socket.write_all(&body).await
            }
            ResponseBody::Endless => {
                socket.write_all(format!("{head}\r\n").as_bytes()).await?;
                loop {
                    socket.write_all(&[b'a'; 16 << 10]).await?;
                }
            }
            ResponseBody::Unfinished => {
                socket.write_all(format!("{head}content-length: 2\r\n\r\na").as_bytes()).await?;
                // Returns when the client closes the connection.
                socket.read_u8().await.map(drop)
            }
            ResponseBody::Slow => {
                socket.write_all(format!("{head}\r\n").as_bytes()).await?;
                write_slowly(socket).await
            }
            ResponseBody::SlowHead => {
                socket.write_all(format!("{head}x-slow: ").as_bytes()).await?;
                write_slowly(socket).await
            }
        }
    }
}

impl HttpServer {
    /// Starts a server; the function gets its own address, such as `127.0.0.1:40001`.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(respond: impl Fn(&str, &HttpRequest) -> HttpResponse + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (log, respond) = (requests.clone(), Arc::new(respond));
        let task = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let (log, respond) = (log.clone(), respond.clone());
                tokio::spawn(async move {
                    let Some(request) = read_request(&mut socket).await else { return };
                    log.lock().push(request.clone());
                    // A client may close the connection early.
                    let _ = respond(&address.to_string(), &request).write(&mut socket).await;
                });
            }
        });
        Self { address, requests, task }
    }

    /// Host and port.
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// An `http` URL on this server; the path begins with `/`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests so far.
    pub fn requests(&self) -> Vec<HttpRequest> {
        self.requests.lock().clone()
    }

    /// The paths of the requests so far.
    pub fn paths(&self) -> Vec<String> {
        self.requests.lock().iter().map(|request| request.path.clone()).collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Sends a byte now and then, until the client closes the connection.
async fn write_slowly(socket: &mut TcpStream) -> std::io::Result<()> {
    loop {
        socket.write_all(b"#").await?;
        tokio::time::sleep(BYTE_PAUSE).await;
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<HttpRequest> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() > MAX_HEAD_BYTES {
            return None;
        }
        head.push(socket.read_u8().await.ok()?);
    }
    Some(HttpRequest::parse(&String::from_utf8_lossy(&head)))
}
