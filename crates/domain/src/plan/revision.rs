//! A revision against the one before it: what its author changed, before any cluster or override had a say.

use serde::{Deserialize, Serialize};

use super::Effect;
use crate::bundle::Bundle;
use crate::manifest::Parsed;
use crate::workload::{Policies, Revision};

/// A revision with what it changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RevisionView {
    /// The revision.
    pub revision: Revision,
    /// Number of the one before it; `None` for the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u32>,
    /// What its manifests change, as they are written: without overrides, templates not filled in.
    pub effect: Effect,
    /// What else differs from the one before: `placement`, `overrides`, `rollout`, `policies`, `namespace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

impl RevisionView {
    /// A revision against the one before it; each with its manifests.
    pub fn of(revision: (Revision, &Parsed), before: Option<(&Revision, &Parsed)>) -> Self {
        let bundle = |parsed: &Parsed| Bundle::new(parsed.objects());
        let (revision, parsed) = revision;
        let old = before.map(|(_, parsed)| bundle(parsed));
        let effect = Effect::expected(old.as_ref(), &bundle(parsed), &Policies::default(), "");
        let also = before.map(|(before, _)| also(before, &revision)).unwrap_or_default();
        Self { before: before.map(|(before, _)| before.number), effect, also, revision }
    }
}

fn also(before: &Revision, after: &Revision) -> Vec<String> {
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
    use crate::id::WorkloadId;
    use crate::manifest;
    use crate::plan::Outcome;
    use crate::time::Timestamp;
    use crate::workload::{SourceFile, WorkloadSpec};

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

    fn parsed(text: &str) -> Parsed {
        manifest::parse(&[SourceFile { name: "a.yaml".into(), text: text.into() }])
    }

    #[test]
    fn s1_11_a_revision_says_what_it_changed_and_never_the_value_of_a_secret() {
        let secret = |value: &str| {
            format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{password: {value}}}\n"
            )
        };
        let mut second = revision(2, "shop");
        second.spec.rollout.fail_after = "90s".parse().ok();
        let view = RevisionView::of(
            (second, &parsed(&secret("second"))),
            Some((&revision(1, "web"), &parsed(&secret("first")))),
        );
        assert_eq!((view.before, view.also.join(" ").as_str()), (Some(1), "rollout namespace"));
        assert!(matches!(view.effect.objects[0].outcome, Outcome::Change { .. }), "{:#?}", view.effect);
        let told = serde_json::to_string(&view.effect).unwrap();
        assert!(!told.contains("first") && !told.contains("second"), "{told}");
    }

    #[test]
    fn the_first_revision_creates_everything() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";
        let view = RevisionView::of((revision(1, "shop"), &parsed(text)), None);
        assert_eq!((view.before, view.also.len(), view.effect.tally().create), (None, 0, 1));
    }
}
