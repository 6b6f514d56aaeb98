//! Objects of charts that are treated differently: definitions of the `crds/` folder, and objects that are never deleted.

use serde_json::Value;

/// The annotation of an object from the `crds/` folder of a chart.
pub const CHART_CRD_ANNOTATION: &str = "flotilla.dev/chart-crd";
/// The annotation that says what happens to an object on removal; the only value is `keep`.
pub const RESOURCE_POLICY_ANNOTATION: &str = "helm.sh/resource-policy";

/// The value of an annotation; empty without it.
pub fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Whether an object is from the `crds/` folder of a chart.
pub fn is_chart_crd(object: &Value) -> bool {
    annotation(object, CHART_CRD_ANNOTATION) == "true"
}

/// Why an object stays on the cluster when it is pruned or its release is removed; `None` if it is deleted.
///
/// Deletion of a custom resource definition deletes all its objects, those of other workloads too.
pub fn retention_reason(object: &Value) -> Option<&'static str> {
    if is_chart_crd(object) {
        return Some("a custom resource definition of a chart");
    }
    let policy = annotation(object, RESOURCE_POLICY_ANNOTATION).trim();
    policy.eq_ignore_ascii_case("keep").then_some(RESOURCE_POLICY_ANNOTATION)
}

/// Whether a file of a chart is in the `crds/` folder of the chart or of a subchart.
pub fn is_crd_file(path: &str) -> bool {
    let mut rest = path;
    while let Some((_, inner)) = rest.strip_prefix("charts/").and_then(|inner| inner.split_once('/')) {
        rest = inner;
    }
    rest.starts_with("crds/")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn s4_4_only_the_crds_folder_of_a_chart_or_subchart_has_definitions_that_stay() {
        for path in ["crds/a.yaml", "charts/sub/crds/a.yaml", "charts/a/charts/b/crds/x/y.yaml"] {
            assert!(is_crd_file(path), "{path}");
        }
        for path in ["templates/crds/a.yaml", "charts/crds/templates/a.yaml", "charts/crds", "mycrds/a.yaml"]
        {
            assert!(!is_crd_file(path), "{path}");
        }
    }

    #[test]
    fn s4_4_an_object_stays_by_its_annotation() {
        let object =
            |name: &str, value: &str| json!({"kind": "Secret", "metadata": {"annotations": {name: value}}});
        assert_eq!(
            retention_reason(&object(RESOURCE_POLICY_ANNOTATION, "keep")),
            Some("helm.sh/resource-policy")
        );
        assert_eq!(retention_reason(&object(RESOURCE_POLICY_ANNOTATION, "delete")), None);
        assert!(retention_reason(&object(CHART_CRD_ANNOTATION, "true")).is_some());
        assert_eq!(retention_reason(&json!({"kind": "Secret"})), None);
    }
}
