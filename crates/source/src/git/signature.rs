//! Signatures of commits by SSH keys: whoever can push to a repository can't change what runs without one of the keys.

use gix_object::CommitRefIter;
use ssh_key::{Algorithm, PublicKey, SshSig};

use super::error::{GitError, GitErrorKind};
use super::pack::CommitObjects;

/// What Git signs for.
const NAMESPACE: &str = "git";
/// Most keys.
const MAX_KEYS: usize = 200;

const HINT: &str = "Let one of the allowed signers sign the commit (git config gpg.format ssh), or change the allowed signers of the Git repository.";

/// The keys that commits must be signed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedSigners(Vec<PublicKey>);

/// A line is no key that commits can be verified with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Line {line} of the allowed signers {reason}.")]
pub struct InvalidSigner {
    line: usize,
    reason: String,
}

impl AllowedSigners {
    /// Reads keys, one a line: as in `authorized_keys` (`ssh-ed25519 AAAA… name`), or in Git's file of allowed signers, with a principal
    /// before the key. Empty lines and comments are left out.
    ///
    /// # Errors
    /// A line is no key, has options, which would not be checked, or has a kind of key that can't be verified.
    pub fn parse(text: &str) -> Result<Self, InvalidSigner> {
        let mut keys = Vec::new();
        for (index, line) in text.lines().map(str::trim).enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let invalid = |reason: String| InvalidSigner { line: index + 1, reason };
            if keys.len() >= MAX_KEYS {
                return Err(invalid(format!("is one more than the {MAX_KEYS} keys that are allowed")));
            }
            keys.push(parse_key(line).map_err(invalid)?);
        }
        Ok(Self(keys))
    }

    /// Whether any commit is accepted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Checks that one of the keys signed a commit.
    ///
    /// # Errors
    /// It is not signed with SSH, or none of the keys signed it as it is.
    pub fn verify(&self, commit: &CommitObjects) -> Result<(), GitError> {
        if self.is_empty() {
            return Ok(());
        }
        let short = domain::remote::short_commit(&commit.details().id);
        let refuse = |reason: &str| {
            Err(GitError::new(GitErrorKind::RejectedContent, format!("Commit {short} {reason}."), HINT))
        };
        let Ok(Some((signature, signed))) = CommitRefIter::signature(commit.raw(), gix_hash::Kind::Sha1)
        else {
            return refuse("is not signed");
        };
        let pem: &[u8] = signature.as_ref();
        let Ok(signature) = SshSig::from_pem(trim(pem)) else {
            return refuse("is not signed with an SSH key");
        };
        let signed = signed.to_bstring();
        match self.0.iter().any(|key| key.verify(NAMESPACE, &signed, &signature).is_ok()) {
            true => Ok(()),
            false => refuse("is not signed by one of the allowed signers"),
        }
    }
}

/// Git stores the signature with a line break at its end, which PEM does not have.
fn trim(pem: &[u8]) -> &[u8] {
    pem.trim_ascii()
}

fn parse_key(line: &str) -> Result<PublicKey, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_kind =
        |word: &&str| ["ssh-", "ecdsa-", "sk-ssh-", "sk-ecdsa-"].iter().any(|kind| word.starts_with(kind));
    let at = match words.iter().position(is_kind) {
        Some(at) if at <= 1 => at,
        Some(_) => return Err("has options, which are not supported".to_owned()),
        None => return Err("is no SSH public key".to_owned()),
    };
    let key = PublicKey::from_openssh(&words[at..].join(" "))
        .map_err(|error| format!("is no SSH public key: {error}"))?;
    match key.algorithm() {
        Algorithm::Ed25519 | Algorithm::Ecdsa { .. } => Ok(key),
        other => Err(format!("has a key of the kind {other}; use ed25519 or ecdsa")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILM+rvN+ot98qgEN796jTiQfZfG1KaT0PtFDJ/XFSqti";

    #[test]
    fn keys_are_read_from_both_forms_and_what_would_not_be_checked_is_refused() {
        let both = format!("# team\n{KEY} ada\n\nada@example.com {KEY}\n");
        assert_eq!(AllowedSigners::parse(&both).unwrap().0.len(), 2);
        assert!(AllowedSigners::parse(" \n# nobody\n").unwrap().is_empty());
        for (text, why) in [
            (format!("{KEY}\nhello"), "Line 2 of the allowed signers is no SSH public key."),
            (format!("ada valid-before=\"20200101\" {KEY}"), "has options"),
            ("ssh-ed25519 AAAA".to_owned(), "is no SSH public key"),
        ] {
            let refused = AllowedSigners::parse(&text).unwrap_err().to_string();
            assert!(refused.contains(why), "{text}: {refused}");
        }
    }
}
