//! A workload definition file: name, namespace, clusters and where the manifests are, in one small file (R-1).
//!
//! ```yaml
//! name: guestbook
//! namespace: web
//! type: Yaml
//! clusters: eu-1, us-1
//! payload: ./manifests
//! policies:
//!   deletion: selectivelyOrphan
//!   orphan: [{kind: PersistentVolumeClaim}]
//! rollout:
//!   waves:
//!   - {name: canary, take: 1, soak: 10m}
//!   - {name: rest, maxConcurrency: 25%}
//! ```

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use domain::rollout::RolloutStrategy;
use serde::Deserialize;

use crate::failure::Failure;
use crate::placement::Where;

/// A definition is a few lines long; anything larger is a manifest.
const LARGEST: u64 = 64 << 10;

/// The contents of the file. Flags win over it.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Definition {
    /// Name of the workload.
    pub name: Option<String>,
    /// Namespace for objects that name none.
    pub namespace: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    clusters: Option<Names>,
    selector: Option<String>,
    exclude: Option<Names>,
    payload: Names,
    /// Whether it is an addon.
    pub addon: Option<bool>,
    /// How a publish spreads over the clusters; left out, as it was.
    pub rollout: Option<RolloutStrategy>,
    /// How it is kept, policy by policy; those not named stay as they are.
    #[serde(default)]
    pub policies: serde_json::Map<String, serde_json::Value>,
}

/// One or many: a list, or text with commas.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    Text(String),
    List(Vec<String>),
}

impl Default for Names {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Names {
    fn list(&self) -> Vec<String> {
        match self {
            Self::Text(text) => text.split(',').map(|part| part.trim().to_owned()).collect(),
            Self::List(list) => list.clone(),
        }
    }
}

impl Definition {
    /// The definition that the one path names, if it is one: a map with a payload, and no Kubernetes object.
    pub fn read(paths: &[PathBuf]) -> Result<Option<Self>, Failure> {
        let [path] = paths else { return Ok(None) };
        let Some(text) = small_file(path) else { return Ok(None) };
        let begins = |key: &str| text.lines().any(|line| line.starts_with(key));
        if !begins("payload:") || begins("apiVersion:") || begins("kind:") {
            return Ok(None);
        }
        let read: Self = serde_saphyr::from_str(&text).map_err(|error| {
            let why = error.without_snippet().to_string();
            Failure::new(
                format!("{} is not a workload definition: {}.", path.display(), why.trim_end_matches('.')),
                "It has name, namespace, type, clusters or selector, exclude, rollout, policies, and payload (a file or folder).",
            )
        })?;
        read.checked(path).map(Some)
    }

    fn checked(self, path: &Path) -> Result<Self, Failure> {
        let kind = self.kind.as_deref().unwrap_or("Yaml").to_ascii_lowercase();
        if kind == "helm" {
            return Err(Failure::new(
                format!("{} asks for a Helm chart, which is not taken yet.", path.display()),
                "Render it first: helm template NAME CHART | flotilla apply --name NAME -f -",
            ));
        }
        if !matches!(&*kind, "yaml" | "k8syaml" | "nativeyaml") {
            return Err(Failure::new(
                format!("{} has the type {kind:?}, which is not known.", path.display()),
                "The type is Yaml; it may be left out.",
            ));
        }
        if self.payload.list().iter().all(String::is_empty) {
            return Err(Failure::new(
                format!("{} has an empty payload.", path.display()),
                "Name the file or folder of the manifests, relative to this file.",
            ));
        }
        Ok(self)
    }

    /// The paths of the manifests, which are relative to the definition.
    pub fn payload(&self, path: &Path) -> Vec<PathBuf> {
        let base = path.parent().unwrap_or(Path::new("."));
        self.payload.list().into_iter().filter(|one| !one.is_empty()).map(|one| base.join(one)).collect()
    }

    /// Where it says the workload belongs.
    pub fn placement(&self) -> Where {
        Where {
            clusters: self.clusters.as_ref().map(Names::list),
            selector: self.selector.clone(),
            all_clusters: false,
            exclude: self.exclude.as_ref().map(Names::list),
        }
    }
}

fn small_file(path: &Path) -> Option<String> {
    let meta = std::fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= LARGEST)?;
    let mut text = String::with_capacity(usize::try_from(meta.len()).unwrap_or_default());
    File::open(path).ok()?.take(LARGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Option<Definition>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("workload.yaml");
        std::fs::write(&path, text).unwrap();
        Definition::read(&[path]).map_err(|failure| {
            let told = failure.told(None).unwrap();
            format!("{} {}", told.message, told.hint)
        })
    }

    #[test]
    fn r1_a_definition_names_workload_clusters_and_payload() {
        let text = "name: shop\nnamespace: web\ntype: Yaml\nclusters: eu-1, us-1\npayload: ./manifests\n";
        let read = read(text).unwrap().unwrap();
        assert_eq!((read.name.as_deref(), read.namespace.as_deref()), (Some("shop"), Some("web")));
        assert_eq!(read.placement().clusters.unwrap(), ["eu-1", "us-1"]);
        assert_eq!(read.payload(Path::new("x/workload.yaml")), [PathBuf::from("x/./manifests")]);
    }

    #[test]
    fn a_definition_names_policies() {
        let text = "payload: x\npolicies:\n  prune: false\n  ignore:\n  - object: {kind: Deployment}\n    paths: [$.spec.replicas]\n";
        let read = read(text).unwrap().unwrap();
        let policies = domain::policy::Policies::default().with(&read.policies).unwrap();
        assert!(!policies.prune);
        assert_eq!(policies.ignore[0].paths, ["$.spec.replicas"]);
    }

    #[test]
    fn a_definition_names_the_waves_of_its_rollout() {
        let text = "payload: x\nrollout:\n  failAfter: 30s\n  waves:\n  - {name: canary, take: 1, soak: 10m}\n  - name: rest\n    maxConcurrency: 25%\n";
        let rollout = read(text).unwrap().unwrap().rollout.unwrap();
        assert_eq!((rollout.waves.len(), rollout.fail_after_millis()), (2, 30_000));
        let slip = read("payload: x\nrollout:\n  waves:\n  - {name: canary, soaks: 10m}\n").unwrap_err();
        assert!(slip.contains("soaks"), "{slip}");
    }

    #[test]
    fn r1_lists_are_taken_too() {
        let read =
            read("clusters: [a, b]\nexclude: [c]\npayload:\n- one.yaml\n- two.yaml\n").unwrap().unwrap();
        assert_eq!(read.placement().clusters.unwrap(), ["a", "b"]);
        assert_eq!(read.payload(Path::new("workload.yaml")).len(), 2);
    }

    #[test]
    fn r1_what_is_not_understood_is_refused_and_said() {
        assert!(read("type: Helm\npayload: ./x.tar.gz\n").unwrap_err().contains("helm template"));
        assert!(read("cluster: a\npayload: x\n").unwrap_err().contains("cluster"));
        assert!(read("payload:\nname: x\n").is_err());
    }

    #[test]
    fn a_manifest_is_no_definition() {
        assert!(read("apiVersion: v1\nkind: ConfigMap\npayload: x\n").unwrap().is_none());
        assert!(read("a: 1\n").unwrap().is_none());
    }
}
