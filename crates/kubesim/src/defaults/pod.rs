//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use crate::object::{at, place, put, put_default, text};

/// A pod of its own: also limits become requests, and the default tolerations and account are admitted.
pub(super) fn pod(object: &mut Value) {
    if object.get("spec").is_none() {
        return;
    }
    spec(place(object, "spec"));
    let spec = place(object, "spec");
    put_default(spec, "enableServiceLinks", true);
    put_default(spec, "serviceAccountName", "default");
    let account = text(spec, "serviceAccountName").to_owned();
    put(spec, "serviceAccount", account);
    put_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    put_default(spec, "priority", 0);
    if at(spec, "tolerations").is_none() {
        let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
        let both = [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")];
        put(spec, "tolerations", both.to_vec());
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            requests_from_limits(container);
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(limits) = at(container, "resources.limits").and_then(Value::as_object).cloned() else { return };
    for (resource, amount) in limits {
        let requests = place(container, "resources.requests");
        if requests.get(&resource).is_none() {
            requests[&resource] = amount;
        }
    }
}

/// The template at `path`.
pub(super) fn template(object: &mut Value, path: &str) {
    if at(object, path).is_none() {
        return;
    }
    let template = place(object, path);
    if at(template, "spec").is_some() {
        spec(place(template, "spec"));
    }
}

fn spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    put_default(spec, "dnsPolicy", "ClusterFirst");
    put_default(spec, "restartPolicy", "Always");
    put_default(spec, "schedulerName", "default-scheduler");
    put_default(spec, "securityContext", Map::new());
    put_default(spec, "terminationGracePeriodSeconds", 30);
    if let Some(account) = at(spec, "serviceAccountName").cloned() {
        put_default(spec, "serviceAccount", account);
    } else if let Some(account) = at(spec, "serviceAccount").cloned() {
        put(spec, "serviceAccountName", account);
    }
    for list in ["initContainers", "containers"] {
        for one in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            container(one);
        }
    }
    for one in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        volume(one);
    }
    if crate::object::flag(spec, "hostNetwork") {
        host_ports(spec);
    }
}

fn host_ports(spec: &mut Value) {
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(number) = at(port, "containerPort").cloned() {
                put_default(port, "hostPort", number);
            }
        }
    }
}

fn container(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    let policy = if pulls_always(text(container, "image")) { "Always" } else { "IfNotPresent" };
    put_default(container, "imagePullPolicy", policy);
    put_default(container, "terminationMessagePath", "/dev/termination-log");
    put_default(container, "terminationMessagePolicy", "File");
    put_default(container, "resources", Map::new());
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        put_default(port, "protocol", "TCP");
    }
    for env in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        if at(env, "valueFrom.fieldRef").is_some() {
            put_default(env, "valueFrom.fieldRef.apiVersion", "v1");
        }
        if at(env, "valueFrom.resourceFieldRef").is_some() {
            put_default(env, "valueFrom.resourceFieldRef.divisor", "0");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(one) = container.get_mut(name).filter(|p| p.is_object()) {
            probe(one);
        }
    }
    for hook in ["lifecycle.postStart", "lifecycle.preStop"] {
        if at(container, hook).is_some() {
            http_get(place(container, hook));
        }
    }
}

/// Whether the image names no tag, or `latest`.
fn pulls_always(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn probe(probe: &mut Value) {
    put_default(probe, "failureThreshold", 3);
    put_default(probe, "periodSeconds", 10);
    put_default(probe, "successThreshold", 1);
    put_default(probe, "timeoutSeconds", 1);
    http_get(probe);
    if at(probe, "grpc").is_some() {
        put_default(probe, "grpc.service", "");
    }
}

fn http_get(holder: &mut Value) {
    if at(holder, "httpGet").is_some() {
        put_default(holder, "httpGet.path", "/");
        put_default(holder, "httpGet.scheme", "HTTP");
    }
}

fn volume(volume: &mut Value) {
    const MODE: i64 = 0o644;
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if at(volume, source).is_some() {
            put_default(volume, &format!("{source}.defaultMode"), MODE);
        }
    }
    if at(volume, "hostPath").is_some() {
        put_default(volume, "hostPath.type", "");
    }
    let sources = [("downwardAPI", "items"), ("projected", "sources")];
    for (source, list) in sources {
        let items = volume.get_mut(source).and_then(|s| s.get_mut(list)).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            if at(item, "serviceAccountToken").is_some() {
                put_default(item, "serviceAccountToken.expirationSeconds", 3607);
            }
            if at(item, "fieldRef").is_some() {
                put_default(item, "fieldRef.apiVersion", "v1");
            }
        }
    }
    let only_name = volume.as_object().is_some_and(|v| v.len() == 1 && v.contains_key("name"));
    if only_name {
        put(volume, "emptyDir", Map::new());
    }
}
