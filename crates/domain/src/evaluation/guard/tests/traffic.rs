//! Rules about ingress paths, network policies and webhooks.

use super::*;

/// A Deployment `web` with the port 8080, its Service, and further objects.
fn deployment_and_service(more: &str) -> String {
    format!(
        "{}---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {{selector: {{app: web}}, ports: [{{port: 80, targetPort: http}}]}}\n---\n{more}",
        deployment("ports: [{name: http, containerPort: 8080}]")
    )
}

fn policy(spec: &str) -> String {
    deployment_and_service(&format!(
        "apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {{name: wall}}\nspec: {spec}\n"
    ))
}

fn ingress(name: &str, host: &str, path: &str) -> String {
    format!(
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: {name}}}\nspec: {{rules: [{{host: {host}, http: {{paths: [{{path: {path}, pathType: Prefix, backend: {{service: {{name: web, port: {{number: 80}}}}}}}}]}}}}]}}\n"
    )
}

#[test]
fn g305_two_ingresses_with_the_same_host_and_path_are_a_warning() {
    let both =
        |b: &str| deployment_and_service(&format!("{}---\n{b}", ingress("a", "shop.example.com", "/")));
    let finding = only_finding("G305", &both(&ingress("b", "shop.example.com", "/")));
    assert_eq!(
        finding.message,
        "Ingress web/a and Ingress web/b both route \"shop.example.com/\"; the ingress controller decides which of them receives the requests."
    );
    assert_eq!(
        (finding.severity, finding.path.as_str()),
        (Severity::Warning, "/spec/rules/0/http/paths/0/path")
    );
    assert_no_finding("G305", &both(&ingress("b", "shop.example.com", "/api")));
    assert_no_finding("G305", &both(&ingress("b", "www.example.com", "/")));
    let other =
        ingress("b", "shop.example.com", "/").replace("spec: {", "spec: {ingressClassName: internal, ");
    assert_no_finding("G305", &both(&other));
    assert_no_finding("G305", &both(&ingress("b", "shop.example.com", "/").replace("Prefix", "Exact")));
    let canary = "{name: b, annotations: {nginx.ingress.kubernetes.io/canary: 'true'}}";
    assert_no_finding("G305", &both(&ingress("b", "shop.example.com", "/").replace("{name: b}", canary)));
}

#[test]
fn g310_a_policy_that_denies_traffic_of_the_service_is_a_warning() {
    let finding =
        only_finding("G310", &policy("{podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress]}"));
    assert_eq!(
        finding.message,
        "NetworkPolicy web/wall denies the traffic of Service \"web\" to the pods of Deployment web/web on port 80."
    );
    assert_eq!(finding.severity, Severity::Warning);
    for spec in [
        "{podSelector: {}, ingress: [{ports: [{port: 80}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 8080, protocol: UDP}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: https}]}]}",
        "{podSelector: {}, ingress: [{ports: [{port: 9000, endPort: 9100}]}]}",
    ] {
        only_finding("G310", &policy(spec));
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
        assert_no_finding("G310", &policy(spec));
    }
}

#[test]
fn g310_policies_are_additive() {
    let deny = policy("{podSelector: {}, policyTypes: [Ingress]}");
    only_finding("G310", &deny);
    let allow = "---\napiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: door}\nspec: {podSelector: {matchLabels: {app: web}}, ingress: [{ports: [{port: http}]}]}\n";
    assert_no_finding("G310", &format!("{deny}{allow}"));
}

#[test]
fn g310_denied_dns_requests_are_a_warning() {
    let finding = only_finding("G310", &policy("{podSelector: {}, policyTypes: [Egress]}"));
    assert_eq!(
        finding.message,
        "NetworkPolicy web/wall denies the pods of Deployment web/web all traffic to port 53, so they can't resolve DNS names."
    );
    assert!(finding.hint.contains("port 53"));
    only_finding(
        "G310",
        &policy("{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 5432}]}]}"),
    );
    assert_no_finding(
        "G310",
        &policy("{podSelector: {}, policyTypes: [Egress], egress: [{ports: [{port: 53, protocol: UDP}]}]}"),
    );
    for open in ["to: [{namespaceSelector: {}}]", "ports: [{port: dns, protocol: UDP}]"] {
        assert_no_finding(
            "G310",
            &policy(&format!("{{podSelector: {{}}, policyTypes: [Egress], egress: [{{{open}}}]}}")),
        );
    }
}

fn webhook(fields: &str) -> String {
    deployment_and_service(&format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {{name: guard}}\nwebhooks:\n- {{name: pods.example.com, clientConfig: {{service: {{name: web, namespace: web}}}}, rules: [{{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}}], {fields}}}\n"
    ))
}

#[test]
fn g311_a_webhook_that_blocks_its_own_pods_is_a_warning() {
    let finding = only_finding("G311", &webhook("failurePolicy: Fail"));
    assert_eq!(finding.object, "ValidatingWebhookConfiguration guard");
    assert_eq!(finding.path, "/webhooks/0");
    assert!(finding.message.contains("a pod of Deployment web/web"), "{}", finding.message);
    assert!(finding.hint.contains("NotIn [web]"), "{}", finding.hint);
    only_finding("G311", &webhook("sideEffects: None"));
    only_finding(
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
        assert_no_finding("G311", &webhook(harmless));
    }
    assert_no_finding(
        "G311",
        &webhook("failurePolicy: Fail").replace("resources: [pods]", "resources: [configmaps]"),
    );
    assert_no_finding(
        "G311",
        &webhook("failurePolicy: Fail").replace("namespace: web}", "namespace: other}"),
    );
}

#[test]
fn g311_labels_of_a_namespace_in_the_workload_are_considered() {
    let selector = "namespaceSelector: {matchExpressions: [{key: checked, operator: DoesNotExist}]}";
    let namespace = |labels: &str| {
        format!(
            "{}---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: web, labels: {labels}}}\n",
            webhook(selector)
        )
    };
    only_finding("G311", &namespace("{}"));
    assert_no_finding("G311", &namespace("{checked: 'no'}"));
    assert_no_finding("G311", &webhook(selector));
}
