//! The manifests that install an agent: namespace, service account, RBAC, join token, Deployment.

use domain::authorization::UserAction;
use domain::join::NewJoinToken;
use domain::{Finding, JoinTokenId, name, name_check};
use serde_json::{Value, json};

use super::JoinTokenSecret;
use super::register::{TOKEN_NOT_USABLE, verify_token};
use crate::{Actor, Error, Hub};

/// The agent's namespace, and the name of every object in it.
const AGENT_NAME: &str = "flotilla-agent";
/// Maximum number of namespaces and of kinds.
const MAX_ITEMS: usize = 100;
/// Maximum length of an image reference.
const MAX_IMAGE_BYTES: usize = 500;

const READ_VERBS: [&str; 3] = ["get", "list", "watch"];
const WRITE_VERBS: [&str; 4] = ["create", "update", "patch", "delete"];

/// Kinds known without their group and plural: kind, group, plural.
const KNOWN_KINDS: [(&str, &str, &str); 17] = [
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
    // Only on request: access to these allows privilege escalation.
    ("Secret", "", "secrets"),
    ("Role", "rbac.authorization.k8s.io", "roles"),
    ("RoleBinding", "rbac.authorization.k8s.io", "rolebindings"),
    ("Pod", "", "pods"),
];
/// The number of kinds, from the first, that an agent may write by default.
const DEFAULT_KINDS: usize = 13;

/// Options of [`Hub::create_install_manifest`].
#[derive(Debug, Clone, Default)]
pub struct InstallOptions {
    /// The name of the cluster.
    pub cluster: String,
    /// The address that agents connect to.
    pub hub: String,
    /// The agent's image; by default that of this version.
    pub image: Option<String>,
    /// Namespaces that the agent may write to.
    pub namespaces: Vec<String>,
    /// Kinds that it may write: well-known ones, or `plural.group`.
    pub kinds: Vec<String>,
    /// Whether it may write them in all namespaces, and create namespaces.
    pub cluster_wide: bool,
    /// The service account that it impersonates, `namespace/name`.
    pub impersonate: Option<String>,
    /// The join token to create; bound to the name of the cluster and to one use.
    pub token: NewJoinToken,
}

/// Group and plural (resource) of a kind.
type GroupResource = (String, String);

impl Hub {
    /// Creates a join token for a cluster of this name and the manifests for `kubectl apply`. `text` renders the token,
    /// including the CA fingerprint, which is not known here.
    pub async fn create_install_manifest(
        &self,
        actor: &Actor,
        install: InstallOptions,
        text: impl Fn(&JoinTokenSecret) -> String,
    ) -> Result<(JoinTokenSecret, String), Error> {
        actor.authorize(UserAction::JoinCluster)?;
        let resources = check_options(&install)?;
        let token = NewJoinToken {
            cluster_name: Some(install.cluster.clone()),
            max_uses: 1,
            ..install.token.clone()
        };
        let secret = self.create_join_token(actor, token).await?;
        let manifest = format_manifests(&render_manifests(&install, &resources, &text(&secret)))?;
        Ok((secret, manifest))
    }

    /// The same manifests with a join token that exists, for whoever presents its secret: `kubectl` on the cluster reads them
    /// without a session. `text` is the complete text of that token.
    ///
    /// # Errors
    /// The secret is wrong; the token has expired, is used up or revoked, or is not for this cluster.
    pub async fn get_install_manifest(
        &self,
        (token, secret): (JoinTokenId, &str),
        install: &InstallOptions,
        text: &str,
    ) -> Result<String, Error> {
        let mut tx = self.read().await?;
        let token = verify_token(&mut tx, token, secret).await?;
        drop(tx);
        if !token.is_valid_for(&install.cluster, self.clock().now()) {
            return Err(TOKEN_NOT_USABLE);
        }
        let resources = check_options(install)?;
        format_manifests(&render_manifests(install, &resources, text))
    }
}

/// The documents as one YAML stream.
fn format_manifests(documents: &[Value]) -> Result<String, Error> {
    let mut manifest = String::new();
    for document in documents {
        let yaml = serde_saphyr::to_string(document);
        let yaml = yaml.map_err(|error| Error::Internal(error.to_string().into()))?;
        manifest.push_str("---\n");
        manifest.push_str(yaml.trim_end());
        manifest.push('\n');
    }
    Ok(manifest)
}

/// Checks the options; returns the resources that the agent may write.
fn check_options(install: &InstallOptions) -> Result<Vec<GroupResource>, Error> {
    let mut findings: Vec<Finding> =
        name_check::check_label("Cluster name", &install.cluster).into_iter().collect();
    findings.extend(install.namespaces.iter().filter_map(|space| name_check::check_namespace(space)));
    if let Some(account) = &install.impersonate {
        let parts = account.split_once('/');
        if !parts.is_some_and(|(space, name)| name::is_label(space) && name::is_subdomain(name)) {
            findings.push(install_finding("The service account is not valid.", "Write namespace/name."));
        }
    }
    if install.namespaces.len() > MAX_ITEMS || install.kinds.len() > MAX_ITEMS {
        findings.push(install_finding(
            "There are too many namespaces or kinds.",
            "List at most 100 of each, or allow the whole cluster.",
        ));
    }
    let image = install.image.as_deref().unwrap_or_default();
    if image.len() > MAX_IMAGE_BYTES || image.chars().any(|c| c.is_whitespace() || c.is_control()) {
        findings.push(install_finding("The image reference is not valid.", "Write registry/name:tag."));
    }
    let mut resources = Vec::new();
    for kind in &install.kinds {
        match parse_kind(kind) {
            Some(resource) => resources.push(resource),
            None => findings.push(install_finding(
                &format!("Unknown kind {:?}.", kind.chars().take(80).collect::<String>()),
                "Write a well-known kind such as Deployment, or plural.group such as certificates.cert-manager.io.",
            )),
        }
    }
    if install.kinds.is_empty() {
        let defaults = KNOWN_KINDS.iter().take(DEFAULT_KINDS);
        resources = defaults.map(|(_, group, plural)| ((*group).to_owned(), (*plural).to_owned())).collect();
    }
    if findings.is_empty() { Ok(resources) } else { Err(Error::Invalid(findings)) }
}

fn install_finding(message: &str, hint: &str) -> Finding {
    Finding::error("Install", message, hint)
}

fn parse_kind(kind: &str) -> Option<GroupResource> {
    let known =
        KNOWN_KINDS.iter().find(|(name, _, plural)| name.eq_ignore_ascii_case(kind) || *plural == kind);
    if let Some((_, group, plural)) = known {
        return Some(((*group).to_owned(), (*plural).to_owned()));
    }
    let (plural, group) = kind.split_once('.')?;
    (name::is_label(plural) && name::is_subdomain(group)).then(|| (group.to_owned(), plural.to_owned()))
}

fn policy_rules(resources: &[GroupResource], verbs: &[&str]) -> Vec<Value> {
    let rule = |(group, plural): &GroupResource| json!({"apiGroups": [group], "resources": [plural], "verbs": verbs});
    resources.iter().map(rule).collect()
}

fn render_manifests(install: &InstallOptions, resources: &[GroupResource], token: &str) -> Vec<Value> {
    let meta = json!({"name": AGENT_NAME, "namespace": AGENT_NAME});
    let mut documents = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAME,
            "labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}),
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "join-token", "namespace": AGENT_NAME},
            "stringData": {"token": token}}),
        role(
            AGENT_NAME,
            &policy_rules(
                &[(String::new(), "secrets".to_owned())],
                &["get", "list", "create", "patch", "delete"],
            ),
        ),
        role_binding(AGENT_NAME, &[service_account_subject(AGENT_NAME, AGENT_NAME)]),
    ];
    let mut subjects = vec![service_account_subject(AGENT_NAME, AGENT_NAME)];
    let mut rules = agent_rules();
    match install.impersonate.as_deref().and_then(|acting| acting.split_once('/')) {
        Some((space, name)) => {
            // The engine impersonates it for every request, so it needs access to the records too; its other rights come from its owner.
            subjects.push(service_account_subject(space, name));
            // In its namespace only: an account with the same name in another namespace is another identity.
            let impersonate = json!({"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"],
                "resourceNames": [name]});
            documents.push(role(space, &[impersonate]));
            documents.push(role_binding(space, &[service_account_subject(AGENT_NAME, AGENT_NAME)]));
        }
        None => {
            rules.extend(policy_rules(resources, &READ_VERBS));
            if install.cluster_wide {
                rules.extend(policy_rules(resources, &WRITE_VERBS));
                rules.extend(policy_rules(&[(String::new(), "namespaces".to_owned())], &WRITE_VERBS));
            } else {
                for space in &install.namespaces {
                    // A role needs its namespace.
                    documents
                        .push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}));
                    documents.push(role(space, &policy_rules(resources, &WRITE_VERBS)));
                    documents.push(role_binding(space, &[service_account_subject(AGENT_NAME, AGENT_NAME)]));
                }
            }
        }
    }
    documents.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": AGENT_NAME}, "rules": rules}));
    documents.push(json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": AGENT_NAME}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": AGENT_NAME}}));
    documents.push(deployment(install));
    documents
}

/// Rules for the agent's own records, and for what it reads to report cluster facts and causes of failures.
fn agent_rules() -> Vec<Value> {
    let readable = |group: &str, plurals: &[&str]| json!({"apiGroups": [group], "resources": plurals, "verbs": READ_VERBS});
    let verbs: Vec<&str> = READ_VERBS.into_iter().chain(WRITE_VERBS).collect();
    vec![
        json!({"apiGroups": ["flotilla.dev"], "resources": ["appliedreleases"], "verbs": verbs}),
        json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "verbs": ["get", "list", "watch", "create"]}),
        json!({"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
            "resourceNames": ["appliedreleases.flotilla.dev"], "verbs": ["patch", "update"]}),
        readable("", &["namespaces", "nodes", "resourcequotas", "serviceaccounts", "pods", "events"]),
        readable("apps", &["replicasets"]),
        readable("autoscaling", &["horizontalpodautoscalers"]),
        readable("storage.k8s.io", &["storageclasses"]),
        readable("networking.k8s.io", &["ingressclasses"]),
    ]
}

fn service_account_subject(namespace: &str, name: &str) -> Value {
    json!({"kind": "ServiceAccount", "name": name, "namespace": namespace})
}

fn role(namespace: &str, rules: &[Value]) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": AGENT_NAME, "namespace": namespace}, "rules": rules})
}

fn role_binding(namespace: &str, subjects: &[Value]) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": AGENT_NAME, "namespace": namespace}, "subjects": subjects,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": AGENT_NAME}})
}

fn deployment(install: &InstallOptions) -> Value {
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
    let labels = json!({"app.kubernetes.io/name": AGENT_NAME});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": AGENT_NAME, "namespace": AGENT_NAME, "labels": labels},
    "spec": {
        "replicas": 1,
        // Never two pods: a newer incarnation replaces the older one at the hub.
        "strategy": {"type": "Recreate"},
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {
            "serviceAccountName": AGENT_NAME,
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

    fn options() -> InstallOptions {
        InstallOptions {
            cluster: "eu-1".to_owned(),
            hub: "https://hub.example.com:4601".to_owned(),
            namespaces: vec!["shop".to_owned(), "blog".to_owned()],
            kinds: vec!["Deployment".to_owned(), "certificates.cert-manager.io".to_owned()],
            ..InstallOptions::default()
        }
    }

    fn filter_kind<'a>(all: &'a [Value], kind: &str) -> Vec<&'a Value> {
        all.iter().filter(|object| object["kind"] == kind).collect()
    }

    #[test]
    fn the_agent_may_write_the_requested_kinds_in_the_requested_namespaces_and_its_own_records() {
        let install = options();
        let all = render_manifests(&install, &check_options(&install).unwrap(), "flj_x");
        let spaces: Vec<&Value> =
            filter_kind(&all, "Role").into_iter().map(|role| &role["metadata"]["namespace"]).collect();
        assert_eq!(spaces, ["flotilla-agent", "shop", "blog"]);
        let created: Vec<&Value> =
            filter_kind(&all, "Namespace").into_iter().map(|space| &space["metadata"]["name"]).collect();
        assert_eq!(created, ["flotilla-agent", "shop", "blog"], "a role needs its namespace");
        let cluster_rules = filter_kind(&all, "ClusterRole")[0]["rules"].as_array().unwrap();
        let writes = |rule: &&Value| {
            rule["verbs"].as_array().unwrap().iter().any(|verb| WRITE_VERBS.contains(&verb.as_str().unwrap()))
        };
        let written: Vec<&Value> =
            cluster_rules.iter().filter(writes).map(|rule| &rule["resources"][0]).collect();
        assert_eq!(written, ["appliedreleases", "customresourcedefinitions", "customresourcedefinitions"]);
        assert!(
            !json!(cluster_rules).to_string().contains("\"*\"")
                && !json!(cluster_rules).to_string().contains("secrets")
        );
        let cluster_wide = InstallOptions { cluster_wide: true, ..install };
        let all = render_manifests(&cluster_wide, &check_options(&cluster_wide).unwrap(), "flj_x");
        assert_eq!(filter_kind(&all, "Role").len(), 1, "only for its own Secrets");
        assert!(
            filter_kind(&all, "ClusterRole")[0].to_string().contains("namespaces\"],\"verbs\":[\"create")
        );
    }

    #[test]
    fn the_agent_runs_without_privileges() {
        let install = options();
        let all = render_manifests(&install, &check_options(&install).unwrap(), "flj_x");
        let pod = &filter_kind(&all, "Deployment")[0]["spec"]["template"]["spec"];
        let container = &pod["containers"][0]["securityContext"];
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(container["readOnlyRootFilesystem"], true);
        assert_eq!(container["allowPrivilegeEscalation"], false);
        assert_eq!(container["capabilities"]["drop"], json!(["ALL"]));
    }

    #[test]
    fn invalid_options_are_rejected() {
        let invalid = [
            InstallOptions { cluster: "a b".to_owned(), ..options() },
            InstallOptions { namespaces: vec!["kube-system".to_owned()], ..options() },
            InstallOptions { kinds: vec!["*".to_owned()], ..options() },
            InstallOptions { kinds: vec!["x.*".to_owned()], ..options() },
            InstallOptions { impersonate: Some("nobody".to_owned()), ..options() },
            InstallOptions { image: Some("a\nb".to_owned()), ..options() },
        ];
        for options in invalid {
            assert!(matches!(check_options(&options), Err(Error::Invalid(_))), "{options:?}");
        }
    }
}
