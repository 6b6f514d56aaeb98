//! The hub's own certificate authority: it signs the certificates of agents and of the listener that they dial.
//!
//! Its key is a file that only its owner can read, beside the database and never in it (docs/decisions/0011): a copy of
//! the database lets nobody speak for a cluster. Of a certificate request only the public key is taken; what a certificate
//! says is written here.

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

const DAY: i64 = 86_400_000;
/// How long the authority lasts, in milliseconds: ten years.
const AUTHORITY_LIFE: i64 = 3_650 * DAY;
/// How long an agent's certificate lasts when nothing else is said, in milliseconds: thirty days.
const AGENT_LIFE: i64 = 30 * DAY;
/// How long the listener's certificate lasts, in milliseconds; it is made anew at every start and at half of this.
const LISTENER_LIFE: i64 = 90 * DAY;
/// Certificates begin so long before they are made, in milliseconds: clocks may differ by an hour (P10).
const BACKDATED: i64 = 2 * 3_600_000;
/// Longest certificate request taken, in bytes.
const LONGEST_REQUEST: usize = 8 * 1024;

const CERTIFICATE_FILE: &str = "agent-ca.crt";
const KEY_FILE: &str = "agent-ca.key";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// A file can't be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which one.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// One of the two files is there and the other is not.
    #[error(
        "{0} is missing: restore it from a backup, or delete the other file too and let every cluster join anew"
    )]
    Half(String),
    /// A certificate or key can't be made or read.
    #[error("a certificate can't be made: {0}")]
    Certificate(#[from] rcgen::Error),
}

/// Signs certificates.
pub struct Authority {
    certificate: String,
    der: Vec<u8>,
    issuer: Issuer<'static, KeyPair>,
    clock: Clock,
    agent_life: i64,
}

/// The certificate and the key of the listener that agents dial.
pub struct ListenerCertificate {
    /// The chain in DER, the listener's own first, the authority last: an agent that joins learns it from there.
    pub chain: Vec<Vec<u8>>,
    /// The private key, PKCS #8 in DER.
    pub key: Vec<u8>,
    /// When to make a new one.
    pub renew_at: Timestamp,
}

/// A certificate request that was checked: its signature proves that the sender holds the key.
pub(crate) struct Request {
    parsed: CertificateSigningRequestParams,
    pub fingerprint: String,
}

/// A certificate for an agent.
pub(crate) struct Signed {
    pub serial: String,
    pub pem: String,
    pub not_after: Timestamp,
}

impl Authority {
    /// The authority in this folder; made at the first start, its key readable by its owner only.
    ///
    /// # Errors
    /// Its files can't be read, made or understood, or one of them is missing.
    pub fn open(folder: &Path, clock: Clock) -> Result<Self, AuthorityError> {
        let (certificate, key) = (folder.join(CERTIFICATE_FILE), folder.join(KEY_FILE));
        match (certificate.exists(), key.exists()) {
            (true, true) => Self::read(&text(&certificate)?, &text(&key)?, clock),
            (false, false) => {
                let (made, secret) = Self::make(clock)?;
                // The key first: a certificate without a key would look like a loss.
                write(&key, &secret)?;
                write(&certificate, &made.certificate)?;
                Ok(made)
            }
            (false, true) => Err(AuthorityError::Half(certificate.display().to_string())),
            (true, false) => Err(AuthorityError::Half(key.display().to_string())),
        }
    }

    /// A new authority and its private key as PEM.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn make(clock: Clock) -> Result<(Self, String), AuthorityError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name = name("Flotilla agents");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        last(&mut params, clock.now(), AUTHORITY_LIFE);
        let certificate = params.self_signed(&key)?;
        let secret = key.serialize_pem();
        let (certificate, der) = (certificate.pem(), certificate.der().to_vec());
        let issuer = Issuer::new(params, key);
        Ok((Self { certificate, der, issuer, clock, agent_life: AGENT_LIFE }, secret))
    }

    /// An authority from its certificate and key as PEM.
    ///
    /// # Errors
    /// They can't be read.
    pub fn read(certificate: &str, key: &str, clock: Clock) -> Result<Self, AuthorityError> {
        let key = KeyPair::from_pem(key)?;
        let (_, pem) = x509_parser::pem::parse_x509_pem(certificate.as_bytes())
            .map_err(|_| rcgen::Error::CouldNotParseCertificate)?;
        let issuer = Issuer::from_ca_cert_pem(certificate, key)?;
        let certificate = certificate.to_owned();
        Ok(Self { certificate, der: pem.contents, issuer, clock, agent_life: AGENT_LIFE })
    }

    /// The same, with another life of agents' certificates, in milliseconds.
    #[must_use]
    pub fn with_agent_life(self, millis: i64) -> Self {
        Self { agent_life: millis, ..self }
    }

    /// Its certificate as PEM.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Its certificate in DER.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// SHA-256 of its certificate, in hex: what a join token carries, so that an agent knows its hub at first sight.
    pub fn fingerprint(&self) -> String {
        hex::encode(Sha256::digest(&self.der))
    }

    /// A certificate for a listener that is dialled under these names and addresses.
    ///
    /// # Errors
    /// One of the names is none.
    pub fn for_listener(&self, names: &[String]) -> Result<ListenerCertificate, AuthorityError> {
        let key = KeyPair::generate()?;
        let now = self.clock.now();
        let mut params = CertificateParams::new(names.to_vec())?;
        params.distinguished_name = name("Flotilla hub");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.serial_number = Some(serial());
        last(&mut params, now, LISTENER_LIFE);
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(ListenerCertificate {
            chain: vec![certificate.der().to_vec(), self.der.clone()],
            key: key.serialize_der(),
            renew_at: now.plus_millis(LISTENER_LIFE / 2),
        })
    }

    /// A certificate that says: this key speaks for this cluster.
    pub(crate) fn for_agent(&self, request: &Request, cluster: ClusterId) -> Result<Signed, AuthorityError> {
        let now = self.clock.now();
        let mut params = CertificateParams::default();
        params.distinguished_name = name(&cluster.to_string());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let serial = serial();
        params.serial_number = Some(serial.clone());
        last(&mut params, now, self.agent_life);
        let certificate = params.signed_by(&request.parsed.public_key, &self.issuer)?;
        let not_after = now.plus_millis(self.agent_life);
        Ok(Signed { serial: hex::encode(serial.to_bytes()), pem: certificate.pem(), not_after })
    }

    /// Until when a certificate must last at least to be given out again.
    pub(crate) fn lasts_until(&self) -> Timestamp {
        self.clock.now().plus_millis(self.agent_life / 3)
    }
}

impl Request {
    /// Reads a certificate request: P-256 or Ed25519, signed with its own key. `None` if it is none.
    pub fn read(pem: &str) -> Option<Self> {
        if pem.len() > LONGEST_REQUEST {
            return None;
        }
        let parsed = CertificateSigningRequestParams::from_pem(pem).ok()?;
        let known = [&rcgen::PKCS_ECDSA_P256_SHA256, &rcgen::PKCS_ED25519];
        if !known.contains(&parsed.public_key.algorithm()) {
            return None;
        }
        let fingerprint = hex::encode(Sha256::digest(parsed.public_key.subject_public_key_info()));
        Some(Self { parsed, fingerprint })
    }
}

fn name(common: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common);
    name
}

/// Sixteen random bytes: positive, and without a leading zero that would be dropped.
fn serial() -> SerialNumber {
    let mut bytes: [u8; 16] = rand::rng().random();
    bytes[0] = bytes[0] & 0x7f | 0x40;
    SerialNumber::from_slice(&bytes)
}

fn last(params: &mut CertificateParams, now: Timestamp, millis: i64) {
    let at = |instant: Timestamp| {
        let seconds = instant.millis().div_euclid(1_000);
        time::OffsetDateTime::from_unix_timestamp(seconds).unwrap_or(time::OffsetDateTime::UNIX_EPOCH)
    };
    params.not_before = at(now.plus_millis(-BACKDATED));
    params.not_after = at(now.plus_millis(millis));
}

fn text(path: &Path) -> Result<String, AuthorityError> {
    std::fs::read_to_string(path).map_err(|source| file(path, source))
}

fn write(path: &Path, text: &str) -> Result<(), AuthorityError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = options.open(path).map_err(|source| file(path, source))?;
    open.write_all(text.as_bytes()).and_then(|()| open.sync_all()).map_err(|source| file(path, source))
}

fn file(path: &Path, source: std::io::Error) -> AuthorityError {
    AuthorityError::File { path: path.display().to_string(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::from_fn(|| Timestamp::from_millis(1_763_665_200_000))
    }

    #[test]
    fn the_authority_of_a_folder_is_made_once_and_its_key_is_its_owners() {
        let folder = tempfile::tempdir().unwrap();
        let first = Authority::open(folder.path(), clock()).unwrap();
        let again = Authority::open(folder.path(), clock()).unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(folder.path().join(KEY_FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::remove_file(folder.path().join(KEY_FILE)).unwrap();
        assert!(matches!(Authority::open(folder.path(), clock()), Err(AuthorityError::Half(_))));
    }

    #[test]
    fn of_a_request_only_the_key_is_taken_whatever_else_it_asks_for() {
        let (authority, _) = Authority::make(clock()).unwrap();
        let key = KeyPair::generate().unwrap();
        let mut wish = CertificateParams::new(vec!["hub.example.com".to_owned()]).unwrap();
        wish.distinguished_name = name("01ARZ3NDEKTSV4RRFFQ69G5FAV");
        wish.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        wish.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let request = Request::read(&wish.serialize_request(&key).unwrap().pem().unwrap()).unwrap();
        let cluster = ClusterId::from_parts(1, 2);
        let signed = authority.for_agent(&request, cluster).unwrap();
        let (_, pem) = x509_parser::pem::parse_x509_pem(signed.pem.as_bytes()).unwrap();
        let certificate = pem.parse_x509().unwrap();
        assert_eq!(certificate.subject().to_string(), format!("CN={cluster}"));
        assert!(!certificate.is_ca());
        assert!(certificate.subject_alternative_name().unwrap().is_none());
        let usage = certificate.extended_key_usage().unwrap().unwrap().value;
        assert!(usage.client_auth && !usage.server_auth);
    }

    #[test]
    fn what_is_no_request_or_is_not_signed_by_its_own_key_is_refused() {
        let key = KeyPair::generate().unwrap();
        let good = CertificateParams::default().serialize_request(&key).unwrap();
        assert!(Request::read(&good.pem().unwrap()).is_some());
        let mut forged = good.der().to_vec();
        let end = forged.len() - 1;
        forged[end] ^= 1;
        let wrapped = |der: &[u8]| {
            use base64::Engine as _;
            let text = base64::engine::general_purpose::STANDARD.encode(der);
            format!("-----BEGIN CERTIFICATE REQUEST-----\n{text}\n-----END CERTIFICATE REQUEST-----\n")
        };
        assert!(Request::read(&wrapped(good.der())).is_some());
        assert!(Request::read(&wrapped(&forged)).is_none());
        assert!(Request::read("").is_none());
        assert!(Request::read(&"x".repeat(LONGEST_REQUEST + 1)).is_none());
    }
}
