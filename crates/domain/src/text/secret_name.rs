//! Names and formats of values that are probably secrets.

/// Parts of names whose values are probably secrets.
const SECRET_NAME_PARTS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "privatekey",
    "private_key",
    "private-key",
    "credential",
];
/// Endings of names that only refer to a secret or describe one.
const HARMLESS_NAME_ENDINGS: &[&str] = &[
    "file",
    "path",
    "dir",
    "name",
    "ref",
    "url",
    "uri",
    "host",
    "port",
    "ttl",
    "expiry",
    "expiration",
    "enabled",
    "length",
    "type",
    "header",
    "id",
    "issuer",
    "audience",
    "policy",
    "timeout",
    "seconds",
    "interval",
    "provider",
    "key_name",
];

/// Whether a value is probably a secret in clear text, by its name or by its format.
pub(crate) fn looks_like_secret(name: &str, value: &str) -> bool {
    has_secret_format(value) || (is_secret_name(name) && is_literal(value))
}

/// Whether a name is that of a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAME_PARTS.iter().any(|word| name.contains(word))
        && !HARMLESS_NAME_ENDINGS.iter().any(|end| name.ends_with(end))
}

/// Whether a value is not a Boolean, a number, a path or a reference.
fn is_literal(value: &str) -> bool {
    let value = value.trim();
    !value.is_empty()
        && !matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "yes" | "no" | "none")
        && value.parse::<f64>().is_err()
        && !value.starts_with(['/', '$', '{'])
        && !value.contains('\n')
}

/// Whether a value has the format of a cloud access key, a signed token or a private key.
pub(crate) fn has_secret_format(value: &str) -> bool {
    let signed = value.starts_with("eyJ") && value.len() > 40 && value.matches('.').count() == 2;
    let access_key = value.len() == 20
        && (value.starts_with("AKIA") || value.starts_with("ASIA"))
        && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let private = value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----");
    signed || access_key || private
}

/// Whether a value is probably random: long, without spaces, with letters of both cases and digits, and with high
/// entropy. Digests and ids have letters of one case only and do not match.
pub(crate) fn has_high_entropy(value: &str) -> bool {
    const SHORTEST: usize = 32;
    const BITS: f64 = 4.3;
    let bytes = value.as_bytes();
    let is_token_byte = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-');
    let count = |class: fn(&u8) -> bool| bytes.iter().filter(|b| class(b)).count();
    if bytes.len() < SHORTEST
        || bytes.len() > 512
        || !bytes.iter().all(is_token_byte)
        || value.starts_with('/')
    {
        return false;
    }
    let mixed = [count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit)];
    mixed.iter().all(|many| *many >= 3) && entropy(bytes) >= BITS
}

/// Shannon entropy of a text, in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    counts.into_iter().filter(|many| *many > 0).map(|many| f64::from(many) / all).map(|p| -p * p.log2()).sum()
}
