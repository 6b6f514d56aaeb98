//! The client against a mail server: protection of the connection, headers, and what a failure says.

use domain::Timestamp;
use domain::notification::EmailContent;
use egress::ReachableNetwork;
use testkit::{SmtpMode, SmtpServer};

use super::*;

/// The policy of `--notifications private-http`.
const PRIVATE: EgressPolicy =
    EgressPolicy { https: Some(ReachableNetwork::PublicAndPrivate), http: Some(ReachableNetwork::Private) };

fn client_of(server: &SmtpServer) -> EmailClient {
    let root = Certificate::from_pem(server.certificate().as_bytes()).unwrap();
    EmailClient { policy: PRIVATE, extra_roots: vec![root] }
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
    let server = SmtpServer::start(SmtpMode::StartTls).await;
    let mut email = email_to(&server, EmailSecurity::StartTls);
    email.settings.username = "flotilla".into();
    email.password = Some("s3cret".into());
    client_of(&server).send(&email).await.unwrap();
    let received = server.emails();
    assert_eq!(received.len(), 1);
    let received = &received[0];
    assert!(received.is_encrypted);
    assert_eq!(received.login, "flotilla s3cret");
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
    let strict = EmailClient::new(EgressPolicy::PUBLIC_HTTPS);
    let no_tls = strict.send(&in_clear).await.unwrap_err();
    assert!(no_tls.message.contains("--notifications private-http"), "{no_tls:?}");
    let private = strict.send(&email_to(&server, EmailSecurity::StartTls)).await.unwrap_err();
    assert!(private.message.contains("not a public one"), "{private:?}");
    let mut metadata = email_to(&server, EmailSecurity::Tls);
    metadata.settings.host = "169.254.169.254".into();
    let link_local = EmailClient::new(PRIVATE).send(&metadata).await.unwrap_err();
    assert!(link_local.message.contains("neither a public nor a private one"), "{link_local:?}");
    assert_eq!(server.connections(), 0);
    EmailClient::new(PRIVATE).send(&in_clear).await.unwrap();
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
