//! The kinds that are served: the built-in table and what CustomResourceDefinitions add to it.

pub(crate) mod custom;

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use serde_json::Value;

use crate::schema::{NodeId, Schema, Ty};

/// One served version of a kind.
#[derive(Debug)]
pub(crate) struct Version {
    pub name: String,
    /// `group/version`, or the version alone for the core group.
    pub api_version: String,
    pub schema: Arc<Schema>,
    pub root: NodeId,
    pub status: bool,
    pub scale: Option<Scale>,
    /// `additionalPrinterColumns` of a custom resource.
    pub columns: Vec<Value>,
}

impl Version {
    pub(crate) fn ty(&self) -> Ty<'_> {
        self.schema.at(self.root)
    }
}

/// Where the scale subresource finds its numbers.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    pub spec: String,
    pub status: String,
    pub selector: Option<String>,
}

/// A kind with every version it is served in.
#[derive(Debug)]
pub(crate) struct Kind {
    /// Index of its objects in the store; never reused.
    pub id: usize,
    pub group: String,
    pub kind: String,
    pub plural: String,
    pub singular: String,
    pub short: Vec<String>,
    pub categories: Vec<String>,
    pub namespaced: bool,
    /// Preferred first; objects are kept in `stored`.
    pub versions: Vec<Version>,
    pub stored: usize,
    pub subresources: Vec<String>,
    pub custom: bool,
}

impl Kind {
    /// `deployments.apps`, as messages name a resource.
    pub(crate) fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Whether this is the built-in kind of that group and name.
    pub(crate) fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// The version objects are kept in.
    pub(crate) fn storage(&self) -> &Version {
        &self.versions[self.stored]
    }

    fn parse(id: usize, line: &str) -> Option<Kind> {
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
        Some(Kind {
            id,
            kind: kind.into(),
            plural: plural.into(),
            singular: singular.into(),
            short: many(short),
            categories: many(categories),
            namespaced: scope == "ns",
            versions,
            stored: 0,
            subresources,
            custom: false,
            group,
        })
    }
}

fn builtin_version(group: &str, name: String, ty: &str, has: &dyn Fn(&str) -> bool) -> Version {
    let schema = Schema::builtin();
    // The table's type names carry a version only where it is not v1: `autoscaling2.…`.
    let numbered = ty.replacen('.', &format!("{}.", name.trim_start_matches('v')), 1);
    let root = schema.lookup(if name == "v1" { ty } else { &numbered }).unwrap_or(0);
    let scale = has("scale").then(|| Scale {
        spec: "spec.replicas".into(),
        status: "status.replicas".into(),
        selector: Some("spec.selector".into()),
    });
    let api_version = if group.is_empty() { name.clone() } else { format!("{group}/{name}") };
    Version { name, api_version, schema, root, status: has("status"), scale, columns: Vec::new() }
}

/// An immutable picture of what is served.
#[derive(Debug, Default, Clone)]
pub(crate) struct Served {
    pub kinds: Vec<Arc<Kind>>,
    by_path: HashMap<String, (usize, usize)>,
}

impl Served {
    fn new(kinds: Vec<Arc<Kind>>) -> Served {
        let mut by_path = HashMap::new();
        for (index, kind) in kinds.iter().enumerate() {
            for (version, v) in kind.versions.iter().enumerate() {
                by_path.insert(format!("{}/{}", v.api_version, kind.plural), (index, version));
            }
        }
        Served { kinds, by_path }
    }

    /// The kind behind `group/version/plural` and which of its versions that is.
    pub(crate) fn by_path(&self, api_version: &str, plural: &str) -> Option<(Arc<Kind>, usize)> {
        let (kind, version) = self.by_path.get(&format!("{api_version}/{plural}"))?;
        Some((self.kinds[*kind].clone(), *version))
    }

    /// The kind of that group and name in any version.
    pub(crate) fn find(&self, group: &str, kind: &str) -> Option<Arc<Kind>> {
        self.kinds.iter().find(|k| k.group == group && k.kind == kind).cloned()
    }

    /// The kind of an object by its `apiVersion` and `kind`.
    pub(crate) fn of(&self, api_version: &str, kind: &str) -> Option<(Arc<Kind>, usize)> {
        self.kinds.iter().find_map(|k| {
            let version = k.versions.iter().position(|v| v.api_version == api_version)?;
            (k.kind == kind).then(|| (k.clone(), version))
        })
    }
}

/// The registry: readers take the current picture, a definition swaps it.
#[derive(Debug)]
pub(crate) struct Kinds {
    served: RwLock<Arc<Served>>,
    ids: std::sync::atomic::AtomicUsize,
}

impl Kinds {
    pub(crate) fn builtin() -> Kinds {
        let lines = include_str!("kinds/builtin.txt").lines().filter(|l| !l.starts_with('#'));
        let kinds: Vec<Arc<Kind>> =
            lines.enumerate().filter_map(|(id, line)| Kind::parse(id, line)).map(Arc::new).collect();
        let ids = kinds.len().into();
        Kinds { served: RwLock::new(Arc::new(Served::new(kinds))), ids }
    }

    pub(crate) fn served(&self) -> Arc<Served> {
        self.served.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Serves, or serves anew, the kind a definition describes. Keeps the id of the one it replaces.
    pub(crate) fn define(&self, definition: &Value) {
        let mut served = self.served.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let mut kinds = served.kinds.clone();
        let Some(mut kind) = custom::kind(definition) else { return };
        match kinds.iter().position(|k| k.group == kind.group && k.plural == kind.plural) {
            Some(at) if kinds[at].custom => {
                kind.id = kinds[at].id;
                kinds[at] = Arc::new(kind);
            }
            Some(_) => return,
            None => {
                kind.id = self.ids.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                kinds.push(Arc::new(kind));
            }
        }
        *served = Arc::new(Served::new(kinds));
    }

    /// Stops serving a custom kind.
    pub(crate) fn forget(&self, group: &str, plural: &str) {
        let mut served = self.served.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        let kinds = served.kinds.iter().filter(|k| !(k.custom && k.group == group && k.plural == plural));
        *served = Arc::new(Served::new(kinds.cloned().collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Node;

    #[test]
    fn every_built_in_version_has_its_type() {
        let kinds = Kinds::builtin().served();
        assert!(kinds.kinds.len() > 45);
        for kind in &kinds.kinds {
            for version in &kind.versions {
                let Node::Struct { name, .. } = version.ty().node() else { panic!("{}", kind.kind) };
                assert!(name.ends_with(&format!(".{}", kind.kind)), "{} has type {name}", kind.kind);
            }
        }
    }

    #[test]
    fn removed_versions_are_not_served() {
        let kinds = Kinds::builtin().served();
        assert!(kinds.by_path("policy/v1", "poddisruptionbudgets").is_some());
        assert!(kinds.by_path("policy/v1beta1", "poddisruptionbudgets").is_none());
        assert!(kinds.by_path("extensions/v1beta1", "deployments").is_none());
    }
}
