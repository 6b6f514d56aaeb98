//! The hub's certificate authority: signs the certificates of agents and of the listener that they connect to.
//!
//! Its key is a file that only its owner can read, stored beside the database and never in it (docs/decisions/0011): a copy
//! of the database does not allow to impersonate a cluster. Only the public key of a certificate request is used; subject,
//! usages and lifetime are set here.

use std::io::Write as _;
use std::path::Path;

use domain::{ClusterId, Timestamp};
use rand::Rng as _;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateSigningRequestParams, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, SerialNumber,
};
use sha2::{Digest as _, Sha256};

use crate::Clock;

const DAY_MILLIS: i64 = 86_400_000;
/// Lifetime of the authority, in milliseconds: ten years.
const AUTHORITY_LIFETIME_MILLIS: i64 = 3_650 * DAY_MILLIS;
/// Default lifetime of an agent's certificate, in milliseconds: thirty days.
const AGENT_LIFETIME_MILLIS: i64 = 30 * DAY_MILLIS;
/// Lifetime of the listener's certificate, in milliseconds; it is reissued at every start and at half of this.
const LISTENER_LIFETIME_MILLIS: i64 = 90 * DAY_MILLIS;
/// Certificates are valid from this long before they are issued, in milliseconds: clocks may differ by an hour (P10).
const BACKDATE_MILLIS: i64 = 2 * 3_600_000;
/// Maximum size of a certificate request, in bytes.
const MAX_REQUEST_BYTES: usize = 8 * 1024;

const CERTIFICATE_FILE: &str = "agent-ca.crt";
const KEY_FILE: &str = "agent-ca.key";

/// Why no certificate can be issued.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// The path.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Only one of the two files exists.
    #[error(
        "{0} is missing: restore it from a backup, or delete the other file too and let every cluster join again"
    )]
    FileMissing(String),
    /// A certificate or key can't be created or read.
    #[error("a certificate can't be created: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// The certificate authority: signs certificates.
pub struct Authority {
    certificate: String,
    der: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
    clock: Clock,
    agent_lifetime_millis: i64,
}

/// The certificate and the key of the listener that agents connect to.
pub struct ListenerCertificate {
    /// The chain in DER, the listener's certificate first, the authority's last: a joining agent reads it from there.
    pub chain: Vec<Vec<u8>>,
    /// The private key, PKCS #8 in DER.
    pub key: Vec<u8>,
    /// When to issue a new one.
    pub renew_at: Timestamp,
}

/// A verified certificate request: its signature proves that the sender holds the key.
pub(crate) struct CertificateRequest {
    parsed: CertificateSigningRequestParams,
    pub fingerprint: String,
}

/// A signed certificate for an agent.
pub(crate) struct SignedCertificate {
    pub serial: String,
    pub pem: String,
    pub not_after: Timestamp,
}

impl Authority {
    /// The authority in this directory; created at the first start, its key readable by its owner only.
    ///
    /// # Errors
    /// Its files can't be read, written or parsed, or one of them is missing.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuthorityError> {
        let (certificate, key) = (folder.join(CERTIFICATE_FILE), folder.join(KEY_FILE));
        match (certificate.exists(), key.exists()) {
            (true, true) => Self::from_pem(&read_file(&certificate)?, &read_file(&key)?, clock),
            (false, false) => {
                let (authority, secret) = Self::generate(clock)?;
                // The key first: after a crash in between, the error names the certificate as missing, not the key.
                write_private_file(&key, &secret)?;
                write_private_file(&certificate, &authority.certificate)?;
                Ok(authority)
            }
            (false, true) => Err(AuthorityError::FileMissing(certificate.display().to_string())),
            (true, false) => Err(AuthorityError::FileMissing(key.display().to_string())),
        }
    }

    /// A new authority and its private key as PEM.
    ///
    /// # Errors
    /// The key can't be generated.
    pub fn generate(clock: Clock) -> Result<(Self, String), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name("Flotilla agents");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        set_validity(&mut params, clock.now(), AUTHORITY_LIFETIME_MILLIS);
        let certificate = params.self_signed(&key)?;
        let secret = key.serialize_pem();
        let (certificate, der) = (certificate.pem(), certificate.der().to_vec());
        let issuer = Issuer::new(params, key);
        Ok((Self { certificate, der, issuer, clock, agent_lifetime_millis: AGENT_LIFETIME_MILLIS }, secret))
    }

    /// An authority from its certificate and key as PEM.
    ///
    /// # Errors
    /// They can't be parsed.
    pub fn from_pem(certificate: &str, key: &str, clock: Clock) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(key)?;
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes())
            .map_err(|_| rcgen::Error::CouldNotParseCertificate)?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key)?;
        let certificate = certificate.to_owned();
        Ok(Self {
            certificate,
            der: pem.contents,
            issuer,
            clock,
            agent_lifetime_millis: AGENT_LIFETIME_MILLIS,
        })
    }

    /// The same with another lifetime of agents' certificates, in milliseconds.
    #[must_use]
    pub fn with_agent_lifetime(self, millis: i64) -> Self {
        Self { agent_lifetime_millis: millis, ..self }
    }

    /// Its certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its certificate in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 of its certificate, in hex. A join token contains it, so that an agent can verify the hub on the first connection.
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(&self.der))
    }

    /// A certificate for a listener with these names and addresses.
    ///
    /// # Errors
    /// One of the names is not valid.
    pub fn issue_listener_certificate(
        &self,
        names: &[String],
    ) -> Result<ListenerCertificate, AuthorityError> {
        let key = KeyPair::generate()?;
        let now = self.clock.now();
        let mut params = CertificateParams::new(names.to_vec())?;
        params.distinguished_name = distinguished_name("Flotilla hub");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.serial_number = Some(generate_serial());
        set_validity(&mut params, now, LISTENER_LIFETIME_MILLIS);
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(ListenerCertificate {
            chain: vec![certificate.der().to_vec(), self.der.clone()],
            key: key.serialize_der(),
            renew_at: now.plus_millis(LISTENER_LIFETIME_MILLIS / 2),
        })
    }

    /// A certificate that binds the request's key to this cluster.
    pub(crate) fn issue_agent_certificate(
        &self,
        request: &CertificateRequest,
        cluster: ClusterId,
    ) -> Result<SignedCertificate, AuthorityError> {
        let now = self.clock.now();
        let mut params = CertificateParams::default();
        params.distinguished_name = distinguished_name(&cluster.to_string());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let serial = generate_serial();
        params.serial_number = Some(serial.clone());
        set_validity(&mut params, now, self.agent_lifetime_millis);
        let certificate = params.signed_by(&request.parsed.public_key, &self.issuer)?;
        let not_after = now.plus_millis(self.agent_lifetime_millis);
        Ok(SignedCertificate { serial: hex::encode(serial.to_bytes()), pem: certificate.pem(), not_after })
    }

    /// Earliest expiry with which an existing certificate is returned again instead of a new one.
    pub(crate) fn earliest_reusable_expiry(&self) -> Timestamp {
        self.clock.now().plus_millis(self.agent_lifetime_millis / 3)
    }
}

impl CertificateRequest {
    /// Parses and verifies a certificate request: P-256 or Ed25519, signed with its own key. `None` if it is invalid.
    pub fn from_pem(pem: &str) -> Option<Self> {
        if pem.len() > MAX_REQUEST_BYTES {
            return None;
        }
        let parsed = CertificateSigningRequestParams::from_pem(pem).ok()?;
        let supported = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519];
        if !supported.contains(&parsed.public_key.algorithm()) {
            return None;
        }
        let fingerprint = hex::encode(Sha256::digest(parsed.public_key.subject_public_key_info()));
        Some(Self { parsed, fingerprint })
    }
}

fn distinguished_name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// 16 random bytes: positive, and without a leading zero byte, which DER would drop.
fn generate_serial() -> SerialNumber {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&bytes)
}

fn set_validity(params: &mut CertificateParams, now: Timestamp, millis: i64) {
    let at = |instant: Timestamp| {
        let seconds = instant.millis().div_euclid(1_000);
        time::OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
    };
    params.not_before = at(now.plus_millis(-BACKDATE_MILLIS));
    params.not_after = at(now.plus_millis(millis));
}

fn read_file(path: &Path) -> Result<String, AuthorityError> {
    std::fs::read_to_string(path).map_err(|source| file_error(path, source))
}

fn write_private_file(path: &Path, text: &str) -> Result<(), AuthorityError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(path).map_err(|source| file_error(path, source))?;
    open.write_all(text.as_bytes()).and_then(|()| open.sync_all()).map_err(|source| file_error(path, source))
}

fn file_error(path: &Path, source: std::io::Error) -> AuthorityError {
    AuthorityError::File { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::from_fn(|| Timestamp::from_millis(1_763_665_200_000))
    }

    #[test]
    fn the_authority_of_a_directory_is_created_once_and_only_its_owner_can_read_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let first = Authority::open(folder.path(), clock()).unwrap();
        let again = Authority::open(folder.path(), clock()).unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
        assert!(matches!(Authority::open(folder.path(), clock()), Err(AuthorityError::FileMissing(_))));
    }

    #[test]
    fn only_the_public_key_of_a_certificate_request_is_used() {
        let (authority, _) = Authority::generate(clock()).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["hub.example.com".to_owned()]).unwrap();
        params.distinguished_name = distinguished_name("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let request =
            CertificateRequest::from_pem(&params.serialize_request(&key).unwrap().pem().unwrap()).unwrap();
        let cluster = ClusterId::from_parts(1, 2);
        let signed = authority.issue_agent_certificate(&request, cluster).unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(signed.pem.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        assert_eq!(certificate.subject().to_string(), format!("CN={cluster}"));
        assert!(!certificate.is_ca());
        assert!(certificate.subject_alternative_name().unwrap().is_none());
        let usage = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.client_auth && !usage.server_auth);
    }

    #[test]
    fn an_invalid_request_or_one_not_signed_by_its_own_key_is_rejected() {
        let key = KeyPair::generate().unwrap();
        let valid = CertificateParams::default().serialize_request(&key).unwrap();
        assert!(CertificateRequest::from_pem(&valid.pem().unwrap()).is_some());
        let mut forged = valid.der().to_vec();
        let end = forged.len() - 1;
        forged[end] ^= 1;
        let to_pem = |der: &[u8]| {
            use base64::Engine as _;
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
        };
        assert!(CertificateRequest::from_pem(&to_pem(valid.der())).is_some());
        assert!(CertificateRequest::from_pem(&to_pem(&forged)).is_none());
        assert!(CertificateRequest::from_pem("").is_none());
        assert!(CertificateRequest::from_pem(&"x".repeat(MAX_REQUEST_BYTES + 1)).is_none());
    }
}
