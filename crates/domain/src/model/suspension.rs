//! Suspensions: a user pauses a workload, a workload on one cluster, or a cluster (S2-11).
//!
//! While a release is suspended, its cluster applies, reverts and deletes nothing of it. Drift is still reported, and the desired
//! revision is still rendered; what is desired waits for the end of the suspension. A suspension is no removal.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::kubernetes::time::Timestamp;
use crate::model::policy::DriftPolicy;
use crate::text::finding::Finding;

/// Code of findings about suspensions.
pub const SUSPENDED: &str = "Suspended";
/// Longest reason, in characters.
pub const MAX_REASON_CHARS: usize = 300;
/// Most releases that the effects of a resume name.
pub const MAX_EFFECTS: usize = 500;

/// What is suspended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum SuspensionScope {
    /// A workload on all its clusters, also those that it will be placed on.
    Workload,
    /// A workload on one cluster.
    Release,
    /// A cluster, with every workload that is or will be placed on it.
    Cluster,
}

/// Who suspended something, since when and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Suspension {
    /// What it suspends.
    pub scope: SuspensionScope,
    /// Name of the user.
    pub by: String,
    /// Since when.
    pub since: Timestamp,
    /// Why.
    pub reason: String,
}

impl fmt::Display for Suspension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let subject = match self.scope {
            SuspensionScope::Workload => "The workload is suspended",
            SuspensionScope::Release => "Suspended on this cluster",
            SuspensionScope::Cluster => "The cluster is suspended",
        };
        write!(f, "{subject} by {} since {}: {}", self.by, self.since, self.reason)
    }
}

/// The suspensions of one release, as the reason of its stage Released; `None` without any.
pub fn describe_suspensions(suspensions: &[Suspension]) -> Option<String> {
    if suspensions.is_empty() {
        return None;
    }
    let sentences = suspensions.iter().map(|one| format!("{}.", one.to_string().trim_end_matches('.')));
    Some(sentences.collect::<Vec<_>>().join(" "))
}

/// The reason as it is stored: without spaces around it.
///
/// # Errors
/// It is empty, too long or has control characters.
pub fn parse_reason(reason: &str) -> Result<String, Vec<Finding>> {
    let reason = reason.trim();
    let message = if reason.is_empty() {
        "There is no reason.".to_owned()
    } else if reason.chars().count() > MAX_REASON_CHARS {
        format!("The reason has more than {MAX_REASON_CHARS} characters.")
    } else if reason.contains(char::is_control) {
        "The reason contains a line break or another control character.".to_owned()
    } else {
        return Ok(reason.to_owned());
    };
    let hint = "Write in one sentence why nothing may be applied, for those who find it suspended.";
    Err(vec![Finding::error(SUSPENDED, message, hint).with_path("/reason")])
}

/// Suspends a workload on all its clusters, or on some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SuspendRequest {
    /// Why, in at most 300 characters.
    pub reason: String,
    /// Names of the clusters; empty to suspend the workload everywhere, also on clusters that it is placed on later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
}

/// Suspends a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClusterSuspendRequest {
    /// Why, in at most 300 characters.
    pub reason: String,
}

/// Ends the suspension of a workload on all its clusters, or on some.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResumeRequest {
    /// Names of the clusters that are suspended alone; empty to resume what was suspended everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
}

/// What changes on one cluster when the release of a workload there is resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct ResumeEffect {
    /// Name of the workload.
    pub workload: String,
    /// Name of the cluster.
    pub cluster: String,
    /// What suspends the release.
    pub scopes: Vec<SuspensionScope>,
    /// Number of the applied revision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied_revision: Option<u32>,
    /// Number of the desired revision, if it has another bundle than the applied one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_revision: Option<u32>,
    /// Whether the workload is removed from the cluster.
    pub is_removed: bool,
    /// Number of the fields that drift, as the cluster last reported them.
    pub drifted_fields: u32,
    /// Whether the objects drift: a deleted object has no fields.
    pub is_drifted: bool,
    /// What is done about drift.
    pub drift_policy: DriftPolicy,
}

impl ResumeEffect {
    /// What happens when a suspension of `scope` ends, as a sentence.
    pub fn describe(&self, scope: SuspensionScope) -> String {
        let Self { workload, cluster, .. } = self;
        if let Some(other) = self.scopes.iter().find(|other| **other != scope) {
            let other = match other {
                SuspensionScope::Workload => "the workload is suspended everywhere",
                SuspensionScope::Release => "the workload is suspended on this cluster alone",
                SuspensionScope::Cluster => "the cluster is suspended",
            };
            return format!("{workload} on {cluster} stays suspended: {other}.");
        }
        if self.is_removed {
            return format!("{workload} is removed from {cluster}.");
        }
        let mut changes = Vec::new();
        match (self.next_revision, self.applied_revision) {
            (Some(next), Some(applied)) if next == applied => {
                changes.push(format!("revision {next} is applied again with other content"));
            }
            (Some(next), Some(applied)) => {
                changes.push(format!("revision {next} replaces revision {applied}"))
            }
            (Some(next), None) => changes.push(format!("revision {next} is applied")),
            (None, _) => {}
        }
        if self.is_drifted {
            let subject = match self.drifted_fields {
                0 => "what drifts".to_owned(),
                1 => "1 drifted field".to_owned(),
                more => format!("{more} drifted fields"),
            };
            let verb = match self.drift_policy {
                DriftPolicy::Revert if self.drifted_fields < 2 => "is reverted",
                DriftPolicy::Revert => "are reverted",
                DriftPolicy::Notify if self.drifted_fields < 2 => "stays, by its drift policy",
                DriftPolicy::Notify => "stay, by its drift policy",
            };
            changes.push(format!("{subject} {verb}"));
        }
        match changes.as_slice() {
            [] => format!("Nothing changes of {workload} on {cluster}."),
            changes => format!("{workload} on {cluster}: {}.", changes.join(", ")),
        }
    }
}

/// What is suspended of a workload or a cluster, and what changes when it is resumed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct SuspensionDetails {
    /// The suspension of the whole workload or of the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspension: Option<Suspension>,
    /// Names of the clusters on which the workload is suspended alone.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<String>,
    /// What changes on each cluster when it is resumed, at most 500.
    pub effects: Vec<ResumeEffect>,
    /// Number of suspended releases beyond those in `effects`.
    pub more: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suspension(scope: SuspensionScope) -> Suspension {
        Suspension {
            scope,
            by: "ann".into(),
            since: Timestamp::from_millis(0),
            reason: "The disks are replaced.".into(),
        }
    }

    #[test]
    fn s2_11_a_suspension_says_by_whom_since_when_and_why() {
        assert_eq!(describe_suspensions(&[]), None);
        let both = [suspension(SuspensionScope::Workload), suspension(SuspensionScope::Cluster)];
        assert_eq!(
            describe_suspensions(&both).unwrap(),
            "The workload is suspended by ann since 1970-01-01T00:00:00.000Z: The disks are replaced. \
             The cluster is suspended by ann since 1970-01-01T00:00:00.000Z: The disks are replaced."
        );
    }

    #[test]
    fn a_reason_is_one_line_that_is_not_empty() {
        assert_eq!(parse_reason(" handover "), Ok("handover".to_owned()));
        let long = "x".repeat(MAX_REASON_CHARS + 1);
        for wrong in ["", "  ", "a\nb", long.as_str()] {
            assert_eq!(parse_reason(wrong).unwrap_err()[0].path, "/reason", "{wrong:?}");
        }
    }

    #[test]
    fn an_effect_says_what_a_resume_changes() {
        let effect = ResumeEffect {
            workload: "web".into(),
            cluster: "eu-1".into(),
            scopes: vec![SuspensionScope::Workload],
            applied_revision: Some(3),
            ..ResumeEffect::default()
        };
        let describe = |effect: &ResumeEffect| effect.describe(SuspensionScope::Workload);
        assert_eq!(describe(&effect), "Nothing changes of web on eu-1.");
        let changed =
            ResumeEffect { next_revision: Some(5), is_drifted: true, drifted_fields: 2, ..effect.clone() };
        assert_eq!(
            describe(&changed),
            "web on eu-1: revision 5 replaces revision 3, 2 drifted fields are reverted."
        );
        let removed = ResumeEffect { is_removed: true, ..effect.clone() };
        assert_eq!(describe(&removed), "web is removed from eu-1.");
        let scopes = vec![SuspensionScope::Workload, SuspensionScope::Cluster];
        let other = ResumeEffect { scopes, ..changed };
        assert_eq!(describe(&other), "web on eu-1 stays suspended: the cluster is suspended.");
    }
}
