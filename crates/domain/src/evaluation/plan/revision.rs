//! Comparison of a revision with the previous one: what its author changed, before overrides and templates.

use serde::{Deserialize, Serialize};

use super::ClusterPlan;
use crate::model::bundle::Bundle;
use crate::model::workload::{Policies, Revision};
use crate::text::manifest::ParsedManifests;

/// A revision with its changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevisionView {
    /// The revision.
    pub revision: Revision,
    /// Number of the previous revision; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<u32>,
    /// Changes of its manifests as they are written: without overrides, templates not filled in.
    pub changes: ClusterPlan,
    /// Other parts that differ from the previous revision: `placement`, `overrides`, `rollout`, `policies`, `namespace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_parts: Vec<String>,
}

impl RevisionView {
    /// Compares a revision with the previous one; each with its manifests.
    pub fn compare(
        revision: (Revision, &ParsedManifests),
        before: Option<(&Revision, &ParsedManifests)>,
    ) -> Self {
        let bundle = |parsed: &ParsedManifests| Bundle::new(parsed.objects());
        let (revision, parsed) = revision;
        let old = before.map(|(_, parsed)| bundle(parsed));
        let changes = ClusterPlan::estimate(old.as_ref(), &bundle(parsed), &Policies::default(), "");
        let changed_parts =
            before.map(|(before, _)| list_changed_parts(before, &revision)).unwrap_or_default();
        Self { previous: before.map(|(before, _)| before.number), changes, changed_parts, revision }
    }
}

fn list_changed_parts(before: &Revision, after: &Revision) -> Vec<String> {
    let (before, after) = (&before.spec, &after.spec);
    let parts = [
        ("placement", before.placement != after.placement),
        ("overrides", before.overrides != after.overrides),
        ("rollout", before.rollout != after.rollout),
        ("policies", before.policies != after.policies),
        ("namespace", before.namespace != after.namespace),
    ];
    parts.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::plan::PlannedAction;
    use crate::kubernetes::id::WorkloadId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::workload::{SourceFile, WorkloadSpec};
    use crate::text::manifest;

    fn revision(number: u32, namespace: &str) -> Revision {
        Revision {
            workload: WorkloadId::from_parts(1, 1),
            number,
            spec: WorkloadSpec { namespace: namespace.into(), ..WorkloadSpec::default() },
            author: "ann".into(),
            message: String::new(),
            created_at: Timestamp::from_millis(0),
        }
    }

    fn parsed(text: &str) -> ParsedManifests {
        manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }])
    }

    #[test]
    fn s1_11_a_revision_lists_its_changes_and_never_the_value_of_a_secret() {
        let secret = |value: &str| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{password: {value}}}\n"
            )
        };
        let mut second = revision(2, "shop");
        second.spec.rollout.fail_after = "90s".parse().ok();
        let view = RevisionView::compare(
            (second, &parsed(&secret("second"))),
            Some((&revision(1, "web"), &parsed(&secret("first")))),
        );
        assert_eq!((view.previous, view.changed_parts.join(" ").as_str()), (Some(1), "rollout namespace"));
        assert!(
            matches!(view.changes.objects[0].action, PlannedAction::Change { .. }),
            "{:#?}",
            view.changes
        );
        let json = serde_json::to_string(&view.changes).unwrap();
        assert!(!json.contains("first") && !json.contains("second"), "{json}");
    }

    #[test]
    fn the_first_revision_creates_everything() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        let view = RevisionView::compare((revision(1, "shop"), &parsed(text)), None);
        assert_eq!((view.previous, view.changed_parts.len(), view.changes.counts().create), (None, 0, 1));
    }
}
