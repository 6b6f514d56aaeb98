//! The size of the values that a chart is rendered with for one cluster (G111), and what they need in memory.

use serde_json::Value;

use super::ChartRelease;
use crate::evaluation::render::RenderError;
use crate::model::cluster::Cluster;
use crate::model::values::{LayerValues, merge_layers};
use crate::text::finding::Finding;
use crate::text::manifest::{LIMIT_EXCEEDED, json_size, yaml_value};
use crate::text::template::{MAX_VALUES_BYTES, estimate_expansion};

/// Most bytes of the effective values for one cluster, as JSON.
const MAX_EFFECTIVE_BYTES: usize = 1 << 20;
/// Most bytes of all layers for one cluster as they are written, as JSON: aliases can make them longer than their texts.
const MAX_LAYERS_BYTES: usize = 8 << 20;
/// How often what expressions make is in memory: as layers, merged, and as JSON.
const TEXT_COPIES: u64 = 4;

/// What the layers for one cluster may still have.
#[derive(Clone)]
pub(super) struct LayersSize {
    left: usize,
}

impl Default for LayersSize {
    fn default() -> Self {
        Self { left: MAX_LAYERS_BYTES }
    }
}

impl LayersSize {
    /// The values of a further layer, unless all layers together are too large: then the finding.
    pub(super) fn take(&mut self, values: Value) -> Result<Value, Finding> {
        let size = json_size(&values);
        if let Some(left) = self.left.checked_sub(size) {
            self.left = left;
            return Ok(values);
        }
        self.left = 0;
        let message = format!(
            "The values of all layers together have more than {MAX_LAYERS_BYTES} bytes, with aliases evaluated."
        );
        let hint = "Use fewer aliases in the values, or fewer overrides with values for one cluster.";
        Err(Finding::error(LIMIT_EXCEEDED, message, hint).with_path("/source/values"))
    }
}

impl ChartRelease<'_> {
    /// The effective values of layers: those for `cluster`, or samples. Expressions and aliases can make them much longer than the texts.
    ///
    /// # Errors
    /// They are too large (G111).
    pub fn merge_values(
        &self,
        layers: &[LayerValues],
        cluster: Option<&Cluster>,
    ) -> Result<Value, RenderError> {
        let values = merge_layers(layers);
        let size = json_size(&values);
        if size <= MAX_EFFECTIVE_BYTES {
            return Ok(values);
        }
        let message = format!(
            "The values of the chart have {size} bytes, with expressions and aliases evaluated; at most {MAX_EFFECTIVE_BYTES} are allowed."
        );
        let hint = "Use shorter values, or fewer filters map(…) in their expressions.";
        let finding = Finding::error(LIMIT_EXCEEDED, message, hint).with_path("/source/values");
        Err(RenderError::Rejected(vec![match cluster {
            Some(cluster) => finding.with_clusters(vec![cluster.name.clone()]),
            None => finding,
        }]))
    }

    /// What the values for one cluster need in memory at most while they are read and merged, in bytes.
    pub fn estimate_values(&self) -> u64 {
        let overrides = self.spec.overrides.iter().map(|over| over.values.as_str());
        let locks = self.groups.iter().map(|group| group.locked_values.as_str());
        let of_project = self.project.map(|project| project.locked_values.as_str());
        let common = self.source.values.as_str();
        let texts = overrides.chain(locks).chain(of_project).chain([common]);
        let (mut needed, mut expansion) = (0, 0);
        for text in texts.filter(|text| !text.is_empty()) {
            // A layer has no positions once it is read, so that its values and the merged ones do not need more than reading it.
            needed += yaml_value::estimate_memory(text);
            let has_aliases = text.contains('&') && text.contains('*');
            if has_aliases || estimate_expansion(text.as_bytes()) > 0 {
                expansion = TEXT_COPIES * MAX_VALUES_BYTES as u64;
            }
        }
        needed + expansion
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::kubernetes::id::ClusterId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::chart::ChartSource;
    use crate::model::cluster::ClusterKind;
    use crate::model::placement::ClusterGroup;
    use crate::model::workload::WorkloadSpec;

    /// Runs with a release of these values and these locked values.
    fn with_release<T>(values: &str, locked: &str, run: impl FnOnce(&ChartRelease<'_>, &Cluster) -> T) -> T {
        let cluster =
            Cluster::new(ClusterId::from_parts(1, 0), "eu", ClusterKind::Agent, Timestamp::from_millis(0));
        let source = ChartSource { values: values.to_owned(), ..ChartSource::default() };
        let group = ClusterGroup {
            name: "prod".to_owned(),
            members: vec!["eu".to_owned()],
            locked_values: locked.to_owned(),
            ..ClusterGroup::default()
        };
        let release = ChartRelease {
            workload: "web",
            revision: 1,
            spec: &WorkloadSpec::default(),
            source: &source,
            groups: &[group],
            project: None,
            targets: &[],
            installed: &BTreeMap::new(),
        };
        run(&release, &cluster)
    }

    /// An expression that makes more than 256 KiB of the two letters of a name.
    fn long(key: &str) -> String {
        let filters = " | map(\"{}{}\")".repeat(17);
        format!("{key}: '${{{{ cluster.name{filters} }}}}'\n")
    }

    fn merge(values: &str, locked: &str) -> Result<Value, RenderError> {
        with_release(values, locked, |release, cluster| {
            release.merge_values(&release.layers(cluster)?, Some(cluster))
        })
    }

    #[test]
    fn p19_g111_values_that_expressions_make_too_large_for_a_cluster_are_refused() {
        let three: String = ["a", "b", "c"].map(long).concat();
        let size = merge(&three, "").unwrap().to_string().len();
        assert!((700_000..MAX_EFFECTIVE_BYTES).contains(&size), "{size}");
        let refused = merge(&three, &["d", "e"].map(long).concat()).unwrap_err().into_findings();
        assert_eq!((refused.len(), refused[0].code.as_str()), (1, "G111"), "{refused:?}");
        assert_eq!(refused[0].clusters, ["eu"]);
    }

    #[test]
    fn p19_g111_layers_that_aliases_make_too_large_together_are_refused() {
        // Fewer than 100 aliases: the parser refuses more than ten times as many as anchors.
        let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(80_000), vec!["*a"; 90].join(", "));
        let refused = merge(&text, &text).unwrap_err().into_findings();
        assert!(refused.iter().all(|finding| finding.code == "G111"), "{refused:?}");
        assert!(refused[0].message.contains("all layers together"), "{refused:?}");
        let mut size = LayersSize::default();
        assert!(size.take(Value::from("x".repeat(MAX_LAYERS_BYTES - 2))).is_ok());
        assert!(size.take(Value::Null).is_err());
    }

    #[test]
    fn p19_g115_the_expressions_in_all_layers_of_values_have_one_budget() {
        let many: String = (0..8).map(|n| long(&format!("k{n}"))).collect();
        let refused = merge(&many, &many).unwrap_err().into_findings();
        assert!(refused.iter().any(|finding| finding.code == "G115"), "{refused:?}");
    }

    #[test]
    fn p19_the_memory_for_values_counts_every_layer_and_what_expressions_make() {
        let estimate =
            |values: &str, locked: &str| with_release(values, locked, |one, _| one.estimate_values());
        assert_eq!(estimate("", ""), 0);
        let plain = estimate("a: 1\n", "");
        assert!(plain > 0 && estimate("a: 1\n", "b: 1\n") == 2 * plain);
        assert!(estimate("", &long("a")) > 2 * MAX_VALUES_BYTES as u64);
        assert!(estimate("a: &a [1]\nb: *a\n", "") > 2 * MAX_VALUES_BYTES as u64);
    }
}
