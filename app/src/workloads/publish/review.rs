//! The query of the review: the checked draft or override, and the plan if the URL names one.

use std::collections::BTreeMap;

use domain::cluster::Connectivity;
use domain::placement::Decision;
use domain::plan::{BlastRadius, ClusterPlan, ClusterPlanGroup, CreatedManifest, FieldChange};
use domain::rollout::{OnFailure, WavePreview};
use domain::workload::{Intent, WorkloadView};
use domain::{Digest, Finding, Timestamp};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::content::ReviewContent;
use crate::components::pluralize;
use crate::errors::AppResult;
use crate::paths::{self, WorkloadTab};
use crate::workloads::wizard::WizardStep;

/// Data of the page.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Review {
    /// The workload; without the texts of its files.
    pub view: WorkloadView,
    /// What is published.
    pub content: ReviewContent,
    /// Findings of the guard rails, without those of the dry runs.
    pub guard_findings: Vec<Finding>,
    /// The placement decision of what is published.
    pub decision: Decision,
    /// Selected clusters that are not online, with their connectivity.
    pub connectivity: BTreeMap<String, Connectivity>,
    /// The waves of the rollout; empty without waves.
    pub waves: Vec<WavePreview>,
    /// What happens when more clusters fail than a wave allows.
    pub on_failure: OnFailure,
    /// Objects per cluster, before overrides.
    pub objects: u32,
    /// The settings that differ from the published revision.
    pub settings: Vec<FieldChange>,
    /// Why it can't be published now, independent of the findings.
    pub blocked_reason: Option<String>,
    /// The plan.
    pub plan: Option<PlanView>,
    /// The codes with which clusters rejected the plan, if nothing else rejects it: a publish can force them.
    pub forcible_codes: Vec<String>,
    /// Whether the URL names a plan that no longer exists.
    pub plan_expired: bool,
    /// The server's time.
    pub read_at: Timestamp,
}

impl Review {
    /// The findings of the plan, which include those of the dry runs, or else those of the guard rails.
    pub fn findings(&self) -> &[Finding] {
        self.plan.as_ref().map_or(&self.guard_findings, |plan| &plan.findings)
    }

    /// Whether a publish can force what clusters rejected: nothing else is in its way.
    pub fn can_force(&self) -> bool {
        let is_complete = self.plan.as_ref().is_some_and(|plan| plan.dry_runs.pending == 0);
        is_complete && self.blocked_reason.is_none() && !self.forcible_codes.is_empty()
    }

    /// Address of the page with the editors; of a rollback that of the revision, which can't be changed.
    pub fn editor_path(&self) -> String {
        self.step_path(WizardStep::Source)
    }

    /// Address of the page on which a finding is corrected: of the draft, a step of the wizard.
    pub fn correction_path(&self, finding: &Finding) -> String {
        self.step_path(WizardStep::from_finding(finding))
    }

    fn step_path(&self, step: WizardStep) -> String {
        let name = &self.view.workload.name;
        match self.content.revision {
            Some(number) => paths::revision(name, number),
            None if self.content.is_draft() => step.path(name),
            None => paths::workload_tab(name, WorkloadTab::Overrides),
        }
    }

    /// Whether a publish would change nothing on any cluster.
    pub fn changes_nothing(&self) -> bool {
        self.plan.as_ref().is_some_and(|plan| plan.no_op_message.is_some())
    }

    /// That every cluster runs the draft already, in words; `None` while that is not certain, and if a publish would record a change.
    pub fn nothing_to_publish(&self) -> Option<String> {
        let workload = &self.view.workload;
        let plan = self.plan.as_ref().filter(|plan| plan.no_op_message.is_some())?;
        let is_certain = plan.dry_runs.pending + plan.dry_runs.not_requested == 0;
        // The clusters of an unpublished workload that still have its objects lose them.
        let is_published = workload.intent == Intent::Published;
        let is_as_published = self.content.is_draft() && !workload.draft_changed && self.settings.is_empty();
        let published = workload.published.filter(|_| is_certain && is_published && is_as_published)?;
        let count = plan.groups.iter().map(|group| group.count).sum::<usize>();
        let clusters = pluralize(u32::try_from(count).unwrap_or(u32::MAX), "cluster");
        let run = if count == 1 { "runs" } else { "run" };
        Some(format!("{clusters} {run} r{published} already"))
    }

    /// Whether there is no plan although one can be created.
    pub const fn is_unplanned(&self) -> bool {
        self.plan.is_none() && self.blocked_reason.is_none()
    }
}

/// A plan as the page shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PlanView {
    /// Its hash.
    pub hash: Digest,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// Findings of the guard rails and the dry runs.
    pub findings: Vec<Finding>,
    /// Which clusters lose the workload.
    pub blast_radius: BlastRadius,
    /// The sentence that nothing would change, if so.
    pub no_op_message: Option<String>,
    /// Clusters grouped by identical changes.
    pub groups: Vec<ChangeGroup>,
    /// The progress of the dry runs.
    pub dry_runs: DryRunProgress,
}

/// Progress of the dry runs, in clusters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DryRunProgress {
    /// With a result.
    pub completed: usize,
    /// Without a dry run, or without a result in time.
    pub not_requested: usize,
    /// Pending.
    pub pending: usize,
}

/// Clusters with identical changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChangeGroup {
    /// The group; its cluster names are truncated to [`NAMES_PER_GROUP`].
    pub group: ClusterPlanGroup,
    /// Number of clusters.
    pub count: usize,
    /// The changes; `None` for groups after the first [`GROUPS_WITH_CHANGES`].
    pub plan: Option<ClusterPlan>,
    /// The manifests of the new objects, as rendered for the first cluster of the group.
    pub manifests: Vec<CreatedManifest>,
}

/// How long a request waits for dry runs.
#[cfg(feature = "ssr")]
const PLAN_WAIT: std::time::Duration = std::time::Duration::from_secs(5);
/// Most cluster names per group.
#[cfg(feature = "ssr")]
const NAMES_PER_GROUP: usize = 40;
/// Number of groups that are sent with their changes.
#[cfg(feature = "ssr")]
const GROUPS_WITH_CHANGES: usize = 12;

/// Reads the review of a publish of the draft, of one override of it, or of an earlier revision.
#[server(prefix = "/api/fn", endpoint = "review_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn review_read(
    name: String,
    plan: Option<String>,
    #[server(default)] content: ReviewContent,
) -> AppResult<Review> {
    use crate::host;
    use crate::workloads::source::limits::clear_texts;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let plan = match plan {
        None => None,
        Some(id) => Some(load_plan(&hub, &name, &content, &id).await?),
    };
    let found = host::into_app_result(hub.check_content(&actor, &name, &content.to_publish_content()).await)?;
    let (mut view, checked) = (found.view, found.checked);
    let forcible_codes = find_forcible_codes(&checked.findings, plan.as_ref().and_then(Option::as_ref));
    clear_texts(&mut view.workload.draft.source);
    if let Some(revision) = &mut view.published_revision {
        clear_texts(&mut revision.spec.source);
    }
    Ok(Review {
        view,
        content,
        guard_findings: checked.findings,
        decision: checked.decision,
        connectivity: checked.not_online,
        waves: checked.waves,
        on_failure: checked.on_failure,
        objects: u32::try_from(checked.manifests).unwrap_or(u32::MAX),
        settings: found.settings,
        blocked_reason: found.unavailable.map(|why| why.to_string()),
        forcible_codes,
        plan_expired: plan.as_ref().is_some_and(Option::is_none),
        plan: plan.flatten(),
        read_at: hub.clock().now(),
    })
}

/// The codes that a publish of the plan would have to force; none if something rejects it that can't be forced.
#[cfg(feature = "ssr")]
fn find_forcible_codes(guard_findings: &[Finding], plan: Option<&PlanView>) -> Vec<String> {
    let is_final = |finding: &Finding| {
        finding.is_blocking() && !domain::guard::catalogue::is_forcible_on_hub(&finding.code)
    };
    let Some(plan) = plan.filter(|_| !guard_findings.iter().any(is_final)) else {
        return Vec::new();
    };
    let codes = domain::guard::catalogue::codes_to_force(&plan.findings).unwrap_or_default();
    codes.into_iter().map(str::to_owned).collect()
}

/// Waits for the plan with this id; `None` if it does not exist or plans another workload or other content.
#[cfg(feature = "ssr")]
async fn load_plan(
    hub: &hub::Hub,
    name: &str,
    content: &ReviewContent,
    id: &str,
) -> AppResult<Option<PlanView>> {
    let Ok(id) = id.parse::<domain::PlanId>() else { return Ok(None) };
    let is_meant = |plan: &domain::plan::Plan| {
        plan.workload == name
            && plan.override_name.as_deref().unwrap_or_default() == content.override_name
            && plan.restored_revision == content.revision
    };
    match hub.wait_for_plan(id, PLAN_WAIT).await {
        Ok(plan) if is_meant(&plan) => load_plan_view(hub, plan).await.map(Some),
        Ok(_) | Err(hub::Error::NotFound { .. }) => Ok(None),
        Err(error) => crate::host::into_app_result(Err(error)),
    }
}

/// Reduces a plan to what the page shows.
#[cfg(feature = "ssr")]
async fn load_plan_view(hub: &hub::Hub, plan: domain::plan::Plan) -> AppResult<PlanView> {
    let (answered, not_asked, open) = plan.dry_run_counts();
    let groups = plan.groups();
    let shown = groups.get(..GROUPS_WITH_CHANGES).unwrap_or(&groups);
    let manifests = crate::host::into_app_result(hub.list_created_manifests(&plan, shown).await)?;
    let mut manifests = manifests.into_iter();
    let changed = |(at, mut group): (usize, ClusterPlanGroup)| {
        let manifests = manifests.next().unwrap_or_default();
        let count = group.clusters.len();
        group.clusters.truncate(NAMES_PER_GROUP);
        let effect = group
            .cluster_plan
            .as_ref()
            .filter(|_| at < GROUPS_WITH_CHANGES)
            .and_then(|digest| plan.cluster_plans.get(digest));
        ChangeGroup { count, plan: effect.cloned(), manifests, group }
    };
    Ok(PlanView {
        groups: groups.into_iter().enumerate().map(changed).collect(),
        no_op_message: plan.no_op_message(),
        dry_runs: DryRunProgress { completed: answered, not_requested: not_asked, pending: open },
        hash: plan.hash,
        created_at: plan.created_at,
        expires_at: plan.expires_at,
        findings: plan.findings,
        blast_radius: plan.blast_radius,
    })
}

#[cfg(test)]
mod tests {
    use domain::rollup::ReleaseCounts;
    use domain::workload::{Workload, WorkloadPhase, WorkloadSpec};
    use domain::{ProjectId, WorkloadId};

    use super::*;

    /// The review of a draft that is as r1, with a plan without changes.
    fn review(intent: Intent, not_requested: usize) -> Review {
        let at = Timestamp::default();
        let workload = Workload {
            id: WorkloadId::from_parts(1, 1),
            project: ProjectId::from_parts(1, 1),
            name: "web".to_owned(),
            labels: domain::labels::Labels::default(),
            owners: Vec::new(),
            draft: WorkloadSpec::default(),
            intent,
            published: Some(1),
            draft_changed: false,
            created_by: "ann".to_owned(),
            created_at: at,
            updated_at: at,
            revision: 1,
        };
        let view = WorkloadView {
            workload,
            phase: WorkloadPhase::Published,
            counts: ReleaseCounts::default(),
            published_revision: None,
            rollout: None,
            failures: Vec::new(),
            suspension: None,
        };
        let plan = PlanView {
            hash: Digest::compute(b"plan"),
            created_at: at,
            expires_at: at,
            findings: Vec::new(),
            blast_radius: BlastRadius::default(),
            no_op_message: Some("No changes.".to_owned()),
            groups: Vec::new(),
            dry_runs: DryRunProgress { completed: 1, not_requested, pending: 0 },
        };
        Review {
            view,
            content: ReviewContent::default(),
            guard_findings: Vec::new(),
            decision: Decision::default(),
            connectivity: BTreeMap::new(),
            waves: Vec::new(),
            on_failure: OnFailure::Pause,
            objects: 1,
            settings: Vec::new(),
            blocked_reason: None,
            plan: Some(plan),
            forcible_codes: Vec::new(),
            plan_expired: false,
            read_at: at,
        }
    }

    #[test]
    fn only_of_a_published_workload_whose_clusters_all_answered_there_is_nothing_to_publish() {
        assert!(review(Intent::Published, 0).nothing_to_publish().is_some());
        assert!(review(Intent::Published, 1).nothing_to_publish().is_none());
        let unpublished = review(Intent::Unpublished, 0);
        assert!(unpublished.changes_nothing() && unpublished.nothing_to_publish().is_none());
        let mut changed = review(Intent::Published, 0);
        changed.view.workload.draft_changed = true;
        assert!(changed.nothing_to_publish().is_none());
    }

    #[test]
    fn a_finding_is_corrected_in_a_step_and_that_of_an_earlier_revision_shown_there() {
        let finding = Finding::error("G517", "no", "do").with_path("/policies/ttlSecondsAfterFinished");
        let mut review = review(Intent::Published, 0);
        assert_eq!(review.correction_path(&finding), WizardStep::Policies.path("web"));
        review.content.revision = Some(1);
        assert_eq!(review.correction_path(&finding), paths::revision("web", 1));
    }
}
