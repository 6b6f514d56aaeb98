//! The cluster's desired state, cached over a restart: an agent whose hub is unreachable still reverts drift (P8).
//!
//! The cached state is always complete: a release whose new bundle is not fetched yet is stored with its previous bundle.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use domain::bundle::Bundle;
use domain::report::{DesiredPhase, DesiredRelease, DesiredState};
use domain::{Digest, ReleaseId};
use tokio::sync::watch;

use crate::backoff::Backoff;
use crate::cache::{CacheError, SharedCache};
use crate::options::AgentOptions;

mod bundle_packs;

use bundle_packs::BundlePacks;

const DESIRED_STATE_ENTRY: &str = "desired-state";
/// Changes within this time are written together, which bounds the writes of a burst. A change that is lost because the
/// agent is killed meanwhile comes again from the hub.
const WRITE_DELAY: Duration = Duration::from_secs(1);

/// A desired state with every bundle that it names.
#[derive(Debug, Clone, Default)]
pub(crate) struct CachedState {
    pub desired_state: DesiredState,
    pub bundles: HashMap<Digest, Arc<Bundle>>,
}

impl CachedState {
    /// The releases of `list` whose bundles `fetched` returns; the other releases as they are in `before`.
    pub fn with_fetched_bundles(
        list: &DesiredState,
        fetched: impl Fn(&Digest) -> Option<Arc<Bundle>>,
        before: &Self,
    ) -> Self {
        let before_all = before.desired_state.releases.iter().chain(&before.desired_state.suspended);
        let previous: HashMap<ReleaseId, &DesiredRelease> =
            before_all.map(|release| (release.release, release)).collect();
        let mut state = Self {
            desired_state: DesiredState { version: list.version, ..DesiredState::default() },
            ..Self::default()
        };
        let active = list.releases.iter().map(|desired| (desired, false));
        for (desired, suspended) in active.chain(list.suspended.iter().map(|desired| (desired, true))) {
            let cached = match named_bundle(desired).map(|(_, digest)| (digest, fetched(digest))) {
                None => desired.clone(),
                Some((digest, Some(bundle))) => {
                    state.bundles.insert(digest.clone(), bundle);
                    desired.clone()
                }
                Some((_, None)) => {
                    let Some(release) = previous.get(&desired.release) else { continue };
                    let bundle =
                        named_bundle(release).and_then(|(_, digest)| before.bundles.get_key_value(digest));
                    state.bundles.extend(bundle.map(|(digest, bundle)| (digest.clone(), bundle.clone())));
                    (*release).clone()
                }
            };
            // Whether it is suspended is what the hub said last, with whichever bundle.
            if suspended {
                state.desired_state.suspended.push(cached);
            } else {
                state.desired_state.releases.push(cached);
            }
        }
        state
    }
}

/// The release and the bundle that a [`DesiredRelease`] names, if it names one.
pub(crate) fn named_bundle(desired: &DesiredRelease) -> Option<(ReleaseId, &Digest)> {
    match &desired.phase {
        DesiredPhase::Present { bundle, .. } => Some((desired.release, bundle)),
        DesiredPhase::Absent { .. } => None,
    }
}

/// The cached state and its writer; an empty state if there is none or if it can't be read.
pub(crate) async fn restore_state(cache: &SharedCache) -> (CachedState, CacheWriter) {
    match read_state(cache).await {
        Ok((state, packs)) => (state, CacheWriter { packs: Some(packs) }),
        Err(error) => {
            tracing::warn!(%error, "the cached desired state can't be read; nothing is applied until the hub sends it");
            (CachedState::default(), CacheWriter::default())
        }
    }
}

/// Writes the cached state.
#[derive(Debug, Default)]
pub(crate) struct CacheWriter {
    /// `None` until the cache was read.
    packs: Option<BundlePacks>,
}

async fn read_state(cache: &SharedCache) -> Result<(CachedState, BundlePacks), CacheError> {
    let (packs, bundles) = BundlePacks::read(cache).await?;
    let Some(bytes) = cache.get(DESIRED_STATE_ENTRY).await? else {
        return Ok((CachedState::default(), packs));
    };
    let list: DesiredState =
        serde_json::from_slice(&bytes).map_err(|error| CacheError::new(DESIRED_STATE_ENTRY, &error))?;
    Ok((
        CachedState::with_fetched_bundles(
            &list,
            |digest| bundles.get(digest).cloned(),
            &CachedState::default(),
        ),
        packs,
    ))
}

/// Writes the newest state whenever it changes, until the sender is gone.
pub(crate) async fn run(
    options: &AgentOptions,
    mut writer: CacheWriter,
    mut newest: watch::Receiver<Option<Arc<CachedState>>>,
) {
    let Some(cache) = &options.cache else { return };
    let mut backoff = Backoff::new(options);
    let mut last: Option<DesiredState> = None;
    while newest.changed().await.is_ok() {
        tokio::time::sleep(WRITE_DELAY).await;
        loop {
            let Some(state) = newest.borrow_and_update().clone() else { break };
            if last.as_ref() == Some(&state.desired_state) {
                break;
            }
            match writer.write(cache, &state).await {
                Ok(()) => {
                    backoff.reset();
                    last = Some(state.desired_state.clone());
                    break;
                }
                Err(error) => backoff.wait("the desired state can't be written to the cache", &error).await,
            }
        }
    }
}

impl CacheWriter {
    /// Writes bundles first, then the list that names them, then removes bundles that it no longer names.
    async fn write(&mut self, cache: &SharedCache, state: &CachedState) -> Result<(), CacheError> {
        let packs = match &mut self.packs {
            Some(packs) => packs,
            none => none.insert(BundlePacks::read(cache).await?.0),
        };
        packs.add_missing(cache, &state.bundles).await?;
        let list = serde_json::to_vec(&state.desired_state)
            .map_err(|error| CacheError::new(DESIRED_STATE_ENTRY, &error))?;
        cache.put(DESIRED_STATE_ENTRY, &list).await?;
        packs.prune(cache, &state.bundles).await
    }
}
