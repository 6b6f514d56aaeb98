//! Bundles as they are kept: many of them in one thing, because every thing that is kept in a cluster is a write there.
//!
//! A pack is written once and named by its content. What comes later gets packs of its own; when there are many small
//! ones, or much in them is not wanted any more, what is still wanted is packed anew.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::Digest;
use domain::bundle::Bundle;

use crate::keep::{KeepError, Keeper};

const HEAD: &str = "bundles-";
/// Bytes of bundles in one pack, about.
const LARGEST: usize = 4 * 1024 * 1024;
/// Packs that are less than half full: with more of them, all are packed anew.
const MOST_SMALL: usize = 8;

/// Which bundles are in which pack, each with its size in bytes.
#[derive(Debug, Default)]
pub(super) struct Packs(BTreeMap<String, HashMap<Digest, usize>>);

pub(super) type Bundles = HashMap<Digest, Arc<Bundle>>;

impl Packs {
    /// All that is kept. What can't be read as a bundle is left out; the digest is made of what is there, so nobody who
    /// may write there can pass one thing off as another.
    pub async fn read(keeper: &Keeper) -> Result<(Self, Bundles), KeepError> {
        let (mut packs, mut bundles) = (Self::default(), Bundles::new());
        for name in keeper.names().await?.into_iter().filter(|name| name.starts_with(HEAD)) {
            let content = keeper.get(&name).await?.unwrap_or_default();
            let pack = packs.0.entry(name).or_default();
            for bytes in content.split(|byte| *byte == b'\n').filter(|bytes| !bytes.is_empty()) {
                if let Ok(bundle) = Bundle::from_bytes(bytes) {
                    let digest = Digest::of(bytes);
                    pack.insert(digest.clone(), bytes.len());
                    bundles.insert(digest, Arc::new(bundle));
                }
            }
        }
        Ok((packs, bundles))
    }

    /// Keeps those of these bundles that are not kept yet. Nothing that is kept goes.
    pub async fn add(&mut self, keeper: &Keeper, wanted: &Bundles) -> Result<(), KeepError> {
        let small: HashSet<&String> =
            self.0.iter().filter(|(_, pack)| is_small(pack, wanted)).map(|(name, _)| name).collect();
        // Packed anew are those of which nothing is in a pack that stays.
        let crowded = small.len() > MOST_SMALL;
        let staying = self.0.iter().filter(|(name, _)| !crowded || !small.contains(name));
        let kept: HashSet<&Digest> = staying.flat_map(|(_, pack)| pack.keys()).collect();
        let mut missing: Vec<(&Digest, &Arc<Bundle>)> =
            wanted.iter().filter(|(digest, _)| !kept.contains(digest)).collect();
        missing.sort_by_key(|(digest, _)| digest.as_str());
        if missing.is_empty() {
            return Ok(());
        }
        for (name, content, pack) in cut(&missing) {
            keeper.put(&name, &content).await?;
            self.0.insert(name, pack);
        }
        Ok(())
    }

    /// Forgets packs of which every bundle is either not wanted any more or in another pack that stays.
    pub async fn sweep(&mut self, keeper: &Keeper, wanted: &Bundles) -> Result<(), KeepError> {
        let mut sizes: Vec<(usize, String)> =
            self.0.iter().map(|(name, pack)| (live(pack, wanted), name.clone())).collect();
        // The fullest first: what is in it too is not needed in the others.
        sizes.sort_by(|a, b| b.cmp(a));
        let mut held: HashSet<Digest> = HashSet::new();
        for (_, name) in sizes {
            let Some(pack) = self.0.get(&name) else { continue };
            let needed = pack.keys().any(|digest| wanted.contains_key(digest) && !held.contains(digest));
            if needed {
                held.extend(pack.keys().cloned());
            } else {
                keeper.remove(&name).await?;
                self.0.remove(&name);
            }
        }
        Ok(())
    }
}

fn live(pack: &HashMap<Digest, usize>, wanted: &Bundles) -> usize {
    pack.iter().filter(|(digest, _)| wanted.contains_key(digest)).map(|(_, size)| size).sum()
}

fn is_small(pack: &HashMap<Digest, usize>, wanted: &Bundles) -> bool {
    live(pack, wanted) < LARGEST / 2
}

/// Cuts bundles into packs: name, content, and what is in it. A bundle's bytes have no line breaks.
fn cut(bundles: &[(&Digest, &Arc<Bundle>)]) -> Vec<(String, Vec<u8>, HashMap<Digest, usize>)> {
    let mut packs = Vec::new();
    let (mut content, mut pack) = (Vec::new(), HashMap::new());
    for (digest, bundle) in bundles {
        let bytes = bundle.to_bytes();
        if !content.is_empty() && content.len() + bytes.len() > LARGEST {
            packs.push((std::mem::take(&mut content), std::mem::take(&mut pack)));
        }
        pack.insert((*digest).clone(), bytes.len());
        content.extend(bytes);
        content.push(b'\n');
    }
    packs.push((content, pack));
    packs.into_iter().map(|(content, pack)| (named(&content), content, pack)).collect()
}

fn named(content: &[u8]) -> String {
    let digest = Digest::of(content);
    let hash = digest.as_str().rsplit(':').next().unwrap_or_default();
    format!("{HEAD}{}", &hash[..hash.len().min(40)])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::keep::Folder;

    fn bundle(number: usize) -> (Digest, Arc<Bundle>) {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("a-{number}")},
            "data": {"text": "one\ntwo"}});
        let bundle = Bundle::new(vec![map]);
        (bundle.digest(), Arc::new(bundle))
    }

    async fn step(packs: &mut Packs, keeper: &Keeper, wanted: &Bundles) {
        packs.add(keeper, wanted).await.unwrap();
        packs.sweep(keeper, wanted).await.unwrap();
    }

    #[tokio::test]
    async fn p8_bundles_that_come_one_by_one_are_all_kept_in_few_things() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(Folder::open(folder.path()).unwrap());
        let (mut packs, mut wanted) = (Packs::default(), Bundles::new());
        for number in 0..60 {
            wanted.extend([bundle(number)]);
            step(&mut packs, &keeper, &wanted).await;
            let kept = keeper.names().await.unwrap().len();
            assert!(kept <= MOST_SMALL + 1, "{number}: {kept}");
        }
        let (again, bundles) = Packs::read(&keeper).await.unwrap();
        assert_eq!(bundles, wanted);
        assert_eq!(again.0, packs.0);
    }

    #[tokio::test]
    async fn p8_what_is_not_wanted_any_more_goes_and_the_rest_stays() {
        let folder = tempfile::tempdir().unwrap();
        let keeper = Keeper::new(Folder::open(folder.path()).unwrap());
        let mut packs = Packs::default();
        let all: Bundles = (0..20).map(bundle).collect();
        step(&mut packs, &keeper, &all).await;
        let one: Bundles = [bundle(3)].into();
        step(&mut packs, &keeper, &one).await;
        let (_, kept) = Packs::read(&keeper).await.unwrap();
        assert_eq!(kept.get(&bundle(3).0), Some(&bundle(3).1), "a pack with something wanted stays");
        step(&mut packs, &keeper, &Bundles::new()).await;
        assert!(keeper.names().await.unwrap().is_empty());
    }
}
