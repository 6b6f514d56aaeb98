//! What RBAC denies. Only against a real API server: the simulated cluster lets everybody do everything.

use std::time::Duration;

use domain::release::StageName;
use domain::workload::Policies;
use serde_json::json;

use crate::place::*;
use crate::watching::Agent;

#[tokio::test]
async fn p14_what_the_agent_may_not_do_is_told_as_a_missing_permission() {
    let name = "p14_what_the_agent_may_not_do_is_told_as_a_missing_permission";
    if !testkit::available(name) {
        return;
    }
    let mut place = Place::real(name, false).await;
    let rbac = "rbac.authorization.k8s.io/v1";
    let all = json!(["*"]);
    let rules = json!([
        {"apiGroups": ["flotilla.dev", "apiextensions.k8s.io"], "resources": all, "verbs": all},
        {"apiGroups": [""], "resources": ["namespaces", "configmaps"], "verbs": all},
        {"nonResourceURLs": all, "verbs": ["get"]},
    ]);
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "small-agent"});
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "small-agent"});
    let metadata = json!({"name": "small-agent"});
    place
        .create(
            json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
            "test",
        )
        .await;
    let binding = json!({"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": role, "subjects": [subject]});
    place.create(binding, "test").await;
    let rules = json!([{"apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"]}]);
    let metadata = json!({"name": "here", "namespace": place.namespace});
    place
        .create(json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": rules}), "test")
        .await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "here"});
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "small-agent"});
    let binding = json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata, "roleRef": role,
        "subjects": [subject]});
    place.create(binding, "test").await;
    let client = place.plane().unwrap().client_as("small-agent");
    place.agent = Agent::start(client, &place.hub, Duration::ZERO).await;
    // G410: and it is known before anybody asks for it.
    let facts = place.agent.engine.facts().await.unwrap();
    let denied = |kind: &str| facts.apis.iter().find(|api| api.kind == kind).unwrap().denied;
    assert!(facts.rights_known && denied("Secret") && denied("ClusterRole") && !denied("ConfigMap"));
    place
        .eventually("what is granted in one namespace is told", async || {
            let facts = place.agent.engine.facts().await.unwrap();
            let granted = facts.namespace(&place.namespace).and_then(|told| told.granted.clone());
            granted.is_some_and(|granted| granted == ["Service"])
        })
        .await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}});
    place.wants(vec![config_map("open", "1"), secret], Policies::default());
    let denied = |report: &domain::report::ReleaseReport| {
        [StageName::Preflight, StageName::Applied].iter().any(|name| {
            stage(report, *name).and_then(|state| state.trouble()).is_some_and(|trouble| {
                trouble.reason == "PermissionDenied" && trouble.message.contains("secrets")
            })
        })
    };
    place.until("denied", denied).await;
}
