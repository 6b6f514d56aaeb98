//! The served kinds: the built-in table and the kinds of CustomResourceDefinitions.

pub(crate) mod custom;

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use serde_json::Value;

use crate::schema::{NodeId, TypeRef, TypeSchema};

/// One served version of a kind.
#[derive(Debug)]
pub(crate) struct KindVersion {
    pub name: String,
    /// `group/version`, or the version alone for the core group.
    pub api_version: String,
    pub schema: Arc<TypeSchema>,
    pub root: NodeId,
    pub has_status: bool,
    pub scale_paths: Option<ScalePaths>,
    /// `additionalPrinterColumns` of a custom resource.
    pub printer_columns: Vec<Value>,
    /// The fields of a custom resource that keep their values.
    pub unchanged_fields: Vec<UnchangedField>,
}

impl KindVersion {
    pub(crate) fn ty(&self) -> TypeRef<'_> {
        self.schema.type_ref(self.root)
    }
}

/// A field with the rule `self == oldSelf` in `x-kubernetes-validations`, the only rule that is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnchangedField {
    pub path: String,
    /// The type of its schema, which the real server names in place of the value.
    pub type_name: String,
    pub message: String,
}

/// Paths of the fields behind the scale subresource.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub spec_replicas: String,
    pub status_replicas: String,
    pub label_selector: Option<String>,
}

/// A kind with all its served versions.
#[derive(Debug)]
pub(crate) struct ResourceKind {
    /// Index of its objects in the store; never reused.
    pub id: usize,
    pub group: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short_names: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Preferred first; objects are stored in the version at index `storage_index`.
    pub versions: Vec<KindVersion>,
    pub storage_index: usize,
    pub subresources: Vec<String>,
    pub is_custom: bool,
}

impl ResourceKind {
    /// The resource name in messages: `deployments.apps`.
    pub(crate) fn resource_name(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether this is the kind of that group and name.
    pub(crate) fn is_kind(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// The version objects are stored in.
    pub(crate) fn storage_version(&self) -> &KindVersion {
        &self.versions[self.storage_index]
    }

    fn parse(id: usize, line: &str) -> Option<ResourceKind> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, plural, singular, short, group, versions, scope, subs, ty, categories] = words[..] else {
            return None;
        };
        let many = |word: &str| -> Vec<String> {
            word.split(',').filter(|w| *w != "-").map(str::to_owned).collect()
        };
        let group = group.trim_matches('-').to_owned();
        let subresources = many(subs);
        let has = |sub: &str| subresources.iter().any(|s| s == sub);
        let versions =
            many(versions).into_iter().map(|name| builtin_version(&group, name, ty, &has)).collect();
        Some(ResourceKind {
            id,
            kind: kind.into(),
            plural: plural.into(),
            singular: singular.into(),
            short_names: many(short),
            categories: many(categories),
            namespaced: scope == "ns",
            versions,
            storage_index: 0,
            subresources,
            is_custom: false,
            group,
        })
    }
}

fn builtin_version(group: &str, name: String, ty: &str, has: &dyn Fn(&str) -> bool) -> KindVersion {
    let schema = TypeSchema::builtin();
    // The table's type names carry a version only where it is not v1: `autoscaling2.…`.
    let numbered = ty.replacen('.', &format!("{}.", name.trim_start_matches('v')), 1);
    let root = schema.lookup(if name == "v1" { ty } else { &numbered }).unwrap_or(0);
    let scale = has("scale").then(|| ScalePaths {
        spec_replicas: "spec.replicas".into(),
        status_replicas: "status.replicas".into(),
        label_selector: Some("spec.selector".into()),
    });
    let api_version = if group.is_empty() { name.clone() } else { format!("{group}/{name}") };
    KindVersion {
        name,
        api_version,
        schema,
        root,
        has_status: has("status"),
        scale_paths: scale,
        printer_columns: Vec::new(),
        unchanged_fields: Vec::new(),
    }
}

/// An immutable snapshot of the served kinds.
#[derive(Debug, Default, Clone)]
pub(crate) struct KindCatalog {
    pub kinds: Vec<Arc<ResourceKind>>,
    by_path: HashMap<String, (usize, usize)>,
}

impl KindCatalog {
    fn new(kinds: Vec<Arc<ResourceKind>>) -> KindCatalog {
        let mut by_path = HashMap::new();
        for (index, kind) in kinds.iter().enumerate() {
            for (version, v) in kind.versions.iter().enumerate() {
                by_path.insert(format!("{}/{}", v.api_version, kind.plural), (index, version));
            }
        }
        KindCatalog { kinds, by_path }
    }

    /// The kind for `group/version/plural` and the index of that version.
    pub(crate) fn find_by_path(&self, api_version: &str, plural: &str) -> Option<(Arc<ResourceKind>, usize)> {
        let (kind, version) = self.by_path.get(&format!("{api_version}/{plural}"))?;
        Some((self.kinds[*kind].clone(), *version))
    }

    /// The kind of that group and name in any version.
    pub(crate) fn find(&self, group: &str, kind: &str) -> Option<Arc<ResourceKind>> {
        self.kinds.iter().find(|k| k.group == group && k.kind == kind).cloned()
    }

    /// The kind of an object by its `apiVersion` and `kind`.
    pub(crate) fn find_version(&self, api_version: &str, kind: &str) -> Option<(Arc<ResourceKind>, usize)> {
        self.kinds.iter().find_map(|k| {
            let version = k.versions.iter().position(|v| v.api_version == api_version)?;
            (k.kind == kind).then(|| (k.clone(), version))
        })
    }
}

/// The registry: readers get the current snapshot, a definition replaces it.
#[derive(Debug)]
pub(crate) struct KindRegistry {
    served: RwLock<Arc<KindCatalog>>,
    next_id: std::sync::atomic::AtomicUsize,
}

impl KindRegistry {
    pub(crate) fn builtin() -> KindRegistry {
        let lines = include_str!("kinds/builtin.txt").lines().filter(|l| !l.starts_with('#'));
        let kinds: Vec<Arc<ResourceKind>> =
            lines.enumerate().filter_map(|(id, line)| ResourceKind::parse(id, line)).map(Arc::new).collect();
        let next_id = kinds.len().into();
        KindRegistry { served: RwLock::new(Arc::new(KindCatalog::new(kinds))), next_id }
    }

    pub(crate) fn served(&self) -> Arc<KindCatalog> {
        self.served.read().clone()
    }

    /// Adds or replaces the kind of a definition. A replacement retains the id. Built-in kinds cannot be replaced.
    pub(crate) fn register(&self, definition: &Value) {
        let mut served = self.served.write();
        let mut kinds = served.kinds.clone();
        let Some(mut kind) = custom::kind_from_definition(definition) else { return };
        match kinds.iter().position(|k| k.group == kind.group && k.plural == kind.plural) {
            Some(at) if kinds[at].is_custom => {
                kind.id = kinds[at].id;
                kinds[at] = Arc::new(kind);
            }
            Some(_) => return,
            None => {
                kind.id = self.next_id.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                kinds.push(Arc::new(kind));
            }
        }
        *served = Arc::new(KindCatalog::new(kinds));
    }

    /// Stops serving a custom kind.
    pub(crate) fn unregister(&self, group: &str, plural: &str) {
        let mut served = self.served.write();
        let kinds = served.kinds.iter().filter(|k| !(k.is_custom && k.group == group && k.plural == plural));
        *served = Arc::new(KindCatalog::new(kinds.cloned().collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SchemaNode;

    #[test]
    fn every_built_in_version_has_its_type() {
        let kinds = KindRegistry::builtin().served();
        assert!(kinds.kinds.len() > 45);
        for kind in &kinds.kinds {
            for version in &kind.versions {
                let SchemaNode::Struct { name, .. } = version.ty().node() else { panic!("{}", kind.kind) };
                assert!(name.ends_with(&format!(".{}", kind.kind)), "{} has type {name}", kind.kind);
            }
        }
    }

    #[test]
    fn removed_versions_are_not_served() {
        let kinds = KindRegistry::builtin().served();
        assert!(kinds.find_by_path("policy/v1", "poddisruptionbudgets").is_some());
        assert!(kinds.find_by_path("policy/v1beta1", "poddisruptionbudgets").is_none());
        assert!(kinds.find_by_path("extensions/v1beta1", "deployments").is_none());
    }
}
