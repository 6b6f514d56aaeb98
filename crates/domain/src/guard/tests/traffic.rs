//! Who may reach whom: ingress paths, network policies, webhooks.

use super::*;

/// A Deployment `web` that listens on 8080, its Service, and more.
fn served(more: &str) -> String {
    format!(
        "{}---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{app: web}}, ports: [{{port: 80, targetPort: http}}]}}\n---\n{more}",
        deployment("ports: [{name: http, containerPort: 8080}]")
    )
}

fn policy(spec: &str) -> String {
    served(&format!(
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: wall}}\nspec: {spec}\n"
    ))
}

fn ingress(name: &str, host: &str, path: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}}}\nspec: {{rules: [{{host: {host}, http: {{paths: [{{path: {path}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}\n"
    )
}

#[test]
fn g305_two_that_take_one_path_of_one_host_are_told() {
    let both = |b: &str| served(&format!("{}---\n{b}", ingress("a", "shop.example.com", "/")));
    let finding = one("G305", &both(&ingress("b", "shop.example.com", "/")));
    assert_eq!(
        finding.message,
        "Ingress web/a and Ingress web/b both take \"shop.example.com/\"; which of them is asked, only the controller knows."
    );
    assert_eq!(
        (finding.severity, finding.path.as_str()),
        (Severity::Warning, "/spec/rules/0/http/paths/0/path")
    );
    is_quiet("G305", &both(&ingress("b", "shop.example.com", "/api")));
    is_quiet("G305", &both(&ingress("b", "www.example.com", "/")));
    let other =
        ingress("b", "shop.example.com", "/").replace("spec: {", "spec: {ingressClassName: internal, ");
    is_quiet("G305", &both(&other));
    is_quiet("G305", &both(&ingress("b", "shop.example.com", "/").replace("Prefix", "Exact")));
    let canary = "{name: b, annotations: {nginx.ingress.kubernetes.io/canary: 'true'}}";
    is_quiet("G305", &both(&ingress("b", "shop.example.com", "/").replace("{name: b}", canary)));
}

#[test]
fn g310_a_policy_that_denies_what_the_service_sends_is_told() {
    let finding = one("G310", &policy("{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}"));
    assert_eq!(
        finding.message,
        "NetworkPolicy web/wall denies what Service \"web\" sends to the pods of Deployment web/web on port 80."
    );
    assert_eq!(finding.severity, Severity::Warning);
    for spec in [
        "{podSelector: {}, ingress: [{ports: [{port: 80}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 8080, protocol: UDP}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: https}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 9000, endPort: 9100}]}]}",
    ] {
        one("G310", &policy(spec));
    }
    for spec in [
        "{podSelector: {}, ingress: [{}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 8080}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: http}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 8000, endPort: 8100}]}]}",
        "{podSelector: {}, ingress: [{from: [{podSelector: {}}]}]}",
        "{podSelector: {matchLabels: {app: api}}, policyTypes: [Ingress]}",
        "{podSelector: {}, policyTypes: [Egress], egress: [{}]}",
    ] {
        is_quiet("G310", &policy(spec));
    }
}

#[test]
fn g310_policies_add_up() {
    let deny = policy("{podSelector: {}, policyTypes: [Ingress]}");
    one("G310", &deny);
    let allow = "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: door}\nspec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: http}]}]}\n";
    is_quiet("G310", &format!("{deny}{allow}"));
}

#[test]
fn g310_pods_that_can_not_ask_for_names_are_told() {
    let finding = one("G310", &policy("{podSelector: {}, policyTypes: [Egress]}"));
    assert_eq!(
        finding.message,
        "NetworkPolicy web/wall lets the pods of Deployment web/web send nothing to port 53, so they can't resolve any name."
    );
    assert!(finding.hint.contains("port 53"));
    one("G310", &policy("{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 5432}]}]}"));
    is_quiet(
        "G310",
        &policy("{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}]}]}"),
    );
    for open in ["to: [{namespaceSelector: {}}]", "ports: [{port: dns, protocol: UDP}]"] {
        is_quiet(
            "G310",
            &policy(&format!("{{podSelector: {{}}, policyTypes: [Egress], egress: [{{{open}}}]}}")),
        );
    }
}

fn webhook(fields: &str) -> String {
    served(&format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{name: guard}}\nwebhooks:\n- {{name: pods.example.com, clientConfig: {{service: {{name: web, namespace: web}}}}, rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}], {fields}}}\n"
    ))
}

#[test]
fn g311_a_webhook_that_its_own_pods_wait_for_is_told() {
    let finding = one("G311", &webhook("failurePolicy: Fail"));
    assert_eq!(finding.object, "ValidatingWebhookConfiguration guard");
    assert_eq!(finding.path, "/webhooks/0");
    assert!(finding.message.contains("a pod of Deployment web/web"), "{}", finding.message);
    assert!(finding.hint.contains("NotIn [web]"), "{}", finding.hint);
    one("G311", &webhook("sideEffects: None"));
    one(
        "G311",
        &webhook(
            "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [db]}]}",
        ),
    );
    for harmless in [
        "failurePolicy: Ignore",
        "namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [web]}]}",
        "namespaceSelector: {matchLabels: {checked: 'yes'}}",
        "objectSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}",
    ] {
        is_quiet("G311", &webhook(harmless));
    }
    is_quiet("G311", &webhook("failurePolicy: Fail").replace("resources: [pods]", "resources: [configmaps]"));
    is_quiet("G311", &webhook("failurePolicy: Fail").replace("namespace: web}", "namespace: other}"));
}

#[test]
fn g311_labels_of_a_namespace_that_the_workload_brings_are_known() {
    let selector = "namespaceSelector: {matchExpressions: [{key: checked, operator: DoesNotExist}]}";
    let namespace = |labels: &str| {
        format!(
            "{}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: web, labels: {labels}}}\n",
            webhook(selector)
        )
    };
    one("G311", &namespace("{}"));
    is_quiet("G311", &namespace("{checked: 'no'}"));
    is_quiet("G311", &webhook(selector));
}
