//! The message about the end of a publish, for the user who published: operational everywhere, failed, or in need of a person. Pure.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::id::OperationId;
use crate::kubernetes::time::Timestamp;
use crate::model::release::{Gate, Release, ReleaseState};
use crate::model::rollout::Rollout;

/// Most names of clusters in a message; the others are counted.
const MAX_NAMES: usize = 10;

/// How a publish ended, as far as its user has to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum PublishOutcome {
    /// The revision is operational on every cluster.
    Operational,
    /// It is operational on every cluster that is reached; the others get it when they return.
    Deferred,
    /// It fails or was rolled back on a cluster, or its rollout was aborted or rolled back. What fails may still succeed: stages are retried
    /// without limit.
    Failed,
    /// It does not continue without a person.
    NeedsPerson,
    /// Another revision was published, or the workload was unpublished or deleted, before it was operational on every cluster.
    Superseded,
}

impl PublishOutcome {
    /// Every outcome.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The outcome of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|outcome| outcome.as_str() == name)
    }

    /// Whether it has to last before it is sent: a retry may end it.
    pub const fn may_pass(self) -> bool {
        matches!(self, Self::Deferred | Self::Failed | Self::NeedsPerson)
    }
}

/// How a publish ended, and on which clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishEnd {
    /// How.
    pub outcome: PublishOutcome,
    /// Number of clusters that the revision is published to.
    pub clusters: u32,
    /// Number of those on which it is operational.
    pub operational: u32,
    /// Names of the clusters that the outcome is about, at most ten; empty if it is about all or none.
    pub affected: Vec<String>,
    /// Number of the clusters that the outcome is about.
    pub affected_count: u32,
    /// Why, as a sentence; empty after a success.
    pub cause: String,
}

/// The message about the end of a publish.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublishMessage {
    /// How it ended.
    pub outcome: PublishOutcome,
    /// The operation.
    pub operation: OperationId,
    /// Name of the workload.
    pub workload: String,
    /// Number of the published revision.
    pub revision: u32,
    /// Who published.
    pub publisher: String,
    /// Number of its clusters.
    pub clusters: u32,
    /// Number of those on which it is operational.
    pub operational: u32,
    /// Names of the clusters that the outcome is about, at most ten.
    #[serde(default)]
    pub affected: Vec<String>,
    /// Number of the clusters that the outcome is about.
    #[serde(default)]
    pub affected_count: u32,
    /// Why, as a sentence.
    #[serde(default)]
    pub cause: String,
    /// When it was published.
    pub started_at: Timestamp,
    /// When the message was written.
    pub at: Timestamp,
}

/// What a release means for the publish of a revision.
enum ReleaseOutcome {
    InProgress,
    Operational,
    Offline,
    NeedsPerson,
    Failing,
}

/// How the publish of a revision ended, from its placed releases with the names of their clusters; `None` while it goes on. What is not
/// known is no success: a cluster that is offline makes it deferred at best.
pub fn evaluate_publish(
    revision: u32,
    releases: &[(String, Release)],
    rollout: Option<&Rollout>,
    now: Timestamp,
) -> Option<PublishEnd> {
    let mut clusters = ClusterOutcomes::default();
    for (name, release) in releases.iter().filter(|(_, release)| is_published_to(release, revision)) {
        clusters.add(name, release, revision);
    }
    let failing = clusters.failing.message.clone();
    if let Some(rollout) = rollout {
        let message = rollout.message(now);
        if rollout.state.is_given_up() {
            return Some(clusters.end(PublishOutcome::Failed, join_sentences(&message, &failing)));
        }
        if rollout.state.needs_attention() {
            return Some(clusters.end(PublishOutcome::NeedsPerson, join_sentences(&message, &failing)));
        }
    }
    if clusters.failing.count > 0 {
        return Some(clusters.end(PublishOutcome::Failed, failing));
    }
    if clusters.blocked.count > 0 {
        let cause = clusters.blocked.message.clone();
        return Some(clusters.end(PublishOutcome::NeedsPerson, cause));
    }
    if clusters.in_progress > 0 {
        return None;
    }
    if clusters.offline.count > 0 {
        let cause = clusters.offline.message.clone();
        return Some(clusters.end(PublishOutcome::Deferred, cause));
    }
    if clusters.total == 0 {
        let cause = "No cluster is selected, so it runs nowhere.".to_owned();
        return Some(clusters.end(PublishOutcome::NeedsPerson, cause));
    }
    Some(clusters.end(PublishOutcome::Operational, String::new()))
}

/// Clusters with the same outcome, and the message of the first of them.
#[derive(Default)]
struct AffectedClusters {
    count: u32,
    names: Vec<String>,
    message: String,
}

impl AffectedClusters {
    fn add(&mut self, name: &str, message: String) {
        self.count += 1;
        if self.names.len() < MAX_NAMES {
            self.names.push(name.to_owned());
        }
        if self.message.is_empty() {
            self.message = message;
        }
    }
}

#[derive(Default)]
struct ClusterOutcomes {
    total: u32,
    in_progress: u32,
    operational: u32,
    offline: AffectedClusters,
    blocked: AffectedClusters,
    failing: AffectedClusters,
}

impl ClusterOutcomes {
    fn add(&mut self, name: &str, release: &Release, revision: u32) {
        self.total += 1;
        match evaluate(release, revision) {
            ReleaseOutcome::InProgress => self.in_progress += 1,
            ReleaseOutcome::Operational => self.operational += 1,
            ReleaseOutcome::Offline => self.offline.add(name, release.message()),
            ReleaseOutcome::NeedsPerson => self.blocked.add(name, release.message()),
            ReleaseOutcome::Failing => self.failing.add(name, release.message()),
        }
    }

    fn end(self, outcome: PublishOutcome, cause: String) -> PublishEnd {
        let affected = match outcome {
            PublishOutcome::Failed => self.failing,
            PublishOutcome::NeedsPerson if self.blocked.count > 0 => self.blocked,
            PublishOutcome::NeedsPerson => self.failing,
            PublishOutcome::Deferred => self.offline,
            PublishOutcome::Operational | PublishOutcome::Superseded => AffectedClusters::default(),
        };
        PublishEnd {
            outcome,
            clusters: self.total,
            operational: self.operational,
            affected: affected.names,
            affected_count: affected.count,
            cause,
        }
    }
}

/// Whether the revision is published to the cluster of this release: also where its first installation was rolled back, unless the cluster
/// is not selected any more.
fn is_published_to(release: &Release, revision: u32) -> bool {
    let is_selected = release.wave().is_some() || release.is_suspended();
    release.is_present() || (release.is_rolled_back_from(revision) && is_selected)
}

fn evaluate(release: &Release, revision: u32) -> ReleaseOutcome {
    match release.state() {
        _ if release.is_rolled_back_from(revision) => ReleaseOutcome::Failing,
        ReleaseState::Unknown => ReleaseOutcome::Offline,
        // The placer has not written it yet: what is known is of an earlier revision.
        _ if release.revision() < Some(revision) => ReleaseOutcome::InProgress,
        ReleaseState::Blocked | ReleaseState::Drifted => ReleaseOutcome::NeedsPerson,
        ReleaseState::Failed | ReleaseState::Degraded => ReleaseOutcome::Failing,
        _ if release.gate() == Gate::Aborted => ReleaseOutcome::Failing,
        _ if release.is_suspended() && release.confirmed_revision() != Some(revision) => {
            ReleaseOutcome::NeedsPerson
        }
        // The manifest itself suspends it, or the policy accepts that nothing says whether it works.
        ReleaseState::Healthy | ReleaseState::NotAssessed | ReleaseState::Suspended
            if release.gate() == Gate::Open =>
        {
            ReleaseOutcome::Operational
        }
        _ => ReleaseOutcome::InProgress,
    }
}

fn join_sentences(first: &str, second: &str) -> String {
    if second.is_empty() { first.to_owned() } else { format!("{first} {second}") }
}

impl PublishMessage {
    /// What happened, in one line.
    pub fn headline(&self) -> String {
        let (name, revision) = (&self.workload, self.revision);
        let (all, operational) = (self.clusters, self.operational);
        let clusters = if all == 1 { "cluster" } else { "clusters" };
        match self.outcome {
            PublishOutcome::Operational => format!("{name} r{revision} is operational on {all} {clusters}"),
            PublishOutcome::Deferred => format!(
                "{name} r{revision} is operational on {operational} of {all} {clusters}; the others are offline and get it when they return"
            ),
            PublishOutcome::Failed if self.affected_count > 0 => {
                format!("{name} r{revision} fails on {} of {all} {clusters}", self.affected_count)
            }
            PublishOutcome::Failed => format!("The rollout of {name} r{revision} was aborted"),
            PublishOutcome::NeedsPerson => format!("{name} r{revision} needs attention to continue"),
            PublishOutcome::Superseded => {
                format!("{name} r{revision} was replaced before it was operational on every cluster")
            }
        }
    }

    /// The rest: who published, where, and why.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let mut names = self.affected.join(", ");
        let others =
            self.affected_count.saturating_sub(u32::try_from(self.affected.len()).unwrap_or(u32::MAX));
        if others > 0 {
            names = format!("{names} and {others} more");
        }
        let all = [
            ("Cause", self.cause.clone()),
            ("Clusters", names),
            ("Published by", format!("{}, {}", self.publisher, self.started_at)),
        ];
        all.into_iter().filter(|(_, text)| !text.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests;
