//! Missing RBAC permissions. Only against a real API server: the simulated cluster has no authorization.

use std::time::Duration;

use domain::release::{Reason, StageName};
use domain::workload::Policies;
use serde_json::json;

use crate::test_agent::TestAgent;
use crate::test_env::*;

#[tokio::test]
async fn p14_a_request_without_permission_is_reported_as_permission_denied() {
    let name = "p14_a_request_without_permission_is_reported_as_permission_denied";
    if !testkit::is_available(name) {
        return;
    }
    let mut env = TestEnv::real(name, false).await;
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
    env.create(
        json!({"apiVersion": rbac, "kind": "ClusterRole", "metadata": metadata, "rules": rules}),
        "test",
    )
    .await;
    let binding = json!({"apiVersion": rbac, "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": role, "subjects": [subject]});
    env.create(binding, "test").await;
    let rules = json!([{"apiGroups": [""], "resources": ["services"], "verbs": ["create", "patch"]}]);
    let metadata = json!({"name": "here", "namespace": env.namespace});
    env.create(json!({"apiVersion": rbac, "kind": "Role", "metadata": metadata, "rules": rules}), "test")
        .await;
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "here"});
    let subject = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "small-agent"});
    let binding = json!({"apiVersion": rbac, "kind": "RoleBinding", "metadata": metadata, "roleRef": role,
        "subjects": [subject]});
    env.create(binding, "test").await;
    let client = env.control_plane().unwrap().impersonating_client("small-agent");
    env.agent = TestAgent::start(client, &env.hub, Duration::ZERO).await;
    // G410: the permissions are part of the facts.
    let facts = env.agent.engine.read_facts().await.unwrap();
    let denied = |kind: &str| facts.apis.iter().find(|api| api.kind == kind).unwrap().denied;
    assert!(facts.permissions_known && denied("Secret") && denied("ClusterRole") && !denied("ConfigMap"));
    env.wait_until("permissions granted in one namespace are reported", async || {
        let facts = env.agent.engine.read_facts().await.unwrap();
        let granted = facts.namespace(&env.namespace).and_then(|namespace| namespace.granted.clone());
        granted.is_some_and(|granted| granted == ["Service"])
    })
    .await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}});
    env.set_present(vec![config_map("open", "1"), secret], Policies::default());
    let denied = |report: &domain::report::ReleaseReport| {
        [StageName::Preflight, StageName::Applied].iter().any(|name| {
            stage_state(report, *name).and_then(|state| state.reason()).is_some_and(|actual| {
                actual.reason == Reason::PermissionDenied && actual.message.contains("secrets")
            })
        })
    };
    let report = env.wait_for_report("denied", denied).await;
    let reasons = report.stages.iter().filter_map(|stage| stage.state.reason());
    let denial = reasons.into_iter().find(|actual| actual.reason == Reason::PermissionDenied).unwrap();
    assert!(denial.message.contains("without it every attempt fails"), "{}", denial.message);
    assert_eq!(denial.next_retry, None, "no time is shown at which another attempt could succeed");
}
