//! The Pod Security Standards: what a level forbids in a pod.
//!
//! The rules are those of <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.

use serde_json::Value;

use super::rule_context::{Container, PodTemplate, items, quote};

/// A level with restrictions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PodSecurityLevel {
    Baseline,
    Restricted,
}

/// A violation of a level, with the JSON pointer of the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PodSecurityViolation {
    pub path: String,
    pub description: String,
    pub remedy: &'static str,
}

/// Capabilities that the level baseline allows to add.
const BASELINE_CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
const SAFE_SYSCTLS: [&str; 12] = [
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
];
const SELINUX_TYPES: [&str; 5] =
    ["", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"];
/// Volume types that the level restricted allows.
const RESTRICTED_VOLUMES: [&str; 8] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

/// All violations of a level by a pod.
pub(super) fn find_violations(pod: &PodTemplate<'_>, level: PodSecurityLevel) -> Vec<PodSecurityViolation> {
    let mut violations = Violations { all: Vec::new() };
    violations.check_host_access(pod);
    violations.check_volumes(pod, level);
    violations.check_security_context(pod.spec, &pod.spec_pointer("/securityContext"), "the pod");
    for container in &pod.containers {
        let name = format!("container {}", quote(container.name));
        let path = format!("{}/securityContext", container.path);
        violations.check_security_context(container.value, &path, &name);
        violations.check_container(container, &path, &name);
        if level == PodSecurityLevel::Restricted {
            violations.check_restricted(pod, container, &path, &name);
        }
    }
    violations.all
}

struct Violations {
    all: Vec<PodSecurityViolation>,
}

impl Violations {
    fn add(&mut self, path: impl Into<String>, what: impl Into<String>, remedy: &'static str) {
        self.all.push(PodSecurityViolation { path: path.into(), description: what.into(), remedy });
    }

    fn check_host_access(&mut self, pod: &PodTemplate<'_>) {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if pod.spec[field] == true {
                self.add(
                    pod.spec_pointer(&format!("/{field}")),
                    format!("the pod uses {field}"),
                    "Leave it out.",
                );
            }
        }
        for (at, sysctl) in items(pod.spec.pointer("/securityContext/sysctls")).iter().enumerate() {
            let name = sysctl["name"].as_str().unwrap_or_default();
            if !SAFE_SYSCTLS.contains(&name) {
                let path = pod.spec_pointer(&format!("/securityContext/sysctls/{at}"));
                self.add(path, format!("the pod sets the sysctl {}", quote(name)), "Leave it out.");
            }
        }
    }

    fn check_volumes(&mut self, pod: &PodTemplate<'_>, level: PodSecurityLevel) {
        for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
            let name = quote(volume["name"].as_str().unwrap_or_default());
            let path = pod.spec_pointer(&format!("/volumes/{at}"));
            if volume.get("hostPath").is_some() {
                self.add(path, format!("volume {name} is a hostPath"), "Use another type of volume.");
                continue;
            }
            let kinds =
                volume.as_object().into_iter().flat_map(|map| map.keys()).filter(|key| *key != "name");
            let other = kinds.into_iter().find(|kind| !RESTRICTED_VOLUMES.contains(&kind.as_str()));
            if let Some(kind) = other.filter(|_| level == PodSecurityLevel::Restricted) {
                self.add(path, format!("volume {name} is of the type {kind}"), "Use another type of volume.");
            }
        }
    }

    /// Fields that pods and containers have in common.
    fn check_security_context(&mut self, owner: &Value, path: &str, who: &str) {
        let context = &owner["securityContext"];
        let kind = context["seLinuxOptions"]["type"].as_str().unwrap_or_default();
        let set =
            |field: &str| context["seLinuxOptions"][field].as_str().is_some_and(|text| !text.is_empty());
        if !SELINUX_TYPES.contains(&kind) || set("user") || set("role") {
            self.add(
                format!("{path}/seLinuxOptions"),
                format!("{who} sets seLinuxOptions that are not allowed"),
                "Leave it out.",
            );
        }
        for field in ["seccompProfile", "appArmorProfile"] {
            if context[field]["type"] == "Unconfined" {
                let what = format!("{who} disables {field}");
                self.add(format!("{path}/{field}"), what, "Set its type to RuntimeDefault.");
            }
        }
        if context["windowsOptions"]["hostProcess"] == true {
            self.add(
                format!("{path}/windowsOptions/hostProcess"),
                format!("{who} is a host process"),
                "Leave it out.",
            );
        }
    }

    fn check_container(&mut self, container: &Container<'_>, path: &str, who: &str) {
        let context = &container.value["securityContext"];
        if context["privileged"] == true {
            self.add(format!("{path}/privileged"), format!("{who} is privileged"), "Leave it out.");
        }
        if context["procMount"].as_str().is_some_and(|mount| mount != "Default") {
            self.add(format!("{path}/procMount"), format!("{who} unmasks /proc"), "Leave it out.");
        }
        for capability in added_capabilities(context) {
            if !BASELINE_CAPABILITIES.contains(&capability) {
                let what = format!("{who} adds the capability {}", quote(capability));
                self.add(format!("{path}/capabilities/add"), what, "Leave it out.");
            }
        }
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            if port["hostPort"].as_i64().is_some_and(|port| port != 0) {
                let path = format!("{}/ports/{at}/hostPort", container.path);
                self.add(path, format!("{who} uses a hostPort"), "Use a Service instead.");
            }
        }
    }

    fn check_restricted(&mut self, pod: &PodTemplate<'_>, container: &Container<'_>, path: &str, who: &str) {
        let (own, pod_context) = (&container.value["securityContext"], &pod.spec["securityContext"]);
        let either = |field: &str| if own[field].is_null() { &pod_context[field] } else { &own[field] };
        if either("runAsNonRoot") != true {
            self.add(path, format!("{who} may run as root"), "Set securityContext.runAsNonRoot: true.");
        }
        if either("runAsUser") == 0 {
            self.add(format!("{path}/runAsUser"), format!("{who} runs as user 0"), "Choose another user.");
        }
        // The remaining restrictions apply to Linux only.
        if pod.spec.pointer("/os/name").is_some_and(|os| os == "windows") {
            return;
        }
        if own["allowPrivilegeEscalation"] != false {
            let remedy = "Set securityContext.allowPrivilegeEscalation: false.";
            self.add(path, format!("{who} allows privilege escalation"), remedy);
        }
        let profile = either("seccompProfile")["type"].as_str().unwrap_or_default();
        if !matches!(profile, "RuntimeDefault" | "Localhost" | "Unconfined") {
            let remedy = "Set securityContext.seccompProfile.type: RuntimeDefault.";
            self.add(path, format!("{who} has no seccomp profile"), remedy);
        }
        let dropped = items(own.pointer("/capabilities/drop"));
        if !dropped.iter().any(|name| name == "ALL") {
            let remedy = "Set securityContext.capabilities.drop: [\"ALL\"].";
            self.add(path, format!("{who} does not drop all capabilities"), remedy);
        }
        for capability in added_capabilities(own).filter(|name| *name != "NET_BIND_SERVICE") {
            // Capabilities that the level baseline forbids are reported by `check_container`.
            if BASELINE_CAPABILITIES.contains(&capability) {
                let what = format!("{who} adds the capability {}", quote(capability));
                self.add(format!("{path}/capabilities/add"), what, "Leave it out.");
            }
        }
    }
}

fn added_capabilities(context: &Value) -> impl Iterator<Item = &str> {
    items(context.pointer("/capabilities/add")).iter().filter_map(Value::as_str)
}
