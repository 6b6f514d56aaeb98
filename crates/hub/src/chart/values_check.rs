//! Checks values of a chart before they are published: against its schema and for keys that it does not know.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::chart::{ChartSource, ChartVersion};
use domain::chart_values::ChartRelease;
use domain::manifest::yaml_value;
use domain::workload::{Source, WorkloadSpec};
use domain::{Digest, Finding};
use parking_lot::Mutex;
use serde_json::Value;
use source::archive::ChartArchive;
use source::helm::FailureKind;
use source::unknown_values::KnownValues;

use super::rendering::{RenderingFailure, failure_findings, too_many_renderings};
use super::upload::rejected_archive;
use crate::blocking::read_stored_archive;
use crate::manifests::RenderWait;
use crate::{Error, Hub};

/// Most charts whose known values stay in memory; each has up to some 100 kB of words.
const MAX_CACHED: usize = 32;

/// What charts know of their values, by the digest of the archive.
#[derive(Default)]
pub(crate) struct KnownValuesCache(Mutex<HashMap<Digest, Arc<KnownValues>>>);

impl Hub {
    /// Checks the common values of a chart source while they are edited: one run of Helm with samples in place of values of
    /// clusters, whose result is not stored. A chart that can't be read or rendered now is a finding.
    pub async fn check_chart_values(
        &self,
        workload: &str,
        namespace: &str,
        source: ChartSource,
    ) -> Result<Vec<Finding>, Error> {
        let chart = match self.load_source_chart(&source, RenderWait::Request).await? {
            Ok(chart) => chart,
            Err(failure) => return Ok(failure.findings),
        };
        let stored = store::workload::get_by_name(&mut self.read().await?, self.project(), workload).await;
        // A new workload, and one that can't be read, has no policies that skip the schema.
        let policies = stored.ok().flatten().map(|stored| stored.draft.policies).unwrap_or_default();
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
            groups: &[],
            // The review checks the locks, with the values of each cluster.
            project: None,
            targets: &[],
            installed: &installed,
        };
        // The static checks report values that can't be read.
        let Ok(inputs) = release.sample_inputs(&chart) else { return Ok(Vec::new()) };
        let mut findings = self.find_unknown_values(&release, &chart).await?;
        match self.helm() {
            None => findings.extend(RenderingFailure::without_helm().findings),
            Some(helm) => {
                let key = RenderWait::Request.queue_key(workload);
                let place = self.chart_renderer().queue().acquire(&key).await;
                let _place = place.map_err(too_many_renderings)?;
                let archive = self.load_archive(&chart.digest).await?;
                // The version of Kubernetes is a sample too, so whether the chart supports it says nothing.
                if let Err(failed) = helm.render(&archive, &inputs).await
                    && failed.kind != FailureKind::KubernetesVersion
                {
                    findings.extend(failure_findings(failed));
                }
            }
        }
        // A sample is no value of the user: the review checks the values of each cluster.
        findings.retain(|finding| !is_templated(&source.values, &finding.path));
        Ok(findings)
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
        let mut findings = Vec::new();
        for (origin, text) in texts {
            // The static checks report values that can't be read.
            let Ok(Some(values)) = yaml_value::read(text) else { continue };
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
        if let Some(known) = cache.lock().get(digest) {
            return Ok(known.clone());
        }
        let read = read_stored_archive(self.load_archive(digest), |archive| {
            ChartArchive::read(&archive).map(|chart| KnownValues::read(&chart))
        });
        let known = Arc::new(read.await?.map_err(|rejected| rejected_archive(&rejected))?);
        let mut cache = cache.lock();
        if cache.len() >= MAX_CACHED {
            cache.clear();
        }
        cache.insert(digest.clone(), known.clone());
        Ok(known)
    }

    /// The stored archive of a chart.
    pub(super) async fn load_archive(&self, digest: &Digest) -> Result<Vec<u8>, Error> {
        let mut tx = self.read().await?;
        let missing = || store::Error::MissingRow { table: "artifact", id: digest.to_string() };
        Ok(store::artifact::get(&mut tx, digest).await?.ok_or_else(missing)?)
    }
}

/// Whether the value at the path of a finding contains a template expression.
fn is_templated(values: &str, path: &str) -> bool {
    let Some(pointer) = path.strip_prefix("/source/values") else { return false };
    let Ok(Some(values)) = yaml_value::read(values) else { return false };
    values.pointer(pointer).and_then(Value::as_str).is_some_and(|text| text.contains("${{"))
}
