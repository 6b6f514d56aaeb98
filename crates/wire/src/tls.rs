//! TLS configurations that trust exactly one CA, the hub's; system roots are not used.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

/// A TLS configuration can't be built.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidTlsConfig(String);

/// SHA-256 of a certificate in PEM, in hex.
pub fn certificate_fingerprint(pem: &str) -> Option<String> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    Some(hex::encode(Sha256::digest(&der)))
}

/// For registration: the hub must present the CA certificate with this fingerprint (SHA-256, hex), and a server
/// certificate that this CA signed.
///
/// # Errors
/// The crypto provider does not support the default TLS versions.
pub fn pinned_config(fingerprint: &str) -> Result<ClientConfig, InvalidTlsConfig> {
    let verifier = PinnedVerifier { fingerprint: fingerprint.to_lowercase(), provider: crypto_provider() };
    let builder =
        ClientConfig::builder_with_provider(crypto_provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| InvalidTlsConfig(error.to_string()))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// For a joined agent: the hub's CA certificate, the agent's certificate and its key, all as PEM.
///
/// # Errors
/// One of them can't be parsed.
pub fn identity_config(
    authority: &str,
    certificate: &str,
    key: &str,
) -> Result<ClientConfig, InvalidTlsConfig> {
    let invalid = |what: &str| InvalidTlsConfig(format!("{what} can't be parsed"));
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(authority.as_bytes());
    let authority = authority.map_err(|_| invalid("the CA certificate"))?;
    roots.add(authority).map_err(|_| invalid("the CA certificate"))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| invalid("the key"))?;
    ClientConfig::builder_with_provider(crypto_provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| InvalidTlsConfig(error.to_string()))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain.map_err(|_| invalid("the certificate"))?, key)
        .map_err(|error| InvalidTlsConfig(error.to_string()))
}

fn crypto_provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Installs *ring* as the process's default crypto provider. reqwest is built without a provider: with two of them in the
/// program (features are unified over the workspace) rustls, and so kube, can't select a default.
pub fn install_crypto_provider() {
    // An error means that a provider is installed already.
    let _ = ring::default_provider().install_default();
}

#[derive(Debug)]
struct PinnedVerifier {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for PinnedVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_pinned = |cert: &&CertificateDer<'_>| hex::encode(Sha256::digest(cert)) == self.fingerprint;
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let authority = intermediates.iter().find(is_pinned).ok_or(unknown)?;
        let mut roots = RootCertStore::empty();
        roots.add(authority.clone().into_owned())?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), self.provider.clone()).build();
        let verifier = verifier.map_err(|error| rustls::Error::General(error.to_string()))?;
        verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
