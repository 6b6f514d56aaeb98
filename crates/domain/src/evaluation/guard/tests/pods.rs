//! Rules about pods and their containers.

use super::*;

#[test]
fn g201_an_invalid_image_reference_is_an_error() {
    let finding = only_finding("G201", &deployment("").replace("nginx:1.29", "Nginx:1.25"));
    assert_eq!(
        finding.message,
        "Image \"Nginx:1.25\" of container \"web\" is not valid: repository names are lower case."
    );
    assert_eq!(finding.hint, "Try \"nginx:1.25\".");
    assert_eq!(finding.path, "/spec/template/spec/containers/0/image");
    assert_eq!(finding.location.unwrap().line, 11);
    assert!(
        only_finding("G201", &deployment("").replace("        image: nginx:1.29\n", ""))
            .message
            .contains("no image")
    );
    assert_no_finding("G201", &deployment(""));
}

#[test]
fn g202_a_missing_or_latest_tag_is_a_warning() {
    for image in ["nginx", "nginx:latest", "reg.example.com:5000/nginx"] {
        let finding = only_finding("G202", &deployment("").replace("nginx:1.29", image));
        assert_eq!(finding.severity, Severity::Warning);
    }
    let digest = format!("nginx@sha256:{}", "a".repeat(64));
    assert_no_finding("G202", &deployment("").replace("nginx:1.29", &digest));
}

#[test]
fn g206_container_names_are_unique_and_valid() {
    let twice = only_finding(
        "G206",
        &deployment("")
            .replace("      containers:\n", "      containers:\n      - {name: web, image: a:1}\n"),
    );
    assert_eq!(twice.message, "Two containers are named \"web\"; Kubernetes rejects the pod.");
    assert!(
        only_finding(
            "G206",
            &deployment("").replace("name: web\n        image", "name: My_Web\n        image")
        )
        .message
        .contains("My_Web")
    );
    let empty = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n";
    assert!(only_finding("G206", empty).message.contains("no containers"));
}

#[test]
fn g207_container_ports_are_in_range_with_valid_and_unique_names() {
    let message = |ports: &str| only_finding("G207", &deployment(&format!("ports: [{ports}]"))).message;
    assert_eq!(
        message("{containerPort: 70000}"),
        "containerPort 70000 of container \"web\" is not a port: 1–65535."
    );
    assert!(message("{containerPort: '80'}").contains("\"80\""));
    assert_eq!(
        message("{containerPort: 80, name: http-management-ui}"),
        "Port name \"http-management-ui\" is longer than 15 characters."
    );
    assert!(message("{containerPort: 80, name: '80'}").contains("at least one letter"));
    assert!(message("{containerPort: 80}, {containerPort: 80}").contains("is listed twice"));
    assert!(
        message("{containerPort: 80, name: a}, {containerPort: 81, name: a}")
            .contains("Two ports are named \"a\"")
    );
    assert_no_finding(
        "G207",
        &deployment("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]"),
    );
}

#[test]
fn g208_a_host_port_with_several_replicas_is_a_warning() {
    let ports = "ports: [{containerPort: 80, hostPort: 8080}]";
    let finding = only_finding("G208", &deployment_with("replicas: 5", "", ports));
    assert_eq!(finding.message, "hostPort 8080 lets only one replica run per node; 5 are requested.");
    assert_no_finding("G208", &deployment(ports));
}

#[test]
fn g209_an_invalid_quantity_is_an_error_with_a_correction() {
    let finding = only_finding("G209", &deployment("resources: {limits: {memory: 512mb}}"));
    assert_eq!(finding.message, "memory: \"512mb\" is not a quantity; Kubernetes rejects it.");
    assert_eq!(finding.hint, "Write 512Mi.");
    assert!(
        only_finding("G209", &deployment("resources: {limits: {cpu: -1}}")).message.contains("is negative")
    );
    assert_no_finding(
        "G209",
        &deployment("resources: {limits: {memory: 1Gi, cpu: 0.5, example.com/gpu: 1}}"),
    );
}

#[test]
fn g209_the_path_of_a_quantity_escapes_its_resource_as_a_json_pointer() {
    let finding = only_finding("G209", &deployment("resources: {limits: {example.com/a~b: lots}}"));
    assert_eq!(finding.path, "/spec/template/spec/containers/0/resources/limits/example.com~1a~0b");
    assert!(finding.location.is_some(), "the path leads to the line");
}

#[test]
fn g210_units_that_are_probably_wrong_are_a_warning() {
    assert_eq!(
        only_finding("G210", &deployment("resources: {limits: {memory: 512m}}")).hint,
        "You probably want 512Mi."
    );
    assert_eq!(
        only_finding("G210", &deployment("resources: {limits: {cpu: 500}}")).hint,
        "You probably want 500m."
    );
}

#[test]
fn g211_a_request_above_its_limit_is_an_error() {
    let finding = only_finding("G211", &deployment("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"));
    assert_eq!(
        finding.message,
        "Container \"web\": requests.cpu 2 is more than limits.cpu 1; Kubernetes rejects the pod."
    );
    assert_no_finding(
        "G211",
        &deployment("resources: {requests: {cpu: 1000m, memory: 1Gi}, limits: {cpu: 1}}"),
    );
}

#[test]
fn g212_missing_resources_are_a_note() {
    let files = [SourceFile { name: "a.yaml".into(), text: deployment("") }];
    let findings = check_static(
        "shop",
        &WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() },
        &crate::text::manifest::parse(&files),
    );
    let finding = findings.iter().find(|finding| finding.code == "G212").unwrap();
    assert_eq!(finding.severity, Severity::Note);
    assert_eq!(
        finding.message,
        "Container \"web\" has no memory limit; it can use all the memory of its node."
    );
}

#[test]
fn g213_replicas_are_a_whole_number() {
    for bad in ["-1", "1.5", "'3'"] {
        assert!(
            only_finding("G213", &deployment_with(&format!("replicas: {bad}"), "", "")).is_blocking(),
            "{bad}"
        );
    }
    assert_eq!(only_finding("G213", &deployment_with("replicas: 0", "", "")).severity, Severity::Warning);
    assert_no_finding("G213", &deployment_with("replicas: 3", "", ""));
}

#[test]
fn g214_a_selector_that_does_not_match_its_own_pods_is_an_error() {
    let finding = only_finding(
        "G214",
        &deployment("").replace("{matchLabels: {app: web}}", "{matchLabels: {app: api}}"),
    );
    assert_eq!(
        finding.message,
        "Deployment web/web: selector app=api is not among its pod labels (app=web). Kubernetes will reject it."
    );
    assert_eq!(finding.location.unwrap().line, 5);
    let none = deployment("").replace("  selector: {matchLabels: {app: web}}\n", "");
    assert_eq!(only_finding("G214", &none).hint, "Add spec.selector.matchLabels with \"app: web\".");
    let by_expression = "{matchExpressions: [{key: app, operator: In, values: [web, api]}]}";
    assert_no_finding("G214", &deployment("").replace("{matchLabels: {app: web}}", by_expression));
}

#[test]
fn g215_labels_and_annotations_match_the_syntax_of_kubernetes() {
    let with = |labels: &str| {
        deployment("").replace("metadata: {name: web}", &format!("metadata: {{name: web, {labels}}}"))
    };
    assert!(only_finding("G215", &with("labels: {-a: b}")).message.contains("not a label key"));
    assert!(only_finding("G215", &with("labels: {a: 'b c'}")).message.contains("\"b c\" is not a value"));
    let number = only_finding("G215", &with("labels: {version: 2}"));
    assert_eq!(
        (number.hint.as_str(), number.path.as_str()),
        ("Put the value in quotes.", "/metadata/labels/version")
    );
    assert!(only_finding("G215", &with("annotations: {a: true}")).message.contains("is not text"));
    assert_no_finding(
        "G215",
        &with(
            "labels: {app.kubernetes.io/name: web, empty: ''}, annotations: {Example.com/x: 'any text, at all'}",
        ),
    );
}

#[test]
fn g216_an_invalid_probe_is_an_error_and_a_missing_one_a_note() {
    let probe = |probe: &str| deployment(&format!("livenessProbe: {probe}"));
    assert!(only_finding("G216", &probe("{periodSeconds: 3}")).message.contains("no handler"));
    assert!(
        only_finding("G216", &probe("{exec: {}, tcpSocket: {port: 1}}"))
            .message
            .contains("more than one handler")
    );
    assert!(only_finding("G216", &probe("{tcpSocket: {port: 1}, successThreshold: 2}")).is_blocking());
    assert_eq!(
        only_finding("G216", &probe("{tcpSocket: {port: 1}, timeoutSeconds: 20}")).severity,
        Severity::Note
    );
    assert_eq!(only_finding("G216", &deployment("ports: [{containerPort: 80}]")).severity, Severity::Note);
    assert_no_finding(
        "G216",
        &deployment("ports: [{containerPort: 80}]\nreadinessProbe: {tcpSocket: {port: 80}}"),
    );
}

#[test]
fn g217_mounts_reference_a_volume_and_have_a_unique_path() {
    let mount = "volumeMounts: [{name: cfg, mountPath: /a}]";
    assert_eq!(
        only_finding("G217", &deployment(mount)).message,
        "Container \"web\" mounts \"cfg\" but no volume has that name."
    );
    let volumes = "volumes: [{name: cfg, emptyDir: {}}]";
    assert_no_finding("G217", &deployment_with("", volumes, mount));
    let twice = "volumeMounts: [{name: cfg, mountPath: /a}, {name: cfg, mountPath: /a}]";
    assert!(
        only_finding("G217", &deployment_with("", volumes, twice)).message.contains("two volumes at \"/a\"")
    );
}

#[test]
fn g217_variables_have_one_source_and_are_unique() {
    let message = |env: &str| only_finding("G217", &deployment(&format!("env: [{env}]"))).message;
    assert!(message("{name: PORT, value: 8080}").contains("is not text"));
    assert!(message("{name: A=B, value: x}").contains("not a valid variable name"));
    assert!(
        message("{name: A, value: x, valueFrom: {fieldRef: {fieldPath: a}}}")
            .contains("both value and valueFrom")
    );
    assert!(message("{name: A, value: a}, {name: A, value: b}").contains("set twice"));
    assert_no_finding("G217", &deployment("env: [{name: a.b-c, value: ''}, {name: B}]"));
}

#[test]
fn g219_a_secret_in_clear_text_is_a_warning_without_its_value() {
    let finding = only_finding("G219", &deployment("env: [{name: DB_PASSWORD, value: hunter2}]"));
    assert_eq!(finding.severity, Severity::Warning);
    assert_eq!(
        finding.message,
        "Env \"DB_PASSWORD\" looks like a secret in clear text; anyone who may read this workload will see it."
    );
    let token = format!("eyJ{}.eyJ{}.{}", "a".repeat(20), "b".repeat(20), "c".repeat(20));
    for container in [
        "args: ['--api-key=abcdef']".to_owned(),
        "env: [{name: X, value: AKIAABCDEFGHIJKLMNOP}]".to_owned(),
        format!("command: [run, {token}]"),
    ] {
        assert!(!format!("{:?}", only_finding("G219", &deployment(&container))).contains("abcdef"));
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {db-password: hunter2, title: My token}\n";
    assert_eq!(only_finding("G219", map).path, "/data/db-password");
    for harmless in [
        "PASSWORD_FILE, value: /run/x",
        "TOKEN_URL, value: 'https://a'",
        "TOKEN_TTL, value: 5m",
        "USE_TOKEN, value: 'true'",
        "PASSWORD, value: $(DB_PASSWORD)",
        "PASSWORD, value: ''",
    ] {
        assert_no_finding("G219", &deployment(&format!("env: [{{name: {harmless}}}]")));
    }
}

#[test]
fn g221_access_to_the_node_is_a_warning() {
    assert!(
        only_finding("G221", &deployment("securityContext: {privileged: true}"))
            .message
            .contains("is privileged")
    );
    assert!(only_finding("G221", &deployment_with("", "hostNetwork: true", "")).message.contains("network"));
    let socket = "volumes: [{name: s, hostPath: {path: /var/run/docker.sock}}]";
    assert!(only_finding("G221", &deployment_with("", socket, "")).message.contains("controls the node"));
    assert_no_finding("G221", &deployment("securityContext: {privileged: false}"));
}

#[test]
fn g203_a_mutable_tag_that_nodes_cache_is_a_warning() {
    let with = |image: &str, policy: &str| {
        deployment(&format!("imagePullPolicy: {policy}")).replace("nginx:1.29", image)
    };
    for (image, policy) in
        [("nginx", "IfNotPresent"), ("nginx:latest", "Never"), ("a.example.com/web:main", "IfNotPresent")]
    {
        let finding = only_finding("G203", &with(image, policy));
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.message.contains(image) && finding.message.contains(policy), "{}", finding.message);
    }
    assert_no_finding("G203", &with("nginx:main", "Always"));
    assert_no_finding("G203", &with("nginx:1.29", "IfNotPresent"));
    assert_no_finding("G203", &with(&format!("nginx:main@sha256:{}", "a".repeat(64)), "Never"));
}

#[test]
fn g206_ephemeral_containers_are_an_error() {
    let pod = deployment_with("", "ephemeralContainers: [{name: shell, image: 'busybox:1'}]", "");
    assert!(only_finding("G206", &pod).message.contains("can't be part of a manifest"));
}

#[test]
fn g207_two_containers_of_a_pod_with_the_same_port_are_a_warning() {
    let two = |other: &str| {
        format!(
            "{}      - {{name: side, image: 'a:1', ports: [{other}]}}\n",
            deployment("ports: [{containerPort: 80}]")
        )
    };
    let finding = only_finding("G207", &two("{containerPort: 80}"));
    assert_eq!(
        finding.message,
        "Containers \"web\" and \"side\" of one pod both listen on port 80; the second can't start."
    );
    assert_eq!(finding.severity, Severity::Warning);
    assert_no_finding("G207", &two("{containerPort: 81}, {containerPort: 80, protocol: UDP}"));
}

#[test]
fn g209_sizes_of_claims_and_empty_dirs_are_checked() {
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {resources: {requests: {storage: 10GB}}}\n";
    assert_eq!(only_finding("G209", claim).hint, "Write 10Gi.");
    assert_no_finding("G209", &claim.replace("10GB", "10Gi"));
    let scratch = "volumes: [{name: tmp, emptyDir: {sizeLimit: lots}}]";
    assert!(only_finding("G209", &deployment_with("", scratch, "")).is_blocking());
}

#[test]
fn g210_implausible_amounts_are_a_warning_or_a_note() {
    let memory = |amount: &str| deployment(&format!("resources: {{limits: {{memory: {amount}}}}}"));
    let bytes = only_finding("G210", &memory("512"));
    assert_eq!((bytes.severity, bytes.hint.as_str()), (Severity::Warning, "You probably want 512Mi."));
    let thousands = only_finding("G210", &memory("512M"));
    assert_eq!(thousands.severity, Severity::Note);
    assert_eq!(thousands.message, "memory: \"512M\" has a decimal unit, so it is 488.2 MiB.");
    assert_eq!(
        only_finding("G210", &deployment("resources: {limits: {cpu: 100M}}")).hint,
        "You probably want 100m."
    );
    assert_no_finding("G210", &memory("500M"));
    assert_no_finding("G210", &memory("1Gi"));
    assert_no_finding("G210", &memory("0"));
}

#[test]
fn g211_a_resource_that_can_not_be_overcommitted_has_a_limit_equal_to_its_request() {
    let with = |resources: &str| deployment(&format!("resources: {{{resources}}}"));
    let finding = only_finding("G211", &with("requests: {nvidia.com/gpu: 1}"));
    assert_eq!(
        finding.message,
        "Container \"web\": nvidia.com/gpu must have a limit equal to its request; Kubernetes rejects the pod."
    );
    assert!(finding.is_blocking());
    only_finding("G211", &with("requests: {hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}"));
    assert_no_finding("G211", &with("requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}"));
    assert_no_finding("G211", &with("limits: {nvidia.com/gpu: 1}"));
}

#[test]
fn g216_a_probe_uses_a_declared_port() {
    let with = |probe: &str| {
        deployment(&format!("ports: [{{name: http, containerPort: 80}}]\nreadinessProbe: {probe}"))
    };
    let named = only_finding("G216", &with("{httpGet: {path: /, port: web}}"));
    assert_eq!(named.severity, Severity::Warning);
    assert!(named.message.contains("no port of the container has that name"), "{}", named.message);
    assert_eq!(only_finding("G216", &with("{tcpSocket: {port: 8080}}")).severity, Severity::Note);
    assert!(only_finding("G216", &with("{tcpSocket: {port: 0}}")).is_blocking());
    assert!(only_finding("G216", &with("{grpc: {}}")).is_blocking());
    assert_no_finding("G216", &with("{httpGet: {path: /, port: http}}"));
}

#[test]
fn g216_a_liveness_probe_without_time_to_start_is_a_note() {
    let probe = "{httpGet: {path: /, port: 80}}";
    let both = |live: &str| deployment(&format!("readinessProbe: {probe}\nlivenessProbe: {live}"));
    let finding = only_finding("G216", &both(probe));
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.message.contains("causes restarts"));
    assert_no_finding("G216", &both("{httpGet: {path: /live, port: 80}}"));
    assert_no_finding(
        "G216",
        &deployment(&format!("readinessProbe: {probe}\nlivenessProbe: {probe}\nstartupProbe: {probe}")),
    );
}

#[test]
fn g217_volumes_have_unique_names_and_one_source() {
    let message = |volumes: &str| {
        only_finding("G217", &deployment_with("", &format!("volumes: [{volumes}]"), "")).message
    };
    assert!(message("{name: a, emptyDir: {}}, {name: a, emptyDir: {}}").contains("is listed twice"));
    assert!(message("{emptyDir: {}}").contains("no valid name"));
    assert!(message("{name: a, emptyDir: {}, hostPath: {path: /a}}").contains("more than one source"));
    assert_no_finding("G217", &deployment_with("", "volumes: [{name: a}, {name: b, emptyDir: {}}]", ""));
}

#[test]
fn g217_a_variable_has_one_source() {
    let message = |from: &str| {
        only_finding("G217", &deployment(&format!("env: [{{name: A, valueFrom: {from}}}]"))).message
    };
    assert!(message("{}").contains("no source"));
    assert!(
        message("{fieldRef: {fieldPath: a}, configMapKeyRef: {name: a, key: b, optional: true}}")
            .contains("more than one source")
    );
}

#[test]
fn g219_a_value_with_high_entropy_is_a_warning() {
    let with = |value: &str| deployment(&format!("env: [{{name: SETTING, value: '{value}'}}]"));
    assert_eq!(only_finding("G219", &with("q8Zr2LxVw0TnYc7BdKs4HfMj6PgRu1Ea")).severity, Severity::Warning);
    for harmless in [
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "com.example.shop.checkout.PaymentServiceImpl2",
        "9f86d081-884c-4d63-a8c1-4f1c2b3a4d5e",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAaaa111",
        "a long sentence with Words and 123 numbers in it, as people write",
    ] {
        assert_no_finding("G219", &with(harmless));
    }
}
