//! Sends e-mail over SMTP, to mail servers that users choose.
//!
//! The name of the mail server is resolved here, and a connection is made only to an address that the policy of messages allows
//! (`egress`); its certificate must be for the name. Without TLS nothing is sent, but to a private address if whoever runs the server
//! allows it.

mod line_stream;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use domain::notification::{EmailSecurity, EmailSettings};
use egress::{EgressPolicy, EgressUnavailable, FetchErrorKind, Url};
use hub::{EmailRequest, SendFailure};
use lettre::address::AddressError;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart};
use lettre::transport::smtp;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream, Certificate, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, Message};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use line_stream::LineStream;

/// Time limit of a connection to one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Most addresses of a mail server that are tried.
const MAX_ADDRESSES: usize = 2;
/// Time limit until the mail server has accepted the message. It ends before the lease of its claim.
const TIMEOUT: Duration = Duration::from_secs(20);
/// Time limit of the end of the connection, after the message was accepted.
const QUIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Largest message, headers and encoding included, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// The client.
pub(super) struct EmailClient {
    policy: EgressPolicy,
    /// That of connections with TLS from the first byte.
    tls: Arc<ClientConfig>,
    /// Certificates that STARTTLS trusts beside those of the system.
    extra_roots: Vec<Certificate>,
}

/// What the mail server did not do, or did not answer, as a sentence.
fn failed(message: impl Into<String>) -> SendFailure {
    SendFailure { message: message.into(), is_about_message: false }
}

impl EmailClient {
    /// A client for the addresses that the policy allows: those of `https` with TLS, those of `http` without.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub(super) fn new(policy: EgressPolicy) -> Result<Self, EgressUnavailable> {
        Ok(Self { policy, tls: Arc::new(egress::tls_config()?), extra_roots: Vec::new() })
    }

    /// Sends a message; returns once it was accepted for all recipients.
    pub(super) async fn send(&self, email: &EmailRequest) -> Result<(), SendFailure> {
        let message = build_message(email).map_err(failed)?;
        let bytes = message.formatted();
        if bytes.len() > MAX_MESSAGE_BYTES {
            let message = format!("The message has {} bytes, more than {MAX_MESSAGE_BYTES}.", bytes.len());
            return Err(SendFailure { message, is_about_message: true });
        }
        let transaction = Box::pin(self.transact(email, &message, &bytes));
        let Ok(accepted) = tokio::time::timeout(TIMEOUT, transaction).await else {
            let seconds = TIMEOUT.as_secs();
            return Err(failed(format!("The mail server had not accepted the message after {seconds} s.")));
        };
        let mut connection = accepted?;
        // The message is accepted, whatever the server answers to this.
        let _ = tokio::time::timeout(QUIT_TIMEOUT, connection.quit()).await;
        Ok(())
    }

    async fn transact(
        &self,
        email: &EmailRequest,
        message: &Message,
        bytes: &[u8],
    ) -> Result<AsyncSmtpConnection, SendFailure> {
        let settings = &email.settings;
        let addresses = self.resolve(settings).await?;
        let mut connection = self.connect(settings, &addresses).await?;
        if let Some(password) = email.password.as_ref().filter(|_| settings.security != EmailSecurity::Plain)
        {
            let credentials = Credentials::new(settings.username.clone(), password.clone());
            let mechanisms = [Mechanism::Plain, Mechanism::Login];
            connection.auth(&mechanisms, &credentials).await.map_err(|error| describe(&error))?;
        }
        connection.send(message.envelope(), bytes).await.map_err(|error| describe(&error))?;
        Ok(connection)
    }

    /// The addresses of the mail server that may be connected to, the first few.
    async fn resolve(&self, settings: &EmailSettings) -> Result<Vec<SocketAddr>, SendFailure> {
        let allowed = match settings.security {
            EmailSecurity::Plain => self.policy.http,
            EmailSecurity::StartTls | EmailSecurity::Tls => self.policy.https,
        };
        let network = allowed.ok_or_else(|| {
            failed(
                "The message was not sent: a connection without TLS is not allowed here. Use STARTTLS or TLS; an administrator can \
                 allow private addresses without TLS with --notifications private-http.",
            )
        })?;
        let url = Url::parse(&settings.url()).map_err(|_| failed("The mail server has no valid name."))?;
        let found = network.resolve_host(&settings.host, settings.effective_port(), &url).await;
        let mut addresses = found.map_err(|error| {
            let is_refused = error.kind == FetchErrorKind::NotAllowed;
            if is_refused && settings.security == EmailSecurity::Plain {
                return failed(
                    "The message was not sent: only a private address may be connected to without TLS.",
                );
            }
            let hint = match is_refused && self.policy == EgressPolicy::PUBLIC_HTTPS {
                true => " An administrator can allow private addresses with --notifications private-https.",
                false => "",
            };
            failed(format!("The message was not sent: {}.{hint}", error.message))
        })?;
        addresses.truncate(MAX_ADDRESSES);
        Ok(addresses)
    }

    /// Connects, and changes to TLS before anything else is sent.
    async fn connect(
        &self,
        settings: &EmailSettings,
        addresses: &[SocketAddr],
    ) -> Result<AsyncSmtpConnection, SendFailure> {
        let hello = ClientId::Domain(settings.sender_domain().to_owned());
        let (socket, address) = connect_to_any(addresses).await?;
        if settings.security == EmailSecurity::Tls {
            let stream = self.connect_tls(settings, socket).await?;
            return read_greeting(Box::new(LineStream::new(stream, address)), &hello).await;
        }
        let mut connection = read_greeting(Box::new(LineStream::new(socket, address)), &hello).await?;
        if settings.security == EmailSecurity::StartTls {
            if !connection.can_starttls() {
                connection.abort().await;
                return Err(failed("The mail server offers no STARTTLS, and nothing is sent without TLS."));
            }
            let tls = self.tls_parameters(settings)?;
            connection.starttls(tls, &hello).await.map_err(|error| describe(&error))?;
        }
        Ok(connection)
    }

    /// Changes to TLS before a byte is read.
    async fn connect_tls(
        &self,
        settings: &EmailSettings,
        socket: TcpStream,
    ) -> Result<TlsStream<TcpStream>, SendFailure> {
        let name = ServerName::try_from(settings.host.clone());
        let name = name.map_err(|_| failed("The mail server has no valid name."))?;
        let connected = TlsConnector::from(self.tls.clone()).connect(name, socket).await;
        connected.map_err(|error| failed(format!("The connection to the mail server failed: {error}.")))
    }

    /// For STARTTLS: the name that the certificate must be for, and the certificates that are trusted.
    fn tls_parameters(&self, settings: &EmailSettings) -> Result<TlsParameters, SendFailure> {
        let mut builder = TlsParameters::builder(settings.host.clone());
        for root in &self.extra_roots {
            builder = builder.add_root_certificate(root.clone());
        }
        builder.build().map_err(|error| describe(&error))
    }
}

/// Reads what the mail server offers.
async fn read_greeting(
    stream: Box<dyn AsyncTokioStream>,
    hello: &ClientId,
) -> Result<AsyncSmtpConnection, SendFailure> {
    let connected = AsyncSmtpConnection::connect_with_transport(stream, hello).await;
    connected.map_err(|error| describe(&error))
}

/// Connects to the first address that accepts.
async fn connect_to_any(addresses: &[SocketAddr]) -> Result<(TcpStream, SocketAddr), SendFailure> {
    let mut failure = failed("The mail server has no address.");
    for address in addresses {
        match tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok((stream, *address)),
            Ok(Err(error)) => failure = failed(format!("The mail server can't be reached: {error}.")),
            Err(_) => failure = failed("The mail server did not accept the connection in time."),
        }
    }
    Err(failure)
}

/// Why the mail server did not accept the message. Of what it answered only the status is used: it can be a server that users may not
/// read.
fn describe(error: &smtp::Error) -> SendFailure {
    if let Some(code) = error.status() {
        let code = u16::from(code);
        let message = format!("The mail server answered with status {code}.");
        // "Message size exceeds fixed maximum": another one can be accepted.
        return SendFailure { message, is_about_message: code == 552 };
    }
    if error.is_response() {
        return failed("The mail server gave no complete answer.");
    }
    let sources = std::iter::successors(
        std::error::Error::source(error),
        |source: &&(dyn std::error::Error + 'static)| (*source).source(),
    );
    let cause = sources.last().map_or_else(|| error.to_string(), ToString::to_string);
    failed(format!("The connection to the mail server failed: {cause}."))
}

/// The message with its headers. The addresses were checked when the channel was created; here they are parsed again, and a line end in
/// one is an error.
fn build_message(email: &EmailRequest) -> Result<Message, String> {
    let settings = &email.settings;
    let parse = |address: &String| {
        let parsed: Result<Address, AddressError> = address.parse();
        parsed.map_err(|_| format!("{address:?} is no address that can be sent to."))
    };
    let millis = u64::try_from(email.at.millis()).unwrap_or_default();
    let mut builder = Message::builder()
        .from(Mailbox::new(Some("Flotilla".to_owned()), parse(&settings.from)?))
        .subject(email.content.subject.clone())
        .date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
        .message_id(Some(email.message_id.clone()))
        // RFC 3834: no vacation notice answers it.
        .raw_header(HeaderValue::new(
            HeaderName::new_from_ascii_str("Auto-Submitted"),
            "auto-generated".to_owned(),
        ));
    for recipient in &settings.to {
        builder = builder.to(Mailbox::new(None, parse(recipient)?));
    }
    if let Some(first) = &email.in_reply_to {
        builder = builder.in_reply_to(first.clone()).references(first.clone());
    }
    let parts = MultiPart::alternative_plain_html(email.content.text.clone(), email.content.html.clone());
    builder.multipart(parts).map_err(|error| format!("The message can't be written as an e-mail: {error}."))
}
