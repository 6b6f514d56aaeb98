//! What the cluster should hold, kept over a restart: an agent whose hub is away goes on healing (P8).
//!
//! Kept is always something whole: a release whose new bundle is not here yet is kept as it was before.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::bundle::Bundle;
use domain::report::{Want, Wants};
use domain::{Digest, ReleaseId};
use tokio::sync::watch;

use crate::connect::Backoff;
use crate::keep::{KeepError, Keeper};
use crate::run::Options;
use crate::wants::bundle_of;

mod packs;

use packs::Packs;

const WANTS: &str = "wants";
/// What comes within this time is kept in one go: of a burst not every step is written to the cluster. What an agent
/// that is killed meanwhile has not kept, its hub tells it again.
const GATHER: Duration = Duration::from_secs(1);

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
        let mut whole = Self { list: Wants { version: list.version, ..Wants::default() }, ..Self::default() };
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

/// What was kept, and where it is; nothing if nothing was, or if it can't be read.
pub(crate) async fn restore(keeper: &Keeper) -> (Whole, Kept) {
    match read(keeper).await {
        Ok((whole, packs)) => (whole, Kept { packs: Some(packs) }),
        Err(error) => {
            tracing::warn!(%error, "what the cluster should hold can't be read; the hub has to tell it");
            (Whole::default(), Kept::default())
        }
    }
}

/// What is known of what is kept.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// `None` while it was not read.
    packs: Option<Packs>,
}

async fn read(keeper: &Keeper) -> Result<(Whole, Packs), KeepError> {
    let (packs, bundles) = Packs::read(keeper).await?;
    let Some(bytes) = keeper.get(WANTS).await? else { return Ok((Whole::default(), packs)) };
    let list: Wants = serde_json::from_slice(&bytes).map_err(|error| KeepError::new(WANTS, &error))?;
    Ok((Whole::of(&list, |digest| bundles.get(digest).cloned(), &Whole::default()), packs))
}

/// Keeps the newest there is, for ever.
pub(crate) async fn run(options: &Options, mut kept: Kept, mut newest: watch::Receiver<Option<Arc<Whole>>>) {
    let Some(keeper) = &options.keep else { return };
    let mut backoff = Backoff::new(options);
    let mut last: Option<Wants> = None;
    while newest.changed().await.is_ok() {
        tokio::time::sleep(GATHER).await;
        loop {
            let Some(whole) = newest.borrow_and_update().clone() else { break };
            if last.as_ref() == Some(&whole.list) {
                break;
            }
            match kept.write(keeper, &whole).await {
                Ok(()) => {
                    backoff.reset();
                    last = Some(whole.list.clone());
                    break;
                }
                Err(error) => backoff.wait("what the cluster should hold can't be kept", &error).await,
            }
        }
    }
}

impl Kept {
    /// Bundles first, then the list that names them, then what it no longer names goes.
    async fn write(&mut self, keeper: &Keeper, whole: &Whole) -> Result<(), KeepError> {
        let packs = match &mut self.packs {
            Some(packs) => packs,
            none => none.insert(Packs::read(keeper).await?.0),
        };
        packs.add(keeper, &whole.bundles).await?;
        let list = serde_json::to_vec(&whole.list).map_err(|error| KeepError::new(WANTS, &error))?;
        keeper.put(WANTS, &list).await?;
        packs.sweep(keeper, &whole.bundles).await
    }
}
