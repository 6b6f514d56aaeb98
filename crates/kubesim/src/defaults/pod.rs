//! Defaults of pods and pod templates.

use serde_json::{Map, Value, json};

use crate::object::{set_default, set_value, str_at, value_at, value_at_mut};

/// Defaults of a Pod object: in addition to those of a pod spec, requests from limits, default tolerations and service
/// account.
pub(super) fn default_pod(object: &mut Value) {
    if object.get("spec").is_none() {
        return;
    }
    default_spec(value_at_mut(object, "spec"));
    let spec = value_at_mut(object, "spec");
    set_default(spec, "enableServiceLinks", true);
    set_default(spec, "serviceAccountName", "default");
    let account = str_at(spec, "serviceAccountName").to_owned();
    set_value(spec, "serviceAccount", account);
    set_default(spec, "preemptionPolicy", "PreemptLowerPriority");
    set_default(spec, "priority", 0);
    if value_at(spec, "tolerations").is_none() {
        let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300});
        let both = [toleration("node.kubernetes.io/not-ready"), toleration("node.kubernetes.io/unreachable")];
        set_value(spec, "tolerations", both.to_vec());
    }
    for list in ["containers", "initContainers"] {
        for container in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            default_requests_from_limits(container);
        }
    }
}

fn default_requests_from_limits(container: &mut Value) {
    let Some(limits) = value_at(container, "resources.limits").and_then(Value::as_object).cloned() else {
        return;
    };
    for (resource, amount) in limits {
        let requests = value_at_mut(container, "resources.requests");
        if requests.get(&resource).is_none() {
            requests[&resource] = amount;
        }
    }
}

/// The template at `path`.
pub(super) fn default_template(object: &mut Value, path: &str) {
    if value_at(object, path).is_none() {
        return;
    }
    let template = value_at_mut(object, path);
    if value_at(template, "spec").is_some() {
        default_spec(value_at_mut(template, "spec"));
    }
}

fn default_spec(spec: &mut Value) {
    if !spec.is_object() {
        return;
    }
    set_default(spec, "dnsPolicy", "ClusterFirst");
    set_default(spec, "restartPolicy", "Always");
    set_default(spec, "schedulerName", "default-scheduler");
    set_default(spec, "securityContext", Map::new());
    set_default(spec, "terminationGracePeriodSeconds", 30);
    if let Some(account) = value_at(spec, "serviceAccountName").cloned() {
        set_default(spec, "serviceAccount", account);
    } else if let Some(account) = value_at(spec, "serviceAccount").cloned() {
        set_value(spec, "serviceAccountName", account);
    }
    for list in ["initContainers", "containers"] {
        for one in spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            default_container(one);
        }
    }
    for one in spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten() {
        default_volume(one);
    }
    if crate::object::bool_at(spec, "hostNetwork") {
        default_host_ports(spec);
    }
}

fn default_host_ports(spec: &mut Value) {
    for container in spec.get_mut("containers").and_then(Value::as_array_mut).into_iter().flatten() {
        for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(number) = value_at(port, "containerPort").cloned() {
                set_default(port, "hostPort", number);
            }
        }
    }
}

fn default_container(container: &mut Value) {
    if !container.is_object() {
        return;
    }
    let policy = if has_latest_tag(str_at(container, "image")) { "Always" } else { "IfNotPresent" };
    set_default(container, "imagePullPolicy", policy);
    set_default(container, "terminationMessagePath", "/dev/termination-log");
    set_default(container, "terminationMessagePolicy", "File");
    set_default(container, "resources", Map::new());
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        set_default(port, "protocol", "TCP");
    }
    for env in container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten() {
        if value_at(env, "valueFrom.fieldRef").is_some() {
            set_default(env, "valueFrom.fieldRef.apiVersion", "v1");
        }
        if value_at(env, "valueFrom.resourceFieldRef").is_some() {
            set_default(env, "valueFrom.resourceFieldRef.divisor", "0");
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(one) = container.get_mut(name).filter(|p| p.is_object()) {
            default_probe(one);
        }
    }
    for hook in ["lifecycle.postStart", "lifecycle.preStop"] {
        if value_at(container, hook).is_some() {
            default_http_get(value_at_mut(container, hook));
        }
    }
}

/// Whether the image has no tag, or `latest`.
fn has_latest_tag(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or(image);
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

fn default_probe(probe: &mut Value) {
    set_default(probe, "failureThreshold", 3);
    set_default(probe, "periodSeconds", 10);
    set_default(probe, "successThreshold", 1);
    set_default(probe, "timeoutSeconds", 1);
    default_http_get(probe);
    if value_at(probe, "grpc").is_some() {
        set_default(probe, "grpc.service", "");
    }
}

fn default_http_get(holder: &mut Value) {
    if value_at(holder, "httpGet").is_some() {
        set_default(holder, "httpGet.path", "/");
        set_default(holder, "httpGet.scheme", "HTTP");
    }
}

fn default_volume(volume: &mut Value) {
    const MODE: i64 = 0o644;
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if value_at(volume, source).is_some() {
            set_default(volume, &format!("{source}.defaultMode"), MODE);
        }
    }
    if value_at(volume, "hostPath").is_some() {
        set_default(volume, "hostPath.type", "");
    }
    let sources = [("downwardAPI", "items"), ("projected", "sources")];
    for (source, list) in sources {
        let items = volume.get_mut(source).and_then(|s| s.get_mut(list)).and_then(Value::as_array_mut);
        for item in items.into_iter().flatten() {
            if value_at(item, "serviceAccountToken").is_some() {
                set_default(item, "serviceAccountToken.expirationSeconds", 3607);
            }
            if value_at(item, "fieldRef").is_some() {
                set_default(item, "fieldRef.apiVersion", "v1");
            }
        }
    }
    let only_name = volume.as_object().is_some_and(|v| v.len() == 1 && v.contains_key("name"));
    if only_name {
        set_value(volume, "emptyDir", Map::new());
    }
}
