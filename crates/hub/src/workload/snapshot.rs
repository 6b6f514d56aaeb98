//! Snapshots: everything that a check, a plan or a publish of a draft depends on, from one read transaction.
//!
//! A snapshot does not change, so findings, decision, blast radius and plan hash are functions of it and always agree.
//! Only the exposures of other workloads are read later, because which of them matter is known after rendering, and what a
//! digest names, which does not change.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use domain::authorization::{RoleRequired, UserAction, authorize};
use domain::cluster::Cluster;
use domain::placement::{ClusterGroup, Decision};
use domain::plan::BlastRadius;
use domain::project::{Project, PublishApproval};
use domain::release::Release;
use domain::render::BundleRenderer;
use domain::role::Role;
use domain::rollout::{self, WavePreview};
use domain::secret_content::{ChartMarks, SecretContent, draft_secrets_role};
use domain::workload::{Revision, Source, Workload, WorkloadSpec};
use domain::{ClusterId, Digest, Finding, WorkloadId, actions};
use store::Tx;

use super::publish_content::{ResolvedContent, load_published};
use super::{PublishOptions, check_if_match};
use crate::manifests::{ManifestsQuery, RenderWait, SourceManifests, load_project, unrendered};
use crate::overrides::OverrideChange;
use crate::placement::decide;
use crate::render::restore_facts;
use crate::report::NamedSchemas;
use crate::{Actor, Error, Hub};

/// A draft, the fleet, and where the draft would be placed.
pub(crate) struct DraftSnapshot {
    /// The name of the workload; may be empty or invalid.
    pub name: String,
    /// The draft.
    pub spec: WorkloadSpec,
    /// Its manifests.
    pub manifests: SourceManifests,
    /// Every cluster, without its lists of kinds and namespaces.
    pub clusters: Vec<Cluster>,
    /// Every cluster group.
    pub groups: Vec<ClusterGroup>,
    /// The placement decision for the draft.
    pub decision: Decision,
    /// The selected clusters with all their facts, by name.
    pub targets: Vec<Cluster>,
    /// The targets whose recorded facts are lost, so that their present ones stand here, with the error to report for each.
    pub lost_facts: HashMap<ClusterId, Error>,
    /// The schemas of those of the selected clusters that have reported one. They are read for the check only.
    pub schemas: NamedSchemas,
    /// Findings about the workloads that it depends on, and about clusters on which the revision waits.
    pub dependencies: Vec<Finding>,
    /// The approval that the project requires of every publish.
    pub publish_approval: PublishApproval,
}

impl DraftSnapshot {
    /// The selected clusters, in the order of the decision.
    pub fn selected(&self) -> Vec<ClusterId> {
        self.decision.selected().map(|evaluation| evaluation.cluster).collect()
    }

    /// The selected clusters with their facts in the order of the decision, which waves are assigned in.
    pub fn targets_in_decision_order(&self) -> Vec<&Cluster> {
        in_decision_order(&self.selected(), &self.targets)
    }

    /// The names of the selected clusters, sorted.
    pub fn target_names(&self) -> Vec<String> {
        self.targets.iter().map(|cluster| cluster.name.clone()).collect()
    }

    /// The renderer of the draft as this revision, with the manifests of the first cluster; `targets` are
    /// [`Self::target_names`].
    pub fn renderer<'a>(&'a self, revision: u32, targets: &'a [String]) -> BundleRenderer<'a> {
        BundleRenderer {
            workload: &self.name,
            revision,
            spec: &self.spec,
            parsed: self.manifests.sample(),
            groups: &self.groups,
            targets,
        }
    }

    /// The waves of its rollout, also the one that only the approval required by the project makes; empty without waves.
    pub fn preview_waves(&self) -> Vec<WavePreview> {
        let mut strategy = self.spec.rollout.clone();
        strategy.require_approval(self.publish_approval);
        rollout::preview_waves(&strategy, &self.targets_in_decision_order(), &self.groups)
    }
}

/// The clusters of these releases that the decision does not select.
pub(crate) fn lost_clusters(
    releases: &HashMap<ClusterId, Release>,
    decision: &Decision,
) -> BTreeSet<ClusterId> {
    let mut lost: BTreeSet<ClusterId> = releases.keys().copied().collect();
    for evaluation in decision.selected() {
        lost.remove(&evaluation.cluster);
    }
    lost
}

/// These clusters in the order of the decision.
pub(crate) fn in_decision_order<'a>(selected: &[ClusterId], clusters: &'a [Cluster]) -> Vec<&'a Cluster> {
    let by_id: HashMap<ClusterId, &Cluster> = clusters.iter().map(|cluster| (cluster.id, cluster)).collect();
    selected.iter().filter_map(|id| by_id.get(id).copied()).collect()
}

/// A workload in a state that allows a publish.
pub(crate) struct PublishableWorkload {
    /// The workload as stored, with the draft that it has after the publish.
    pub workload: Workload,
    /// Whether the publish creates it.
    pub is_new: bool,
    /// The change that the publish makes of the published revision; `None` for a publish of the draft.
    pub change: Option<OverrideChange>,
    /// The earlier revision that the publish stores again.
    pub restored_revision: Option<u32>,
    /// The published revision; `None` while nothing is published.
    pub published: Option<Revision>,
    /// The number of its newest revision; 0 if it has none.
    pub latest_revision: u32,
    /// The releases on the clusters that have the workload now.
    pub releases: HashMap<ClusterId, Release>,
}

/// A workload and the spec that a publish would store as its next revision.
pub(crate) struct PublishCandidate {
    /// The stored workload.
    pub stored: PublishableWorkload,
    /// The spec.
    pub spec: WorkloadSpec,
}

impl PublishCandidate {
    /// A workload that the publish creates, with its first revision.
    ///
    /// # Errors
    /// It has no manifests.
    pub fn from_new(workload: Workload) -> Result<Self, Error> {
        actions::check_publish(&workload)?;
        actions::check_manifests(&workload.draft.source)?;
        let spec = workload.draft.clone();
        let stored = PublishableWorkload {
            workload,
            is_new: true,
            change: None,
            restored_revision: None,
            published: None,
            latest_revision: 0,
            releases: HashMap::new(),
        };
        Ok(Self { stored, spec })
    }
}

/// What a plan or a publish depends on.
pub(crate) struct PublishSnapshot {
    /// The stored workload.
    pub stored: PublishableWorkload,
    /// The spec that would be published, and the fleet.
    pub draft: DraftSnapshot,
}

impl PublishSnapshot {
    /// The published revision, if it has the content that would be published.
    pub fn unchanged_since(&self) -> Option<u32> {
        let published = self.stored.published.as_ref().filter(|revision| revision.spec == self.draft.spec);
        published.map(|revision| revision.number)
    }

    /// The clusters that have the workload and are not selected any more.
    pub fn lost_clusters(&self) -> BTreeSet<ClusterId> {
        lost_clusters(&self.stored.releases, &self.draft.decision)
    }

    /// What the loss of clusters with this publish means for it.
    pub fn blast_radius(&self) -> BlastRadius {
        let current: HashSet<ClusterId> = self.stored.releases.keys().copied().collect();
        let selected = u32::try_from(self.draft.decision.selected().count()).unwrap_or(u32::MAX);
        BlastRadius {
            min_available: self.draft.spec.min_available(selected),
            ..BlastRadius::from_decision(&self.draft.decision, &current)
        }
    }
}

/// Who wrote a draft. Templates and charts read values of clusters and locked values, and findings quote what is made of them: those of a
/// user who may not write drafts read them hidden, as the user does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DraftAuthor {
    /// The role.
    role: Role,
    /// Whether the author may check sources. Otherwise no request to the repository or the registry of the draft is started.
    source_check: Result<(), RoleRequired>,
}

impl DraftAuthor {
    /// The least that can have written a draft that is stored.
    pub fn of_stored() -> Self {
        let role = draft_secrets_role();
        Self { role, source_check: authorize(role, UserAction::CheckSource) }
    }

    /// The author of a draft in a request; an API token may be limited to other actions.
    pub fn from_actor(actor: &Actor) -> Self {
        Self { role: actor.role, source_check: actor.check_role(UserAction::CheckSource) }
    }
}

/// The draft that a snapshot is loaded for.
pub(crate) struct DraftSource<'a> {
    /// The name of the workload; may be empty or unknown.
    pub name: &'a str,
    /// The number that its next revision would have.
    pub revision: u32,
    /// The draft.
    pub spec: WorkloadSpec,
    /// Who wrote it.
    pub author: DraftAuthor,
    /// The clusters that have the workload now.
    pub current: &'a [ClusterId],
    /// What the clusters have of the workload.
    pub installed: InstalledReleases,
    /// Digests of the facts that clusters are rendered with instead of their present ones; empty for a draft.
    pub recorded_facts: BTreeMap<ClusterId, Digest>,
    /// The published source, if the changes since then are checked.
    pub published: Option<&'a Source>,
}

impl Hub {
    /// Loads what a publish with these options would store; the content of the spec is not checked.
    ///
    /// # Errors
    /// There is no such workload, its draft is not the reviewed revision, or its state does not allow the publish.
    pub(crate) async fn load_publishable(
        &self,
        tx: &mut Tx,
        name: &str,
        options: &PublishOptions,
    ) -> Result<PublishCandidate, Error> {
        let mut workload = self.load_workload(tx, name).await?;
        let published = load_published(tx, &workload).await?;
        let content = &options.content;
        content.check_removable(&workload.draft, published.as_ref())?;
        check_if_match(workload.revision, options.draft_revision)?;
        let ResolvedContent { spec, change } =
            self.resolve_content(tx, content, &mut workload, published.as_ref()).await?;
        let stored = PublishableWorkload {
            change,
            restored_revision: content.restored_revision(),
            published,
            latest_revision: store::revision::latest_number(tx, workload.id).await?,
            releases: load_present_releases(tx, workload.id).await?,
            workload,
            is_new: false,
        };
        Ok(PublishCandidate { stored, spec })
    }

    /// Loads the rest of a snapshot for a plan or a publish, and ends the transaction.
    pub(crate) async fn load_publish_snapshot(
        &self,
        tx: Tx,
        PublishCandidate { stored, spec }: PublishCandidate,
    ) -> Result<PublishSnapshot, Error> {
        let current: Vec<ClusterId> = stored.releases.keys().copied().collect();
        let revision = stored.latest_revision + 1;
        let installed = InstalledReleases::of(stored.releases.values());
        let source = DraftSource {
            name: &stored.workload.name,
            revision,
            spec,
            author: DraftAuthor::of_stored(),
            current: &current,
            installed,
            recorded_facts: BTreeMap::new(),
            published: stored.published.as_ref().map(|published| &published.spec.source),
        };
        let draft = self.load_draft_snapshot(tx, source).await?;
        Ok(PublishSnapshot { stored, draft })
    }

    /// Loads the snapshot of a draft, and ends the transaction. The decision is computed within the transaction: the
    /// long lists of facts are read only of the clusters that it selects. Texts are parsed after it.
    pub(crate) async fn load_draft_snapshot(
        &self,
        mut tx: Tx,
        source: DraftSource<'_>,
    ) -> Result<DraftSnapshot, Error> {
        let clusters = store::cluster::list_all(&mut tx).await?;
        let mut groups = store::group::list(&mut tx).await?;
        let mut project = load_project(&mut tx, self.project(), &[&source.spec.source]).await?;
        let decision = decide(&source.spec.placement, &clusters, &groups, source.current);
        let selected: Vec<ClusterId> = decision.selected().map(|evaluation| evaluation.cluster).collect();
        let mut targets = store::cluster::get_many_with_facts(&mut tx, &selected).await?;
        let mut lost_facts = HashMap::new();
        for target in &mut targets {
            let Some(facts) = source.recorded_facts.get(&target.id) else { continue };
            match restore_facts(&mut tx, target, source.revision, facts).await {
                Err(error @ Error::Unreadable { .. }) => drop(lost_facts.insert(target.id, error)),
                restored => restored?,
            }
        }
        let schemas = self.find_schemas(&mut tx, &selected).await?;
        let depends_on = (source.name, source.spec.depends_on.as_slice());
        let mut dependencies = self.check_draft_dependencies(&mut tx, depends_on, &targets).await?;
        dependencies.extend(self.find_suspended_targets(&mut tx, source.name, &targets).await?);
        let publish_approval = store::project::get_publish_approval(&mut tx, self.project()).await?;
        drop(tx);
        hide_values(source.author.role, &mut targets, &mut groups, project.as_mut());
        let (name, mut spec) = (source.name.to_owned(), source.spec);
        let pinned = match source.author.source_check {
            Ok(()) => self.pin_for_check(&mut spec).await?,
            Err(refused) => Box::pin(self.pin_stored(&mut spec, &refused)).await?,
        };
        let names: Vec<String> = targets.iter().map(|cluster| cluster.name.clone()).collect();
        let query = ManifestsQuery {
            workload: &name,
            revision: source.revision,
            spec: &spec,
            groups: &groups,
            project: project.as_ref(),
            clusters: &targets,
            targets: &names,
            installed: &source.installed,
            // One that stays is not compared.
            replaced: source.published.filter(|published| **published != spec.source),
        };
        let manifests = match pinned {
            Ok(()) => self.load_manifests(query, RenderWait::Request).await?,
            Err(failure) => {
                let unrendered = unrendered(&targets, failure);
                unrendered.reserve_replaced(query.replaced, RenderWait::Request).await?
            }
        };
        Ok(DraftSnapshot {
            manifests,
            schemas,
            name,
            spec,
            clusters,
            groups,
            decision,
            targets,
            lost_facts,
            dependencies,
            publish_approval,
        })
    }
}

/// Hides the values that a user of this role may not read and could make findings of. Those who may write drafts can read them, because
/// their templates and charts do.
pub(crate) fn hide_values(
    role: Role,
    clusters: &mut [Cluster],
    groups: &mut [ClusterGroup],
    project: Option<&mut Project>,
) {
    if role >= draft_secrets_role() {
        return;
    }
    let marks = ChartMarks::default();
    clusters.iter_mut().for_each(|cluster| cluster.hide_secrets(role, &marks));
    groups.iter_mut().for_each(|group| group.hide_secrets(role, &marks));
    if let Some(project) = project {
        project.hide_secrets(role, &marks);
    }
}

/// What clusters have of a workload; the renderings of charts depend on it.
#[derive(Debug, Clone, Default)]
pub(crate) struct InstalledReleases {
    /// The revision that was the first to be applied completely.
    pub revisions: BTreeMap<ClusterId, u32>,
    /// Digest of the bundle that the cluster may apply, or else of the one that it is to get.
    pub bundles: BTreeMap<ClusterId, Digest>,
    /// The revision of the bundle that the cluster may apply.
    released_revisions: BTreeMap<ClusterId, u32>,
}

impl InstalledReleases {
    pub(crate) fn of<'a>(releases: impl Iterator<Item = &'a Release>) -> Self {
        let mut all = Self::default();
        for release in releases {
            let id = release.cluster();
            all.revisions.extend(release.installed_revision().map(|revision| (id, revision)));
            let bundle = release.released().or_else(|| release.desired());
            all.bundles.extend(bundle.map(|bundle| (id, bundle.clone())));
            all.released_revisions.extend(release.released_revision().map(|revision| (id, revision)));
        }
        all
    }

    /// Whether the bundle that this cluster may apply is one of this revision.
    pub(crate) fn is_of_revision(&self, cluster: ClusterId, revision: u32) -> bool {
        self.released_revisions.get(&cluster) == Some(&revision)
    }
}

/// The releases of a workload on the clusters that have it now.
pub(crate) async fn load_present_releases(
    tx: &mut Tx,
    workload: WorkloadId,
) -> Result<HashMap<ClusterId, Release>, Error> {
    let releases = store::release::list_all_by_workload(tx, workload).await?;
    let present = releases.into_iter().filter(|release| release.is_present());
    Ok(present.map(|release| (release.cluster(), release)).collect())
}
