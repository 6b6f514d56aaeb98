//! Size limits: no object over the limit of etcd, no bundle that is too large (G111).

use std::io;

use serde_json::Value;

use super::{MAX_BUNDLE_BYTES, MAX_OBJECT_BYTES, Manifest};
use crate::text::finding::Finding;

/// Objects over the limit, and a bundle over its limit.
pub(super) fn check(manifests: &[Manifest]) -> Vec<Finding> {
    let sizes: Vec<usize> = manifests.iter().map(|manifest| json_size(&manifest.object)).collect();
    let large = manifests.iter().zip(&sizes).filter(|(_, size)| **size > MAX_OBJECT_BYTES);
    let mut findings: Vec<Finding> = large.map(|(manifest, size)| large_object(manifest, *size)).collect();
    let total: usize = sizes.iter().sum();
    if total > MAX_BUNDLE_BYTES {
        findings.push(Finding::error(
            "G111",
            format!(
                "All objects together have {}; at most {} are allowed.",
                format_mib(total),
                format_mib(MAX_BUNDLE_BYTES)
            ),
            "Split the workload into smaller ones.",
        ));
    }
    findings
}

fn large_object(manifest: &Manifest, size: usize) -> Finding {
    let name = manifest.object_ref().to_string();
    let message = format!("{name} has {}; Kubernetes rejects objects over about 1 MiB.", format_mib(size));
    Finding::error("G111", message, "Move the content to a volume or an image.")
        .with_object(name)
        .with_location(Some(manifest.location.clone()))
}

/// How many bytes a value has as JSON.
fn json_size(value: &Value) -> usize {
    let mut count = ByteCounter(0);
    // Counting cannot fail, and a JSON value can always be serialized.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn format_mib(bytes: usize) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit after the point")]
    let mib = bytes as f64 / f64::from(1 << 20);
    format!("{mib:.1} MiB")
}
