//! Bundles in the cache: many of them in one entry (a pack), because every entry in a cluster is a write there.
//!
//! A pack is written once and named by its content. Later bundles get new packs; small packs, also those with few bundles
//! still desired, are merged once there are too many of them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::Digest;
use domain::bundle::Bundle;

use crate::cache::{CacheError, SharedCache};

const NAME_PREFIX: &str = "bundles-";
/// Bytes of bundles in one pack; a single larger bundle gets a pack of its own.
const MAX_PACK_BYTES: usize = 4 * 1024 * 1024;
/// Packs less than half full (counting desired bundles only): if there are more of them, they are merged.
const MAX_SMALL_PACKS: usize = 8;

/// By pack name, the bundles in it with their size in bytes.
#[derive(Debug, Default)]
pub(super) struct BundlePacks(BTreeMap<String, HashMap<Digest, usize>>);

pub(super) type BundlesByDigest = HashMap<Digest, Arc<Bundle>>;

impl BundlePacks {
    /// Reads all packs. Skips what is not a valid bundle. Digests are computed from the bytes read, so write access to the
    /// cache does not allow one bundle to be passed off as another.
    pub async fn read(cache: &SharedCache) -> Result<(Self, BundlesByDigest), CacheError> {
        let (mut packs, mut bundles) = (Self::default(), BundlesByDigest::new());
        for name in cache.list_names().await?.into_iter().filter(|name| name.starts_with(NAME_PREFIX)) {
            let content = cache.get(&name).await?.unwrap_or_default();
            let pack = packs.0.entry(name).or_default();
            for bytes in content.split(|byte| *byte == b'\n').filter(|bytes| !bytes.is_empty()) {
                if let Ok(bundle) = Bundle::from_bytes(bytes) {
                    let digest = Digest::compute(bytes);
                    pack.insert(digest.clone(), bytes.len());
                    bundles.insert(digest, Arc::new(bundle));
                }
            }
        }
        Ok((packs, bundles))
    }

    /// Stores those of these bundles that are not stored yet. Removes nothing.
    pub async fn add_missing(
        &mut self,
        cache: &SharedCache,
        desired: &BundlesByDigest,
    ) -> Result<(), CacheError> {
        let small: HashSet<&String> =
            self.0.iter().filter(|(_, pack)| is_small(pack, desired)).map(|(name, _)| name).collect();
        // If small packs are merged, their bundles count as missing unless a pack that stays has them.
        let merge = small.len() > MAX_SMALL_PACKS;
        let staying = self.0.iter().filter(|(name, _)| !merge || !small.contains(name));
        let stored: HashSet<&Digest> = staying.flat_map(|(_, pack)| pack.keys()).collect();
        let mut missing: Vec<(&Digest, &Arc<Bundle>)> =
            desired.iter().filter(|(digest, _)| !stored.contains(digest)).collect();
        missing.sort_by_key(|(digest, _)| digest.as_str());
        if missing.is_empty() {
            return Ok(());
        }
        for (name, content, pack) in split_into_packs(&missing) {
            cache.put(&name, &content).await?;
            self.0.insert(name, pack);
        }
        Ok(())
    }

    /// Removes packs of which every bundle is either no longer desired or in another pack that stays.
    pub async fn prune(&mut self, cache: &SharedCache, desired: &BundlesByDigest) -> Result<(), CacheError> {
        let mut sizes: Vec<(usize, String)> =
            self.0.iter().map(|(name, pack)| (desired_bytes(pack, desired), name.clone())).collect();
        // Fullest first: bundles of a fuller pack are not needed in the others.
        sizes.sort_by(|a, b| b.cmp(a));
        let mut covered: HashSet<Digest> = HashSet::new();
        for (_, name) in sizes {
            let Some(pack) = self.0.get(&name) else { continue };
            let needed = pack.keys().any(|digest| desired.contains_key(digest) && !covered.contains(digest));
            if needed {
                covered.extend(pack.keys().cloned());
            } else {
                cache.remove(&name).await?;
                self.0.remove(&name);
            }
        }
        Ok(())
    }
}

fn desired_bytes(pack: &HashMap<Digest, usize>, desired: &BundlesByDigest) -> usize {
    pack.iter().filter(|(digest, _)| desired.contains_key(digest)).map(|(_, size)| size).sum()
}

fn is_small(pack: &HashMap<Digest, usize>, desired: &BundlesByDigest) -> bool {
    desired_bytes(pack, desired) < MAX_PACK_BYTES / 2
}

/// Splits bundles into packs: name, content, and sizes by digest. The bytes of a bundle contain no line break.
fn split_into_packs(bundles: &[(&Digest, &Arc<Bundle>)]) -> Vec<(String, Vec<u8>, HashMap<Digest, usize>)> {
    let mut packs = Vec::new();
    let (mut content, mut pack) = (Vec::new(), HashMap::new());
    for (digest, bundle) in bundles {
        let bytes = bundle.to_bytes();
        if !content.is_empty() && content.len() + bytes.len() > MAX_PACK_BYTES {
            packs.push((std::mem::take(&mut content), std::mem::take(&mut pack)));
        }
        pack.insert((*digest).clone(), bytes.len());
        content.extend(bytes);
        content.push(b'\n');
    }
    packs.push((content, pack));
    packs.into_iter().map(|(content, pack)| (pack_name(&content), content, pack)).collect()
}

fn pack_name(content: &[u8]) -> String {
    let digest = Digest::compute(content);
    let hash = digest.as_str().rsplit(':').next().unwrap_or_default();
    format!("{NAME_PREFIX}{}", &hash[..hash.len().min(40)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cache::DiskCache;

    fn bundle(number: usize) -> (Digest, Arc<Bundle>) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("a-{number}")},
            "data": {"text": "one\ntwo"}});
        let bundle = Bundle::new(vec![map]);
        (bundle.digest(), Arc::new(bundle))
    }

    async fn update_packs(packs: &mut BundlePacks, cache: &SharedCache, desired: &BundlesByDigest) {
        packs.add_missing(cache, desired).await.unwrap();
        packs.prune(cache, desired).await.unwrap();
    }

    #[tokio::test]
    async fn p8_bundles_added_one_by_one_are_all_stored_in_few_packs() {
        let directory = tempfile::tempdir().unwrap();
        let cache = SharedCache::new(DiskCache::open(directory.path()).unwrap());
        let (mut packs, mut desired) = (BundlePacks::default(), BundlesByDigest::new());
        for number in 0..60 {
            desired.extend([bundle(number)]);
            update_packs(&mut packs, &cache, &desired).await;
            let entries = cache.list_names().await.unwrap().len();
            assert!(entries <= MAX_SMALL_PACKS + 1, "{number}: {entries}");
        }
        let (reread, bundles) = BundlePacks::read(&cache).await.unwrap();
        assert_eq!(bundles, desired);
        assert_eq!(reread.0, packs.0);
    }

    #[tokio::test]
    async fn p8_bundles_no_longer_desired_are_pruned_and_the_rest_stays() {
        let directory = tempfile::tempdir().unwrap();
        let cache = SharedCache::new(DiskCache::open(directory.path()).unwrap());
        let mut packs = BundlePacks::default();
        let all: BundlesByDigest = (0..20).map(bundle).collect();
        update_packs(&mut packs, &cache, &all).await;
        let one: BundlesByDigest = [bundle(3)].into();
        update_packs(&mut packs, &cache, &one).await;
        let (_, bundles) = BundlePacks::read(&cache).await.unwrap();
        assert_eq!(bundles.get(&bundle(3).0), Some(&bundle(3).1), "a pack with a desired bundle stays");
        update_packs(&mut packs, &cache, &BundlesByDigest::new()).await;
        assert!(cache.list_names().await.unwrap().is_empty());
    }
}
