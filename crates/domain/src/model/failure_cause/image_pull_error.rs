//! What the message of a container runtime about a failed image pull means.
//!
//! containerd, CRI-O and Docker wrap the registry's answer in several layers of text. The words looked for are those of the
//! registries (the error codes of the OCI distribution specification) and of Go's network errors.

/// Why an image can't be pulled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImagePullError {
    /// The registry does not have the image or its tag.
    NotFound,
    /// The registry denies access, or hides that the repository does not exist.
    Denied,
    /// The registry limits the number of pulls.
    RateLimited,
    /// The name of the registry can't be resolved.
    UnknownHost,
    /// The certificate of the registry is not trusted.
    UntrustedCertificate,
    /// The image is not built for the platform of the node.
    OtherPlatform,
    /// The registry does not respond.
    Unreachable,
}

/// Words in a message, in lower case, that tell an error. The first match counts: a message that denies access also says that
/// the repository "does not exist or may require authorization". Status codes stand with their text, because a digest in the
/// message can contain the digits.
const WORDS: [(ImagePullError, &[&str]); 7] = [
    (ImagePullError::RateLimited, &["toomanyrequests", "429 too many requests", "pull rate limit"]),
    (
        ImagePullError::Denied,
        &[
            "401 unauthorized",
            "unauthorized:",
            "403 forbidden",
            "insufficient_scope",
            "access denied",
            "resource is denied",
            "authentication required",
        ],
    ),
    (ImagePullError::UnknownHost, &["no such host", "server misbehaving", "name resolution"]),
    (ImagePullError::UntrustedCertificate, &["x509", "certificate signed by"]),
    (
        ImagePullError::OtherPlatform,
        &["no match for platform", "no matching manifest", "no image found in manifest list"],
    ),
    (
        ImagePullError::Unreachable,
        &[
            "connection refused",
            "i/o timeout",
            "deadline exceeded",
            "connection reset",
            "no route to host",
            "tls handshake timeout",
            "503 service unavailable",
            "502 bad gateway",
        ],
    ),
    (ImagePullError::NotFound, &["not found", "code = notfound", "manifest unknown", "name unknown"]),
];

impl ImagePullError {
    /// The error that a message of a container runtime reports; `None` if it is not recognised.
    pub fn from_message(message: &str) -> Option<Self> {
        let text = message.to_ascii_lowercase();
        WORDS.iter().find(|(_, words)| words.iter().any(|word| text.contains(word))).map(|(error, _)| *error)
    }

    /// The error in a few words, after the name of the image.
    pub const fn label(self) -> &'static str {
        match self {
            Self::NotFound => "it is not in the registry",
            Self::Denied => "the registry denies access",
            Self::RateLimited => "the registry limits the number of pulls",
            Self::UnknownHost => "the name of the registry can't be resolved",
            Self::UntrustedCertificate => "the certificate of the registry is not trusted",
            Self::OtherPlatform => "it is not built for the platform of the node",
            Self::Unreachable => "the registry does not respond",
        }
    }

    /// What a user can do about it.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::NotFound => {
                "Correct the image or its tag in the draft and publish, or push the missing tag: the cluster then pulls it without a publish."
            }
            Self::Denied => {
                "Give the pod or its service account a pull secret for this registry on the cluster, and check that the repository exists. The pull is retried automatically."
            }
            Self::RateLimited => "Pull with credentials or from a mirror. The pull is retried automatically.",
            Self::UnknownHost => {
                "Correct the name of the registry in the image, or the name resolution of the cluster's nodes."
            }
            Self::UntrustedCertificate => {
                "Install the authority of the registry's certificate on the cluster's nodes, or pull from another registry."
            }
            Self::OtherPlatform => {
                "Build the image for the architecture of the nodes, or exclude the cluster in the placement."
            }
            Self::Unreachable => {
                "Check that the cluster's nodes reach the registry. The pull is retried automatically."
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_container_runtimes_are_recognised() {
        let cases = [
            (
                r#"rpc error: code = NotFound desc = failed to pull and unpack image "docker.io/library/nginx:9.9": failed to resolve reference "docker.io/library/nginx:9.9": docker.io/library/nginx:9.9: not found"#,
                Some(ImagePullError::NotFound),
            ),
            ("manifest unknown", Some(ImagePullError::NotFound)),
            (
                "failed to resolve reference: pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: authorization failed",
                Some(ImagePullError::Denied),
            ),
            (
                "unexpected status from HEAD request to https://r.example/v2/a/manifests/1: 401 Unauthorized",
                Some(ImagePullError::Denied),
            ),
            ("toomanyrequests: You have reached your pull rate limit", Some(ImagePullError::RateLimited)),
            ("dial tcp: lookup r.example on 10.0.0.10:53: no such host", Some(ImagePullError::UnknownHost)),
            (
                "tls: failed to verify certificate: x509: certificate signed by unknown authority",
                Some(ImagePullError::UntrustedCertificate),
            ),
            ("no match for platform in manifest: not found", Some(ImagePullError::OtherPlatform)),
            ("dial tcp 10.1.2.3:443: connect: connection refused", Some(ImagePullError::Unreachable)),
            ("the disk is full", None),
            ("", None),
        ];
        for (message, expected) in cases {
            assert_eq!(ImagePullError::from_message(message), expected, "{message}");
        }
    }
}
