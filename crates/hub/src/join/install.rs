//! What is installed on a cluster that joins: namespace, account, rights, token and the agent itself, as manifests.

use domain::join::NewJoinToken;
use domain::{Finding, name};
use serde_json::{Value, json};

use super::JoinSecret;
use crate::{Actor, Error, Hub};

/// The agent's namespace and the name of everything in it.
const OWN: &str = "flotilla-agent";
/// Namespaces and kinds taken at most.
const MOST: usize = 100;
/// Longest name of an image.
const LONGEST_IMAGE: usize = 500;

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 4] = ["create", "update", "patch", "delete"];

/// Kinds that need no plural and no group to be said: kind, group, plural.
const KINDS: [(&str, &str, &str); 17] = [
    ("Deployment", "apps", "deployments"),
    ("StatefulSet", "apps", "statefulsets"),
    ("DaemonSet", "apps", "daemonsets"),
    ("Service", "", "services"),
    ("ConfigMap", "", "configmaps"),
    ("ServiceAccount", "", "serviceaccounts"),
    ("PersistentVolumeClaim", "", "persistentvolumeclaims"),
    ("Job", "batch", "jobs"),
    ("CronJob", "batch", "cronjobs"),
    ("Ingress", "networking.k8s.io", "ingresses"),
    ("NetworkPolicy", "networking.k8s.io", "networkpolicies"),
    ("HorizontalPodAutoscaler", "autoscaling", "horizontalpodautoscalers"),
    ("PodDisruptionBudget", "policy", "poddisruptionbudgets"),
    // Only when they are asked for: whoever may read or give these may do much.
    ("Secret", "", "secrets"),
    ("Role", "rbac.authorization.k8s.io", "roles"),
    ("RoleBinding", "rbac.authorization.k8s.io", "rolebindings"),
    ("Pod", "", "pods"),
];
/// How many of them an agent may write when no kinds were said.
const USUAL: usize = 13;

/// What is to be installed.
#[derive(Debug, Clone, Default)]
pub struct Install {
    /// The name of the cluster.
    pub cluster: String,
    /// Where agents dial.
    pub hub: String,
    /// The agent's image; that of this version if none is said.
    pub image: Option<String>,
    /// Namespaces that the agent may write to.
    pub namespaces: Vec<String>,
    /// Kinds that it may write: of the well-known ones, or `plural.group`.
    pub kinds: Vec<String>,
    /// Whether it may write them everywhere, and make namespaces.
    pub cluster_wide: bool,
    /// The service account in whose name it acts, `namespace/name`.
    pub impersonate: Option<String>,
    /// The token to make; bound to the name of the cluster and to one use.
    pub token: NewJoinToken,
}

/// Group and plural of a kind.
type Resource = (String, String);

impl Hub {
    /// Makes a token for a cluster of this name and the manifests to give to `kubectl apply`. `text` writes the whole
    /// token out, with what the hub itself does not know.
    pub async fn cluster_install(
        &self,
        actor: &Actor,
        install: Install,
        text: impl Fn(&JoinSecret) -> String,
    ) -> Result<(JoinSecret, String), Error> {
        let resources = checked(&install)?;
        let token = NewJoinToken {
            cluster_name: Some(install.cluster.clone()),
            max_uses: 1,
            ..install.token.clone()
        };
        let secret = self.join_token_create(actor, token).await?;
        let documents = manifests(&install, &resources, &text(&secret));
        let mut manifest = String::new();
        for document in documents {
            let yaml = serde_saphyr::to_string(&document);
            let yaml = yaml.map_err(|error| Error::Internal(error.to_string().into()))?;
            manifest.push_str("---\n");
            manifest.push_str(yaml.trim_end());
            manifest.push('\n');
        }
        Ok((secret, manifest))
    }
}

/// The kinds, once everything was found good.
fn checked(install: &Install) -> Result<Vec<Resource>, Error> {
    let mut findings: Vec<Finding> =
        name::check_label("Cluster name", &install.cluster).into_iter().collect();
    findings.extend(install.namespaces.iter().filter_map(|space| name::check_namespace(space)));
    if let Some(account) = &install.impersonate {
        let parts = account.split_once('/');
        if !parts.is_some_and(|(space, name)| name::is_label(space) && name::is_subdomain(name)) {
            findings.push(wrong("The service account is none.", "Write namespace/name."));
        }
    }
    if install.namespaces.len() > MOST || install.kinds.len() > MOST {
        findings.push(wrong("These are too many namespaces or kinds.", "Name at most a hundred, or all."));
    }
    let image = install.image.as_deref().unwrap_or_default();
    if image.len() > LONGEST_IMAGE || image.chars().any(|c| c.is_whitespace() || c.is_control()) {
        findings.push(wrong("The image is none.", "Write registry/name:tag."));
    }
    let mut resources = Vec::new();
    for kind in &install.kinds {
        match resource(kind) {
            Some(resource) => resources.push(resource),
            None => findings.push(wrong(
                &format!("{:?} is no kind that is known.", kind.chars().take(80).collect::<String>()),
                "Write a well-known kind such as Deployment, or plural.group such as certificates.cert-manager.io.",
            )),
        }
    }
    if install.kinds.is_empty() {
        let usual = KINDS.iter().take(USUAL);
        resources = usual.map(|(_, group, plural)| ((*group).to_owned(), (*plural).to_owned())).collect();
    }
    if findings.is_empty() { Ok(resources) } else { Err(Error::Invalid(findings)) }
}

fn wrong(message: &str, hint: &str) -> Finding {
    Finding::error("Install", message, hint)
}

fn resource(kind: &str) -> Option<Resource> {
    let known = KINDS.iter().find(|(name, _, plural)| name.eq_ignore_ascii_case(kind) || *plural == kind);
    if let Some((_, group, plural)) = known {
        return Some(((*group).to_owned(), (*plural).to_owned()));
    }
    let (plural, group) = kind.split_once('.')?;
    (name::is_label(plural) && name::is_subdomain(group)).then(|| (group.to_owned(), plural.to_owned()))
}

fn rule(resources: &[Resource], verbs: &[&str]) -> Vec<Value> {
    let rule =
        |(group, plural): &Resource| json!({"apiGroups": [group], "resources": [plural], "verbs": verbs});
    resources.iter().map(rule).collect()
}

fn manifests(install: &Install, resources: &[Resource], token: &str) -> Vec<Value> {
    let meta = json!({"name": OWN, "namespace": OWN});
    let mut all = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": OWN,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "join-token", "namespace": OWN},
            "stringData": {"token": token}}),
        role(
            OWN,
            &rule(&[(String::new(), "secrets".to_owned())], &["get", "list", "create", "patch", "delete"]),
        ),
        binding(OWN, &[account(OWN, OWN)]),
    ];
    let mut subjects = vec![account(OWN, OWN)];
    let mut rules = own_rules();
    match install.impersonate.as_deref().and_then(|acting| acting.split_once('/')) {
        Some((space, name)) => {
            // The engine acts in that name throughout, so it needs the records too; its other rights are its owner's.
            subjects.push(account(space, name));
            // In its namespace only: an account of the same name elsewhere is somebody else.
            let impersonate = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"],
                "resourceNames": [name]});
            all.push(role(space, &[impersonate]));
            all.push(binding(space, &[account(OWN, OWN)]));
        }
        None => {
            rules.extend(rule(resources, &READ));
            if install.cluster_wide {
                rules.extend(rule(resources, &WRITE));
                rules.extend(rule(&[(String::new(), "namespaces".to_owned())], &WRITE));
            } else {
                for space in &install.namespaces {
                    all.push(role(space, &rule(resources, &WRITE)));
                    all.push(binding(space, &[account(OWN, OWN)]));
                }
            }
        }
    }
    all.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": OWN}, "rules": rules}));
    all.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": OWN}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": OWN}}));
    all.push(deployment(install));
    all
}

/// The agent's own records, and what it reads to know the cluster and to say why something does not run.
fn own_rules() -> Vec<Value> {
    let known =
        |group: &str, plurals: &[&str]| json!({"apiGroups": [group], "resources": plurals, "verbs": READ});
    let all: Vec<&str> = READ.into_iter().chain(WRITE).collect();
    vec![
        json!({"apiGroups": ["flotilla.dev"], "resources": ["appliedreleases"], "verbs": all}),
        json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "verbs": ["get", "list", "watch", "create"]}),
        json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "resourceNames": ["appliedreleases.flotilla.dev"], "verbs": ["patch", "update"]}),
        known("", &["namespaces", "nodes", "resourcequotas", "serviceaccounts", "pods", "events"]),
        known("apps", &["replicasets"]),
        known("storage.k8s.io", &["storageclasses"]),
        known("networking.k8s.io", &["ingressclasses"]),
    ]
}

fn account(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
}

fn role(namespace: &str, rules: &[Value]) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": OWN, "namespace": namespace}, "rules": rules})
}

fn binding(namespace: &str, subjects: &[Value]) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": OWN, "namespace": namespace}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": OWN}})
}

fn deployment(install: &Install) -> Value {
    let image = install.image.clone().filter(|image| !image.is_empty());
    let image = image.unwrap_or_else(|| format!("flotilla-agent:{}", env!("CARGO_PKG_VERSION")));
    let mut env = vec![
        json!({"name": "FLOTILLA_HUB", "value": install.hub}),
        json!({"name": "FLOTILLA_CLUSTER", "value": install.cluster}),
        json!({"name": "FLOTILLA_JOIN_TOKEN_FILE", "value": "/var/run/flotilla/token"}),
    ];
    if let Some(account) = &install.impersonate {
        env.push(json!({"name": "FLOTILLA_IMPERSONATE", "value": account}));
    }
    let labels = json!({"app.kubernetes.io/name": OWN});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": OWN, "namespace": OWN, "labels": labels},
    "spec": {
        "replicas": 1,
        // Never two at once: the newer one would only take the older one's place at the hub.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "serviceAccountName": OWN,
            "securityContext": {"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{
                "name": "agent",
                "image": image,
                "args": ["run"],
                "env": env,
                "securityContext": {"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]}},
                "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}, "limits": {"memory": "512Mi"}},
                "volumeMounts": [{"name": "token", "mountPath": "/var/run/flotilla", "readOnly": true}],
            }],
            "volumes": [{"name": "token", "secret": {"secretName": "join-token", "optional": true}}],
        }},
    }})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn install() -> Install {
        Install {
            cluster: "eu-1".to_owned(),
            hub: "https://hub.example.com:4601".to_owned(),
            namespaces: vec!["shop".to_owned(), "blog".to_owned()],
            kinds: vec!["Deployment".to_owned(), "certificates.cert-manager.io".to_owned()],
            ..Install::default()
        }
    }

    fn of_kind<'a>(all: &'a [Value], kind: &str) -> Vec<&'a Value> {
        all.iter().filter(|one| one["kind"] == kind).collect()
    }

    #[test]
    fn the_agent_may_write_what_was_asked_for_where_it_was_asked_for_and_its_own_records() {
        let install = install();
        let all = manifests(&install, &checked(&install).unwrap(), "flj_x");
        let spaces: Vec<&Value> =
            of_kind(&all, "Role").into_iter().map(|role| &role["metadata"]["namespace"]).collect();
        assert_eq!(spaces, ["flotilla-agent", "shop", "blog"]);
        let wide = of_kind(&all, "ClusterRole")[0]["rules"].as_array().unwrap();
        let writes = |rule: &&Value| {
            rule["verbs"].as_array().unwrap().iter().any(|verb| WRITE.contains(&verb.as_str().unwrap()))
        };
        let written: Vec<&Value> = wide.iter().filter(writes).map(|rule| &rule["resources"][0]).collect();
        assert_eq!(written, ["appliedreleases", "customresourcedefinitions", "customresourcedefinitions"]);
        assert!(!json!(wide).to_string().contains("\"*\"") && !json!(wide).to_string().contains("secrets"));
        let everywhere = Install { cluster_wide: true, ..install };
        let all = manifests(&everywhere, &checked(&everywhere).unwrap(), "flj_x");
        assert_eq!(of_kind(&all, "Role").len(), 1, "only for its own Secrets");
        assert!(of_kind(&all, "ClusterRole")[0].to_string().contains("namespaces\"],\"verbs\":[\"create"));
    }

    #[test]
    fn the_agent_runs_without_privileges() {
        let install = install();
        let all = manifests(&install, &checked(&install).unwrap(), "flj_x");
        let pod = &of_kind(&all, "Deployment")[0]["spec"]["template"]["spec"];
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(container["readOnlyRootFilesystem"], true);
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        let wrong = [
            Install { cluster: "a b".to_owned(), ..install() },
            Install { namespaces: vec!["kube-system".to_owned()], ..install() },
            Install { kinds: vec!["*".to_owned()], ..install() },
            Install { kinds: vec!["x.*".to_owned()], ..install() },
            Install { impersonate: Some("nobody".to_owned()), ..install() },
            Install { image: Some("a\nb".to_owned()), ..install() },
        ];
        for wrong in wrong {
            assert!(matches!(checked(&wrong), Err(Error::Invalid(_))), "{wrong:?}");
        }
    }
}
