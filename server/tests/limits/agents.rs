//! The agents' listener.

use crate::server_process::{LIMIT_TIMEOUT, ServerProcess, WAIT_TIMEOUT, connect_from, wait_until_closed};
use tokio::io::AsyncWriteExt as _;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

async fn connect_tls(server: &ServerProcess) -> TlsStream<tokio::net::TcpStream> {
    let config = accept_any_server();
    let stream = connect_from(1, server.agents).await;
    let name = rustls::pki_types::ServerName::try_from("127.0.0.1").unwrap();
    let connected = TlsConnector::from(std::sync::Arc::new(config)).connect(name, stream);
    tokio::time::timeout(WAIT_TIMEOUT, connected).await.expect("a handshake").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_silent_connections_do_not_hold_the_agents_listener() {
    let server = ServerProcess::start(8_192, &[]).await;
    let mut silent = Vec::new();
    for last in 1..=2 {
        for _ in 0..150 {
            silent.push(connect_from(last, server.agents).await);
        }
    }
    let connected = tokio::time::timeout(LIMIT_TIMEOUT, connect_tls(&server)).await;
    assert!(connected.is_ok(), "a handshake waits for connections that send nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_a_handshake_that_does_not_proceed_ends_within_seconds() {
    let server = ServerProcess::start(1_024, &[]).await;
    let mut silent = connect_from(1, server.agents).await;
    wait_until_closed(&mut silent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p20_half_a_request_of_an_agent_ends_within_seconds() {
    let server = ServerProcess::start(1_024, &[]).await;
    let mut stream = connect_tls(&server).await;
    stream.write_all(b"POST /agent/v1/register HTTP/1.1\r\nhost:").await.unwrap();
    wait_until_closed(&mut stream).await;
}

/// These tests send no secret.
fn accept_any_server() -> rustls::ClientConfig {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    #[derive(Debug)]
    struct AnyServer;
    impl ServerCertVerifier for AnyServer {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }
        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }
        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            rustls::crypto::ring::default_provider().signature_verification_algorithms.supported_schemes()
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(std::sync::Arc::new(AnyServer))
        .with_no_client_auth()
}
