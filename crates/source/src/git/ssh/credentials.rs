//! A private key, and the keys by which a server over SSH is known.

use std::fmt;

use ssh_key::PrivateKey;

/// A private key without a passphrase, and known hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct SshCredentials {
    private_key: String,
    known_hosts: String,
}

/// A private key or a file of known hosts can't be used. No message contains a part of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct InvalidSshCredentials {
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do.
    pub hint: &'static str,
    /// The field, `privateKey` or `knownHosts`.
    pub field: &'static str,
}

impl fmt::Debug for SshCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SshCredentials").finish_non_exhaustive()
    }
}

impl SshCredentials {
    /// Checks the key and the known hosts, which may be empty: then no server is trusted.
    ///
    /// # Errors
    /// The text is no private key, it has a passphrase, or a line is no known host.
    pub fn new(private_key: &str, known_hosts: &str) -> Result<Self, InvalidSshCredentials> {
        let private_key = normalize(private_key);
        let invalid_key = |message: &str, hint: &'static str| InvalidSshCredentials {
            message: message.to_owned(),
            hint,
            field: "privateKey",
        };
        let is_key = private_key.starts_with("-----BEGIN ") && private_key.contains("PRIVATE KEY-----");
        if !is_key {
            return Err(invalid_key(
                "The private key does not begin with -----BEGIN … PRIVATE KEY-----.",
                "Write the whole file that ssh-keygen wrote, not the one that ends with .pub.",
            ));
        }
        // Keys of other formats and kinds are left to the program.
        let is_encrypted = private_key.contains("ENCRYPTED")
            || PrivateKey::from_openssh(&private_key).is_ok_and(|key| key.is_encrypted());
        if is_encrypted {
            return Err(invalid_key(
                "The private key has a passphrase, which nobody can enter here.",
                "Generate a key for this repository alone: ssh-keygen -t ed25519 -N '' -f deploy-key.",
            ));
        }
        let known_hosts = normalize(known_hosts);
        for (index, line) in known_hosts.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') || is_known_host(line) {
                continue;
            }
            return Err(InvalidSshCredentials {
                message: format!(
                    "Line {} of the known hosts has not a host, a kind of key and a key.",
                    index + 1
                ),
                hint: "Write lines as ssh-keyscan prints them: git.example.com ssh-ed25519 AAAA…",
                field: "knownHosts",
            });
        }
        Ok(Self { private_key, known_hosts })
    }

    pub(super) fn private_key(&self) -> &str {
        &self.private_key
    }

    pub(super) fn known_hosts(&self) -> &str {
        &self.known_hosts
    }
}

/// With line breaks as programs expect them, and one at the end. Empty stays empty.
fn normalize(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    match text.trim() {
        "" => String::new(),
        trimmed => format!("{trimmed}\n"),
    }
}

fn is_known_host(line: &str) -> bool {
    let mut fields = line.split_whitespace().skip_while(|field| field.starts_with('@'));
    let (host, kind, key) = (fields.next(), fields.next(), fields.next());
    let is_kind = kind.is_some_and(|kind| kind.contains("ssh-") || kind.contains("ecdsa-"));
    host.is_some() && is_kind && key.is_some_and(|key| key.starts_with("AAAA"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "-----BEGIN OPENSSH PRIVATE KEY-----\r\nb3Blbg==\r\n-----END OPENSSH PRIVATE KEY-----";
    const HOST: &str = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPD name";

    #[test]
    fn a_key_and_known_hosts_are_stored_as_programs_read_them() {
        let read = SshCredentials::new(KEY, &format!("# comment\r\n{HOST}\n@revoked {HOST}")).unwrap();
        assert!(read.private_key().ends_with("KEY-----\n") && !read.private_key().contains('\r'));
        assert!(read.known_hosts().ends_with("name\n"));
        assert_eq!(SshCredentials::new(KEY, " ").unwrap().known_hosts(), "");
        assert!(!format!("{read:?}").contains("b3Blbg"));
    }

    #[test]
    fn a_public_key_a_passphrase_and_other_lines_are_refused_without_being_repeated() {
        let encrypted =
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\ncanary\n-----END RSA PRIVATE KEY-----";
        for (key, hosts, field) in [
            ("ssh-ed25519 AAAAcanary name", HOST, "privateKey"),
            (encrypted, HOST, "privateKey"),
            (KEY, "git.example.com canary", "knownHosts"),
            (KEY, "|1|canary ssh-ed25519", "knownHosts"),
        ] {
            let refused = SshCredentials::new(key, hosts).unwrap_err();
            assert_eq!(refused.field, field, "{refused}");
            assert!(!refused.message.contains("canary"), "{refused}");
        }
    }
}
