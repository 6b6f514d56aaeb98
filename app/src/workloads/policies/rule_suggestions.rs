//! What the rows of rules offer: kinds, names, namespaces and common fields of the objects of the source. Other texts can be typed:
//! the objects of a chart are not known here.

use std::collections::BTreeSet;

use domain::manifest;
use domain::workload::Source;
use leptos::prelude::*;
use serde_json::Value;

use crate::parsing::parse_text;
use crate::workloads::overrides::overridable::list_fields;

/// Most suggestions of one field.
const MAX_SUGGESTIONS: usize = 200;

/// The suggestions of the fields of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleSuggestions {
    kinds: BTreeSet<String>,
    names: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    paths: BTreeSet<String>,
}

impl RuleSuggestions {
    /// Those of the objects of a source.
    pub fn from_source(source: &Source) -> Self {
        Self::from_objects(&parse_text(|| manifest::parse(source.files()).objects()))
    }

    fn from_objects(objects: &[Value]) -> Self {
        let collect = |pointer: &str| -> BTreeSet<String> {
            let texts = objects.iter().filter_map(|object| object.pointer(pointer).and_then(Value::as_str));
            texts.filter(|text| !text.is_empty()).take(MAX_SUGGESTIONS).map(str::to_owned).collect()
        };
        // A row separates paths by spaces.
        let paths = list_fields(objects).into_iter().map(|field| field.path);
        Self {
            kinds: collect("/kind"),
            names: collect("/metadata/name"),
            namespaces: collect("/metadata/namespace"),
            paths: paths.filter(|path| !path.contains(char::is_whitespace)).take(MAX_SUGGESTIONS).collect(),
        }
    }

    /// The lists, once per page.
    pub(super) fn render_lists(&self) -> AnyView {
        let list = |part: &str, texts: &BTreeSet<String>| {
            let option = |text: &String| view! { <option value=text.clone()></option> };
            view! { <datalist id=list_id(part)>{texts.iter().map(option).collect_view()}</datalist> }
        };
        view! {
            {list("kind", &self.kinds)}
            {list("name", &self.names)}
            {list("namespace", &self.namespaces)}
            {list("paths", &self.paths)}
        }
        .into_any()
    }
}

/// The id of the list for a part of a row.
pub(super) fn list_id(part: &str) -> String {
    format!("rule-{part}-list")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_objects_of_the_source_are_offered_with_their_common_fields() {
        let objects = [
            json!({"kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}, "spec": {
                "replicas": 2, "template": {"spec": {"containers": [{"name": "web", "image": "a:1"}]}}}}),
            json!({"kind": "Service", "metadata": {"name": "web"}, "spec": {"type": "ClusterIP"}}),
        ];
        let offered = RuleSuggestions::from_objects(&objects);
        let texts = |all: &BTreeSet<String>| all.iter().cloned().collect::<Vec<_>>();
        assert_eq!(texts(&offered.kinds), ["Deployment", "Service"]);
        assert_eq!(texts(&offered.names), ["web"]);
        assert_eq!(texts(&offered.namespaces), ["shop"]);
        for path in ["/spec/replicas", "/spec/template/spec/containers[name=web]/image", "/spec/type"] {
            assert!(offered.paths.contains(path), "{path} is missing in {offered:?}");
            path.parse::<domain::json_path::JsonPath>().unwrap();
        }
    }
}
