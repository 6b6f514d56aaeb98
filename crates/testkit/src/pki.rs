//! Certificates and keys of one control plane.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::Path;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, SanType};

/// Writes `ca.crt`, `server.crt`, `server.key`, and `accounts.key` and `accounts.pub`, which sign and verify service account
/// tokens. Returns the CA certificate as PEM.
pub(crate) fn write_certificates(home: &Path) -> String {
    let authority_key = KeyPair::generate().expect("a key pair");
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.distinguished_name.push(DnType::CommonName, "testkit");
    let certificate = authority.self_signed(&authority_key).expect("a self-signed certificate").pem();
    let issuer = Issuer::new(authority, authority_key);
    let server_key = KeyPair::generate().expect("a key pair");
    let names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut server = CertificateParams::new(names.map(String::from)).expect("valid DNS names");
    server.subject_alt_names.push(SanType::IpAddress(IpAddr::V4(Ipv4Addr::LOCALHOST)));
    server.distinguished_name.push(DnType::CommonName, "kube-apiserver");
    let server = server.signed_by(&server_key, &issuer).expect("a certificate").pem();
    let accounts = KeyPair::generate().expect("a key pair");
    for (name, text) in [
        ("ca.crt", &certificate),
        ("server.crt", &server),
        ("server.key", &server_key.serialize_pem()),
        ("accounts.key", &accounts.serialize_pem()),
        ("accounts.pub", &accounts.public_key_pem()),
    ] {
        fs::write(home.join(name), text).expect("the directory is writable");
    }
    certificate
}

/// A certificate request with a new key, as PEM, as an agent sends it. The key is dropped: only the request is used.
pub fn create_certificate_request() -> String {
    let key = KeyPair::generate().expect("a key pair");
    let request = CertificateParams::default().serialize_request(&key).expect("a certificate request");
    request.pem().expect("a certificate request as PEM")
}
