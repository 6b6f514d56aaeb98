//! Rules about whole objects and between objects.

use super::*;

fn service(spec: &str) -> String {
    format!(
        "{}---\napiVersion: v1\nkind: Service\nmetadata: {{name: web}}\nspec: {spec}\n",
        deployment("ports: [{name: http, containerPort: 8080}]")
    )
}

fn object(api_version: &str, kind: &str, spec: &str) -> String {
    format!(
        "{}---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: x}}\nspec: {spec}\n",
        service("{selector: {app: web}, ports: [{port: 80, targetPort: http}]}")
    )
}

#[test]
fn g101_the_workload_and_its_objects_have_valid_names() {
    let spec = WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() };
    assert_eq!(check_static("Hello_App", &spec, &ParsedManifests::default())[0].hint, "Try \"hello-app\".");
    let finding = only_finding("G101", &deployment("").replace("{name: web}", "{name: My_Web}"));
    assert_eq!((finding.hint.as_str(), finding.path.as_str()), ("Try \"my-web\".", "/metadata/name"));
    assert_no_finding(
        "G101",
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'system:a'}\n",
    );
    assert_no_finding("G101", &deployment("").replace("{name: web}", "{name: web.v2}"));
}

#[test]
fn g107_a_system_namespace_is_an_error_in_metadata_and_as_an_object() {
    let finding =
        only_finding("G107", &deployment("").replace("{name: web}", "{name: web, namespace: kube-system}"));
    assert_eq!(finding.object, "Deployment kube-system/web");
    assert_eq!(finding.location.unwrap().line, 3);
    assert!(
        only_finding("G107", "apiVersion: v1\nkind: Namespace\nmetadata: {name: kube-x}\n").is_blocking()
    );
    assert_no_finding("G107", "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n");
}

#[test]
fn g124_a_value_that_was_hidden_is_not_published() {
    let secret = |value: &str| {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: key}}\nstringData: {{password: {value}}}\n")
    };
    let finding = only_finding("G124", &secret("(hidden)"));
    assert_eq!((finding.path.as_str(), finding.is_blocking()), ("/stringData/password", true));
    assert_no_finding("G124", &secret("hidden"));
    // A Secret in another object is shown with the placeholder too.
    let config = |value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: web}}\ndata: {{all.yaml: {value}}}\n")
    };
    assert_eq!(only_finding("G124", &config("(hidden)")).path, "/data/all.yaml");
    assert_no_finding("G124", &config("is (hidden)"));
    // So is a file that can't be read.
    let text = crate::text::secret_text::hide_secrets(
        "kind: Secret\nbad: [\n",
        &mut crate::text::yaml_edit::EditBudget::default(),
    );
    let finding = only_finding("G124", &format!("{}---\n{text}", config("blue")));
    assert_eq!(finding.location.map(|location| location.file).as_deref(), Some("a.yaml"));
}

#[test]
fn g128_a_chart_that_a_controller_of_the_cluster_installs_is_named_with_its_repository() {
    let envelope = |api_version: &str, kind: &str, spec: &str| {
        format!("apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: traefik}}\nspec: {spec}\n")
    };
    let of_k3s =
        "{chart: traefik, version: 27.0.2, repo: 'https://charts.example.com', valuesContent: 'a: 1'}";
    let of_flux = "{chart: {spec: {chart: traefik, version: 27.0.2, sourceRef: {kind: HelmRepository, name: traefik}}}}";
    let of_argo = "{source: {chart: traefik, targetRevision: 27.0.2, repoURL: 'https://charts.example.com'}}";
    let of_sources = "{sources: [{repoURL: 'https://git.example.com/values', ref: values}, \
         {chart: traefik, targetRevision: 27.0.2, repoURL: 'https://charts.example.com'}]}";
    for (api_version, kind, spec, repository) in [
        ("helm.cattle.io/v1", "HelmChart", of_k3s, "https://charts.example.com"),
        ("helm.toolkit.fluxcd.io/v2", "HelmRelease", of_flux, "traefik"),
        ("argoproj.io/v1alpha1", "Application", of_argo, "https://charts.example.com"),
        ("argoproj.io/v1alpha1", "Application", of_sources, "https://charts.example.com"),
    ] {
        let finding = only_finding("G128", &envelope(api_version, kind, spec));
        let expected = format!("{kind} traefik names the chart \"traefik\" 27.0.2 of {repository}. ");
        assert!(finding.message.starts_with(&expected), "{}", finding.message);
        assert!(!finding.is_blocking() && finding.hint.contains("flotilla chart repo add"), "{finding:?}");
    }
    // Manifests of a folder, and a kind of the same name of another group.
    assert_no_finding("G128", &envelope("argoproj.io/v1alpha1", "Application", "{source: {path: deploy}}"));
    let folders = "{sources: [{path: deploy}, {path: base}]}";
    assert_no_finding("G128", &envelope("argoproj.io/v1alpha1", "Application", folders));
    assert_no_finding("G128", &envelope("example.com/v1", "HelmChart", "{chart: traefik}"));
}

#[test]
fn g110_an_object_with_and_one_without_the_namespace_are_duplicates() {
    let twice = format!(
        "{}---\n{}",
        deployment(""),
        deployment("").replace("{name: web}", "{name: web, namespace: web}")
    );
    assert!(
        only_finding("G110", &twice)
            .message
            .starts_with("Deployment web/web is defined twice (a.yaml:1, a.yaml:13)")
    );
    let apart = format!(
        "{}---\n{}",
        deployment(""),
        deployment("").replace("{name: web}", "{name: web, namespace: b}")
    );
    assert_no_finding("G110", &apart);
    assert_eq!(
        findings_with_code("G110", &format!("{}---\n{}", deployment(""), deployment(""))).len(),
        1,
        "reported once, not twice"
    );
}

#[test]
fn g222_jobs_terminate_and_schedules_are_valid() {
    let job = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: 'a:1'}]}}}\n";
    assert_no_finding("G222", job);
    assert!(
        only_finding("G222", &job.replace("Never", "Always")).message.contains("needs OnFailure or Never")
    );
    assert!(only_finding("G222", &job.replace("restartPolicy: Never, ", "")).message.contains("not set"));
    let cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {schedule: '30 2 * * *', timeZone: Europe/Zurich, concurrencyPolicy: Forbid}\n";
    assert_no_finding("G222", cron);
    let finding = only_finding("G222", &cron.replace("30 2", "61 2"));
    assert_eq!(
        finding.message,
        "CronJob \"nightly\": schedule \"61 2 * * *\" has minute 61; the range is 0 to 59."
    );
    assert!(only_finding("G222", &cron.replace("Europe/Zurich", "Local")).message.contains("IANA"));
    assert!(only_finding("G222", &cron.replace("Forbid", "Never")).message.contains("none of Allow"));
}

#[test]
fn g223_a_stateful_set_has_a_headless_service() {
    let set = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: db}\nspec: {serviceName: db}\n";
    assert_eq!(only_finding("G223", set).severity, Severity::Warning);
    let with = |spec: &str| {
        format!("{set}---\napiVersion: v1\nkind: Service\nmetadata: {{name: db}}\nspec: {spec}\n")
    };
    assert!(only_finding("G223", &with("{ports: [{port: 1}]}")).message.contains("not headless"));
    assert_no_finding("G223", &with("{clusterIP: None, ports: [{port: 1}]}"));
    assert!(
        only_finding("G223", &deployment_with("", "terminationGracePeriodSeconds: -1", "")).is_blocking()
    );
}

#[test]
fn g301_a_service_without_matching_pods_is_a_warning() {
    let finding = only_finding("G301", &service("{selector: {app: api}, ports: [{port: 80}]}"));
    assert_eq!(
        finding.message,
        "Service \"web\" selects app=api, but no pod template here has those labels."
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_no_finding("G301", &service("{selector: {app: web}, ports: [{port: 80, targetPort: http}]}"));
    assert_no_finding("G301", &service("{type: ExternalName, externalName: a.example.com}"));
}

#[test]
fn g302_ports_of_a_service_have_a_target() {
    let ports = |ports: &str| service(&format!("{{selector: {{app: web}}, ports: [{ports}]}}"));
    let wrong = only_finding("G302", &ports("{port: 80, targetPort: 8081}"));
    assert_eq!(wrong.message, "Service \"web\" sends port 80 to 8081, but the container declares port 8080.");
    assert_eq!(
        wrong.severity,
        Severity::Warning,
        "a container may listen on a port that it does not declare"
    );
    assert!(only_finding("G302", &ports("{port: 80, targetPort: web}")).is_blocking());
    assert!(only_finding("G302", &ports("{port: 0, targetPort: http}")).message.contains("not a port"));
    assert!(
        only_finding("G302", &ports("{name: a, port: 80, targetPort: http}, {port: 81, targetPort: http}"))
            .message
            .contains("needs a name")
    );
    assert!(
        only_finding(
            "G302",
            &ports("{name: a, port: 80, targetPort: http}, {name: b, port: 80, targetPort: http}")
        )
        .message
        .contains("is listed twice")
    );
    assert_no_finding("G302", &ports("{name: a, port: 80, targetPort: http}, {name: b, port: 8080}"));
}

#[test]
fn g303_node_ports_are_in_their_range() {
    let port = |number: u32| {
        service(&format!(
            "{{type: NodePort, selector: {{app: web}}, ports: [{{port: 80, targetPort: http, nodePort: {number}}}]}}"
        ))
    };
    assert!(only_finding("G303", &port(80)).message.contains("30000–32767"));
    assert_no_finding("G303", &port(31_000));
}

#[test]
fn g304_an_ingress_targets_an_existing_port() {
    let ingress = |host: &str, kind: &str, name: &str, port: &str| {
        object(
            "networking.k8s.io/v1",
            "Ingress",
            &format!(
                "{{rules: [{{host: '{host}', http: {{paths: [{{path: /, pathType: {kind}, backend: {{service: {{name: {name}, port: {port}}}}}}}]}}}}]}}"
            ),
        )
    };
    assert_no_finding("G304", &ingress("*.example.com", "Prefix", "web", "{number: 80}"));
    let wrong = only_finding("G304", &ingress("a.example.com", "Prefix", "web", "{number: 81}"));
    assert_eq!(wrong.message, "Ingress \"x\" points to Service \"web\" port 81; that Service has ports 80.");
    assert!(wrong.is_blocking());
    assert_eq!(
        only_finding("G304", &ingress("a.b", "Prefix", "api", "{number: 81}")).severity,
        Severity::Warning
    );
    assert!(
        only_finding("G304", &ingress("a.b:80", "Prefix", "web", "{number: 80}"))
            .message
            .contains("not a DNS name")
    );
    assert!(only_finding("G304", &ingress("a.b", "''", "web", "{number: 80}")).message.contains("pathType"));
}

#[test]
fn g307_an_autoscaler_has_bounds_and_a_target() {
    let scaler = |spec: &str| object("autoscaling/v2", "HorizontalPodAutoscaler", spec);
    let target = "scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}";
    let bounds = only_finding("G307", &scaler(&format!("{{minReplicas: 10, maxReplicas: 5, {target}}}")));
    assert_eq!(bounds.message, "HPA \"x\": minReplicas 10 is more than maxReplicas 5.");
    assert!(only_finding("G307", &scaler(&format!("{{{target}}}"))).message.contains("no maxReplicas"));
    assert_eq!(
        only_finding("G307", &scaler("{maxReplicas: 5, scaleTargetRef: {kind: Deployment, name: api}}"))
            .severity,
        Severity::Warning
    );
    let fights = scaler(&format!("{{maxReplicas: 5, {target}}}"))
        .replace("spec:\n  selector", "spec:\n  replicas: 2\n  selector");
    assert!(only_finding("G307", &fights).message.contains("undo the scaling"));
    let by_cpu = format!(
        "{{maxReplicas: 5, {target}, metrics: [{{type: Resource, resource: {{name: cpu, target: {{type: Utilization, averageUtilization: 50}}}}}}]}}"
    );
    assert!(only_finding("G307", &scaler(&by_cpu)).message.contains("requests no cpu"));
    assert_no_finding("G307", &scaler(&format!("{{maxReplicas: 5, {target}}}")));
}

#[test]
fn g308_a_budget_that_allows_no_eviction_is_a_warning() {
    let budget = |spec: &str| {
        let text = object(
            "policy/v1",
            "PodDisruptionBudget",
            &format!("{{{spec}, selector: {{matchLabels: {{app: web}}}}}}"),
        );
        text.replace("spec:\n  selector", "spec:\n  replicas: 3\n  selector")
    };
    let finding = only_finding("G308", &budget("minAvailable: 3"));
    assert_eq!(
        finding.message,
        "PDB \"x\" requires 3 of 3 pods: node drains and cluster upgrades will hang."
    );
    assert_eq!(only_finding("G308", &budget("maxUnavailable: 0%")).severity, Severity::Warning);
    assert!(only_finding("G308", &budget("minAvailable: 1, maxUnavailable: 1")).is_blocking());
    assert_no_finding("G308", &budget("minAvailable: 2"));
    assert_no_finding("G308", &budget("maxUnavailable: 1"));
}

#[test]
fn g403_data_that_is_not_text_is_an_error() {
    let finding = only_finding(
        "G403",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  port: 8080\n  text: x\n",
    );
    assert_eq!((finding.hint.as_str(), finding.location.unwrap().line), ("Put the value in quotes.", 5));
}

#[test]
fn g109_files_without_an_object_are_an_error() {
    assert!(only_finding("G109", "# nothing here yet\n---\n").message.contains("no Kubernetes object"));
    assert_no_finding("G109", "  \n");
}

#[test]
fn g302_a_service_has_ports_in_range_and_an_external_one_a_name() {
    let bare = |spec: &str| format!("apiVersion: v1\nkind: Service\nmetadata: {{name: a}}\nspec: {spec}\n");
    assert!(only_finding("G302", &bare("{selector: {}}")).message.contains("has no ports"));
    assert!(
        only_finding("G302", &bare("{ports: [{port: 80, targetPort: 70000}]}"))
            .message
            .contains("targetPort 70000")
    );
    assert!(only_finding("G302", &bare("{type: ExternalName}")).message.contains("without externalName"));
    assert_no_finding("G302", &bare("{clusterIP: None, selector: {}}"));
    assert_no_finding("G302", &bare("{type: ExternalName, externalName: a.example.com}"));
}

#[test]
fn g303_a_node_port_fits_the_type_and_is_unique() {
    let port = |name: &str, kind: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{type: {kind}, ports: [{{port: 80, nodePort: 31000}}]}}\n"
        )
    };
    assert!(only_finding("G303", &port("a", "ClusterIP")).message.contains("needs the type NodePort"));
    let twice = only_finding("G303", &(port("a", "NodePort") + &port("b", "LoadBalancer")));
    assert_eq!(
        twice.message,
        "nodePort 31000 of Service \"b\" is also used by Service web/a; a node port can be used once per cluster."
    );
    assert_no_finding("G303", &(port("a", "NodePort") + &port("b", "NodePort").replace("31000", "31001")));
}

#[test]
fn g304_an_ingress_has_rules_backends_and_valid_secret_names() {
    let ingress = |spec: &str| {
        format!("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {{name: a}}\nspec: {spec}\n")
    };
    assert!(only_finding("G304", &ingress("{}")).message.contains("neither rules nor a defaultBackend"));
    let path = |route: &str| {
        ingress(&format!("{{rules: [{{http: {{paths: [{{path: /, pathType: Prefix{route}}}]}}}}]}}"))
    };
    assert!(only_finding("G304", &path("")).message.contains("without a backend"));
    assert!(
        only_finding("G304", &path(", backend: {serviceName: web, servicePort: 80}"))
            .message
            .contains("backend fields of v1beta1")
    );
    assert_no_finding("G304", &path(", backend: {resource: {kind: Bucket, name: a}}"));
    let tls = |secret: &str| {
        ingress(&format!(
            "{{defaultBackend: {{resource: {{kind: B, name: a}}}}, tls: [{{secretName: {secret}}}]}}"
        ))
    };
    assert!(only_finding("G304", &tls("My_Cert")).message.contains("is not a valid name of a Secret"));
    assert_no_finding("G304", &tls("my-cert"));
}

#[test]
fn g307_a_target_is_scalable_and_has_one_autoscaler() {
    let scaler = |name: &str, kind: &str| {
        format!(
            "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {{name: {name}}}\nspec: {{minReplicas: 1, maxReplicas: 5, scaleTargetRef: {{kind: {kind}, name: web}}}}\n"
        )
    };
    let base = deployment("");
    let twice =
        only_finding("G307", &format!("{base}{}{}", scaler("a", "Deployment"), scaler("b", "Deployment")));
    assert!(twice.message.contains("undo each other"), "{}", twice.message);
    let daemon =
        format!("{}{}", base.replace("kind: Deployment", "kind: DaemonSet"), scaler("a", "DaemonSet"));
    assert!(only_finding("G307", &daemon).message.contains("can't be scaled"));
    let zero = format!("{base}{}", scaler("a", "Deployment").replace("minReplicas: 1", "minReplicas: 0"));
    assert_eq!(only_finding("G307", &zero).severity, Severity::Warning);
    assert_no_finding("G307", &format!("{base}{}", scaler("a", "Deployment")));
}

#[test]
fn g307_utilization_needs_a_request_in_every_version() {
    let old = format!(
        "{}---\napiVersion: autoscaling/v1\nkind: HorizontalPodAutoscaler\nmetadata: {{name: a}}\nspec: {{maxReplicas: 5, targetCPUUtilizationPercentage: 80, scaleTargetRef: {{kind: Deployment, name: web}}}}\n",
        deployment("resources: {requests: {memory: 1Gi}}")
    );
    assert!(only_finding("G307", &old).message.contains("requests no cpu"));
    let memory = old.replace("autoscaling/v1", "autoscaling/v2").replace(
        "targetCPUUtilizationPercentage: 80",
        "metrics: [{type: Resource, resource: {name: memory, target: {type: Utilization, averageUtilization: 50}}}]",
    );
    assert_no_finding("G307", &memory);
    assert!(
        only_finding("G307", &memory.replace("memory: 1Gi", "cpu: 1")).message.contains("requests no memory")
    );
}

#[test]
fn g308_a_budget_selects_pods_of_this_workload() {
    let budget = |selector: &str| {
        format!(
            "{}---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {{name: a}}\nspec: {{maxUnavailable: 1, {selector}}}\n",
            deployment("")
        )
    };
    assert!(
        only_finding("G308", &budget("selector: {matchLabels: {app: api}}"))
            .message
            .contains("selects no pod of this")
    );
    assert!(only_finding("G308", &budget("selector: {}")).message.contains("every pod of the namespace"));
    assert_no_finding(
        "G308",
        &budget("selector: {matchExpressions: [{key: app, operator: In, values: [web, api]}]}"),
    );
    assert_no_finding("G308", &budget("selector: {matchLabels: {app: web}}"));
}

#[test]
fn g309_references_of_bindings_and_broad_roles_are_reported() {
    let rbac = "apiVersion: rbac.authorization.k8s.io/v1\n";
    let role = |rule: &str| format!("{rbac}kind: ClusterRole\nmetadata: {{name: a}}\nrules: [{{{rule}}}]\n");
    assert!(
        only_finding("G309", &role("apiGroups: [''], resources: [pods], verbs: ['*']"))
            .message
            .contains("allows every verb on some resources")
    );
    assert!(
        only_finding("G309", &role("apiGroups: [''], resources: ['*'], verbs: [get]"))
            .message
            .contains("including Secrets")
    );
    assert_no_finding("G309", &role("apiGroups: [example.com], resources: ['*'], verbs: [get]"));
    let binding = |reference: &str, subject: &str| {
        format!(
            "{rbac}kind: ClusterRoleBinding\nmetadata: {{name: a}}\nroleRef: {{{reference}}}\nsubjects: [{{kind: ServiceAccount, {subject}}}]\n"
        )
    };
    let view = "kind: ClusterRole, name: view";
    assert!(only_finding("G309", &binding(view, "name: a")).message.contains("without its namespace"));
    assert!(
        only_finding("G309", &binding("kind: ClusterRole", "name: default, namespace: x"))
            .message
            .contains("names no Role or ClusterRole")
    );
    assert_no_finding("G309", &binding(view, "name: a, namespace: elsewhere"));
}

#[test]
fn p19_g115_many_invalid_expressions_below_a_long_key_have_few_and_short_findings() {
    let fields: String = (0..3_000).map(|n| format!("    k{n}: ${{{{cluster.x}}}}\n")).collect();
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  ? \"{}\"\n  :\n{fields}",
        "K".repeat(4_000)
    );
    let found = findings_with_code("G115", &text);
    assert_eq!(found.len(), 51);
    assert!(found.iter().all(|finding| finding.path.len() < 520));
    assert!(found.iter().any(|finding| finding.message.contains("2950 more expressions")), "{found:?}");
    assert!(found.iter().any(Finding::is_blocking));
}
