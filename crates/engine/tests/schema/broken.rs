//! Objects that do not fit: the field where we say so, and the words in which the server does.

use serde_json::{Value, json};

/// An object, the JSON pointer of our only finding, and what the server's answer holds.
pub type Case = (&'static str, Value, &'static str, &'static str);

/// An object of this kind, called `a`.
pub fn object(version: &str, kind: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
    for (field, value) in rest.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

/// A Deployment with these further fields in its spec, in the pod's and in the container's.
pub fn deployment(spec: Value, pod: Value, container: Value) -> Value {
    let mut whole = json!({"selector": {"matchLabels": {"app": "a"}}, "template": {
        "metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "web", "image": "nginx:1"}]}}});
    let put = |into: &mut Value, fields: Value| {
        for (field, value) in fields.as_object().unwrap() {
            into[field] = value.clone();
        }
    };
    put(&mut whole["template"]["spec"]["containers"][0], container);
    put(&mut whole["template"]["spec"], pod);
    put(&mut whole, spec);
    object("apps/v1", "Deployment", json!({"spec": whole}))
}

fn nothing() -> Value {
    json!({})
}

/// Pods and what makes them.
pub fn workloads() -> Vec<Case> {
    let pod = |fields: Value| deployment(nothing(), fields, nothing());
    let container = |fields: Value| deployment(nothing(), nothing(), fields);
    vec![
        (
            "an unknown field",
            pod(json!({"restartpolicy": "Always"})),
            "/spec/template/spec/restartpolicy",
            ".spec.template.spec.restartpolicy",
        ),
        (
            "an unknown field without a value",
            pod(json!({"volume": null})),
            "/spec/template/spec/volume",
            ".spec.template.spec.volume",
        ),
        (
            "a field too far out",
            deployment(json!({"hostNetwork": true}), nothing(), nothing()),
            "/spec/hostNetwork",
            ".spec.hostNetwork",
        ),
        (
            "a field too far in",
            container(json!({"replicas": 2})),
            "/spec/template/spec/containers/0/replicas",
            "replicas",
        ),
        (
            "a number as text",
            deployment(json!({"replicas": "3"}), nothing(), nothing()),
            "/spec/replicas",
            ".spec.replicas",
        ),
        (
            "a number that is too large",
            deployment(json!({"replicas": 3_000_000_000_u64}), nothing(), nothing()),
            "/spec/replicas",
            "spec.replicas",
        ),
        (
            "true as text",
            pod(json!({"hostNetwork": "true"})),
            "/spec/template/spec/hostNetwork",
            ".spec.template.spec.hostNetwork",
        ),
        (
            "a number as an argument",
            container(json!({"args": ["-v", 2]})),
            "/spec/template/spec/containers/0/args/1",
            ".args",
        ),
        (
            "a number in the environment",
            container(json!({"env": [{"name": "A", "value": 1}]})),
            "/spec/template/spec/containers/0/env/0",
            ".value",
        ),
        (
            "a map in place of a list",
            container(json!({"env": {"A": "1"}})),
            "/spec/template/spec/containers/0/env",
            ".env",
        ),
        (
            "a list in place of a map",
            pod(json!({"nodeSelector": ["a"]})),
            "/spec/template/spec/nodeSelector",
            ".nodeSelector",
        ),
        (
            "a word in another case",
            pod(json!({"restartPolicy": "always"})),
            "/spec/template/spec/restartPolicy",
            "spec.template.spec.restartPolicy",
        ),
        (
            "a container without a name",
            pod(json!({"containers": [{"image": "nginx:1"}]})),
            "/spec/template/spec/containers/0/name",
            "name",
        ),
        (
            "no containers",
            pod(json!({"containers": null})),
            "/spec/template/spec/containers",
            "spec.template.spec.containers",
        ),
        (
            "no selector",
            deployment(json!({"selector": null}), nothing(), nothing()),
            "/spec/selector",
            "spec.selector",
        ),
        (
            "no template",
            deployment(json!({"template": null}), nothing(), nothing()),
            "/spec/template",
            "spec.template",
        ),
        ("no spec", object("apps/v1", "Deployment", nothing()), "/spec", "spec.template.spec.containers"),
        (
            "a variable twice",
            container(json!({"env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]})),
            "/spec/template/spec/containers/0/env/1",
            "duplicate entries for key [name=\"A\"]",
        ),
        (
            "a port twice",
            container(
                json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP", "name": "b"}]}),
            ),
            "/spec/template/spec/containers/0/ports/1",
            "duplicate entries for key [containerPort=80,protocol=\"TCP\"]",
        ),
        (
            "a probe without a port",
            container(json!({"livenessProbe": {"httpGet": {"path": "/"}}})),
            "/spec/template/spec/containers/0/livenessProbe/httpGet/port",
            "livenessProbe.httpGet.port",
        ),
        (
            "a mount without a path",
            pod(
                json!({"volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"name": "web", "image": "a", "volumeMounts": [{"name": "v"}]}]}),
            ),
            "/spec/template/spec/containers/0/volumeMounts/0/mountPath",
            "mountPath",
        ),
        (
            "a quantity in words",
            container(json!({"resources": {"limits": {"memory": "64mb"}}})),
            "/spec/template/spec/containers/0/resources/limits/memory",
            "quantities must match",
        ),
        (
            "a schedule without jobs",
            object("batch/v1", "CronJob", json!({"spec": {"schedule": "* * * * *"}})),
            "/spec/jobTemplate",
            "spec.jobTemplate.spec.template.spec.containers",
        ),
    ]
}

/// Everything else.
pub fn others() -> Vec<Case> {
    vec![
        (
            "unknown metadata",
            object("v1", "ConfigMap", json!({"metadata": {"name": "a", "label": {}}})),
            "/metadata/label",
            ".metadata.label",
        ),
        (
            "data that is no text",
            object("v1", "ConfigMap", json!({"data": {"port": 80}})),
            "/data/port",
            ".data.port",
        ),
        ("an unknown field at the top", object("v1", "ConfigMap", json!({"spec": {}})), "/spec", ".spec"),
        (
            "data that is not base64",
            object("v1", "Secret", json!({"data": {"key": "plain text"}})),
            "/data/key",
            "base64",
        ),
        (
            "a Service's port without a number",
            object("v1", "Service", json!({"spec": {"ports": [{"name": "http"}]}})),
            "/spec/ports/0",
            "port",
        ),
        (
            "a target port that is neither",
            object("v1", "Service", json!({"spec": {"ports": [{"port": 80, "targetPort": true}]}})),
            "/spec/ports/0/targetPort",
            "cannot unmarshal bool",
        ),
        (
            "a Service of no type",
            object("v1", "Service", json!({"spec": {"type": "Loadbalancer", "ports": [{"port": 80}]}})),
            "/spec/type",
            "spec.type",
        ),
        (
            "an Ingress of the old form",
            object(
                "networking.k8s.io/v1",
                "Ingress",
                json!({"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}, "serviceName": "a"}}}),
            ),
            "/spec/defaultBackend/serviceName",
            ".spec.defaultBackend.serviceName",
        ),
        (
            "an Ingress without a type of path",
            object(
                "networking.k8s.io/v1",
                "Ingress",
                json!({"spec": {"rules": [{"http": {"paths": [{"path": "/", "backend": {"service": {"name": "a", "port": {"number": 80}}}}]}}]}}),
            ),
            "/spec/rules/0/http/paths/0/pathType",
            "pathType",
        ),
        (
            "an autoscaler without a maximum",
            object(
                "autoscaling/v2",
                "HorizontalPodAutoscaler",
                json!({"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}}}),
            ),
            "/spec",
            "spec.maxReplicas",
        ),
        (
            "a claim of no size",
            object(
                "v1",
                "PersistentVolumeClaim",
                json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1 GB"}}}}),
            ),
            "/spec/resources/requests/storage",
            "quantities must match",
        ),
        (
            "a claim with a mode that is none",
            object(
                "v1",
                "PersistentVolumeClaim",
                json!({"spec": {"accessModes": ["ReadWriteTwice"], "resources": {"requests": {"storage": "1Gi"}}}}),
            ),
            "/spec/accessModes/0",
            "spec.accessModes",
        ),
        (
            "a binding without a role",
            object("rbac.authorization.k8s.io/v1", "RoleBinding", nothing()),
            "/roleRef",
            "roleRef",
        ),
        (
            "a role without verbs",
            object(
                "rbac.authorization.k8s.io/v1",
                "Role",
                json!({"rules": [{"apiGroups": [""], "resources": ["pods"]}]}),
            ),
            "/rules/0/verbs",
            "rules[0].verbs",
        ),
        (
            "a budget with a slip",
            object("policy/v1", "PodDisruptionBudget", json!({"spec": {"minAvailables": 1, "selector": {}}})),
            "/spec/minAvailables",
            ".spec.minAvailables",
        ),
    ]
}

/// What looks odd, and what the server takes all the same.
pub fn taken() -> Vec<(&'static str, Value)> {
    let container = |fields: Value| deployment(nothing(), nothing(), fields);
    vec![
        ("a quantity as a number", container(json!({"resources": {"limits": {"cpu": 2, "memory": "1e6"}}}))),
        (
            "nothing in place of lists and maps",
            container(json!({"env": null, "ports": null, "resources": null})),
        ),
        (
            "what kubectl prints",
            object("v1", "ConfigMap", json!({"metadata": {"name": "a", "creationTimestamp": null}})),
        ),
        (
            "a whole number with a point",
            deployment(json!({"revisionHistoryLimit": 3.0}), nothing(), nothing()),
        ),
        (
            "a header without a value",
            container(
                json!({"livenessProbe": {"httpGet": {"port": "http", "httpHeaders": [{"name": "A"}]}}, "ports": [{"name": "http", "containerPort": 80}]}),
            ),
        ),
        (
            "one port by two protocols",
            container(json!({"ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]})),
        ),
        ("base64 with line breaks", object("v1", "Secret", json!({"data": {"key": "YW\nJj\n"}}))),
        (
            "a role by its name alone",
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                json!({"roleRef": {"kind": "Role", "name": "a"}}),
            ),
        ),
        ("a role without rules", object("rbac.authorization.k8s.io/v1", "Role", nothing())),
        ("a range without limits", object("v1", "LimitRange", json!({"spec": {}}))),
        (
            "a set without the name of a service",
            object(
                "apps/v1",
                "StatefulSet",
                json!({"spec": {"selector": {"matchLabels": {"a": "b"}},
            "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}}}),
            ),
        ),
        (
            "a policy for pods without rules",
            object("networking.k8s.io/v1", "NetworkPolicy", json!({"spec": {"podSelector": {}}})),
        ),
        (
            "a claim without a class",
            object(
                "v1",
                "PersistentVolumeClaim",
                json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": 1_000_000}}}}),
            ),
        ),
    ]
}
