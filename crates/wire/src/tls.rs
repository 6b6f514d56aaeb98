//! How an agent knows its hub: by one certificate and no other, neither the system's nor anybody else's.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use sha2::{Digest as _, Sha256};

/// What can't be used for TLS.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadTls(String);

/// SHA-256 of a certificate in PEM, in hex.
pub fn fingerprint(pem: &str) -> Option<String> {
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    Some(hex::encode(Sha256::digest(&der)))
}

/// For the first contact: the hub must show the authority with this fingerprint (SHA-256, hex), and a certificate of its
/// own that this authority signed.
///
/// # Errors
/// The provider can't do TLS.
pub fn pinned(fingerprint: &str) -> Result<ClientConfig, BadTls> {
    let verifier = Pinned { fingerprint: fingerprint.to_lowercase(), provider: provider() };
    let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
    let builder = builder.map_err(|error| BadTls(error.to_string()))?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

/// For an agent that is in: the hub's authority, its own certificate and its key, all as PEM.
///
/// # Errors
/// One of them can't be read.
pub fn with_identity(authority: &str, certificate: &str, key: &str) -> Result<ClientConfig, BadTls> {
    let bad = |what: &str| BadTls(format!("{what} can't be read"));
    let mut roots = RootCertStore::empty();
    let authority = CertificateDer::from_pem_slice(authority.as_bytes()).map_err(|_| bad("the authority"))?;
    roots.add(authority).map_err(|_| bad("the authority"))?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect();
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|_| bad("the key"))?;
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| BadTls(error.to_string()))?
        .with_root_certificates(roots)
        .with_client_auth_cert(chain.map_err(|_| bad("the certificate"))?, key)
        .map_err(|error| BadTls(error.to_string()))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// Makes *ring* the process's cryptography. reqwest is built without one of its own, because a second one in the
/// program (features add up over a whole workspace) leaves rustls, and so kube, without an answer which to take.
pub fn choose_provider() {
    // Somebody having chosen before is as good.
    let _ = ring::default_provider().install_default();
}

#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let is_ours = |shown: &&CertificateDer<'_>| hex::encode(Sha256::digest(shown)) == self.fingerprint;
        let unknown = rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let authority = intermediates.iter().find(is_ours).ok_or(unknown)?;
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
