//! Generated values of charts: those that a cluster has are retained when the chart is rendered with other inputs.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use domain::bundle::Bundle;
use domain::generated_values::{GeneratedFields, GeneratedValues, retain_generated_values};
use domain::manifest::ParsedManifests;
use domain::name_list::join_first;
use domain::release::stage::StageReason;
use domain::release::{Reason, RenderOutcome};
use domain::{ClusterId, Digest, Finding};

use super::{ManifestSet, ManifestsQuery, RetainedValues};
use crate::blocking::run_blocking;
use crate::{Error, Hub};

/// Number of fields that a message names.
const NAMED_FIELDS: usize = 3;

/// The manifests of a rendering and the clusters that have its inputs.
pub(super) struct ParsedRendering {
    pub inputs: Digest,
    pub parsed: ParsedManifests,
    pub generated: GeneratedFields,
    pub clusters: Vec<ClusterId>,
    /// Their names, in the same order.
    pub names: Vec<String>,
    /// What was found in the manifests.
    pub findings: Vec<Finding>,
}

/// The manifests of one rendering, by the generated values of the clusters.
#[derive(Default)]
pub(super) struct RenderingSets {
    pub sets: Vec<(ManifestSet, Vec<ClusterId>)>,
    /// The clusters whose generated values are lost.
    pub missing: Vec<(ClusterId, RenderOutcome)>,
    pub findings: Vec<Finding>,
}

impl Hub {
    /// Gives every cluster the generated values that it has. Clusters with equal ones share a set.
    ///
    /// A value that can't be retained holds a publish (G125). What renders a published revision again, such as another label, was
    /// decided by nobody: the cluster gets no manifests then, and what runs there stays.
    pub(super) async fn retain_generated_values(
        &self,
        rendering: ParsedRendering,
        ManifestsQuery { spec, revision, installed, .. }: ManifestsQuery<'_>,
    ) -> Result<RenderingSets, Error> {
        let ParsedRendering { inputs, parsed, generated, clusters, names, .. } = rendering;
        if generated.fields.is_empty() || spec.policies.renew_generated_values {
            let set = ManifestSet::new(parsed, Some(inputs));
            return Ok(RenderingSets { sets: vec![(set, clusters)], ..RenderingSets::default() });
        }
        let names: HashMap<ClusterId, String> = clusters.iter().copied().zip(names).collect();
        let mut by_bundle: BTreeMap<Option<&Digest>, Vec<ClusterId>> = BTreeMap::new();
        for id in clusters {
            by_bundle.entry(installed.bundles.get(&id)).or_default().push(id);
        }
        let (rendered, generated) = (Arc::new(parsed), Arc::new(generated));
        let mut by_values: HashMap<Option<GeneratedValues>, Vec<ClusterId>> = HashMap::new();
        let mut result = RenderingSets::default();
        for (digest, clusters) in by_bundle {
            let Some(digest) = digest else {
                by_values.entry(None).or_default().extend(clusters);
                continue;
            };
            let bytes = store::artifact::get(&mut self.read().await?, digest).await?;
            let (rendered, generated, namespace) =
                (rendered.clone(), generated.clone(), spec.namespace.clone());
            let of_bundle = run_blocking(move || {
                let bundle = Bundle::from_bytes(&bytes?).ok()?;
                Some(retain_generated_values(&generated, &rendered, &namespace, &bundle))
            });
            match of_bundle.await? {
                Some(values) => {
                    let values = Some(values).filter(|values| !values.is_new());
                    by_values.entry(values).or_default().extend(clusters);
                }
                None => {
                    let lost = |id: ClusterId| (id, lost_bundle(names.get(&id).map_or("", String::as_str)));
                    result.missing.extend(clusters.into_iter().map(lost));
                }
            }
        }
        if by_values.is_empty() && result.missing.is_empty() {
            by_values.insert(None, Vec::new());
        }
        let mut by_values: Vec<(Option<GeneratedValues>, Vec<ClusterId>)> = by_values.into_iter().collect();
        by_values.sort_by(|(_, clusters), (_, others)| clusters.cmp(others));
        for (values, mut clusters) in by_values {
            if let Some(values) = &values {
                let replaced = describe_replaced(values, &generated);
                let is_rejected =
                    |id: &ClusterId| replaced.is_some() && installed.is_of_revision(*id, revision);
                let (rejected, others): (Vec<ClusterId>, Vec<ClusterId>) =
                    clusters.into_iter().partition(is_rejected);
                if let Some(replaced) = replaced {
                    result.missing.extend(rejected.into_iter().map(|id| (id, reject_rendering(&replaced))));
                    let names = others.iter().filter_map(|id| names.get(id)).cloned().collect();
                    result.findings.extend((!others.is_empty()).then(|| replaced_finding(&replaced, names)));
                    if others.is_empty() {
                        continue;
                    }
                }
                clusters = others;
            }
            let (parsed, inputs) = (rendered.clone(), Some(inputs.clone()));
            let retained = values.map(|values| RetainedValues { values, fields: generated.clone() });
            result.sets.push((ManifestSet { parsed, retained, inputs }, clusters));
        }
        Ok(result)
    }
}

/// The release of a cluster whose bundle, with the values that it has, can't be read.
fn lost_bundle(cluster: &str) -> RenderOutcome {
    RenderOutcome::Failed(StageReason::new(
        Reason::RenderFailed,
        format!(
            "The chart generates values, such as passwords, and the bundle with those of {cluster} is lost or can't be read: \
             they would be replaced. What runs there stays as it is. Set these values in the workload, or restore the table artifact \
             from a backup."
        ),
    ))
}

/// The release of a cluster whose generated values would be replaced without a publish.
fn reject_rendering(replaced: &str) -> RenderOutcome {
    RenderOutcome::Failed(StageReason::new(
        Reason::RenderFailed,
        format!(
            "{replaced} Nobody decided that with a publish: what runs there stays as it is. Set the value in the workload, undo the \
             change of the cluster or of its group, or publish again and force G125."
        ),
    ))
}

/// Which values that clusters have are replaced, as a sentence for people; `None` without any.
fn describe_replaced(values: &GeneratedValues, generated: &GeneratedFields) -> Option<String> {
    let replaced = values.replaced(generated).into_iter();
    let names: Vec<String> = replaced.map(|field| format!("{} of {}", field.path, field.object)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "The chart generates {} anew: what stands around the generated part changed, so the value that is on the clusters can't be retained.",
            join_first(&names, NAMED_FIELDS)
        )
    })
}

/// G125: values that these clusters have and that a publish replaces.
fn replaced_finding(replaced: &str, clusters: Vec<String>) -> Finding {
    let hint = "Set the value in the workload if it has to stay, or force this code to replace it.";
    Finding::error("G125", replaced, hint).with_clusters(clusters)
}
