//! The form in which an object is applied: as the server stores it, without what a controller fills by contract.
//!
//! A field that a manifest holds empty or as a placeholder, because a controller of the cluster fills it, claims nothing:
//! applying it would take the controller's value away until the controller writes it again. [`CONTROLLER_FIELDS`] lists these
//! fields; `docs/drift.md` shows the same list, and a test compares the two.

use serde_json::Value;

use super::secret;
use crate::kubernetes::object::ObjectRef;

/// Which values of a field are left to the controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnclaimedValue {
    /// Every value, because the controller replaces all of them.
    Any,
    /// An empty text.
    Empty,
    /// An empty text; every value if the object has an annotation of an injector of certificate authorities.
    EmptyOrInjected,
    /// Every value, if the object has an `aggregationRule`.
    Aggregated,
}

/// A field that a controller fills.
#[derive(Debug, Clone, Copy)]
struct ControllerField {
    /// Group and kind of the objects.
    kinds: &'static [(&'static str, &'static str)],
    /// The keys of the field; `*` is every item of a list.
    path: &'static [&'static str],
    /// The values that claim nothing.
    value: UnclaimedValue,
    /// Who fills the field, and where that is specified.
    #[cfg_attr(not(test), expect(dead_code, reason = "the table of the documentation is compared with it"))]
    source: &'static str,
}

/// The annotations by which a certificate authority is requested, of cert-manager's cainjector and of OpenShift's service CA.
const INJECTOR_ANNOTATIONS: [&str; 4] = [
    "cert-manager.io/inject-ca-from",
    "cert-manager.io/inject-ca-from-secret",
    "cert-manager.io/inject-apiserver-ca",
    "service.beta.openshift.io/inject-cabundle",
];

/// The controllers of these annotations.
const CERTIFICATE_INJECTORS: &str = "certificate authority injectors ([cert-manager](https://cert-manager.io/docs/concepts/ca-injector/), [OpenShift service CA](https://docs.openshift.com/container-platform/latest/security/certificates/service-serving-certificate.html))";

/// The fields that are left to controllers.
const CONTROLLER_FIELDS: [ControllerField; 6] = [
    ControllerField {
        kinds: &[
            ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
            ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
        ],
        path: &["webhooks", "*", "clientConfig", "caBundle"],
        value: UnclaimedValue::EmptyOrInjected,
        source: CERTIFICATE_INJECTORS,
    },
    ControllerField {
        kinds: &[("apiextensions.k8s.io", "CustomResourceDefinition")],
        path: &["spec", "conversion", "webhook", "clientConfig", "caBundle"],
        value: UnclaimedValue::EmptyOrInjected,
        source: CERTIFICATE_INJECTORS,
    },
    ControllerField {
        kinds: &[("apiregistration.k8s.io", "APIService")],
        path: &["spec", "caBundle"],
        value: UnclaimedValue::EmptyOrInjected,
        source: CERTIFICATE_INJECTORS,
    },
    ControllerField {
        kinds: &[("rbac.authorization.k8s.io", "ClusterRole")],
        path: &["rules"],
        value: UnclaimedValue::Aggregated,
        source: "the controller of aggregated roles ([aggregated ClusterRoles](https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles))",
    },
    ControllerField {
        kinds: &[("", "PersistentVolumeClaim")],
        path: &["spec", "volumeName"],
        value: UnclaimedValue::Empty,
        source: "the volume binder ([PersistentVolumeClaim](https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/persistent-volume-claim-v1/))",
    },
    ControllerField {
        kinds: &[("apps", "Deployment")],
        path: &["metadata", "annotations", "deployment.kubernetes.io/revision"],
        value: UnclaimedValue::Any,
        source: "the Deployment controller ([well-known annotations](https://kubernetes.io/docs/reference/labels-annotations-taints/#deployment-kubernetes-io-revision))",
    },
];

/// The object in the form in which it is applied: the texts of a Secret in `data`, because the server stores no `stringData` and
/// a key that only `stringData` owned would stay after its removal; no field that is left to a controller.
pub fn to_applied_form(object: &Value) -> Value {
    let mut applied = secret::with_stored_data(object).into_owned();
    let (group, kind) = (group_of(object), object["kind"].as_str().unwrap_or_default());
    let is_injected = {
        let annotations = &object["metadata"]["annotations"];
        INJECTOR_ANNOTATIONS.iter().any(|name| annotations.get(*name).is_some())
    };
    for field in CONTROLLER_FIELDS.iter().filter(|field| field.kinds.contains(&(group, kind))) {
        let is_unclaimed = |value: &Value| match field.value {
            UnclaimedValue::Any => true,
            UnclaimedValue::Empty => value == "",
            UnclaimedValue::EmptyOrInjected => value == "" || is_injected,
            UnclaimedValue::Aggregated => object.get("aggregationRule").is_some_and(|rule| !rule.is_null()),
        };
        remove_field(&mut applied, field.path, &is_unclaimed);
    }
    applied
}

fn group_of(object: &Value) -> &str {
    ObjectRef::split_api_version(object["apiVersion"].as_str().unwrap_or_default()).0
}

fn remove_field(value: &mut Value, path: &[&str], is_unclaimed: &dyn Fn(&Value) -> bool) {
    let Some((key, rest)) = path.split_first() else { return };
    match value {
        Value::Array(items) if *key == "*" => {
            items.iter_mut().for_each(|item| remove_field(item, rest, is_unclaimed));
        }
        Value::Object(map) => match map.get_mut(*key) {
            Some(child) if !rest.is_empty() => remove_field(child, rest, is_unclaimed),
            Some(child) if is_unclaimed(child) => {
                map.shift_remove(*key);
            }
            _ => {}
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn webhook(annotations: Value, bundle: &str) -> Value {
        json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "checks", "annotations": annotations},
            "webhooks": [{"name": "a", "clientConfig": {"caBundle": bundle, "url": "https://a"}}]})
    }

    #[test]
    fn the_document_lists_every_field_that_is_left_to_a_controller() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/drift.md");
        let document = std::fs::read_to_string(document).unwrap();
        for field in CONTROLLER_FIELDS {
            let kinds: Vec<&str> = field.kinds.iter().map(|(_, kind)| *kind).collect();
            let values = match field.value {
                UnclaimedValue::Any => "any",
                UnclaimedValue::Empty => "empty",
                UnclaimedValue::EmptyOrInjected => "empty; any with an injector's annotation",
                UnclaimedValue::Aggregated => "any beside an aggregationRule",
            };
            let path = field.path.join(".").replace(".*", "[*]");
            let row = format!("| {} | `{path}` | {values} | {} |", kinds.join(", "), field.source);
            assert!(document.contains(&row), "docs/drift.md has no row {row}");
        }
        let section = document.split("## Fields that are left to controllers\n").nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        let rows = section.lines().filter(|line| line.starts_with('|')).count() - 2;
        assert_eq!(rows, CONTROLLER_FIELDS.len(), "docs/drift.md has a row that the code does not have");
        for annotation in INJECTOR_ANNOTATIONS {
            assert!(
                document.contains(&format!("`{annotation}`")),
                "docs/drift.md does not name {annotation}"
            );
        }
    }

    #[test]
    fn the_texts_of_a_secret_are_applied_as_data() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"login": "ann"}, "data": {"token": "eA=="}});
        let applied =
            json!({"apiVersion": "v1", "kind": "Secret", "data": {"token": "eA==", "login": "YW5u"}});
        assert_eq!(to_applied_form(&secret), applied);
        let invalid = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"port": 80}});
        assert_eq!(to_applied_form(&invalid), invalid, "the server names what is wrong");
    }

    #[test]
    fn an_empty_bundle_and_one_that_an_injector_replaces_are_not_applied() {
        let without = |object: Value| to_applied_form(&object)["webhooks"][0]["clientConfig"].clone();
        assert_eq!(without(webhook(json!({}), "")), json!({"url": "https://a"}));
        assert_eq!(without(webhook(json!({}), "Cg==")), json!({"caBundle": "Cg==", "url": "https://a"}));
        let injected = json!({"cert-manager.io/inject-ca-from": "shop/ca"});
        assert_eq!(without(webhook(injected, "Cg==")), json!({"url": "https://a"}));
        let service = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "spec": {"caBundle": ""}});
        assert_eq!(to_applied_form(&service)["spec"], json!({}));
    }

    #[test]
    fn what_other_controllers_fill_is_not_applied() {
        let role = |aggregation: Value| {
            json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "aggregationRule": aggregation, "rules": []})
        };
        assert_eq!(to_applied_form(&role(json!({"clusterRoleSelectors": []}))).get("rules"), None);
        assert_eq!(to_applied_form(&role(Value::Null))["rules"], json!([]));
        let claim = |volume: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"volumeName": volume}});
        assert_eq!(to_applied_form(&claim(""))["spec"], json!({}));
        assert_eq!(to_applied_form(&claim("disk")), claim("disk"));
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"annotations": {"deployment.kubernetes.io/revision": "3", "team": "a"}}});
        assert_eq!(to_applied_form(&deployment)["metadata"]["annotations"], json!({"team": "a"}));
    }
}
