//! Secrets of the agent's own namespace. What is larger than a Secret may be is packed and cut into several.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read as _, Write as _};

use async_trait::async_trait;
use domain::Digest;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};

use super::{Keep, KeepError};

/// Head of the names of our Secrets.
const HEAD: &str = "flotilla-agent-";
/// The label by which we find them.
const LABEL: (&str, &str) = ("app.kubernetes.io/managed-by", "flotilla-agent");
/// Bytes of one part; a Secret may hold a megabyte, and base64 adds a third on the way.
const PART: usize = 700 * 1024;
/// Longest thing read, in bytes, unpacked.
const LONGEST: u64 = 64 * 1024 * 1024;
/// Parts of one thing at most.
const MOST_PARTS: usize = 64;

/// Keeps things in Secrets.
pub struct Secrets {
    api: Api<Secret>,
}

impl Secrets {
    /// Secrets of this namespace.
    pub fn new(client: kube::Client, namespace: &str) -> Self {
        Self { api: Api::namespaced(client, namespace) }
    }

    async fn part(
        &self,
        name: &str,
        number: usize,
    ) -> Result<Option<BTreeMap<String, ByteString>>, KeepError> {
        let name = named(name, number);
        let found = self.api.get_opt(&name).await.map_err(|error| KeepError::new(&name, &error))?;
        Ok(found.and_then(|secret| secret.data))
    }

    async fn remove_parts(&self, name: &str, from: usize) -> Result<(), KeepError> {
        for number in from..MOST_PARTS {
            let name = named(name, number);
            match self.api.delete(&name, &DeleteParams::default()).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(()),
                Err(error) => return Err(KeepError::new(&name, &error)),
            }
        }
        Ok(())
    }
}

fn named(name: &str, number: usize) -> String {
    if number == 0 { format!("{HEAD}{name}") } else { format!("{HEAD}{name}.{number}") }
}

fn pack(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut packed = brotli::CompressorWriter::new(Vec::new(), 64 * 1024, 4, 20);
    packed.write_all(bytes)?;
    packed.flush()?;
    Ok(packed.into_inner())
}

fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    brotli::Decompressor::new(packed, 64 * 1024).take(LONGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn number(data: &BTreeMap<String, ByteString>, key: &str) -> Option<usize> {
    std::str::from_utf8(&data.get(key)?.0).ok()?.parse().ok()
}

#[async_trait]
impl Keep for Secrets {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, KeepError> {
        let Some(first) = self.part(name, 0).await? else { return Ok(None) };
        let Some(parts) = number(&first, "parts").filter(|parts| (1..=MOST_PARTS).contains(parts)) else {
            return Ok(None);
        };
        let mut packed = first.get("content").map(|content| content.0.clone()).unwrap_or_default();
        for number in 1..parts {
            let Some(mut next) = self.part(name, number).await? else { return Ok(None) };
            packed.extend(next.remove("content").map(|content| content.0).unwrap_or_default());
        }
        let bytes = unpack(&packed);
        // Parts of two different writes do not make a whole.
        let expected = first.get("digest").map(|digest| digest.0.clone()).unwrap_or_default();
        Ok(bytes.filter(|bytes| Digest::of(bytes).as_str().as_bytes() == expected))
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), KeepError> {
        let packed = pack(bytes).map_err(|error| KeepError::new(name, &error))?;
        let parts: Vec<&[u8]> = if packed.is_empty() { vec![&[]] } else { packed.chunks(PART).collect() };
        if parts.len() > MOST_PARTS {
            return Err(KeepError::new(name, &"it is too large to be kept in Secrets"));
        }
        // The first part last: it says how many there are, and by its digest whether they belong together.
        for (number, part) in parts.iter().enumerate().rev() {
            let mut data = BTreeMap::from([("content".to_owned(), ByteString(part.to_vec()))]);
            if number == 0 {
                data.insert("parts".to_owned(), ByteString(parts.len().to_string().into_bytes()));
                let digest = Digest::of(bytes).as_str().as_bytes().to_vec();
                data.insert("digest".to_owned(), ByteString(digest));
            }
            let full = named(name, number);
            let labels = BTreeMap::from([(LABEL.0.to_owned(), LABEL.1.to_owned())]);
            let metadata =
                ObjectMeta { name: Some(full.clone()), labels: Some(labels), ..ObjectMeta::default() };
            let secret = Secret { metadata, data: Some(data), ..Secret::default() };
            let params = PatchParams::apply("flotilla-agent").force();
            let written = self.api.patch(&full, &params, &Patch::Apply(&secret)).await;
            written.map_err(|error| KeepError::new(&full, &error))?;
        }
        self.remove_parts(name, parts.len()).await
    }

    async fn remove(&self, name: &str) -> Result<(), KeepError> {
        self.remove_parts(name, 0).await
    }

    async fn names(&self) -> Result<Vec<String>, KeepError> {
        let ours = ListParams::default().labels(&format!("{}={}", LABEL.0, LABEL.1));
        let list = self.api.list_metadata(&ours).await.map_err(|error| KeepError::new("secrets", &error))?;
        let names = list.items.into_iter().filter_map(|item| item.metadata.name);
        let plain = |name: String| Some(name.strip_prefix(HEAD)?.split('.').next()?.to_owned());
        let all: BTreeSet<String> = names.filter_map(plain).collect();
        Ok(all.into_iter().collect())
    }
}
