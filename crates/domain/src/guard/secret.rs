//! Secrets in clear text (G219). Findings name the field and never show the value.

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use crate::finding::Finding;

/// What a name holds that is probably a secret.
const TELLING: &[&str] = &[
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
/// What a name ends in that only points to a secret, or describes one.
const HARMLESS: &[&str] = &[
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

/// G219: literals in variables, arguments and ConfigMaps that look like secrets.
pub(super) fn clear_text(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        for (at, variable) in items(container.value.get("env")).iter().enumerate() {
            let name = variable["name"].as_str().unwrap_or_default();
            let value = variable["value"].as_str().unwrap_or_default();
            if is_secret(name, value) || looks_random(value) {
                let path = format!("{}/env/{at}", container.path);
                findings.push(found(pod.owner, &path, &format!("Env {}", quoted(name))));
            }
        }
        for field in ["command", "args"] {
            for (at, argument) in items(container.value.get(field)).iter().enumerate() {
                if argument.as_str().is_some_and(is_secret_argument) {
                    let path = format!("{}/{field}/{at}", container.path);
                    findings.push(found(
                        pod.owner,
                        &path,
                        &format!("An argument of container {}", quoted(container.name)),
                    ));
                }
            }
        }
    }
    findings.extend(scene.of("", "ConfigMap").flat_map(config_map));
    findings
}

fn config_map(subject: &Subject<'_>) -> Vec<Finding> {
    let data = subject.get("/data").and_then(Value::as_object).into_iter().flatten();
    let telling = data.filter(|(key, value)| value.as_str().is_some_and(|value| is_secret(key, value)));
    telling
        .map(|(key, _)| {
            let path = format!("/data/{}", key.replace('~', "~0").replace('/', "~1"));
            found(subject, &path, &format!("Key {}", quoted(key)))
        })
        .collect()
}

fn found(subject: &Subject<'_>, path: &str, what: &str) -> Finding {
    let message =
        format!("{what} looks like a secret in clear text; anyone who may read this workload will see it.");
    subject.warning("G219", path, message, "Move it to a Secret and use secretKeyRef or a mounted volume.")
}

fn is_secret(name: &str, value: &str) -> bool {
    looks_like_one(value) || (is_telling(name) && is_literal(value))
}

fn is_telling(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    TELLING.iter().any(|word| name.contains(word)) && !HARMLESS.iter().any(|end| name.ends_with(end))
}

/// Whether a value is itself the content, and not a switch, a number, a path or a reference.
fn is_literal(value: &str) -> bool {
    let value = value.trim();
    !value.is_empty()
        && !matches!(value.to_ascii_lowercase().as_str(), "true" | "false" | "yes" | "no" | "none")
        && value.parse::<f64>().is_err()
        && !value.starts_with(['/', '$', '{'])
        && !value.contains('\n')
}

/// Values that give themselves away: cloud access keys, signed tokens, private keys.
fn looks_like_one(value: &str) -> bool {
    let signed = value.starts_with("eyJ") && value.len() > 40 && value.matches('.').count() == 2;
    let access_key = value.len() == 20
        && (value.starts_with("AKIA") || value.starts_with("ASIA"))
        && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let private = value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----");
    signed || access_key || private
}

/// Whether a variable's value looks as if it were drawn at random: long, one word, letters of both cases and digits, and
/// hardly a character twice. Digests and ids have one case, and are none.
fn looks_random(value: &str) -> bool {
    const SHORTEST: usize = 32;
    const BITS: f64 = 4.3;
    let bytes = value.as_bytes();
    let word = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-');
    let count = |one: fn(&u8) -> bool| bytes.iter().filter(|b| one(b)).count();
    if bytes.len() < SHORTEST || bytes.len() > 512 || !bytes.iter().all(word) || value.starts_with('/') {
        return false;
    }
    let mixed = [count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit)];
    mixed.iter().all(|many| *many >= 3) && entropy(bytes) >= BITS
}

/// Bits of a text per byte, by how often each byte is in it (Shannon).
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    counts.into_iter().filter(|many| *many > 0).map(|many| f64::from(many) / all).map(|p| -p * p.log2()).sum()
}

/// `--password=…` and the like.
fn is_secret_argument(argument: &str) -> bool {
    let flag = argument.strip_prefix("--").and_then(|flag| flag.split_once('='));
    looks_like_one(argument) || flag.is_some_and(|(name, value)| is_secret(name, value))
}
