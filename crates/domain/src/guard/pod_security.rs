//! The Pod Security Standards, as admission enforces them by a namespace's label (G220).
//!
//! The rules are those of <https://kubernetes.io/docs/concepts/security/pod-security-standards/>.

use serde_json::Value;

use super::scene::{Container, Pod, items, quoted};
use super::site::Site;
use crate::finding::Finding;

/// A level that forbids something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Baseline,
    Restricted,
}

/// One thing that a level forbids, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offence {
    path: String,
    what: String,
    remedy: &'static str,
}

/// Capabilities that may be added below the baseline.
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
/// Fields of a volume that are no type of it.
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

/// G220: what the namespace of each pod enforces on this cluster.
pub(super) fn enforced(site: &Site<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, pod) in site.scene.pods.iter().enumerate() {
        let namespace = &pod.owner.name.namespace;
        // What the workload itself makes of its namespace comes first: it is applied before the pods.
        let made = site.scene.of("", "Namespace").find(|one| one.name.name == *namespace);
        let asked = made.map_or("", |one| one.text("/metadata/labels/pod-security.kubernetes.io~1enforce"));
        let there = site.cluster.facts.namespace(namespace).map_or("", |facts| &facts.pod_security);
        let word = if asked.is_empty() { there } else { asked };
        let level = match word {
            "baseline" => Level::Baseline,
            "restricted" => Level::Restricted,
            _ => continue,
        };
        findings.extend(site.offences(level)[at].iter().map(|offence| {
            let message = format!(
                "Namespace {} enforces the pod security level {word}, and {}: no pod of {} would start.",
                quoted(namespace),
                offence.what,
                pod.owner.shown
            );
            pod.owner.error("G220", &offence.path, message, offence.remedy)
        }));
    }
    findings
}

/// Everything a level has against a pod.
pub(super) fn offences(pod: &Pod<'_>, level: Level) -> Vec<Offence> {
    let mut found = Found { all: Vec::new() };
    found.host(pod);
    found.volumes(pod, level);
    found.context(pod.spec, &pod.at("/securityContext"), "the pod");
    for container in &pod.containers {
        let name = format!("container {}", quoted(container.name));
        let path = format!("{}/securityContext", container.path);
        found.context(container.value, &path, &name);
        found.container(container, &path, &name);
        if level == Level::Restricted {
            found.restricted(pod, container, &path, &name);
        }
    }
    found.all
}

struct Found {
    all: Vec<Offence>,
}

impl Found {
    fn add(&mut self, path: impl Into<String>, what: impl Into<String>, remedy: &'static str) {
        self.all.push(Offence { path: path.into(), what: what.into(), remedy });
    }

    fn host(&mut self, pod: &Pod<'_>) {
        for field in ["hostNetwork", "hostPID", "hostIPC"] {
            if pod.spec[field] == true {
                self.add(pod.at(&format!("/{field}")), format!("the pod uses {field}"), "Leave it out.");
            }
        }
        for (at, sysctl) in items(pod.spec.pointer("/securityContext/sysctls")).iter().enumerate() {
            let name = sysctl["name"].as_str().unwrap_or_default();
            if !SAFE_SYSCTLS.contains(&name) {
                let path = pod.at(&format!("/securityContext/sysctls/{at}"));
                self.add(path, format!("the pod sets the sysctl {}", quoted(name)), "Leave it out.");
            }
        }
    }

    fn volumes(&mut self, pod: &Pod<'_>, level: Level) {
        for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
            let name = quoted(volume["name"].as_str().unwrap_or_default());
            let path = pod.at(&format!("/volumes/{at}"));
            if volume.get("hostPath").is_some() {
                self.add(path, format!("volume {name} is a path of the node"), "Use another kind of volume.");
                continue;
            }
            let kinds =
                volume.as_object().into_iter().flat_map(|map| map.keys()).filter(|key| *key != "name");
            let foreign = kinds.into_iter().find(|kind| !RESTRICTED_VOLUMES.contains(&kind.as_str()));
            if let Some(kind) = foreign.filter(|_| level == Level::Restricted) {
                self.add(path, format!("volume {name} is of the kind {kind}"), "Use another kind of volume.");
            }
        }
    }

    /// What pods and containers may both say.
    fn context(&mut self, of: &Value, path: &str, who: &str) {
        let context = &of["securityContext"];
        let kind = context["seLinuxOptions"]["type"].as_str().unwrap_or_default();
        let set =
            |field: &str| context["seLinuxOptions"][field].as_str().is_some_and(|text| !text.is_empty());
        if !SELINUX_TYPES.contains(&kind) || set("user") || set("role") {
            self.add(
                format!("{path}/seLinuxOptions"),
                format!("{who} chooses its SELinux label"),
                "Leave it out.",
            );
        }
        for field in ["seccompProfile", "appArmorProfile"] {
            if context[field]["type"] == "Unconfined" {
                let what = format!("{who} turns {field} off");
                self.add(format!("{path}/{field}"), what, "Set its type to RuntimeDefault.");
            }
        }
        if context["windowsOptions"]["hostProcess"] == true {
            self.add(
                format!("{path}/windowsOptions/hostProcess"),
                format!("{who} runs on the host"),
                "Leave it out.",
            );
        }
    }

    fn container(&mut self, container: &Container<'_>, path: &str, who: &str) {
        let context = &container.value["securityContext"];
        if context["privileged"] == true {
            self.add(format!("{path}/privileged"), format!("{who} is privileged"), "Leave it out.");
        }
        if context["procMount"].as_str().is_some_and(|mount| mount != "Default") {
            self.add(format!("{path}/procMount"), format!("{who} unmasks /proc"), "Leave it out.");
        }
        for capability in added(context) {
            if !BASELINE_CAPABILITIES.contains(&capability) {
                let what = format!("{who} adds the capability {}", quoted(capability));
                self.add(format!("{path}/capabilities/add"), what, "Leave it out.");
            }
        }
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            if port["hostPort"].as_i64().is_some_and(|port| port != 0) {
                let path = format!("{}/ports/{at}/hostPort", container.path);
                self.add(path, format!("{who} takes a port of the node"), "Use a Service instead.");
            }
        }
    }

    fn restricted(&mut self, pod: &Pod<'_>, container: &Container<'_>, path: &str, who: &str) {
        let (own, whole) = (&container.value["securityContext"], &pod.spec["securityContext"]);
        let either = |field: &str| if own[field].is_null() { &whole[field] } else { &own[field] };
        if either("runAsNonRoot") != true {
            self.add(path, format!("{who} may run as root"), "Set securityContext.runAsNonRoot: true.");
        }
        if either("runAsUser") == 0 {
            self.add(format!("{path}/runAsUser"), format!("{who} runs as user 0"), "Choose another user.");
        }
        // The rest is about Linux.
        if pod.spec.pointer("/os/name").is_some_and(|os| os == "windows") {
            return;
        }
        if own["allowPrivilegeEscalation"] != false {
            let remedy = "Set securityContext.allowPrivilegeEscalation: false.";
            self.add(path, format!("{who} may gain privileges"), remedy);
        }
        let profile = either("seccompProfile")["type"].as_str().unwrap_or_default();
        if !matches!(profile, "RuntimeDefault" | "Localhost" | "Unconfined") {
            let remedy = "Set securityContext.seccompProfile.type: RuntimeDefault.";
            self.add(path, format!("{who} has no seccomp profile"), remedy);
        }
        let dropped = items(own.pointer("/capabilities/drop"));
        if !dropped.iter().any(|one| one == "ALL") {
            let remedy = "Set securityContext.capabilities.drop: [\"ALL\"].";
            self.add(path, format!("{who} keeps capabilities"), remedy);
        }
        for capability in added(own).filter(|one| *one != "NET_BIND_SERVICE") {
            // What not even the baseline allows is told already.
            if BASELINE_CAPABILITIES.contains(&capability) {
                let what = format!("{who} adds the capability {}", quoted(capability));
                self.add(format!("{path}/capabilities/add"), what, "Leave it out.");
            }
        }
    }
}

fn added(context: &Value) -> impl Iterator<Item = &str> {
    items(context.pointer("/capabilities/add")).iter().filter_map(Value::as_str)
}
