//! The values that the chart of a workload is rendered with for one cluster.

use std::collections::BTreeMap;

use domain::chart_values::ChartRelease;
use domain::manifest::yaml_value;
use domain::render::RenderError;
use domain::values::{EffectiveValues, LayerValues, ValuesLayer, trace_values};
use domain::workload::{Source, WorkloadSpec};
use domain::{ClusterId, Finding};
use source::client_shares::CHART_VALUES_OF_USERS;
use source::requester::current_turn;
use store::{Tx, run_blocking_in_place};

use super::snapshot::load_present_releases;
use crate::manifests::RenderWait;
use crate::placement::decide;
use crate::render::restore_facts;
use crate::{Error, Hub};

impl Hub {
    /// The effective values for a cluster with the layers that set each leaf, of the draft or of a revision, with its source. Values of the
    /// chart's `values.yaml` are the lowest layer. Secrets are in clear text; [`Hub::read_values`] hides them.
    ///
    /// # Errors
    /// There is no such workload, revision or cluster; the source is no chart; the values, or a template in them, can't be
    /// evaluated for the cluster.
    pub async fn get_values(
        &self,
        name: &str,
        cluster: &str,
        revision: Option<u32>,
    ) -> Result<(Source, EffectiveValues), Error> {
        let mut tx = self.read().await?;
        let workload = self.load_workload(&mut tx, name).await?;
        let (number, spec) = match revision {
            Some(number) => {
                let found = store::revision::get(&mut tx, workload.id, number).await?;
                let found = found.ok_or_else(|| Error::not_found("revision", format!("{name} r{number}")))?;
                (number, found.spec)
            }
            None => (store::revision::latest_number(&mut tx, workload.id).await? + 1, workload.draft.clone()),
        };
        let source = match &spec.source {
            Source::Chart(source) => source.clone(),
            Source::Git(source) | Source::Oci(source) if source.is_chart() => source.to_chart_source(),
            _ => {
                let why = format!("{name} has no values: its source is not a chart.");
                return Err(domain::actions::ActionUnavailable(why).into());
            }
        };
        let found = store::cluster::get_by_name(&mut tx, cluster).await?;
        let id = found.ok_or_else(|| Error::not_found("cluster", cluster))?.id;
        let target = store::cluster::get_many_with_facts(&mut tx, &[id]).await?.into_iter().next();
        let mut target = target.ok_or_else(|| Error::not_found("cluster", cluster))?;
        let releases = load_present_releases(&mut tx, workload.id).await?;
        if let Some(facts) = releases.get(&id).and_then(|release| release.facts_of_revision(number)) {
            restore_facts(&mut tx, &mut target, number, facts).await?;
        }
        let current: Vec<ClusterId> = releases.into_keys().collect();
        let groups = store::group::list(&mut tx).await?;
        let project = store::project::get(&mut tx, self.project()).await?;
        let targets = target_names(&mut tx, &spec, &groups, &current).await?;
        drop(tx);
        let installed = BTreeMap::new(); // Values do not depend on it.
        let release = ChartRelease {
            workload: name,
            revision: number,
            spec: &spec,
            source: &source,
            groups: &groups,
            project: Some(&project),
            targets: &targets,
            installed: &installed,
        };
        let defaults = self.load_default_values(&spec.source).await?;
        let of_defaults = defaults.as_deref().map_or(0, yaml_value::estimate_memory);
        let needed = release.estimate_values() + of_defaults;
        let _memory = CHART_VALUES_OF_USERS.reserve(current_turn(), needed).await?;
        let evaluate = || {
            let own = release.layers(&target)?;
            let values = release.merge_values(&own, Some(&target))?;
            Ok::<_, RenderError>((own, values))
        };
        let evaluated = run_blocking_in_place(evaluate);
        let (own, values) = evaluated.map_err(|error| Error::Invalid(error.into_findings()))?;
        let of_chart = run_blocking_in_place(|| read_default_values(defaults.as_deref()))?;
        let mut layers: Vec<LayerValues> = of_chart.into_iter().collect();
        layers.extend(own);
        let traced = run_blocking_in_place(|| trace_values(&layers));
        let provenance = traced.map_err(|finding| Error::Invalid(vec![*finding]))?;
        let effective = EffectiveValues { cluster: target.name.clone(), values, provenance };
        Ok((spec.source.clone(), effective))
    }

    /// The text of the values of the chart itself; `None` if the chart is not there.
    async fn load_default_values(&self, source: &Source) -> Result<Option<String>, Error> {
        let text = match source {
            Source::Chart(source) => {
                let loaded = self.load_source_chart(source, RenderWait::Request).await?;
                let Ok(chart) = loaded else { return Ok(None) };
                self.load_chart_details(&chart.repository, &chart.name, &chart.version).await?.default_values
            }
            Source::Git(source) | Source::Oci(source) => {
                let Some(pinned) = &source.pinned else { return Ok(None) };
                self.get_git_default_values(&pinned.digest).await?
            }
            Source::Yaml { .. } => return Ok(None),
        };
        if text.len() > yaml_value::MAX_VALUE_BYTES {
            // It is refused before it is in memory while the request waits for that of values.
            return read_default_values(Some(&text)).map(|_| None);
        }
        Ok(Some(text))
    }
}

/// The values of the chart itself, from their text.
fn read_default_values(text: Option<&str>) -> Result<Option<LayerValues>, Error> {
    let Some(text) = text else { return Ok(None) };
    let values = yaml_value::read(text).map_err(|finding: Finding| Error::Invalid(vec![finding]))?;
    Ok(values.map(|values| LayerValues { layer: ValuesLayer::ChartDefault, values }))
}

/// Names of the clusters that the placement selects, sorted.
async fn target_names(
    tx: &mut Tx,
    spec: &WorkloadSpec,
    groups: &[domain::placement::ClusterGroup],
    current: &[ClusterId],
) -> Result<Vec<String>, Error> {
    let clusters = store::cluster::list_all(tx).await?;
    let decision = decide(&spec.placement, &clusters, groups, current);
    let mut names: Vec<String> = decision.selected().map(|evaluation| evaluation.name.clone()).collect();
    names.sort_unstable();
    Ok(names)
}
