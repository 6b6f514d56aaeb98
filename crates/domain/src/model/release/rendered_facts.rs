//! The facts of its cluster that a release is rendered with: those of the first rendering of its revision there.

use serde::{Deserialize, Serialize};

use super::Release;
use crate::kubernetes::digest::Digest;

/// The result of rendering a release with the present facts of its cluster, which only a publish delivers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct FactsComparison {
    /// Digest of the present facts.
    pub facts: Digest,
    /// What would differ and why, as a sentence for people; empty if the bundle would be the same.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub notice: String,
}

impl Release {
    /// Records the facts that the desired revision is rendered with from now on, and what the present ones would change. `None`
    /// while it has no bundle.
    pub fn record_rendered_facts(&mut self, facts: Option<Digest>, comparison: Option<FactsComparison>) {
        self.rendered_facts_revision = self.revision.filter(|_| facts.is_some());
        self.rendered_facts = facts;
        self.facts_comparison = comparison;
    }

    /// Digest of the facts that this revision is rendered with; `None` before its first bundle.
    pub fn facts_of_revision(&self, revision: u32) -> Option<&Digest> {
        self.rendered_facts.as_ref().filter(|_| self.rendered_facts_revision == Some(revision))
    }

    /// What the present facts of its cluster would change, as a sentence for people; empty if nothing, and for a release that is
    /// removed.
    pub fn facts_notice(&self) -> &str {
        self.facts_comparison.as_ref().filter(|_| self.is_present()).map_or("", |compared| &compared.notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
    use crate::kubernetes::time::Timestamp;
    use crate::model::policy::{DeletionPolicy, Policies};
    use crate::model::release::RenderOutcome;

    #[test]
    fn facts_belong_to_the_revision_that_they_were_recorded_for() {
        let at = Timestamp::from_millis(0);
        let (id, workload) = (ReleaseId::from_parts(1, 1), WorkloadId::from_parts(1, 1));
        let mut release = Release::new(id, workload, ClusterId::from_parts(1, 1), at);
        let (facts, present) = (Digest::compute(b"v1.33.4"), Digest::compute(b"v1.33.5"));
        release.record_rendered_facts(Some(facts.clone()), None);
        assert_eq!(release.rendered_facts_revision(), None, "no revision is desired yet");
        let publish = |release: &mut Release, revision| {
            let bundle = RenderOutcome::Bundle(Digest::compute(b"bundle"));
            release.set_desired_revision(revision, bundle, Policies::default(), at);
        };
        publish(&mut release, 1);
        let comparison = FactsComparison { facts: present, notice: "It would differ.".into() };
        release.record_rendered_facts(Some(facts.clone()), Some(comparison));
        assert_eq!((release.facts_of_revision(1), release.facts_of_revision(2)), (Some(&facts), None));
        assert_eq!(release.facts_notice(), "It would differ.");
        publish(&mut release, 2);
        assert_eq!(
            release.facts_of_revision(2),
            None,
            "a writer that knows no facts changes the revision alone"
        );
        release.remove(DeletionPolicy::Foreground, "", at);
        assert_eq!(release.facts_notice(), "");
    }
}
