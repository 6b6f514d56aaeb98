//! Why a conversation over SSH ended, from the messages of `ssh`.

use std::path::Path;

use domain::ssh_url::SshUrl;

use crate::git::error::{GitError, GitErrorKind, shorten};

/// What messages for debugging begin with.
const DEBUG_PREFIX: &str = "debug1: ";
/// What the lines begin with that the program prints of itself at the level `DEBUG1`.
const OWN_PREFIXES: [&str; 5] =
    ["debug", "Authenticated ", "Transferred: ", "Bytes per second: ", "OpenSSH_"];
/// Before kind and fingerprint of the key of the server. The first such line is that of the program: texts of the server are printed
/// after its key is checked.
const SERVER_KEY: &str = "debug1: Server host key: ";

/// The error for the messages of a conversation that has no complete response. `folder` is that of the run.
pub(super) fn explain(messages: &str, url: &SshUrl, folder: &Path) -> GitError {
    let has =
        |part: &str| messages.lines().any(|line| !line.starts_with(DEBUG_PREFIX) && line.contains(part));
    let known = url.known_host();
    if has("Host key verification failed") || has("host key is known for") {
        return explain_key(messages, &known, has("HOST IDENTIFICATION HAS CHANGED"));
    }
    if has("Load key") || has("error in libcrypto") {
        return GitError::new(
            GitErrorKind::Unauthorized,
            format!("ssh can't read the private key for {url}."),
            "Enter the whole file that ssh-keygen wrote, without a passphrase: flotilla git repo add, or page Charts.",
        );
    }
    if has("Permission denied") {
        return GitError::new(
            GitErrorKind::Unauthorized,
            format!("{known} refuses the private key for the user {}.", url.user),
            "Add its public key to the repository as a deploy key with read access, or enter the private key that has access.",
        );
    }
    if has("No user exists for uid") {
        return GitError::new(
            GitErrorKind::Unreachable,
            "ssh does not run, because the user of the server has no entry in /etc/passwd.",
            "Add the entry to the image of the server, or use the https:// URL of the repository with a token.",
        );
    }
    let folder = format!("{}/", folder.display());
    let is_own = |line: &str| OWN_PREFIXES.iter().any(|prefix| line.starts_with(prefix));
    let mut shown = messages.lines().map(str::trim).filter(|line| !line.is_empty() && !is_own(line));
    match shown.next_back() {
        Some(last) => GitError::new(
            GitErrorKind::Unreachable,
            format!("{known} has no answer for {url}: {:?}.", shorten(&last.replace(&folder, ""))),
            "Check the URL and that the key has access to the repository. It may also be that the server is down.",
        ),
        None => GitError::new(
            GitErrorKind::Unreachable,
            format!("{known} ended the connection without an answer."),
            "Check the URL of the repository, and try again later.",
        ),
    }
}

/// The server is not the one that is known. Nothing was sent to it.
fn explain_key(messages: &str, known: &str, is_changed: bool) -> GitError {
    let key = messages.lines().find_map(|line| line.strip_prefix(SERVER_KEY)).map(shorten);
    let key = key.unwrap_or_else(|| "not known".to_owned());
    let (message, hint) = if is_changed {
        (
            format!(
                "{known} has another key than the known hosts of the repository: {key}. It may be another server."
            ),
            "Compare the fingerprint with the one that the administrator of the server publishes. Only if it is the same, enter the new line of known hosts.",
        )
    } else {
        (
            format!(
                "{known} is not among the known hosts of the repository, or its key is revoked there; its key is {key}."
            ),
            "Compare the fingerprint with the one that the administrator of the server publishes. If it is the same, enter the line that `ssh-keyscan` prints for the host: flotilla git repo add NAME URL --known-hosts FILE, or page Charts.",
        )
    };
    GitError::new(GitErrorKind::Unauthorized, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explain_for(messages: &str) -> GitError {
        let url = SshUrl::parse("ssh://git@git.example.com:2222/acme/deploy").unwrap();
        explain(messages, &url, Path::new("/scratch/ssh-1"))
    }

    const KEY_LINE: &str = "debug1: Server host key: ssh-ed25519 SHA256:abc\r\n";

    #[test]
    fn an_unknown_host_is_named_with_the_fingerprint_of_its_key() {
        let text = "No ED25519 host key is known for [git.example.com]:2222 and you have requested strict checking.\r\nHost key verification failed.\r\n";
        let error = explain_for(&format!("{KEY_LINE}{text}"));
        assert_eq!(error.kind, GitErrorKind::Unauthorized);
        let named = ["[git.example.com]:2222", "ssh-ed25519 SHA256:abc"];
        assert!(named.iter().all(|part| error.message.contains(part)), "{error}");
        assert!(error.hint.contains("ssh-keyscan"), "{error:?}");
    }

    #[test]
    fn a_changed_key_is_no_reason_to_trust_it() {
        let text =
            "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\r\nHost key verification failed.\r\n";
        let error = explain_for(&format!("{KEY_LINE}{text}"));
        assert!(error.message.contains("another key"), "{error:?}");
        assert!(error.hint.contains("Only if it is the same"), "{error:?}");
    }

    #[test]
    fn a_refused_key_a_broken_one_and_a_message_of_the_server_are_told_apart() {
        let refused = explain_for("debug1: x\r\ngit@10.0.0.1: Permission denied (publickey).\r\n");
        assert!(refused.message.contains("refuses the private key"), "{refused}");
        let broken = explain_for("Load key \"/scratch/ssh-1/key\": invalid format\r\nPermission denied\r\n");
        assert!(broken.message.contains("can't read the private key"), "{broken}");
        let missing = explain_for(
            "debug1: x\r\nERROR: \u{1b}[31mRepository not found.\r\nTransferred: sent 2256, received 3080 bytes, in 0.0 seconds\r\n",
        );
        assert!(missing.message.contains("Repository not found"), "{missing}");
        assert!(!missing.message.contains('\u{1b}'), "{missing}");
        assert!(!explain_for("open /scratch/ssh-1/key failed").message.contains("/scratch"));
        assert!(explain_for("debug1: Permission denied").message.contains("without an answer"));
    }
}
