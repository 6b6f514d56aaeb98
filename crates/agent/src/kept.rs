//! What the cluster should hold, kept over a restart: an agent whose hub is away goes on healing (P8).
//!
//! Kept is always something whole: a release whose new bundle is not here yet is kept as it was before.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use domain::bundle::Bundle;
use domain::report::{Want, Wants};
use domain::{Digest, ReleaseId};
use tokio::sync::watch;

use crate::connect::Backoff;
use crate::keep::{KeepError, Keeper};
use crate::run::Options;
use crate::wants::bundle_of;

const WANTS: &str = "wants";
const BUNDLE: &str = "bundle-";

/// A list and every bundle that it names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Whole {
    pub list: Wants,
    pub bundles: HashMap<Digest, Arc<Bundle>>,
}

impl Whole {
    /// This list as far as its bundles are here; what is not is taken from `before`.
    pub fn of(list: &Wants, here: impl Fn(&Digest) -> Option<Arc<Bundle>>, before: &Self) -> Self {
        let old: HashMap<ReleaseId, &Want> =
            before.list.releases.iter().map(|want| (want.release, want)).collect();
        let mut whole =
            Self { list: Wants { version: list.version, releases: Vec::new() }, ..Self::default() };
        for want in &list.releases {
            let Some((_, digest)) = bundle_of(want) else {
                whole.list.releases.push(want.clone());
                continue;
            };
            if let Some(bundle) = here(digest) {
                whole.bundles.insert(digest.clone(), bundle);
                whole.list.releases.push(want.clone());
            } else if let Some(want) = old.get(&want.release) {
                let bundle = bundle_of(want).and_then(|(_, digest)| before.bundles.get_key_value(digest));
                whole.bundles.extend(bundle.map(|(digest, bundle)| (digest.clone(), bundle.clone())));
                whole.list.releases.push((*want).clone());
            }
        }
        whole
    }
}

/// What was kept; nothing if nothing was, or if it can't be read.
pub(crate) async fn restore(keeper: &Keeper) -> Whole {
    match read(keeper).await {
        Ok(whole) => whole,
        Err(error) => {
            tracing::warn!(%error, "what the cluster should hold can't be read; the hub has to tell it");
            Whole::default()
        }
    }
}

async fn read(keeper: &Keeper) -> Result<Whole, KeepError> {
    let Some(bytes) = keeper.get(WANTS).await? else { return Ok(Whole::default()) };
    let list: Wants = serde_json::from_slice(&bytes).map_err(|error| KeepError::new(WANTS, &error))?;
    let mut bundles: HashMap<Digest, Arc<Bundle>> = HashMap::new();
    for (_, digest) in list.releases.iter().filter_map(bundle_of) {
        if bundles.contains_key(digest) {
            continue;
        }
        let kept = keeper.get(&named(digest)).await?;
        // Whoever may write there could write anything: only what has the digest counts.
        let sound = kept.filter(|bytes| Digest::of(bytes) == *digest);
        if let Some(bundle) = sound.and_then(|bytes| Bundle::from_bytes(&bytes).ok()) {
            bundles.insert(digest.clone(), Arc::new(bundle));
        }
    }
    Ok(Whole::of(&list, |digest| bundles.get(digest).cloned(), &Whole::default()))
}

/// Keeps the newest there is, for ever.
pub(crate) async fn run(options: &Options, mut newest: watch::Receiver<Option<Arc<Whole>>>) {
    let Some(keeper) = &options.keep else { return };
    let mut backoff = Backoff::new(options);
    let mut kept: Option<Wants> = None;
    while newest.changed().await.is_ok() {
        loop {
            let Some(whole) = newest.borrow_and_update().clone() else { break };
            if kept.as_ref() == Some(&whole.list) {
                break;
            }
            match write(keeper, &whole).await {
                Ok(()) => {
                    backoff.reset();
                    kept = Some(whole.list.clone());
                    break;
                }
                Err(error) => backoff.wait("what the cluster should hold can't be kept", &error).await,
            }
        }
    }
}

/// Bundles first, then the list that names them, then what it no longer names goes.
async fn write(keeper: &Keeper, whole: &Whole) -> Result<(), KeepError> {
    let there: HashSet<String> = keeper.names().await?.into_iter().collect();
    let wanted: BTreeMap<String, &Arc<Bundle>> =
        whole.bundles.iter().map(|(digest, bundle)| (named(digest), bundle)).collect();
    for (name, bundle) in wanted.iter().filter(|(name, _)| !there.contains(*name)) {
        keeper.put(name, &bundle.to_bytes()).await?;
    }
    let list = serde_json::to_vec(&whole.list).map_err(|error| KeepError::new(WANTS, &error))?;
    keeper.put(WANTS, &list).await?;
    for name in there.iter().filter(|name| name.starts_with(BUNDLE) && !wanted.contains_key(*name)) {
        keeper.remove(name).await?;
    }
    Ok(())
}

/// A digest as the name of something kept.
fn named(digest: &Digest) -> String {
    let hash = digest.as_str().rsplit(':').next().unwrap_or_default();
    format!("{BUNDLE}{}", &hash[..hash.len().min(40)])
}
