//! The manifests of a workload as they are rendered for one cluster.

use domain::actions::ActionUnavailable;
use domain::guard::catalogue;
use domain::plan::RenderedManifests;
use domain::release::RenderOutcome;
use domain::render::{BundleRenderer, RenderError};
use domain::{ClusterId, Finding};

use super::snapshot::{DraftAuthor, DraftSource, InstalledReleases, load_present_releases};
use crate::blocking::run_blocking;
use crate::render::recorded_facts;
use crate::{Error, Hub};

impl Hub {
    /// The manifests of the draft or of a revision for a cluster that its placement selects: charts rendered, overrides and
    /// templates applied, in the order in which they are applied there. Values of Secrets are hidden.
    ///
    /// # Errors
    /// There is no such workload, revision or cluster; the placement does not select the cluster; the manifests can't be
    /// rendered for it, with the findings.
    pub async fn render_workload(
        &self,
        name: &str,
        cluster: &str,
        revision: Option<u32>,
    ) -> Result<RenderedManifests, Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let (number, spec) = match revision {
            Some(number) => {
                let found = store::revision::get(&mut tx, workload.id, number).await?;
                (number, found.ok_or_else(|| Error::revision_not_found(name, number))?.spec)
            }
            None => (store::revision::latest_number(&mut tx, workload.id).await? + 1, workload.draft.clone()),
        };
        let found = store::cluster::get_by_name(&mut tx, cluster).await?;
        let id = found.ok_or_else(|| Error::not_found("cluster", cluster))?.id;
        let releases = load_present_releases(&mut tx, workload.id).await?;
        let current: Vec<ClusterId> = releases.keys().copied().collect();
        let installed = InstalledReleases::of(releases.values());
        let recorded_facts = recorded_facts(releases.values(), number);
        let source = DraftSource {
            name,
            revision: number,
            spec,
            author: DraftAuthor::of_stored(),
            current: &current,
            installed,
            recorded_facts,
            published: None,
        };
        let mut snapshot = self.load_draft_snapshot(tx, source).await?;
        if let Some(error) = snapshot.lost_facts.remove(&id) {
            return Err(error);
        }
        let render = move || {
            let Some(target) = snapshot.targets.iter().find(|target| target.id == id) else {
                return Err(not_selected(&snapshot.name, revision.is_none()).into());
            };
            // A value that a publish would replace can be shown.
            let is_blocking =
                |finding: &&Finding| finding.is_blocking() && !catalogue::is_forcible_on_hub(&finding.code);
            let blocking = snapshot.manifests.findings().iter().filter(is_blocking);
            let concerns =
                |finding: &&Finding| finding.clusters.is_empty() || finding.clusters.contains(&target.name);
            let found: Vec<Finding> = blocking.filter(concerns).cloned().collect();
            let parsed = match snapshot.manifests.get(id) {
                Ok(parsed) if found.is_empty() => parsed,
                Ok(_) => return Err(Error::Invalid(found)),
                Err(outcome) => return Err(Error::Invalid(explain(outcome, found))),
            };
            let names = snapshot.target_names();
            let renderer = BundleRenderer { parsed: &parsed, ..snapshot.renderer(number, &names) };
            let bundle = renderer.render_bundle(target).map_err(RenderError::into_findings);
            let bundle = bundle.map_err(Error::Invalid)?;
            Ok(RenderedManifests::new(&target.name, revision, &bundle))
        };
        run_blocking(render).await?
    }
}

fn not_selected(name: &str, is_draft: bool) -> ActionUnavailable {
    let what = if is_draft { "its draft" } else { "the revision" };
    ActionUnavailable(format!(
        "The placement of {name} in {what} does not select this cluster, so nothing is rendered for it. `flotilla explain placement {name}` shows the reason."
    ))
}

/// Why there are no manifests: the findings on the cluster, or else the reason of the stage.
fn explain(outcome: RenderOutcome, found: Vec<Finding>) -> Vec<Finding> {
    match outcome {
        _ if !found.is_empty() => found,
        RenderOutcome::Waiting(reason) | RenderOutcome::Failed(reason) => {
            vec![Finding::error("G117", reason.message, "Repeat this when the cause is gone.")]
        }
        RenderOutcome::Bundle(_) => Vec::new(),
    }
}
