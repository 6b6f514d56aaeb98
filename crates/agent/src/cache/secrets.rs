//! Secrets of the agent's own namespace. Entries are compressed and split over as many Secrets as their size needs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};

use async_trait::async_trait;
use domain::Digest;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};

use super::{Cache, CacheError};

/// Prefix of the Secrets' names.
const NAME_PREFIX: &str = "flotilla-agent-";
/// Label that marks the Secrets.
const MANAGED_BY_LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "flotilla-agent");
/// Bytes of one part; a Secret may hold 1 MiB, and base64 adds a third in the request.
const MAX_PART_BYTES: usize = 700 * 1024;
/// Size limit of an entry after decompression, in bytes.
const MAX_ENTRY_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum number of parts of one entry.
const MAX_PARTS: usize = 64;

/// Stores entries in Secrets.
pub struct SecretCache {
    api: Api<Secret>,
}

impl SecretCache {
    /// Secrets of this namespace.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace) }
    }

    async fn read_part(
        &self,
        name: &str,
        number: usize,
    ) -> Result<Option<BTreeMap<String, ByteString>>, CacheError> {
        let name = secret_name(name, number);
        let found = self.api.get_opt(&name).await.map_err(|error| CacheError::new(&name, &error))?;
        Ok(found.and_then(|secret| secret.data))
    }

    async fn remove_parts(&self, name: &str, from: usize) -> Result<(), CacheError> {
        for number in from..MAX_PARTS {
            let name = secret_name(name, number);
            match self.api.delete(&name, &DeleteParams::default()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(error) => return Err(CacheError::new(&name, &error)),
            }
        }
        Ok(())
    }
}

fn secret_name(name: &str, number: usize) -> String {
    if number == 0 { format!("{NAME_PREFIX}{name}") } else { format!("{NAME_PREFIX}{name}.{number}") }
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = brotli::CompressorWriter::new(Vec::new(), 64 * 1024, 4, 20);
    packed.write_all(bytes)?;
    packed.flush()?;
    Ok(packed.into_inner())
}

fn decompress(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    brotli::Decompressor::new(packed, 64 * 1024).take(MAX_ENTRY_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn parse_number(data: &BTreeMap<String, ByteString>, key: &str) -> Option<usize> {
    std::str::from_utf8(&data.get(key)?.0).ok()?.parse().ok()
}

#[async_trait]
impl Cache for SecretCache {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CacheError> {
        let Some(first) = self.read_part(name, 0).await? else { return Ok(None) };
        let Some(parts) = parse_number(&first, "parts").filter(|parts| (1..=MAX_PARTS).contains(parts))
        else {
            return Ok(None);
        };
        let mut packed = first.get("content").map(|content| content.0.clone()).unwrap_or_default();
        for number in 1..parts {
            let Some(mut next) = self.read_part(name, number).await? else { return Ok(None) };
            packed.extend(next.remove("content").map(|content| content.0).unwrap_or_default());
        }
        let bytes = decompress(&packed);
        // The digest detects parts of two different writes.
        let expected = first.get("digest").map(|digest| digest.0.clone()).unwrap_or_default();
        Ok(bytes.filter(|bytes| Digest::compute(bytes).as_str().as_bytes() == expected))
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CacheError> {
        let packed = compress(bytes).map_err(|error| CacheError::new(name, &error))?;
        let parts: Vec<&[u8]> =
            if packed.is_empty() { vec![&[]] } else { packed.chunks(MAX_PART_BYTES).collect() };
        if parts.len() > MAX_PARTS {
            return Err(CacheError::new(name, &"it is too large to be stored in Secrets"));
        }
        // The first part is written last: it holds the number of parts and the digest of the whole entry.
        for (number, part) in parts.iter().enumerate().rev() {
            let mut data = BTreeMap::from([("content".to_owned(), ByteString(part.to_vec()))]);
            if number == 0 {
                data.insert("parts".to_owned(), ByteString(parts.len().to_string().into_bytes()));
                let digest = Digest::compute(bytes).as_str().as_bytes().to_vec();
                data.insert("digest".to_owned(), ByteString(digest));
            }
            let secret_name = secret_name(name, number);
            let labels = BTreeMap::from([(MANAGED_BY_LABEL.0.to_owned(), MANAGED_BY_LABEL.1.to_owned())]);
            let metadata =
                ObjectMeta { name: Some(secret_name.clone()), labels: Some(labels), ..ObjectMeta::default() };
            let secret = Secret { metadata, data: Some(data), ..Secret::default() };
            let params = PatchParams::apply("flotilla-agent").force();
            let result = self.api.patch(&secret_name, &params, &Patch::Apply(&secret)).await;
            result.map_err(|error| CacheError::new(&secret_name, &error))?;
        }
        self.remove_parts(name, parts.len()).await
    }

    async fn remove(&self, name: &str) -> Result<(), CacheError> {
        self.remove_parts(name, 0).await
    }

    async fn list_names(&self) -> Result<Vec<String>, CacheError> {
        let params = ListParams::default().labels(&format!("{}={}", MANAGED_BY_LABEL.0, MANAGED_BY_LABEL.1));
        let list =
            self.api.list_metadata(&params).await.map_err(|error| CacheError::new("secrets", &error))?;
        let names = list.items.into_iter().filter_map(|item| item.metadata.name);
        let entry = |name: String| Some(name.strip_prefix(NAME_PREFIX)?.split('.').next()?.to_owned());
        let entries: BTreeSet<String> = names.filter_map(entry).collect();
        Ok(entries.into_iter().collect())
    }
}
