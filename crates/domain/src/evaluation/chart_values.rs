//! The inputs that a chart is rendered with for one cluster: effective values, version and APIs.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::evaluation::render::{RenderError, TemplateValues, should_wait_on};
use crate::kubernetes::id::ClusterId;
use crate::model::bundle::canonical_json;
use crate::model::chart::{
    CAPABILITIES, ChartInputs, ChartSource, ChartVersion, RELEASE_PHASES, SAMPLE_KUBERNETES_VERSION,
};
use crate::model::cluster::{Cluster, ClusterFacts};
use crate::model::helm_release::{HelmChart, HelmRelease};
use crate::model::overrides::list_applicable;
use crate::model::placement::ClusterGroup;
use crate::model::project::Project;
use crate::model::values::{LayerValues, ValuesLayer};
use crate::model::workload::WorkloadSpec;
use crate::text::finding::Finding;
use crate::text::manifest::yaml_value;
use crate::text::template::{self, SampleValues, TemplateBudget, TemplateError, VariableSource};

mod locks;
mod size;
mod violations;

use size::LayersSize;

/// One revision of a workload with a chart.
#[derive(Debug, Clone, Copy)]
pub struct ChartRelease<'a> {
    /// Name of the workload.
    pub workload: &'a str,
    /// Number of the revision.
    pub revision: u32,
    /// The spec.
    pub spec: &'a WorkloadSpec,
    /// The chart source of the spec.
    pub source: &'a ChartSource,
    /// The cluster groups of the fleet.
    pub groups: &'a [ClusterGroup],
    /// The project, for what it locks; `None` if that is not evaluated.
    pub project: Option<&'a Project>,
    /// Names of all target clusters, sorted.
    pub targets: &'a [String],
    /// The revision that was the first to be applied completely, by cluster; a cluster without one has no installation.
    pub installed: &'a BTreeMap<ClusterId, u32>,
}

impl ChartRelease<'_> {
    /// The values for `cluster` by layer, without the defaults of the chart, lowest precedence first; templates are filled in.
    ///
    /// # Errors
    /// Values or a template in them are invalid, or a template uses a value that is not known for the cluster.
    pub fn layers(&self, cluster: &Cluster) -> Result<Vec<LayerValues>, RenderError> {
        let values = TemplateValues {
            cluster,
            workload: self.workload,
            namespace: &self.spec.namespace,
            revision: self.revision,
            targets: self.targets,
        };
        let mut filler = LayerFiller::new(&values);
        let texts = self.layer_texts(cluster).into_iter();
        let mut layers: Vec<LayerValues> =
            texts.map(|(layer, text)| filler.read_layer(layer, text)).collect();
        for (layer, text) in self.lock_texts(cluster) {
            filler.lock_values(&mut layers, layer, text);
        }
        let LayerFiller { rejected, missing, .. } = filler;
        let on_cluster = |finding: Finding| finding.with_clusters(vec![cluster.name.clone()]);
        if rejected.iter().any(Finding::is_blocking) {
            return Err(RenderError::Rejected(rejected.into_iter().map(on_cluster).collect()));
        }
        if missing.is_empty() {
            return Ok(layers);
        }
        let waits = should_wait_on(self.spec, cluster);
        let findings = missing.iter().filter_map(|(layer, problem)| missing_finding(layer, problem, waits));
        let findings = findings.map(on_cluster).collect();
        Err(if waits { RenderError::Waiting(findings) } else { RenderError::Rejected(findings) })
    }

    /// The values for `cluster` by layer as they are written: templates are not filled in, and a layer that can't be read or is too
    /// large, which the checks report, is empty.
    pub fn written_layers(&self, cluster: &Cluster) -> Vec<LayerValues> {
        let texts = self.layer_texts(cluster).into_iter().chain(self.lock_texts(cluster));
        let mut size = LayersSize::default();
        let mut read = |text: &str| read_map(text).and_then(|values| size.take(values)).unwrap_or_default();
        texts.map(|(layer, text)| LayerValues { layer, values: read(text) }).collect()
    }

    /// The common values and those of the overrides for `cluster`, lowest precedence first.
    fn layer_texts(&self, cluster: &Cluster) -> Vec<(ValuesLayer, &str)> {
        let applicable = list_applicable(&self.spec.overrides, cluster, self.groups).into_iter();
        let of_overrides = applicable.filter(|one| !one.over.values.trim().is_empty()).map(|one| {
            let (name, specificity) = (one.over.name.clone(), one.precedence.0);
            (ValuesLayer::Override { name, specificity }, one.over.values.as_str())
        });
        [(ValuesLayer::Common, self.source.values.as_str())].into_iter().chain(of_overrides).collect()
    }

    /// The inputs of the rendering for `cluster`.
    ///
    /// # Errors
    /// As [`Self::layers`]; the values are too large; the cluster has not reported its version and APIs yet.
    pub fn inputs(&self, chart: &ChartVersion, cluster: &Cluster) -> Result<ChartInputs, RenderError> {
        if !cluster.facts.is_reported() {
            let message = format!(
                "{} has not reported its version and APIs yet, which charts are rendered for.",
                cluster.name
            );
            let finding = Finding::warning("G115", message, "The chart is rendered once its agent has.");
            return Err(RenderError::Waiting(vec![finding.with_clusters(vec![cluster.name.clone()])]));
        }
        let values = self.merge_values(&self.layers(cluster)?, Some(cluster))?;
        let inputs = self.build_inputs(chart, &values, &cluster.facts.kubernetes_version);
        // A chart may evaluate values as templates (`tpl`). Whether it does is not known here; if not, it has some inputs more
        // than it uses.
        let values_contain = |words: &[&str]| words.iter().any(|word| inputs.values.contains(word));
        let uses_capabilities = chart.uses_capabilities || values_contain(&[CAPABILITIES]);
        let uses_release_phase = chart.uses_release_phase || values_contain(&RELEASE_PHASES);
        let api_versions = if uses_capabilities { list_api_versions(&cluster.facts) } else { Vec::new() };
        let is_upgrade = uses_release_phase && self.is_upgrade(cluster.id);
        Ok(ChartInputs { api_versions, is_upgrade, ..inputs })
    }

    /// The inputs of a rendering without a cluster: the common values and what the project locks, with samples in place of values of
    /// clusters.
    ///
    /// # Errors
    /// The values or a template in them are invalid, or too large.
    pub fn sample_inputs(&self, chart: &ChartVersion) -> Result<ChartInputs, RenderError> {
        let mut filler = LayerFiller::new(&SampleValues);
        let mut layers = vec![filler.read_layer(ValuesLayer::Common, &self.source.values)];
        if let Some((layer, text)) = self.project_lock() {
            filler.lock_values(&mut layers, layer, text);
        }
        if filler.rejected.iter().any(Finding::is_blocking) {
            return Err(RenderError::Rejected(filler.rejected));
        }
        let values = self.merge_values(&layers, None)?;
        Ok(self.build_inputs(chart, &values, SAMPLE_KUBERNETES_VERSION))
    }

    /// What Helm's record says of the release on `cluster`.
    ///
    /// # Errors
    /// As [`Self::layers`]; the values are too large.
    pub fn helm_release(&self, chart: &ChartVersion, cluster: &Cluster) -> Result<HelmRelease, RenderError> {
        let chart = HelmChart {
            name: chart.name.clone(),
            version: chart.version.clone(),
            app_version: chart.app_version.clone(),
            description: chart.description.clone(),
        };
        Ok(HelmRelease {
            name: self.source.release_name_or(self.workload).to_owned(),
            namespace: self.spec.namespace.clone(),
            chart,
            values: self.merge_values(&self.layers(cluster)?, Some(cluster))?,
        })
    }

    /// Whether this revision is an upgrade on `cluster`: an earlier one was applied completely there. What is applied later does
    /// not change the answer for this revision, so that its rendering stays as it is.
    fn is_upgrade(&self, cluster: ClusterId) -> bool {
        self.installed.get(&cluster).is_some_and(|first| *first < self.revision)
    }

    /// The inputs of a chart that reads neither APIs nor the phase of the release.
    fn build_inputs(&self, chart: &ChartVersion, values: &Value, kubernetes_version: &str) -> ChartInputs {
        ChartInputs {
            chart: chart.digest.clone(),
            release_name: self.source.release_name_or(self.workload).to_owned(),
            namespace: self.spec.namespace.clone(),
            values: String::from_utf8_lossy(&canonical_json(values)).into_owned(),
            kubernetes_version: kubernetes_version.to_owned(),
            api_versions: Vec::new(),
            is_upgrade: false,
            skip_schema_validation: self.spec.policies.skip_schema_validation,
        }
    }
}

/// The APIs of a cluster as Helm names them: `apps/v1` and `apps/v1/Deployment`, sorted.
fn list_api_versions(facts: &ClusterFacts) -> Vec<String> {
    let mut all: Vec<String> = Vec::with_capacity(facts.apis.len() * 2);
    for api in &facts.apis {
        let version = match api.group.as_str() {
            "" => api.version.clone(),
            group => format!("{group}/{}", api.version),
        };
        all.push(format!("{version}/{}", api.kind));
        all.push(version);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Reads layers and fills in their templates.
struct LayerFiller<'a, V> {
    values: &'a V,
    budget: TemplateBudget,
    size: LayersSize,
    rejected: Vec<Finding>,
    /// Values that are not known, with their layers.
    missing: Vec<(ValuesLayer, TemplateError)>,
}

impl<'a, V: VariableSource> LayerFiller<'a, V> {
    fn new(values: &'a V) -> Self {
        let (budget, size) = (TemplateBudget::of_values(), LayersSize::default());
        Self { values, budget, size, rejected: Vec::new(), missing: Vec::new() }
    }

    fn read_layer(&mut self, layer: ValuesLayer, text: &str) -> LayerValues {
        let read = read_map(text).and_then(|values| self.size.take(values));
        let mut values = read.unwrap_or_else(|finding| {
            self.rejected.push(finding);
            Value::Object(Map::new())
        });
        if template::is_templated(&values) {
            for problem in template::fill(&mut values, self.values, &mut self.budget) {
                match &problem {
                    TemplateError::MissingValue { .. } => self.missing.push((layer.clone(), problem)),
                    _ => self.rejected.extend(template::values_finding(&problem, &layer.to_string())),
                }
            }
        }
        LayerValues { layer, values }
    }
}

/// The values of a text: a map, empty for a text with only comments. What is no map is reported by the static checks.
fn read_map(text: &str) -> Result<Value, Finding> {
    Ok(match yaml_value::read(text)? {
        Some(Value::Object(map)) => Value::Object(map),
        _ => Value::Object(Map::new()),
    })
}

fn missing_finding(layer: &ValuesLayer, problem: &TemplateError, waits: bool) -> Option<Finding> {
    let TemplateError::MissingValue { pointer, variable } = problem else { return None };
    let message = format!("The values ({layer}) use {variable}, which is not known for this cluster.");
    let finding = if waits {
        Finding::warning(
            "G115",
            format!("{message} Nothing is applied there until it is known."),
            variable.hint(),
        )
    } else {
        Finding::error("G115", message, variable.hint())
    };
    Some(finding.with_path(pointer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::digest::Digest;
    use crate::kubernetes::id::OverrideId;
    use crate::kubernetes::time::Timestamp;
    use crate::model::cluster::{ApiResource, ClusterKind};
    use crate::model::overrides::{ClusterSelector, DEFAULT_PRIORITY, Override};
    use crate::model::values::merge_layers;

    fn chart(uses_capabilities: bool) -> ChartVersion {
        ChartVersion {
            repository: "local".into(),
            name: "web".into(),
            version: "1.0.0".into(),
            digest: Digest::compute(b"archive"),
            size: 7,
            app_version: String::new(),
            description: String::new(),
            kubernetes_range: String::new(),
            uses_capabilities,
            uses_release_phase: false,
            created_by: "ana".into(),
            created_at: Timestamp::from_millis(0),
        }
    }

    fn cluster(n: u64, name: &str) -> Cluster {
        let api = ApiResource {
            group: "apps".into(),
            version: "v1".into(),
            kind: "Deployment".into(),
            namespaced: true,
            denied: false,
        };
        let mut cluster =
            Cluster::new(ClusterId::from_parts(n, 0), name, ClusterKind::Agent, Timestamp::from_millis(0));
        cluster.facts =
            ClusterFacts { kubernetes_version: "v1.36.3".into(), apis: vec![api], ..ClusterFacts::default() };
        cluster
    }

    fn override_for(name: &str, values: &str) -> Override {
        Override {
            id: OverrideId::from_parts(1, 0),
            name: name.into(),
            target: ClusterSelector { clusters: vec![name.into()], ..ClusterSelector::default() },
            priority: DEFAULT_PRIORITY,
            values: values.into(),
            patches: Vec::new(),
        }
    }

    fn with_release<T>(
        values: &str,
        overrides: Vec<Override>,
        run: impl FnOnce(&ChartRelease<'_>) -> T,
    ) -> T {
        let source = ChartSource { values: values.into(), ..ChartSource::default() };
        let spec = WorkloadSpec { namespace: "shop".into(), overrides, ..WorkloadSpec::default() };
        let targets = ["a".to_owned(), "b".to_owned()];
        run(&ChartRelease {
            workload: "web",
            revision: 1,
            spec: &spec,
            source: &source,
            groups: &[],
            project: None,
            targets: &targets,
            installed: &BTreeMap::new(),
        })
    }

    #[test]
    fn clusters_with_equal_values_version_and_apis_share_one_rendering() {
        let over = override_for("b", "replicas: 3 # more\n");
        with_release("replicas: 2\n", vec![over], |release| {
            let inputs = |cluster: &Cluster| release.inputs(&chart(false), cluster).unwrap();
            let (a, b, c) = (inputs(&cluster(1, "a")), inputs(&cluster(2, "b")), inputs(&cluster(3, "c")));
            assert_eq!(a.digest(), c.digest());
            assert_eq!((a.values.as_str(), b.values.as_str()), (r#"{"replicas":2}"#, r#"{"replicas":3}"#));
            assert_eq!((a.release_name.as_str(), a.namespace.as_str()), ("web", "shop"));
        });
    }

    #[test]
    fn g113_e_8_a_violation_by_an_override_names_it_and_one_by_common_values_has_their_path() {
        let over = override_for("b", "image: {tag: 2}\n");
        with_release("image: {tag: 1}\nreplicas: many\n", vec![over], |release| {
            let clusters = [cluster(1, "a"), cluster(2, "b")];
            let named = |path: &str, on: &[&str]| {
                let finding = Finding::error("G113", "It violates the schema.", "")
                    .with_path(format!("/source/values{path}"));
                let mut found = [finding.with_clusters(on.iter().map(|&name| name.to_owned()).collect())];
                release.name_origins(&mut found, &clusters);
                let [Finding { path, message, .. }] = found;
                (path, message)
            };
            let common = |path: &str| (format!("/source/values{path}"), "It violates the schema.".to_owned());
            let by_override = (String::new(), "It violates the schema. Override b sets it.".to_owned());
            assert_eq!(named("/image/tag", &["b"]), by_override);
            assert_eq!(named("/image/tag", &["a"]), common("/image/tag"));
            assert_eq!(named("/image/tag", &["a", "b"]), common("/image/tag"), "only on one of them");
            assert_eq!(named("/replicas", &["b"]), common("/replicas"));
            assert_eq!(named("/image", &["b"]), common("/image"), "set by both");
        });
    }

    #[test]
    fn apis_are_inputs_only_of_charts_that_use_them() {
        with_release("", Vec::new(), |release| {
            let inputs = |uses| release.inputs(&chart(uses), &cluster(1, "a")).unwrap().api_versions;
            assert_eq!(inputs(true), ["apps/v1", "apps/v1/Deployment"]);
            assert!(inputs(false).is_empty());
        });
    }

    #[test]
    fn apis_and_the_phase_are_inputs_if_a_value_names_them_because_the_chart_may_evaluate_it() {
        let installed = BTreeMap::from([(ClusterId::from_parts(1, 0), 1)]);
        let inputs = |values: &str, overrides: Vec<Override>| {
            with_release(values, overrides, |release| {
                let release = ChartRelease { revision: 2, installed: &installed, ..*release };
                let inputs = release.inputs(&chart(false), &cluster(1, "a")).unwrap();
                (inputs.api_versions, inputs.is_upgrade)
            })
        };
        let apis = vec!["apps/v1".to_owned(), "apps/v1/Deployment".to_owned()];
        let has = "extraDeploy: ['{{ if .Capabilities.APIVersions.Has \"a/v1\" }}a: 1{{ end }}']\n";
        assert_eq!(inputs(has, Vec::new()), (apis.clone(), false));
        assert_eq!(inputs("", vec![override_for("a", has)]), (apis, false), "in an override");
        assert_eq!(inputs("", vec![override_for("b", has)]), (Vec::new(), false), "for another cluster");
        assert_eq!(inputs("note: '{{ .Release.IsUpgrade }}'\n", Vec::new()), (Vec::new(), true));
        assert_eq!(inputs("note: '{{ .Release.Name }}'\n", Vec::new()), (Vec::new(), false));
    }

    #[test]
    fn a_revision_after_the_installed_one_is_an_upgrade_for_charts_that_read_it() {
        with_release("", Vec::new(), |release| {
            let (first, cluster) = (BTreeMap::from([(ClusterId::from_parts(1, 0), 1)]), cluster(1, "a"));
            let inputs = |reads: bool, revision: u32| {
                let release = ChartRelease { revision, installed: &first, ..*release };
                let chart = ChartVersion { uses_release_phase: reads, ..chart(false) };
                release.inputs(&chart, &cluster).unwrap().is_upgrade
            };
            assert_eq!((inputs(true, 1), inputs(true, 2), inputs(false, 2)), (false, true, false));
            let new = ChartVersion { uses_release_phase: true, ..chart(false) };
            assert!(!ChartRelease { revision: 2, ..*release }.inputs(&new, &cluster).unwrap().is_upgrade);
        });
    }

    #[test]
    fn s1_25_values_name_all_targets_and_the_cluster() {
        let text = "join: ${{ fleet.targets | join(\",\") }}\nname: ${{ cluster.name }}\n";
        with_release(text, Vec::new(), |release| {
            let inputs = release.inputs(&chart(false), &cluster(1, "a")).unwrap();
            assert_eq!(inputs.values, r#"{"join":"a,b","name":"a"}"#);
        });
    }

    #[test]
    fn a_value_that_the_cluster_lacks_is_a_finding_with_its_path_and_layer() {
        with_release("region: ${{ cluster.labels.region }}\n", Vec::new(), |release| {
            let Err(RenderError::Rejected(found)) = release.inputs(&chart(false), &cluster(1, "a")) else {
                panic!()
            };
            assert_eq!(
                found[0].message,
                "The values (common) use cluster.labels.region, which is not known for this cluster."
            );
            assert_eq!(
                (found[0].path.as_str(), found[0].clusters.as_slice()),
                ("/region", &["a".to_owned()][..])
            );
            assert!(release.sample_inputs(&chart(false)).unwrap().values.contains("sample"));
        });
    }

    #[test]
    fn a_cluster_without_facts_waits() {
        let mut silent = cluster(1, "a");
        silent.facts = ClusterFacts::default();
        with_release("", Vec::new(), |release| {
            assert!(matches!(release.inputs(&chart(false), &silent), Err(RenderError::Waiting(_))));
        });
    }

    #[test]
    fn s2_8_g119_a_value_that_a_group_locks_is_set_and_can_not_be_overridden() {
        let groups = [ClusterGroup {
            name: "prod".into(),
            members: vec!["a".into()],
            locked_values: "tls: {enabled: true}\nregistry: mirror.example # all images\n".into(),
            ..ClusterGroup::default()
        }];
        let layers = |values: &str, overrides: Vec<Override>| {
            with_release(values, overrides, |release| {
                ChartRelease { groups: &groups, ..*release }
                    .layers(&cluster(1, "a"))
                    .map(|all| merge_layers(&all))
            })
        };
        let effective = layers("tls: {port: 443}\n", Vec::new()).unwrap();
        let expected =
            serde_json::json!({"tls": {"port": 443, "enabled": true}, "registry": "mirror.example"});
        assert_eq!(effective, expected);
        assert!(layers("registry: mirror.example\n", Vec::new()).is_ok(), "the same value");
        for (values, text) in
            [("tls: {enabled: false}\n", "/tls/enabled to true"), ("tls: null\n", "/tls/enabled")]
        {
            let RenderError::Rejected(findings) = layers("", vec![override_for("a", values)]).unwrap_err()
            else {
                panic!("rejected")
            };
            assert_eq!((findings.len(), &*findings[0].code), (1, "G119"));
            let message = &findings[0].message;
            assert!(message.contains("Group prod locks") && message.contains(text), "{message}");
            assert!(message.contains("(cluster a)") && findings[0].clusters == ["a"], "{message}");
        }
        let elsewhere = with_release("registry: own\n", Vec::new(), |release| {
            ChartRelease { groups: &groups, ..*release }.layers(&cluster(2, "b")).is_ok()
        });
        assert!(elsewhere);
        // What the project locks is above the groups, on every cluster.
        let (name, locked_values) = ("default".into(), "registry: own.example\n".into());
        let project = Project { name, locked_values, revision: 1, ..Project::default() };
        let locked = |groups: &[ClusterGroup], cluster: &Cluster| {
            with_release("", Vec::new(), |release| {
                ChartRelease { groups, project: Some(&project), ..*release }.layers(cluster)
            })
        };
        assert_eq!(merge_layers(&locked(&[], &cluster(2, "b")).unwrap())["registry"], "own.example");
        let found = locked(&groups, &cluster(1, "a")).unwrap_err().into_findings().remove(0).message;
        assert!(found.starts_with("Project default locks") && found.contains("by group prod"), "{found}");
    }
}
