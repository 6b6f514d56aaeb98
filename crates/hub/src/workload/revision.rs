//! One revision and its changes against another one.

use std::time::Duration;

use domain::authorization::UserAction;
use domain::bundle::Bundle;
use domain::cluster::Cluster;
use domain::guard::catalogue;
use domain::placement::ClusterGroup;
use domain::plan::{ChangedPart, RevisionView, compare_bundles, list_spec_parts};
use domain::project::Project;
use domain::render::BundleRenderer;
use domain::rollout::Rollout;
use domain::secret_content::{ChartMarks, SecretContent as _};
use domain::workload::{Revision, Source, Workload, WorkloadSpec, WorkloadView};
use domain::{Finding, ProjectId};
use similar::TextDiff;
use source::client_shares::VALUES_OF_USERS;
use source::requester::current_turn;
use store::Tx;

use super::snapshot::{InstalledReleases, load_present_releases};
use crate::blocking::run_blocking;
use crate::manifests::{ManifestsQuery, RenderWait, estimate_compared, load_project};
use crate::render::restore_facts;
use crate::secret_content::list_marked_charts;
use crate::{Actor, Error, Hub};

/// Lines around a changed one.
const CONTEXT_LINES: usize = 3;
/// How long the shortest diff of a part is searched; after that a longer one is accepted.
const DIFF_TIMEOUT: Duration = Duration::from_millis(200);

/// What a revision is compared with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevisionComparison {
    /// Number of the other revision; the previous one if `None`.
    pub against: Option<u32>,
    /// Name of the cluster that both are rendered for; without overrides if `None`.
    pub cluster: Option<String>,
}

/// A revision, with what is now of its workload and its rollout.
#[derive(Debug, Clone, PartialEq)]
pub struct RevisionDetails {
    /// The revision and its changes.
    pub view: RevisionView,
    /// The workload now.
    pub workload: WorkloadView,
    /// The rollout of the revision; `None` without waves.
    pub rollout: Option<Rollout>,
}

/// Two revisions and what both are rendered with.
struct RevisionPair {
    workload: String,
    revision: Revision,
    before: Option<Revision>,
    groups: Vec<ClusterGroup>,
    project: Option<Project>,
    cluster: Option<Cluster>,
    /// The revision that runs on the cluster, and the cluster with the facts that it is rendered with.
    running: Option<(u32, Cluster)>,
    /// What the clusters have of the workload.
    installed: InstalledReleases,
}

impl RevisionPair {
    /// The cluster with the facts that this revision is rendered with.
    fn cluster_of(&self, revision: u32) -> Option<&Cluster> {
        let running = self.running.as_ref().filter(|(number, _)| *number == revision);
        running.map(|(_, cluster)| cluster).or(self.cluster.as_ref())
    }
}

impl Hub {
    /// A revision with its rollout and the current state of its workload, from one read transaction.
    ///
    /// # Errors
    /// There is no such workload, revision or cluster.
    pub async fn get_revision_details(
        &self,
        actor: &Actor,
        name: &str,
        number: u32,
        comparison: &RevisionComparison,
    ) -> Result<RevisionDetails, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let workload = self.load_workload_view(&mut tx, name).await?;
        let pair = load_pair(&mut tx, self.project(), &workload.workload, number, comparison).await?;
        let rollout = self.load_rollout(&mut tx, workload.workload.id, number).await?;
        drop(tx);
        let view = self.compare_revisions(actor, pair).await?;
        let workload = self.hide_secrets(actor, workload).await?;
        Ok(RevisionDetails { view, workload, rollout })
    }

    /// A revision with its changes against the previous or another one (S1-11).
    ///
    /// # Errors
    /// There is no such workload, revision or cluster.
    pub async fn get_revision(
        &self,
        actor: &Actor,
        name: &str,
        number: u32,
        comparison: &RevisionComparison,
    ) -> Result<RevisionView, Error> {
        actor.authorize(UserAction::View)?;
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let pair = load_pair(&mut tx, self.project(), &workload, number, comparison).await?;
        drop(tx);
        self.compare_revisions(actor, pair).await
    }

    async fn compare_revisions(&self, actor: &Actor, pair: RevisionPair) -> Result<RevisionView, Error> {
        // What is rendered of both stays until it is compared, when the memory of their manifests is free again. It is reserved before they
        // are loaded, which may wait for Helm or a repository: never more than the share of the user, which the bodies of the user have too.
        let both = std::iter::once(&pair.revision).chain(&pair.before);
        let needed: u64 = both.map(|revision| estimate_compared(&revision.spec.source)).sum();
        let memory = VALUES_OF_USERS.reserve(current_turn(), needed).await?;
        let charts = {
            let revisions = [&pair.revision].into_iter().chain(&pair.before);
            let sources: Vec<&Source> = revisions.map(|revision| &revision.spec.source).collect();
            list_marked_charts(actor, &sources)
        };
        let (role, marks) = (actor.role, self.load_marks_for(actor, &charts).await?);
        let after = self.render_revision(&pair, &pair.revision).await?;
        let before = match &pair.before {
            Some(before) => Some(self.render_revision(&pair, before).await?),
            None => None,
        };
        let RevisionPair { mut revision, before: other, cluster, .. } = pair;
        let compare = move || {
            let (changes, findings) = match (before.transpose(), after) {
                (Ok(before), Ok(after)) => (Some(compare_bundles(before.as_ref(), &after)), Vec::new()),
                (Err(findings), _) | (_, Err(findings)) => (None, findings),
            };
            let changed_parts =
                other.as_ref().map(|other| list_changed_parts(&other.spec, &revision.spec, &marks));
            revision.hide_secrets(role, &marks);
            drop(memory);
            RevisionView {
                against: other.map(|other| other.number),
                cluster: cluster.map(|cluster| cluster.name).unwrap_or_default(),
                changes,
                findings,
                changed_parts: changed_parts.unwrap_or_default(),
                revision,
            }
        };
        run_blocking(compare).await
    }

    /// The objects of a revision, or why they can't be rendered. For one cluster, the names of all targets in its templates are
    /// that cluster alone, in both revisions.
    async fn render_revision(
        &self,
        pair: &RevisionPair,
        revision: &Revision,
    ) -> Result<Result<Bundle, Vec<Finding>>, Error> {
        let cluster = pair.cluster_of(revision.number);
        let clusters = cluster.map(std::slice::from_ref).unwrap_or_default();
        let targets: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let query = ManifestsQuery {
            workload: &pair.workload,
            revision: revision.number,
            spec: &revision.spec,
            groups: &pair.groups,
            project: pair.project.as_ref(),
            clusters,
            targets: &targets,
            installed: &pair.installed,
            replaced: None,
        };
        let manifests = self.load_manifests(query, RenderWait::Request).await?;
        // A value that a publish would replace can be shown.
        let blocking =
            |finding: &&Finding| finding.is_blocking() && !catalogue::is_forcible_on_hub(&finding.code);
        let findings: Vec<Finding> = manifests.findings().iter().filter(blocking).cloned().collect();
        if !findings.is_empty() {
            return Ok(Err(findings));
        }
        let Some(cluster) = cluster else {
            return Ok(Ok(Bundle::new(manifests.sample().objects())));
        };
        let Ok(parsed) = manifests.get(cluster.id) else {
            let message = format!("r{} is not rendered for {} yet.", revision.number, cluster.name);
            let finding = Finding::warning("G115", message, "Repeat this in a moment.");
            return Ok(Err(vec![finding]));
        };
        let renderer = BundleRenderer {
            workload: &pair.workload,
            revision: revision.number,
            spec: &revision.spec,
            parsed: &parsed,
            groups: &pair.groups,
            targets: &targets,
        };
        Ok(renderer.render_bundle(cluster).map_err(domain::render::RenderError::into_findings))
    }
}

/// A revision, the one that it is compared with if there is one, and the cluster that both are rendered for.
async fn load_pair(
    tx: &mut Tx,
    project: ProjectId,
    workload: &Workload,
    number: u32,
    comparison: &RevisionComparison,
) -> Result<RevisionPair, Error> {
    let revision = load_revision(tx, workload, number).await?;
    let before = match (comparison.against, number.checked_sub(1)) {
        (Some(other), _) => Some(load_revision(tx, workload, other).await?),
        (None, Some(previous)) => store::revision::get(tx, workload.id, previous).await?,
        (None, None) => None,
    };
    let cluster = match &comparison.cluster {
        Some(name) => {
            let found = store::cluster::get_by_name(tx, name).await?;
            Some(found.ok_or_else(|| Error::not_found("cluster", name))?)
        }
        None => None,
    };
    let groups = store::group::list(tx).await?;
    let sources: Vec<&Source> = before.iter().chain([&revision]).map(|one| &one.spec.source).collect();
    let project = load_project(tx, project, &sources).await?;
    let (mut installed, mut running) = (InstalledReleases::default(), None);
    if let Some(cluster) = &cluster {
        let releases = load_present_releases(tx, workload.id).await?;
        installed = InstalledReleases::of(releases.values());
        if let Some(release) = releases.get(&cluster.id)
            && let (Some(number), Some(facts)) = (release.rendered_facts_revision(), release.rendered_facts())
        {
            let mut cluster = cluster.clone();
            restore_facts(tx, &mut cluster, number, facts).await?;
            running = Some((number, cluster));
        }
    }
    let workload = workload.name.clone();
    Ok(RevisionPair { workload, revision, before, groups, project, cluster, running, installed })
}

async fn load_revision(tx: &mut Tx, workload: &Workload, number: u32) -> Result<Revision, Error> {
    let found = store::revision::get(tx, workload.id, number).await?;
    found.ok_or_else(|| Error::revision_not_found(&workload.name, number))
}

fn list_changed_parts(before: &WorkloadSpec, after: &WorkloadSpec, marks: &ChartMarks) -> Vec<ChangedPart> {
    // A changed value that is hidden in both is listed without lines.
    let parts = list_spec_parts(before).into_iter().zip(list_spec_parts(after));
    let changed = parts
        .zip(list_spec_parts(&before.with_marked_secrets(marks.get(&before.source))))
        .zip(list_spec_parts(&after.with_marked_secrets(marks.get(&after.source))));
    let changed = changed
        .filter(|(((before, after), _), _)| before.text != after.text)
        .map(|((_, before), after)| (before, after));
    let compare = |(before, after): (domain::plan::SpecPart, domain::plan::SpecPart)| {
        let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(&before.text, &after.text);
        let diff = diff.unified_diff().context_radius(CONTEXT_LINES).missing_newline_hint(false).to_string();
        ChangedPart { part: after.part.to_owned(), diff }
    };
    changed.map(compare).collect()
}

#[cfg(test)]
mod tests {
    use domain::workload::SourceFile;
    use domain::{Timestamp, WorkloadId};

    use super::*;
    use crate::{Clock, HubConfig, run_for_requester};

    #[tokio::test]
    async fn p19_a_comparison_has_a_share_with_the_bodies_of_its_user_and_leaves_the_rest_to_others() {
        let _alone = crate::render::MEMORY_TESTS.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        // More than half of the memory for all.
        let lines = usize::try_from(VALUES_OF_USERS.share_bytes() / 256 + 1_000).unwrap();
        let compare = async |user: &str| {
            let text = "\n".repeat(lines);
            let source = Source::Yaml { files: vec![SourceFile { name: "app.yaml".to_owned(), text }] };
            let revision = Revision {
                workload: WorkloadId::from_parts(1, 1),
                number: 1,
                spec: WorkloadSpec { source, ..WorkloadSpec::default() },
                author: "ada".to_owned(),
                message: String::new(),
                created_at: Timestamp::from_millis(0),
                helm_versions: Vec::new(),
            };
            let pair = RevisionPair {
                workload: "web".to_owned(),
                revision,
                before: None,
                groups: Vec::new(),
                project: None,
                cluster: None,
                running: None,
                installed: InstalledReleases::default(),
            };
            let actor = Actor::system();
            let compared = Box::pin(hub.compare_revisions(&actor, pair));
            run_for_requester(user.to_owned(), compared).await
        };
        // The wait for memory passes at once.
        tokio::time::pause();
        let of_bodies = VALUES_OF_USERS.reserve("user olga".to_owned(), u64::MAX).await.unwrap();
        let busy = compare("olga").await.unwrap_err();
        assert!(matches!(busy, Error::ServerBusy { .. }), "{busy}");
        let compared = compare("rosa").await.unwrap();
        assert_eq!(compared.revision.number, 1);
        drop(of_bodies);
        compare("olga").await.unwrap();
    }
}
