//! Findings on the changes from the published revision to the draft.

use domain::{Finding, guard, manifest};

use super::snapshot::PublishSnapshot;

impl PublishSnapshot {
    /// Data that would be pruned and large changes of replicas (G516, G213); empty if the manifests are unchanged. Parses
    /// the published manifests: call it off the async threads.
    pub(super) fn check_changes(&self) -> Vec<Finding> {
        let draft = &self.draft;
        let published = self.stored.published.as_ref();
        let Some(published) = published.filter(|published| published.spec.source != draft.spec.source) else {
            return Vec::new();
        };
        let before = manifest::parse(published.spec.source.files());
        guard::check_change((&published.spec, &before), (&draft.spec, draft.manifests.sample()))
    }
}
