//! A workload definition file: name, namespace, clusters and the paths of the manifests in one small file (R-1).
//!
//! ```yaml
//! name: guestbook
//! namespace: web
//! type: Yaml
//! owners: team-web, ops@example.com
//! clusters: eu-1, us-1
//! payload: ./manifests
//! dependsOn:
//! - workload: cert-manager
//! policies:
//!   deletion: selectivelyOrphan
//!   orphan: [{kind: PersistentVolumeClaim}]
//! rollout:
//!   waves:
//!   - {name: canary, maxClusters: 1, soak: 10m}
//!   - {name: rest, maxConcurrency: 25%}
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use domain::dependency::WorkloadDependency;
use domain::manifest::yaml_value;
use domain::remote::OnNewCommit;
use domain::rollout::RolloutStrategy;
use domain::strict_input;
use serde::Deserialize;
use serde_json::Value;

use crate::chart_source::{ChartSourceArgs, is_archive_path};
use crate::failure::Failure;
use crate::git_source::GitSourceArgs;
use crate::placement::PlacementArgs;

/// Upper limit of a definition, in bytes; a larger file is a manifest.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// The contents of the file. Flags take precedence.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadDefinition {
    /// Name of the workload.
    pub name: Option<String>,
    /// Namespace for objects that name none.
    pub namespace: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    clusters: Option<NameListText>,
    selector: Option<String>,
    exclude: Option<NameListText>,
    #[serde(default)]
    payload: NameListText,
    values: Option<PathBuf>,
    version: Option<String>,
    release_name: Option<String>,
    #[serde(rename = "ref")]
    reference: Option<String>,
    path: Option<String>,
    on_new_commit: Option<OnNewCommit>,
    owners: Option<NameListText>,
    /// Whether it is an addon.
    pub addon: Option<bool>,
    /// The workloads that have to be operational before; if absent, those of the draft stay.
    pub depends_on: Option<Vec<WorkloadDependency>>,
    /// The rollout strategy; if absent, the strategy of the draft stays.
    pub rollout: Option<RolloutStrategy>,
    /// Policies by name; a policy that is absent stays as in the draft.
    #[serde(default)]
    pub policies: serde_json::Map<String, Value>,
}

/// One or more names: a list, or text separated by commas.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NameListText {
    Text(String),
    List(Vec<String>),
}

impl Default for NameListText {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl NameListText {
    fn to_names(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split(',').map(|part| part.trim().to_owned()).collect(),
            Self::List(list) => list.clone(),
        }
    }
}

impl WorkloadDefinition {
    /// Reads the definition if there is exactly one path and its file is a definition: a map with a payload that is no
    /// Kubernetes object.
    pub fn read(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let [path] = paths else { return Ok(None) };
        let Some(text) = read_small_file(path) else { return Ok(None) };
        let invalid = |why: &str| {
            let end = if why.ends_with(['.', '?']) { "" } else { "." };
            Failure::new(
                format!("{} is not a workload definition: {why}{end}", path.display()),
                "It has name, namespace, type, owners, clusters or selector, exclude, dependsOn, rollout, policies, and payload (a file or folder).",
            )
        };
        // Also JSON and flow-style YAML, which have no line that begins with the key.
        match yaml_value::read(&text) {
            Ok(Some(value)) if is_definition(&value) => {
                let read: Self = strict_input::parse(&value).map_err(|error| invalid(&error.to_string()))?;
                read.validate(path).map(Some)
            }
            Err(finding) if has_payload_line(&text) => {
                let line = finding.location.map(|at| format!("line {}: ", at.line)).unwrap_or_default();
                Err(invalid(&format!("{line}{}", finding.message)))
            }
            // Several documents, or text that is no YAML: the error, if it is one, belongs to the manifest.
            _ => Ok(None),
        }
    }

    fn validate(self, path: &Path) -> Result<Self, Failure> {
        let kind = self.kind.as_deref().unwrap_or("Yaml").to_ascii_lowercase();
        if !matches!(&*kind, "yaml" | "k8syaml" | "nativeyaml" | "helm" | "git" | "oci") {
            return Err(Failure::new(
                format!("{} has the unknown type {kind:?}.", path.display()),
                "The types are Yaml, which is the default, Helm, Git and Oci.",
            ));
        }
        let has_git_field = self.reference.is_some() || self.path.is_some() || self.on_new_commit.is_some();
        let is_remote = matches!(&*kind, "git" | "oci");
        if !is_remote && has_git_field {
            return Err(Failure::new(
                format!(
                    "{} has ref, path or onNewCommit, which only a source in Git or a registry has.",
                    path.display()
                ),
                "Add type: Git or type: Oci, or remove them.",
            ));
        }
        if !is_remote
            && kind != "helm"
            && (self.values.is_some() || self.version.is_some() || self.release_name.is_some())
        {
            return Err(Failure::new(
                format!("{} has values, version or releaseName, which only a chart has.", path.display()),
                "Add type: Helm, or remove them.",
            ));
        }
        if is_remote && (self.payload.to_names().len() > 1 || self.version.is_some()) {
            return Err(Failure::new(
                format!("{} names several repositories, or a version.", path.display()),
                "A workload has one repository: payload: https://HOST/PATH or oci://REGISTRY/PATH, with ref and path.",
            ));
        }
        if kind == "helm" && self.payload.to_names().len() > 1 {
            return Err(Failure::new(
                format!("{} names several charts.", path.display()),
                "A workload has one chart: payload: ./chart.tgz or payload: local/NAME.",
            ));
        }
        if self.payload.to_names().iter().all(String::is_empty) {
            return Err(Failure::new(
                format!("{} has an empty payload.", path.display()),
                "Name the file or folder of the manifests, or the chart, relative to this file.",
            ));
        }
        Ok(self)
    }

    /// The paths of the manifests, resolved relative to the definition.
    pub fn payload_paths(&self, path: &Path) -> Vec<PathBuf> {
        let base = path.parent().unwrap_or(Path::new("."));
        self.payload.to_names().into_iter().filter(|one| !one.is_empty()).map(|one| base.join(one)).collect()
    }

    /// The chart flags that the file stands for; none for manifests.
    pub fn chart_args(&self, path: &Path) -> ChartSourceArgs {
        let base = path.parent().unwrap_or(Path::new("."));
        if self.has_kind("git") || self.has_kind("oci") {
            return ChartSourceArgs {
                values: self.values.as_ref().map(|file| base.join(file)),
                release_name: self.release_name.clone(),
                ..ChartSourceArgs::default()
            };
        }
        if !self.has_kind("helm") {
            return ChartSourceArgs::default();
        }
        let chart = self.payload.to_names().into_iter().next().map(|chart| {
            if is_archive_path(&chart) { base.join(chart).display().to_string() } else { chart }
        });
        ChartSourceArgs {
            chart,
            chart_version: self.version.clone(),
            values: self.values.as_ref().map(|file| base.join(file)),
            release_name: self.release_name.clone(),
            ..ChartSourceArgs::default()
        }
    }

    /// The flags of a Git repository or an OCI artifact that the file stands for; none for other sources.
    pub fn git_args(&self) -> GitSourceArgs {
        if !self.has_kind("git") && !self.has_kind("oci") {
            return GitSourceArgs::default();
        }
        GitSourceArgs {
            git: self.payload.to_names().into_iter().next().filter(|_| self.has_kind("git")),
            oci: self.payload.to_names().into_iter().next().filter(|_| self.has_kind("oci")),
            reference: self.reference.clone(),
            path: self.path.clone(),
            on_new_commit: self.on_new_commit,
        }
    }

    fn has_kind(&self, kind: &str) -> bool {
        self.kind.as_deref().is_some_and(|own| own.eq_ignore_ascii_case(kind))
    }

    /// The owners that the file names; `None` if it names none.
    pub fn owner_names(&self) -> Option<Vec<String>> {
        self.owners.as_ref().map(NameListText::to_names)
    }

    /// The placement flags that the file stands for.
    pub fn placement_args(&self) -> PlacementArgs {
        PlacementArgs {
            clusters: self.clusters.as_ref().map(NameListText::to_names),
            selector: self.selector.clone(),
            exclude: self.exclude.as_ref().map(NameListText::to_names),
            ..PlacementArgs::default()
        }
    }
}

fn is_definition(value: &Value) -> bool {
    value.get("payload").is_some() && value.get("apiVersion").is_none() && value.get("kind").is_none()
}

/// Whether a text that can't be parsed is meant as a definition: it names a payload and no Kubernetes object.
fn has_payload_line(text: &str) -> bool {
    let has_line = |key: &str| text.lines().any(|line| line.starts_with(key));
    has_line("payload:") && !has_line("apiVersion:") && !has_line("kind:")
}

fn read_small_file(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= MAX_FILE_BYTES)?;
    let mut text = String::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    File::open(path).ok()?.take(MAX_FILE_BYTES).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_definition(text: &str) -> Result<Option<WorkloadDefinition>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workload.yaml");
        std::fs::write(&path, text).unwrap();
        WorkloadDefinition::read(&[path]).map_err(|failure| {
            let Failure::Report(report) = failure else { panic!("not a report") };
            format!("{} {}", report.message, report.hint)
        })
    }

    #[test]
    fn r1_a_definition_names_workload_clusters_and_payload() {
        let text = "name: shop\nnamespace: web\ntype: Yaml\nclusters: eu-1, us-1\npayload: ./manifests\n";
        let read = read_definition(text).unwrap().unwrap();
        assert_eq!((read.name.as_deref(), read.namespace.as_deref()), (Some("shop"), Some("web")));
        assert_eq!(read.placement_args().clusters.unwrap(), ["eu-1", "us-1"]);
        assert_eq!(read.payload_paths(Path::new("x/workload.yaml")), [PathBuf::from("x/./manifests")]);
    }

    #[test]
    fn r1_a_definition_names_a_chart_and_its_values() {
        let text = "name: shop\ntype: Helm\npayload: ./x.tar.gz\nvalues: ./y.yaml\nclusters: eu-1\n";
        let chart = read_definition(text).unwrap().unwrap().chart_args(Path::new("w/workload.yaml"));
        assert_eq!(chart.chart.as_deref(), Some("w/./x.tar.gz"));
        assert_eq!(chart.values, Some(PathBuf::from("w/./y.yaml")));
        let named = "type: Helm\npayload: local/web\nversion: 1.0.0\n";
        let chart = read_definition(named).unwrap().unwrap().chart_args(Path::new("workload.yaml"));
        assert_eq!(
            (chart.chart.as_deref(), chart.chart_version.as_deref()),
            (Some("local/web"), Some("1.0.0"))
        );
    }

    #[test]
    fn a_definition_names_a_path_in_a_git_repository() {
        let text = "name: shop\ntype: Git\npayload: https://a.test/b.git\nref: main\npath: deploy\nonNewCommit: all\nvalues: ./y.yaml\n";
        let read = read_definition(text).unwrap().unwrap();
        let git = read.git_args();
        assert_eq!(
            (git.git.as_deref(), git.reference.as_deref()),
            (Some("https://a.test/b.git"), Some("main"))
        );
        assert_eq!((git.path.as_deref(), git.on_new_commit), (Some("deploy"), Some(OnNewCommit::All)));
        assert_eq!(read.chart_args(Path::new("w/workload.yaml")).values, Some(PathBuf::from("w/./y.yaml")));
        let oci =
            read_definition("type: Oci\npayload: oci://a.test/b\nref: v1\n").unwrap().unwrap().git_args();
        assert_eq!((oci.git, oci.oci.as_deref()), (None, Some("oci://a.test/b")));
        assert!(
            read_definition("payload: x\nref: main\n")
                .unwrap_err()
                .contains("only a source in Git or a registry")
        );
    }

    #[test]
    fn a_definition_names_policies() {
        let text = "payload: x\npolicies:\n  prune: false\n  ignore:\n  - object: {kind: Deployment}\n    paths: [$.spec.replicas]\n";
        let read = read_definition(text).unwrap().unwrap();
        let policies = domain::policy::Policies::default().with_values(&read.policies).unwrap();
        assert!(!policies.prune);
        assert_eq!(policies.ignore[0].paths, ["$.spec.replicas"]);
    }

    #[test]
    fn a_definition_names_the_workloads_that_it_depends_on() {
        let read = read_definition("payload: x\ndependsOn:\n- workload: cert-manager\n").unwrap().unwrap();
        assert_eq!(read.depends_on, Some(vec![WorkloadDependency::new("cert-manager")]));
        assert_eq!(read_definition("payload: x\n").unwrap().unwrap().depends_on, None);
        let slip = read_definition("payload: x\ndependsOn:\n- {worklaod: db}\n").unwrap_err();
        assert!(slip.contains("worklaod") && slip.contains("workload"), "{slip}");
    }

    #[test]
    fn a_definition_names_the_waves_of_its_rollout() {
        let text = "payload: x\nrollout:\n  failAfter: 30s\n  waves:\n  - {name: canary, maxClusters: 1, soak: 10m}\n  - name: rest\n    maxConcurrency: 25%\n";
        let rollout = read_definition(text).unwrap().unwrap().rollout.unwrap();
        assert_eq!((rollout.waves.len(), rollout.fail_after_millis()), (2, 30_000));
        let slip =
            read_definition("payload: x\nrollout:\n  waves:\n  - {name: canary, soaks: 10m}\n").unwrap_err();
        assert!(slip.contains(r#"/rollout/waves/0: unknown field "soaks", did you mean "soak"?"#), "{slip}");
    }

    #[test]
    fn r1_lists_are_accepted() {
        let read = read_definition("clusters: [a, b]\nexclude: [c]\npayload:\n- one.yaml\n- two.yaml\n")
            .unwrap()
            .unwrap();
        assert_eq!(read.placement_args().clusters.unwrap(), ["a", "b"]);
        assert_eq!(read.payload_paths(Path::new("workload.yaml")).len(), 2);
    }

    #[test]
    fn r1_a_definition_is_recognised_in_json_and_in_flow_style() {
        let json = r#"{"name": "shop", "clusters": ["eu-1"], "payload": "./manifests"}"#;
        let flow = "{name: shop, clusters: [eu-1], payload: ./manifests}\n";
        for text in [json, flow] {
            let read = read_definition(text).unwrap().unwrap();
            assert_eq!(read.placement_args().clusters.unwrap(), ["eu-1"], "{text}");
        }
        let slip = read_definition(r#"{"name": "shop", "cluster": ["eu-1"], "payload": "./manifests"}"#);
        assert!(slip.unwrap_err().contains(r#"unknown field "cluster", did you mean "clusters"?"#));
    }

    #[test]
    fn r1_an_unknown_type_or_field_is_rejected_with_its_name() {
        assert!(read_definition("type: Wasm\npayload: ./x\n").unwrap_err().contains("unknown type"));
        assert!(
            read_definition("values: ./v.yaml\npayload: ./x\n").unwrap_err().contains("only a chart has")
        );
        assert!(read_definition("cluster: a\npayload: x\n").unwrap_err().contains("cluster"));
        assert!(read_definition("payload:\nname: x\n").is_err());
    }

    #[test]
    fn a_manifest_is_not_a_definition() {
        assert!(read_definition("apiVersion: v1\nkind: ConfigMap\npayload: x\n").unwrap().is_none());
        assert!(read_definition("a: 1\n").unwrap().is_none());
    }
}
