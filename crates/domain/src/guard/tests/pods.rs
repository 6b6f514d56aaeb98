//! Rules about pods and their containers.

use super::*;

#[test]
fn g201_an_image_that_no_registry_takes_is_refused() {
    let finding = one("G201", &deployment("").replace("nginx:1.29", "Nginx:1.25"));
    assert_eq!(
        finding.message,
        "Image \"Nginx:1.25\" of container \"web\" is not valid: repository names are lower case."
    );
    assert_eq!(finding.hint, "Try \"nginx:1.25\".");
    assert_eq!(finding.path, "/spec/template/spec/containers/0/image");
    assert_eq!(finding.place.unwrap().line, 11);
    assert!(
        one("G201", &deployment("").replace("        image: nginx:1.29\n", "")).message.contains("no image")
    );
    is_quiet("G201", &deployment(""));
}

#[test]
fn g202_a_tag_that_moves_is_a_warning() {
    for image in ["nginx", "nginx:latest", "reg.example.com:5000/nginx"] {
        let finding = one("G202", &deployment("").replace("nginx:1.29", image));
        assert_eq!(finding.severity, Severity::Warning);
    }
    let digest = format!("nginx@sha256:{}", "a".repeat(64));
    is_quiet("G202", &deployment("").replace("nginx:1.29", &digest));
}

#[test]
fn g206_containers_have_names_that_differ() {
    let twice = one(
        "G206",
        &deployment("")
            .replace("      containers:\n", "      containers:\n      - {name: web, image: a:1}\n"),
    );
    assert_eq!(twice.message, "Two containers are named \"web\"; Kubernetes refuses the pod.");
    assert!(
        one("G206", &deployment("").replace("name: web\n        image", "name: My_Web\n        image"))
            .message
            .contains("My_Web")
    );
    let empty = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: []}\n";
    assert!(one("G206", empty).message.contains("no containers"));
}

#[test]
fn g207_ports_are_in_range_named_and_unique() {
    let message = |ports: &str| one("G207", &deployment(&format!("ports: [{ports}]"))).message;
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
    assert!(message("{containerPort: 80}, {containerPort: 80}").contains("stands twice"));
    assert!(
        message("{containerPort: 80, name: a}, {containerPort: 81, name: a}")
            .contains("Two ports are named \"a\"")
    );
    is_quiet("G207", &deployment("ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}]"));
}

#[test]
fn g208_a_host_port_and_several_replicas_are_a_warning() {
    let ports = "ports: [{containerPort: 80, hostPort: 8080}]";
    let finding = one("G208", &deployment_with("replicas: 5", "", ports));
    assert_eq!(finding.message, "hostPort 8080 lets only one replica run per node; 5 are asked for.");
    is_quiet("G208", &deployment(ports));
}

#[test]
fn g209_a_quantity_that_cannot_be_read_is_refused_with_the_one_meant() {
    let finding = one("G209", &deployment("resources: {limits: {memory: 512mb}}"));
    assert_eq!(finding.message, "memory: \"512mb\" is not a quantity; Kubernetes refuses it.");
    assert_eq!(finding.hint, "Write 512Mi.");
    assert!(one("G209", &deployment("resources: {limits: {cpu: -1}}")).message.contains("less than nothing"));
    is_quiet("G209", &deployment("resources: {limits: {memory: 1Gi, cpu: 0.5, example.com/gpu: 1}}"));
}

#[test]
fn g210_units_that_are_probably_slips_are_a_warning() {
    assert_eq!(
        one("G210", &deployment("resources: {limits: {memory: 512m}}")).hint,
        "You probably want 512Mi."
    );
    assert_eq!(one("G210", &deployment("resources: {limits: {cpu: 500}}")).hint, "You probably want 500m.");
}

#[test]
fn g211_a_request_above_its_limit_is_refused() {
    let finding = one("G211", &deployment("resources: {requests: {cpu: 2}, limits: {cpu: 1}}"));
    assert_eq!(
        finding.message,
        "Container \"web\": requests.cpu 2 is more than limits.cpu 1; Kubernetes refuses the pod."
    );
    is_quiet("G211", &deployment("resources: {requests: {cpu: 1000m, memory: 1Gi}, limits: {cpu: 1}}"));
}

#[test]
fn g212_missing_resources_are_a_note() {
    let files = [SourceFile { name: "a.yaml".into(), text: deployment("") }];
    let findings = check_static(
        "shop",
        &WorkloadSpec { namespace: "web".into(), ..WorkloadSpec::default() },
        &crate::manifest::parse(&files),
    );
    let finding = findings.iter().find(|finding| finding.code == "G212").unwrap();
    assert_eq!(finding.severity, Severity::Note);
    assert_eq!(finding.message, "Container \"web\" has no memory limit; it can starve its node.");
}

#[test]
fn g213_replicas_are_a_whole_number() {
    for bad in ["-1", "1.5", "'3'"] {
        assert!(one("G213", &deployment_with(&format!("replicas: {bad}"), "", "")).blocks(), "{bad}");
    }
    assert_eq!(one("G213", &deployment_with("replicas: 0", "", "")).severity, Severity::Warning);
    is_quiet("G213", &deployment_with("replicas: 3", "", ""));
}

#[test]
fn g214_a_selector_that_misses_its_own_pods_is_refused() {
    let finding =
        one("G214", &deployment("").replace("{matchLabels: {app: web}}", "{matchLabels: {app: api}}"));
    assert_eq!(
        finding.message,
        "Deployment web/web: selector app=api is not among its pod labels (app=web). Kubernetes will refuse it."
    );
    assert_eq!(finding.place.unwrap().line, 5);
    let none = deployment("").replace("  selector: {matchLabels: {app: web}}\n", "");
    assert_eq!(one("G214", &none).hint, "Add spec.selector.matchLabels with \"app: web\".");
    let by_expression = "{matchExpressions: [{key: app, operator: In, values: [web, api]}]}";
    is_quiet("G214", &deployment("").replace("{matchLabels: {app: web}}", by_expression));
}

#[test]
fn g215_labels_and_annotations_are_text_in_the_grammar_of_kubernetes() {
    let with = |labels: &str| {
        deployment("").replace("metadata: {name: web}", &format!("metadata: {{name: web, {labels}}}"))
    };
    assert!(one("G215", &with("labels: {-a: b}")).message.contains("not a label key"));
    assert!(one("G215", &with("labels: {a: 'b c'}")).message.contains("\"b c\" is not a value"));
    let number = one("G215", &with("labels: {version: 2}"));
    assert_eq!(
        (number.hint.as_str(), number.path.as_str()),
        ("Put the value in quotes.", "/metadata/labels/version")
    );
    assert!(one("G215", &with("annotations: {a: true}")).message.contains("is not text"));
    is_quiet(
        "G215",
        &with(
            "labels: {app.kubernetes.io/name: web, empty: ''}, annotations: {Example.com/x: 'any text, at all'}",
        ),
    );
}

#[test]
fn g216_probes_that_cannot_work_are_refused_and_missing_ones_noted() {
    let probe = |probe: &str| deployment(&format!("livenessProbe: {probe}"));
    assert!(one("G216", &probe("{periodSeconds: 3}")).message.contains("no handler"));
    assert!(
        one("G216", &probe("{exec: {}, tcpSocket: {port: 1}}")).message.contains("more than one handler")
    );
    assert!(one("G216", &probe("{tcpSocket: {port: 1}, successThreshold: 2}")).blocks());
    assert_eq!(one("G216", &probe("{tcpSocket: {port: 1}, timeoutSeconds: 20}")).severity, Severity::Note);
    assert_eq!(one("G216", &deployment("ports: [{containerPort: 80}]")).severity, Severity::Note);
    is_quiet("G216", &deployment("ports: [{containerPort: 80}]\nreadinessProbe: {tcpSocket: {port: 80}}"));
}

#[test]
fn g217_mounts_name_a_volume_and_have_a_path_of_their_own() {
    let mount = "volumeMounts: [{name: cfg, mountPath: /a}]";
    assert_eq!(
        one("G217", &deployment(mount)).message,
        "Container \"web\" mounts \"cfg\" but no volume has that name."
    );
    let volumes = "volumes: [{name: cfg, emptyDir: {}}]";
    is_quiet("G217", &deployment_with("", volumes, mount));
    let twice = "volumeMounts: [{name: cfg, mountPath: /a}, {name: cfg, mountPath: /a}]";
    assert!(one("G217", &deployment_with("", volumes, twice)).message.contains("two volumes at \"/a\""));
}

#[test]
fn g217_variables_have_one_source_and_stand_once() {
    let message = |env: &str| one("G217", &deployment(&format!("env: [{env}]"))).message;
    assert!(message("{name: PORT, value: 8080}").contains("is not text"));
    assert!(message("{name: A=B, value: x}").contains("no name for a variable"));
    assert!(
        message("{name: A, value: x, valueFrom: {fieldRef: {fieldPath: a}}}")
            .contains("both value and valueFrom")
    );
    assert!(message("{name: A, value: a}, {name: A, value: b}").contains("set twice"));
    is_quiet("G217", &deployment("env: [{name: a.b-c, value: ''}, {name: B}]"));
}

#[test]
fn g219_secrets_in_clear_text_are_a_warning_that_does_not_repeat_them() {
    let finding = one("G219", &deployment("env: [{name: DB_PASSWORD, value: hunter2}]"));
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
        assert!(!format!("{:?}", one("G219", &deployment(&container))).contains("abcdef"));
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {db-password: hunter2, title: My token}\n";
    assert_eq!(one("G219", map).path, "/data/db-password");
    for harmless in [
        "PASSWORD_FILE, value: /run/x",
        "TOKEN_URL, value: 'https://a'",
        "TOKEN_TTL, value: 5m",
        "USE_TOKEN, value: 'true'",
        "PASSWORD, value: $(DB_PASSWORD)",
        "PASSWORD, value: ''",
    ] {
        is_quiet("G219", &deployment(&format!("env: [{{name: {harmless}}}]")));
    }
}

#[test]
fn g221_privileges_beyond_the_pod_are_a_warning() {
    assert!(
        one("G221", &deployment("securityContext: {privileged: true}")).message.contains("is privileged")
    );
    assert!(one("G221", &deployment_with("", "hostNetwork: true", "")).message.contains("network"));
    let socket = "volumes: [{name: s, hostPath: {path: /var/run/docker.sock}}]";
    assert!(one("G221", &deployment_with("", socket, "")).message.contains("owns the node"));
    is_quiet("G221", &deployment("securityContext: {privileged: false}"));
}

#[test]
fn g203_a_moving_tag_that_nodes_keep_is_a_warning() {
    let with = |image: &str, policy: &str| {
        deployment(&format!("imagePullPolicy: {policy}")).replace("nginx:1.29", image)
    };
    for (image, policy) in
        [("nginx", "IfNotPresent"), ("nginx:latest", "Never"), ("a.example.com/web:main", "IfNotPresent")]
    {
        let finding = one("G203", &with(image, policy));
        assert_eq!(finding.severity, Severity::Warning);
        assert!(finding.message.contains(image) && finding.message.contains(policy), "{}", finding.message);
    }
    is_quiet("G203", &with("nginx:main", "Always"));
    is_quiet("G203", &with("nginx:1.29", "IfNotPresent"));
    is_quiet("G203", &with(&format!("nginx:main@sha256:{}", "a".repeat(64)), "Never"));
}

#[test]
fn g206_containers_for_debugging_are_no_part_of_a_manifest() {
    let pod = deployment_with("", "ephemeralContainers: [{name: shell, image: 'busybox:1'}]", "");
    assert!(one("G206", &pod).message.contains("can't be part of a manifest"));
}

#[test]
fn g207_containers_of_a_pod_share_their_ports() {
    let two = |other: &str| {
        format!(
            "{}      - {{name: side, image: 'a:1', ports: [{other}]}}\n",
            deployment("ports: [{containerPort: 80}]")
        )
    };
    let finding = one("G207", &two("{containerPort: 80}"));
    assert_eq!(
        finding.message,
        "Containers \"web\" and \"side\" of one pod both listen on port 80; the second can't start."
    );
    assert_eq!(finding.severity, Severity::Warning);
    is_quiet("G207", &two("{containerPort: 81}, {containerPort: 80, protocol: UDP}"));
}

#[test]
fn g209_claims_and_scratch_volumes_are_read_too() {
    let claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\nspec: {resources: {requests: {storage: 10GB}}}\n";
    assert_eq!(one("G209", claim).hint, "Write 10Gi.");
    is_quiet("G209", &claim.replace("10GB", "10Gi"));
    let scratch = "volumes: [{name: tmp, emptyDir: {sizeLimit: lots}}]";
    assert!(one("G209", &deployment_with("", scratch, "")).blocks());
}

#[test]
fn g210_amounts_that_are_hardly_meant_are_told() {
    let memory = |amount: &str| deployment(&format!("resources: {{limits: {{memory: {amount}}}}}"));
    let bytes = one("G210", &memory("512"));
    assert_eq!((bytes.severity, bytes.hint.as_str()), (Severity::Warning, "You probably want 512Mi."));
    let thousands = one("G210", &memory("512M"));
    assert_eq!(thousands.severity, Severity::Note);
    assert_eq!(thousands.message, "memory: \"512M\" counts in thousands, so it is 488.2 MiB.");
    assert_eq!(one("G210", &deployment("resources: {limits: {cpu: 100M}}")).hint, "You probably want 100m.");
    is_quiet("G210", &memory("500M"));
    is_quiet("G210", &memory("1Gi"));
    is_quiet("G210", &memory("0"));
}

#[test]
fn g211_what_can_not_be_shared_has_a_limit_of_what_is_requested() {
    let with = |resources: &str| deployment(&format!("resources: {{{resources}}}"));
    let finding = one("G211", &with("requests: {nvidia.com/gpu: 1}"));
    assert_eq!(
        finding.message,
        "Container \"web\": nvidia.com/gpu must have a limit and request as much; Kubernetes refuses the pod."
    );
    assert!(finding.blocks());
    one("G211", &with("requests: {hugepages-2Mi: 2Mi}, limits: {hugepages-2Mi: 4Mi}"));
    is_quiet("G211", &with("requests: {nvidia.com/gpu: 1}, limits: {nvidia.com/gpu: 1}"));
    is_quiet("G211", &with("limits: {nvidia.com/gpu: 1}"));
}

#[test]
fn g216_a_probe_asks_at_a_port_that_is_there() {
    let with = |probe: &str| {
        deployment(&format!("ports: [{{name: http, containerPort: 80}}]\nreadinessProbe: {probe}"))
    };
    let named = one("G216", &with("{httpGet: {path: /, port: web}}"));
    assert_eq!(named.severity, Severity::Warning);
    assert!(named.message.contains("no port of it has that name"), "{}", named.message);
    assert_eq!(one("G216", &with("{tcpSocket: {port: 8080}}")).severity, Severity::Note);
    assert!(one("G216", &with("{tcpSocket: {port: 0}}")).blocks());
    assert!(one("G216", &with("{grpc: {}}")).blocks());
    is_quiet("G216", &with("{httpGet: {path: /, port: http}}"));
}

#[test]
fn g216_a_liveness_probe_that_gives_no_time_to_start_is_noted() {
    let probe = "{httpGet: {path: /, port: 80}}";
    let both = |live: &str| deployment(&format!("readinessProbe: {probe}\nlivenessProbe: {live}"));
    let finding = one("G216", &both(probe));
    assert_eq!(finding.severity, Severity::Note);
    assert!(finding.message.contains("ends in restarts"));
    is_quiet("G216", &both("{httpGet: {path: /live, port: 80}}"));
    is_quiet(
        "G216",
        &deployment(&format!("readinessProbe: {probe}\nlivenessProbe: {probe}\nstartupProbe: {probe}")),
    );
}

#[test]
fn g217_volumes_have_names_that_differ_and_one_source() {
    let message =
        |volumes: &str| one("G217", &deployment_with("", &format!("volumes: [{volumes}]"), "")).message;
    assert!(message("{name: a, emptyDir: {}}, {name: a, emptyDir: {}}").contains("is there twice"));
    assert!(message("{emptyDir: {}}").contains("no valid name"));
    assert!(message("{name: a, emptyDir: {}, hostPath: {path: /a}}").contains("more than one thing"));
    is_quiet("G217", &deployment_with("", "volumes: [{name: a}, {name: b, emptyDir: {}}]", ""));
}

#[test]
fn g217_a_variable_has_one_source() {
    let message =
        |from: &str| one("G217", &deployment(&format!("env: [{{name: A, valueFrom: {from}}}]"))).message;
    assert!(message("{}").contains("no source"));
    assert!(
        message("{fieldRef: {fieldPath: a}, configMapKeyRef: {name: a, key: b, optional: true}}")
            .contains("more than one source")
    );
}

#[test]
fn g219_a_value_that_looks_drawn_at_random_is_a_warning() {
    let with = |value: &str| deployment(&format!("env: [{{name: SETTING, value: '{value}'}}]"));
    assert_eq!(one("G219", &with("q8Zr2LxVw0TnYc7BdKs4HfMj6PgRu1Ea")).severity, Severity::Warning);
    for harmless in [
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "com.example.shop.checkout.PaymentServiceImpl2",
        "9f86d081-884c-4d63-a8c1-4f1c2b3a4d5e",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAaaa111",
        "a long sentence with Words and 123 numbers in it, as people write",
    ] {
        is_quiet("G219", &with(harmless));
    }
}
