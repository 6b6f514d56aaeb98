//! Which hooks of a chart have run on the cluster, as the record stores it: the objects of hooks may be deleted by then.

use domain::Digest;
use domain::chart_hook::HookEvent;
use serde::{Deserialize, Serialize};

/// What the application of a bundle is for its hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum HookOperation {
    /// No bundle of the release was applied completely on this cluster yet.
    Install,
    /// One was.
    Upgrade,
    /// The release is being removed.
    Delete,
}

/// Whether hooks run before or after the objects of the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookPhase {
    /// Before.
    Before,
    /// After.
    After,
}

impl HookOperation {
    /// The event of a phase.
    pub(crate) const fn event(self, phase: HookPhase) -> HookEvent {
        match (self, phase) {
            (Self::Install, HookPhase::Before) => HookEvent::PreInstall,
            (Self::Install, HookPhase::After) => HookEvent::PostInstall,
            (Self::Upgrade, HookPhase::Before) => HookEvent::PreUpgrade,
            (Self::Upgrade, HookPhase::After) => HookEvent::PostUpgrade,
            (Self::Delete, HookPhase::Before) => HookEvent::PreDelete,
            (Self::Delete, HookPhase::After) => HookEvent::PostDelete,
        }
    }
}

/// The progress of the hooks of one installation or upgrade.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HookProgress {
    /// The bundle whose hooks run or have run.
    pub bundle: Digest,
    /// Whether it is the installation.
    pub operation: HookOperation,
    /// Generation of the desired release at its start: the same bundle may be published again later.
    pub generation: i64,
    /// The runs that have succeeded, by [`HookProgress::run_id`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub succeeded: Vec<String>,
    /// Whether all hooks have succeeded: none runs again for this bundle.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub finished: bool,
    /// Whether a bundle was applied completely, so that the next one is an upgrade.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub installed: bool,
}

/// The bundle of a release, as far as its hooks are concerned.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HookBundle<'a> {
    pub digest: &'a Digest,
    pub has_hooks: bool,
    /// Generation of the desired release.
    pub generation: i64,
    /// Whether objects of the release are on the cluster.
    pub has_objects: bool,
}

impl HookProgress {
    /// The progress for a bundle. An installation that was not completed goes on with the next bundle, and its unchanged hooks
    /// do not run again. `None` as long as no bundle of the release has hooks.
    pub(crate) fn for_bundle(known: Option<&Self>, bundle: HookBundle<'_>) -> Option<Self> {
        let start = |operation| Self {
            bundle: bundle.digest.clone(),
            operation,
            generation: bundle.generation,
            succeeded: Vec::new(),
            finished: false,
            installed: operation == HookOperation::Upgrade,
        };
        match known {
            Some(known) if known.bundle == *bundle.digest => Some(known.clone()),
            // The hooks of a removal have run, and those of an installation may have to create again what they deleted.
            Some(known) if known.operation == HookOperation::Delete => Some(start(HookOperation::Install)),
            Some(known) if known.installed => Some(start(HookOperation::Upgrade)),
            Some(known) => Some(Self { bundle: bundle.digest.clone(), finished: false, ..known.clone() }),
            None if !bundle.has_hooks => None,
            None if bundle.has_objects => Some(start(HookOperation::Upgrade)),
            None => Some(start(HookOperation::Install)),
        }
    }

    /// The progress of a removal that is desired since this generation.
    pub(crate) fn for_removal(known: Option<&Self>, bundle: &Digest, generation: i64) -> Self {
        match known {
            Some(known) if known.operation == HookOperation::Delete => known.clone(),
            _ => Self {
                bundle: bundle.clone(),
                operation: HookOperation::Delete,
                generation,
                succeeded: Vec::new(),
                finished: false,
                installed: false,
            },
        }
    }

    /// Identifies the run of a hook with this content at this event, in this installation or upgrade.
    pub(crate) fn run_id(&self, event: HookEvent, hash: &str) -> String {
        let run = Digest::compute(format!("{} {event} {hash}", self.generation).as_bytes());
        run.as_str().trim_start_matches("sha256:").chars().take(16).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(text: &str) -> Digest {
        Digest::compute(text.as_bytes())
    }

    fn next(known: Option<&HookProgress>, bundle: &str, generation: i64, has_objects: bool) -> HookProgress {
        let digest = digest(bundle);
        let bundle = HookBundle { digest: &digest, has_hooks: true, generation, has_objects };
        HookProgress::for_bundle(known, bundle).unwrap()
    }

    #[test]
    fn s4_4_the_first_bundle_is_an_installation_and_the_next_one_after_it_an_upgrade() {
        let first = next(None, "a", 1, false);
        assert_eq!(first.operation, HookOperation::Install);
        assert_eq!(next(Some(&first), "a", 2, true), first, "the same bundle starts nothing");
        let second = next(Some(&HookProgress { installed: true, ..first.clone() }), "b", 2, true);
        assert_eq!(second.operation, HookOperation::Upgrade);
        let back = next(Some(&HookProgress { installed: true, ..second.clone() }), "a", 3, true);
        let run = |progress: &HookProgress| progress.run_id(HookEvent::PreUpgrade, "hash");
        assert_ne!(run(&back), run(&second), "each upgrade runs its hooks");
        assert_eq!(next(None, "a", 1, true).operation, HookOperation::Upgrade, "applied before it had hooks");
    }

    #[test]
    fn s4_4_an_installation_that_was_not_completed_goes_on_with_the_next_bundle() {
        let mut first = next(None, "a", 1, false);
        first.succeeded.push(first.run_id(HookEvent::PreInstall, "hash"));
        let fixed = next(Some(&first), "b", 2, true);
        assert_eq!((fixed.operation, fixed.bundle.clone()), (HookOperation::Install, digest("b")));
        assert!(
            fixed.succeeded.contains(&fixed.run_id(HookEvent::PreInstall, "hash")),
            "it does not run again"
        );
        assert!(!fixed.succeeded.contains(&fixed.run_id(HookEvent::PreInstall, "other")));
    }

    #[test]
    fn s4_4_a_release_without_hooks_stores_no_progress() {
        let digest = digest("a");
        let bundle = HookBundle { digest: &digest, has_hooks: false, generation: 1, has_objects: false };
        assert_eq!(HookProgress::for_bundle(None, bundle), None);
    }
}
