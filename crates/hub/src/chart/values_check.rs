//! Checks values of a chart before they are published: against its schema and for keys that it does not know.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use domain::authorization::UserAction;
use domain::chart::{ChartInputs, ChartSource, ChartVersion};
use domain::chart_values::ChartRelease;
use domain::cluster::Cluster;
use domain::manifest::yaml_value;
use domain::placement::ClusterGroup;
use domain::project::Project;
use domain::workload::{Policies, Source, WorkloadSpec};
use domain::{ClusterId, Digest, Finding};
use parking_lot::Mutex;
use serde_json::Value;
use source::archive::ChartArchive;
use source::client_shares::CHART_VALUES_OF_USERS;
use source::helm::FailureKind;
use source::requester::current_turn;
use source::unknown_values::KnownValues;
use store::run_blocking_in_place;

use super::byte_cache::ByteCache;
use super::failure::explain_failure;
use super::rendering::{RenderingFailure, too_many_renderings};
use super::upload::rejected_archive;
use crate::manifests::RenderWait;
use crate::placement::{PlacementInputs, decide, load_placement_inputs};
use crate::workload::hide_values;
use crate::{Actor, Error, Hub};

/// Most memory for the known values of charts that stay in memory, in bytes; those of a chart need some 100 KiB, and 13 MiB at most.
const MAX_CACHED_BYTES: u64 = 16 << 20;

/// What charts know of their values, by the digest of the archive.
pub(crate) struct KnownValuesCache(Mutex<ByteCache<Arc<KnownValues>>>);

impl Default for KnownValuesCache {
    fn default() -> Self {
        Self(Mutex::new(ByteCache::new(MAX_CACHED_BYTES)))
    }
}

/// What a check reads of the workload whose values are edited.
struct EditedWorkload {
    policies: Policies,
    /// All groups.
    groups: Vec<ClusterGroup>,
    /// The clusters that its draft selects.
    targets: Vec<Cluster>,
    project: Project,
}

impl Hub {
    /// Checks the common values of a chart source while they are edited: what the project, and the groups of the clusters that the
    /// draft selects, lock; keys that the chart does not know; and one run of Helm with samples in place of values of clusters, whose
    /// result is not stored. A chart that can't be read or rendered now is a finding. For a user who may not write drafts, what is locked
    /// is hidden before it is compared and rendered.
    ///
    /// # Errors
    /// The chart can't be read now, or too many renderings wait.
    pub async fn check_chart_values(
        &self,
        actor: &Actor,
        workload: &str,
        namespace: &str,
        source: ChartSource,
    ) -> Result<Vec<Finding>, Error> {
        actor.authorize(UserAction::Validate)?;
        let chart = match self.load_source_chart(&source, RenderWait::Request).await? {
            Ok(chart) => chart,
            Err(failure) => return Ok(failure.findings),
        };
        let edited = self.load_edited(workload).await?;
        let EditedWorkload { policies, mut groups, mut targets, mut project } = edited;
        hide_values(actor.role, &mut targets, &mut groups, Some(&mut project));
        let spec = WorkloadSpec {
            policies,
            namespace: namespace.to_owned(),
            source: Source::Chart(source.clone()),
            ..WorkloadSpec::default()
        };
        let installed = BTreeMap::new();
        let release = ChartRelease {
            workload,
            revision: 1,
            spec: &spec,
            source: &source,
            groups: &groups,
            project: Some(&project),
            targets: &[],
            installed: &installed,
        };
        let targets: Vec<&Cluster> = targets.iter().collect();
        // Until they are rendered.
        let _memory = CHART_VALUES_OF_USERS.reserve(current_turn(), release.estimate_values()).await?;
        let mut findings = run_blocking_in_place(|| release.find_sample_lock_violations(&targets));
        findings.extend(self.find_unknown_values(&release, &chart).await?);
        // Not with values that can't be read, which the static checks report, or that the project locks, which are reported above.
        if let Ok(inputs) = run_blocking_in_place(|| release.sample_inputs(&chart)) {
            findings.extend(self.render_sample(workload, &inputs).await?);
        }
        // A sample is no value of the user: the review checks the values of each cluster.
        findings.retain(|finding| !is_templated(&source.values, &finding.path));
        Ok(findings)
    }

    /// What the check of a workload needs of the stored one and its fleet. A new workload, and one that can't be read, has no policies
    /// that skip the schema, and no targets.
    async fn load_edited(&self, workload: &str) -> Result<EditedWorkload, Error> {
        let mut tx = self.read().await?;
        let project = store::project::get(&mut tx, self.project()).await?;
        let stored = store::workload::get_by_name(&mut tx, self.project(), workload).await;
        if matches!(stored, Err(store::Error::NoMemory)) {
            return Err(store::Error::NoMemory.into());
        }
        let Some(stored) = stored.ok().flatten() else {
            return Ok(EditedWorkload {
                policies: Policies::default(),
                groups: Vec::new(),
                targets: Vec::new(),
                project,
            });
        };
        let inputs = load_placement_inputs(&mut tx, Some(stored.id)).await?;
        drop(tx);
        let PlacementInputs { clusters: mut targets, groups, current } = inputs;
        let decision = decide(&stored.draft.placement, &targets, &groups, &current);
        let selected: HashSet<ClusterId> = decision.selected().map(|evaluation| evaluation.cluster).collect();
        targets.retain(|cluster| selected.contains(&cluster.id));
        Ok(EditedWorkload { policies: stored.draft.policies, groups, targets, project })
    }

    /// Renders a chart with these inputs; returns why that fails.
    async fn render_sample(&self, workload: &str, inputs: &ChartInputs) -> Result<Vec<Finding>, Error> {
        match self.helm() {
            None => Ok(RenderingFailure::without_helm().findings),
            Some(helm) => {
                let key = RenderWait::Request.queue_key(workload);
                let place = self.chart_renderer().queue().acquire(&key).await;
                let _place = place.map_err(too_many_renderings)?;
                let mut chart = match self.prepare_chart(inputs).await? {
                    Ok(chart) => chart,
                    Err(failure) => return Ok(failure.findings),
                };
                let schema = chart.take_values_schema();
                match helm.render(chart, inputs).await {
                    // The version of Kubernetes is a sample too, so whether the chart supports it says nothing.
                    Err(failed) if failed.kind != FailureKind::KubernetesVersion => {
                        Ok(explain_failure(failed, inputs, schema).await?.findings)
                    }
                    _ => Ok(Vec::new()),
                }
            }
        }
    }

    /// G114: keys that the chart does not know, in the common values and in those of overrides.
    pub(crate) async fn find_unknown_values(
        &self,
        release: &ChartRelease<'_>,
        chart: &ChartVersion,
    ) -> Result<Vec<Finding>, Error> {
        let overrides = release.spec.overrides.iter().filter(|over| !over.values.trim().is_empty());
        let texts: Vec<(String, &str)> = [(String::new(), release.source.values.as_str())]
            .into_iter()
            .chain(overrides.map(|over| (format!(" (override {})", over.name), over.values.as_str())))
            .filter(|(_, text)| !text.trim().is_empty())
            .collect();
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let known = self.load_known_values(&chart.digest).await?;
        if known.has_too_many_words() {
            return Ok(vec![unknown_words(chart)]);
        }
        let mut findings = Vec::new();
        for (origin, text) in texts {
            // The static checks report values that can't be read.
            let Ok(Some(values)) = run_blocking_in_place(|| yaml_value::read(text)) else { continue };
            findings.extend(known.find_unknown(&values).into_iter().map(|unknown| {
                let message = format!(
                    "{:?} is not a value of chart {} {}{origin}: nothing in the chart reads it.",
                    unknown.key, chart.name, chart.version
                );
                let hint = match unknown.nearest {
                    Some(nearest) => format!("Did you mean {nearest:?}?"),
                    None => "Remove it, or compare it with the default values of the chart.".to_owned(),
                };
                let finding = Finding::warning("G114", message, hint);
                if origin.is_empty() {
                    finding.with_path(format!("/source/values{}", unknown.path))
                } else {
                    finding
                }
            }));
        }
        Ok(findings)
    }

    async fn load_known_values(&self, digest: &Digest) -> Result<Arc<KnownValues>, Error> {
        let cache = &self.chart_renderer().known_values.0;
        let cached = cache.lock().get(digest);
        if let Some(known) = cached {
            return Ok(known);
        }
        let read = self.read_stored_archive_with(digest, KnownValues::READ_BYTES, |archive| {
            ChartArchive::read(&archive).map(|chart| KnownValues::read(&chart))
        });
        let known = Arc::new(read.await?.map_err(|rejected| rejected_archive(&rejected))?);
        cache.lock().insert(digest, &known, known.bytes());
        Ok(known)
    }
}

/// G114: it is not known which keys a chart reads.
fn unknown_words(chart: &ChartVersion) -> Finding {
    let message = format!(
        "The templates and values of chart {} {} have too many different words to know which keys they read: keys that the chart does not know are not found.",
        chart.name, chart.version
    );
    Finding::warning("G114", message, "Compare the keys of your values with the default values of the chart.")
}

/// Whether the value at the path of a finding contains a template expression.
fn is_templated(values: &str, path: &str) -> bool {
    let Some(pointer) = path.strip_prefix("/source/values") else { return false };
    let Ok(Some(values)) = yaml_value::read(values) else { return false };
    values.pointer(pointer).and_then(Value::as_str).is_some_and(|text| text.contains("${{"))
}
