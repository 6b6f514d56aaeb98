//! Secrets in clear text (G219), and values of Secrets that were hidden (G124). Findings contain the name of the field and never its
//! value.

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::text::finding::Finding;
use crate::text::secret_text::HIDDEN_VALUE;

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

/// G219: literals in variables, arguments and ConfigMaps that look like secrets.
pub(super) fn clear_text(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        for (at, variable) in items(container.value.get("env")).iter().enumerate() {
            let name = variable["name"].as_str().unwrap_or_default();
            let value = variable["value"].as_str().unwrap_or_default();
            if is_secret(name, value) || has_high_entropy(value) {
                let path = format!("{}/env/{at}", container.path);
                findings.push(secret_finding(pod.owner, &path, &format!("Env {}", quote(name))));
            }
        }
        for field in ["command", "args"] {
            for (at, argument) in items(container.value.get(field)).iter().enumerate() {
                if argument.as_str().is_some_and(is_secret_argument) {
                    let path = format!("{}/{field}/{at}", container.path);
                    findings.push(secret_finding(
                        pod.owner,
                        &path,
                        &format!("An argument of container {}", quote(container.name)),
                    ));
                }
            }
        }
    }
    findings.extend(context.objects_of_kind("", "ConfigMap").flat_map(check_config_map));
    findings
}

/// G124: values of Secrets that are the placeholder by which they are shown.
pub(super) fn hidden_values(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for object in context.objects_of_kind("", "Secret") {
        for field in ["data", "stringData"] {
            let values = object.get(&format!("/{field}")).and_then(Value::as_object).into_iter().flatten();
            for (key, _) in values.filter(|(_, value)| *value == HIDDEN_VALUE) {
                let path = format!("/{field}/{}", escape_pointer_token(key));
                let message = format!("Key {} has the placeholder {HIDDEN_VALUE} as its value.", quote(key));
                findings.push(object.error("G124", &path, message, "Enter the value."));
            }
        }
    }
    findings
}

fn check_config_map(object: &RuleObject<'_>) -> Vec<Finding> {
    let data = object.get("/data").and_then(Value::as_object).into_iter().flatten();
    let telling = data.filter(|(key, value)| value.as_str().is_some_and(|value| is_secret(key, value)));
    telling
        .map(|(key, _)| {
            let path = format!("/data/{}", escape_pointer_token(key));
            secret_finding(object, &path, &format!("Key {}", quote(key)))
        })
        .collect()
}

fn secret_finding(object: &RuleObject<'_>, path: &str, what: &str) -> Finding {
    let message =
        format!("{what} looks like a secret in clear text; anyone who may read this workload will see it.");
    object.warning("G219", path, message, "Move it to a Secret and use secretKeyRef or a mounted volume.")
}

fn is_secret(name: &str, value: &str) -> bool {
    has_secret_format(value) || (is_secret_name(name) && is_literal(value))
}

fn is_secret_name(name: &str) -> bool {
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
fn has_secret_format(value: &str) -> bool {
    let signed = value.starts_with("eyJ") && value.len() > 40 && value.matches('.').count() == 2;
    let access_key = value.len() == 20
        && (value.starts_with("AKIA") || value.starts_with("ASIA"))
        && value.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit());
    let private = value.contains("-----BEGIN ") && value.contains("PRIVATE KEY-----");
    signed || access_key || private
}

/// Whether a value is probably random: long, without spaces, with letters of both cases and digits, and with high
/// entropy. Digests and ids have letters of one case only and do not match.
fn has_high_entropy(value: &str) -> bool {
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

/// Whether an argument such as `--password=…` contains a secret.
fn is_secret_argument(argument: &str) -> bool {
    let flag = argument.strip_prefix("--").and_then(|flag| flag.split_once('='));
    has_secret_format(argument) || flag.is_some_and(|(name, value)| is_secret(name, value))
}
