//! The client against a mail server: protection of the connection, headers, and what a failure says.

use domain::Timestamp;
use domain::notification::EmailContent;
use egress::ReachableNetwork;
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use testkit::{ReceivedEmail, SmtpMode, SmtpServer};

use super::*;

/// The policy of `--notifications private-http`.
const PRIVATE: EgressPolicy =
    EgressPolicy { https: Some(ReachableNetwork::PublicAndPrivate), http: Some(ReachableNetwork::Private) };

fn client_of(server: &SmtpServer) -> EmailClient {
    let pem = server.certificate().as_bytes();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let root = Certificate::from_pem(pem).unwrap();
    EmailClient { policy: PRIVATE, tls: Arc::new(tls), extra_roots: vec![root] }
}

fn email_to(server: &SmtpServer, security: EmailSecurity) -> EmailRequest {
    let settings = EmailSettings {
        host: "localhost".into(),
        port: Some(server.port()),
        security,
        username: String::new(),
        from: "flotilla@example.com".into(),
        to: vec!["ana@example.com".into(), "ben@example.com".into()],
    };
    EmailRequest {
        settings,
        password: None,
        content: EmailContent {
            subject: "[Flotilla] web: Größe".into(),
            text: "first\n.\nlast ü\n".into(),
            html: "<p>first</p>\n".into(),
        },
        message_id: "<2@example.com>".into(),
        in_reply_to: Some("<1@example.com>".into()),
        at: Timestamp::from_millis(1_000),
    }
}

#[tokio::test]
async fn a_message_is_sent_over_tls_with_its_password_to_all_recipients_in_its_conversation() {
    for (mode, security) in
        [(SmtpMode::StartTls, EmailSecurity::StartTls), (SmtpMode::Tls, EmailSecurity::Tls)]
    {
        let server = SmtpServer::start(mode).await;
        let mut email = email_to(&server, security);
        email.settings.username = "relay".into();
        email.password = Some("s3cret".into());
        client_of(&server).send(&email).await.unwrap();
        let received = server.emails();
        assert_eq!(received.len(), 1, "{mode:?}");
        check_received(&received[0]);
    }
}

fn check_received(received: &ReceivedEmail) {
    assert!(received.is_encrypted);
    assert_eq!(received.login, "relay s3cret");
    assert_eq!(received.from, "flotilla@example.com");
    assert_eq!(received.to, ["ana@example.com", "ben@example.com"]);
    for (name, value) in [
        ("Message-ID", "<2@example.com>"),
        ("In-Reply-To", "<1@example.com>"),
        ("References", "<1@example.com>"),
        ("Auto-Submitted", "auto-generated"),
        ("To", "ana@example.com, ben@example.com"),
        ("Date", "Thu, 01 Jan 1970 00:00:01 +0000"),
    ] {
        assert_eq!(received.header(name).as_deref(), Some(value), "{name}: {}", received.data);
    }
    let subject = received.header("Subject").unwrap();
    assert!(subject.contains("=?utf-8?") && !subject.contains("Größe"), "{subject}");
    assert!(received.data.is_ascii() && received.data.contains("text/html"), "{}", received.data);
}

#[tokio::test]
async fn nothing_is_sent_to_a_mail_server_without_starttls_or_with_a_certificate_of_somebody_else() {
    let in_clear = SmtpServer::start(SmtpMode::Clear).await;
    let refused = client_of(&in_clear).send(&email_to(&in_clear, EmailSecurity::StartTls)).await.unwrap_err();
    assert!(refused.message.contains("offers no STARTTLS"), "{refused:?}");
    let other = SmtpServer::start(SmtpMode::StartTls).await;
    let untrusted = client_of(&in_clear).send(&email_to(&other, EmailSecurity::StartTls)).await.unwrap_err();
    assert!(untrusted.message.contains("certificate"), "{untrusted:?}");
    let mut by_address = email_to(&other, EmailSecurity::StartTls);
    by_address.settings.host = "127.0.0.1".into();
    // The certificate is for localhost.
    let other_name = client_of(&other).send(&by_address).await.unwrap_err();
    assert!(other_name.message.contains("certificate"), "{other_name:?}");
    assert!(in_clear.emails().is_empty() && other.emails().is_empty());
    let tls = SmtpServer::start(SmtpMode::Tls).await;
    let untrusted = client_of(&other).send(&email_to(&tls, EmailSecurity::Tls)).await.unwrap_err();
    assert!(untrusted.message.contains("certificate"), "{untrusted:?}");
    assert!(tls.emails().is_empty());
}

#[tokio::test]
async fn p19_a_mail_server_whose_line_does_not_end_is_read_up_to_a_limit() {
    let server = SmtpServer::start(SmtpMode::TlsWithEndlessLine).await;
    let failure = client_of(&server).send(&email_to(&server, EmailSecurity::Tls)).await.unwrap_err();
    assert!(failure.message.contains("it sent more than 262144 bytes"), "{failure:?}");
}

#[tokio::test]
async fn an_answer_that_somebody_appends_in_clear_to_that_to_starttls_is_no_answer_inside_tls() {
    let server = SmtpServer::start(SmtpMode::InjectedAnswer).await;
    let failure = client_of(&server).send(&email_to(&server, EmailSecurity::StartTls)).await.unwrap_err();
    assert!(failure.message.contains("connection to the mail server failed"), "{failure:?}");
    assert!(server.emails().is_empty());
}

#[tokio::test]
async fn g204_a_mail_server_is_connected_to_only_at_addresses_that_are_allowed() {
    let server = SmtpServer::start(SmtpMode::Clear).await;
    let in_clear = email_to(&server, EmailSecurity::Plain);
    let strict = EmailClient { policy: EgressPolicy::PUBLIC_HTTPS, ..client_of(&server) };
    let no_tls = strict.send(&in_clear).await.unwrap_err();
    assert!(no_tls.message.contains("--notifications private-http"), "{no_tls:?}");
    let private = strict.send(&email_to(&server, EmailSecurity::StartTls)).await.unwrap_err();
    assert!(private.message.contains("not a public one"), "{private:?}");
    let mut metadata = email_to(&server, EmailSecurity::Tls);
    metadata.settings.host = "169.254.169.254".into();
    let link_local = client_of(&server).send(&metadata).await.unwrap_err();
    assert!(link_local.message.contains("neither a public nor a private one"), "{link_local:?}");
    assert_eq!(server.connections(), 0);
    let mut public = in_clear.clone();
    public.settings.host = "1.1.1.1".into();
    let in_public = client_of(&server).send(&public).await.unwrap_err();
    assert!(in_public.message.contains("only a private address"), "{in_public:?}");
    client_of(&server).send(&in_clear).await.unwrap();
    assert_eq!((server.connections(), server.emails().len()), (1, 1));
}

#[tokio::test]
async fn a_refusal_is_known_by_its_status_and_what_the_server_says_is_not_shown() {
    let server = SmtpServer::start(SmtpMode::Clear).await;
    let email = email_to(&server, EmailSecurity::Plain);
    let client = client_of(&server);
    for (status, is_about_message) in [(450, false), (550, false), (552, true)] {
        server.set_recipient_status(status);
        let refused = client.send(&email).await.unwrap_err();
        let message = format!("The mail server answered with status {status}.");
        assert_eq!(refused, SendFailure { message, is_about_message });
    }
    let down = SmtpServer::start(SmtpMode::Clear).await;
    down.set_down(true);
    let failure = client.send(&email_to(&down, EmailSecurity::Plain)).await.unwrap_err();
    assert!(
        failure.message.contains("no complete answer") || failure.message.contains("failed"),
        "{failure:?}"
    );
    assert_eq!(down.connections(), 1);
    assert!(server.emails().is_empty() && down.emails().is_empty());
}
