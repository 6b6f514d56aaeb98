//! A mail server for tests of clients: as much of RFC 5321 as they use, with STARTTLS (RFC 3207) and a password if a test wants it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU32, Ordering::SeqCst};

use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Most bytes of a message.
const MAX_MESSAGE_BYTES: usize = 1 << 20;
/// What somebody between client and server appends to the answer to STARTTLS.
const INJECTED: &str = "250-injected\r\n250 AUTH PLAIN\r\n";

/// What a mail server offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SmtpMode {
    /// Connections in clear.
    Clear,
    /// STARTTLS; a password inside TLS.
    StartTls,
    /// STARTTLS, with another answer in clear behind that to the command.
    InjectedAnswer,
    /// TLS from the first byte; a password.
    Tls,
    /// The same, with a greeting that does not end.
    TlsWithEndlessLine,
}

/// A mail server on 127.0.0.1, until it is dropped.
#[derive(Debug)]
pub struct SmtpServer {
    address: SocketAddr,
    certificate: String,
    state: Arc<SmtpState>,
    task: JoinHandle<()>,
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedEmail {
    /// The sender of the envelope.
    pub from: String,
    /// The recipients of the envelope.
    pub to: Vec<String>,
    /// The message, with line feeds.
    pub data: String,
    /// Whether it arrived over TLS.
    pub is_encrypted: bool,
    /// The decoded credentials of AUTH PLAIN, with a space for each NUL; empty without them.
    pub login: String,
}

impl ReceivedEmail {
    /// The value of a header, on one line.
    pub fn header(&self, name: &str) -> Option<String> {
        let head = self.data.split("\n\n").next()?.replace("\n ", " ").replace("\n\t", " ");
        let value = |line: &str| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        };
        head.lines().find_map(value)
    }
}

struct SmtpState {
    mode: SmtpMode,
    tls: TlsAcceptor,
    is_down: AtomicBool,
    /// The status of the answer to a recipient.
    recipient_status: AtomicU16,
    connections: AtomicU32,
    emails: Mutex<Vec<ReceivedEmail>>,
}

impl std::fmt::Debug for SmtpState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SmtpState").field("mode", &self.mode).finish_non_exhaustive()
    }
}

impl SmtpServer {
    /// Starts a server.
    ///
    /// # Panics
    /// When no port is free.
    pub async fn start(mode: SmtpMode) -> Self {
        let key = KeyPair::generate().expect("a key pair");
        let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a valid DNS name");
        let certificate = params.self_signed(&key).expect("a self-signed certificate");
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .expect("the provider has these versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key is that of the certificate");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("the listener has an address");
        let state = Arc::new(SmtpState {
            mode,
            tls: TlsAcceptor::from(Arc::new(config)),
            is_down: AtomicBool::new(false),
            recipient_status: AtomicU16::new(250),
            connections: AtomicU32::new(0),
            emails: Mutex::default(),
        });
        let shared = state.clone();
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                shared.connections.fetch_add(1, SeqCst);
                if !shared.is_down.load(SeqCst) {
                    tokio::spawn(serve_connection(socket, shared.clone()));
                }
            }
        });
        Self { address, certificate: certificate.pem(), state, task }
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The certificate, which is for `localhost` and signed by itself, as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Whether connections are closed without an answer.
    pub fn set_down(&self, is_down: bool) {
        self.state.is_down.store(is_down, SeqCst);
    }

    /// The status with which recipients are answered from now on, such as 550.
    pub fn set_recipient_status(&self, status: u16) {
        self.state.recipient_status.store(status, SeqCst);
    }

    /// The number of connections so far, those that were closed included.
    pub fn connections(&self) -> u32 {
        self.state.connections.load(SeqCst)
    }

    /// The messages that were accepted so far, oldest first.
    pub fn emails(&self) -> Vec<ReceivedEmail> {
        self.state.emails.lock().clone()
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Serves one connection; a client may close it at any time.
async fn serve_connection(socket: TcpStream, state: Arc<SmtpState>) {
    let socket = match state.mode {
        SmtpMode::Tls | SmtpMode::TlsWithEndlessLine => Some(socket),
        _ => serve_session(socket, &state, false).await.ok().flatten(),
    };
    let Some(socket) = socket else { return };
    if let Ok(stream) = state.tls.accept(socket).await {
        let _ = serve_session(stream, &state, true).await;
    }
}

/// Serves commands until the end; returns the stream if the client changes to TLS.
async fn serve_session<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    state: &SmtpState,
    is_encrypted: bool,
) -> std::io::Result<Option<S>> {
    let mut stream = BufReader::new(stream);
    let mut email = blank_email(is_encrypted, String::new());
    if state.mode == SmtpMode::TlsWithEndlessLine {
        loop {
            write_answer(&mut stream, "220-localhost").await?;
        }
    }
    if !is_encrypted || state.mode == SmtpMode::Tls {
        write_answer(&mut stream, "220 localhost ready\r\n").await?;
    }
    let mut line = String::new();
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        let (verb, rest) = line.trim_end().split_once(' ').unwrap_or((line.trim_end(), ""));
        let answer = match verb.to_ascii_uppercase().as_str() {
            "EHLO" => greet(state.mode, is_encrypted),
            "STARTTLS" if state.mode != SmtpMode::Clear && !is_encrypted => {
                let injected = if state.mode == SmtpMode::InjectedAnswer { INJECTED } else { "" };
                write_answer(&mut stream, &format!("220 go\r\n{injected}")).await?;
                return Ok(Some(stream.into_inner()));
            }
            "AUTH" if is_encrypted => {
                email.login = decode_login(rest);
                "235 ok\r\n".to_owned()
            }
            "MAIL" => {
                email = ReceivedEmail { from: address_in(rest), ..blank_email(is_encrypted, email.login) };
                "250 ok\r\n".to_owned()
            }
            "RCPT" => {
                email.to.push(address_in(rest));
                format!("{} recipient\r\n", state.recipient_status.load(SeqCst))
            }
            "DATA" => {
                write_answer(&mut stream, "354 go\r\n").await?;
                email.data = read_data(&mut stream).await?;
                state.emails.lock().push(email.clone());
                "250 accepted\r\n".to_owned()
            }
            "QUIT" => {
                write_answer(&mut stream, "221 bye\r\n").await?;
                return Ok(None);
            }
            "RSET" | "NOOP" => "250 ok\r\n".to_owned(),
            _ => "502 no such command\r\n".to_owned(),
        };
        write_answer(&mut stream, &answer).await?;
    }
}

async fn write_answer(stream: &mut (impl AsyncWrite + Unpin), answer: &str) -> std::io::Result<()> {
    stream.write_all(answer.as_bytes()).await?;
    // TLS may keep what is written in a buffer.
    stream.flush().await
}

const fn blank_email(is_encrypted: bool, login: String) -> ReceivedEmail {
    ReceivedEmail { from: String::new(), to: Vec::new(), data: String::new(), is_encrypted, login }
}

fn greet(mode: SmtpMode, is_encrypted: bool) -> String {
    let offer = match (mode, is_encrypted) {
        (_, true) => "AUTH PLAIN",
        (SmtpMode::Clear, false) => "8BITMIME",
        (_, false) => "STARTTLS",
    };
    format!("250-localhost\r\n250 {offer}\r\n")
}

/// The address between angle brackets.
fn address_in(text: &str) -> String {
    let after = text.split_once('<').map_or("", |(_, after)| after);
    after.split('>').next().unwrap_or_default().to_owned()
}

/// The credentials of `PLAIN` and base64.
fn decode_login(text: &str) -> String {
    use base64::Engine as _;
    let encoded = text.split_once(' ').map_or("", |(_, encoded)| encoded);
    let decoded = base64::prelude::BASE64_STANDARD.decode(encoded).unwrap_or_default();
    String::from_utf8_lossy(&decoded).replace('\0', " ").trim().to_owned()
}

/// Reads a message up to the line with one dot, and removes the dots that the client added.
async fn read_data<S: AsyncRead + AsyncWrite + Unpin>(stream: &mut BufReader<S>) -> std::io::Result<String> {
    let mut data = String::new();
    let mut limited = stream.take(MAX_MESSAGE_BYTES as u64);
    loop {
        let mut line = String::new();
        if limited.read_line(&mut line).await? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let line = line.trim_end_matches(['\r', '\n']);
        if line == "." {
            return Ok(data);
        }
        data.push_str(line.strip_prefix('.').unwrap_or(line));
        data.push('\n');
    }
}
