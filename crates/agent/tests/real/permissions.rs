//! The RBAC rules that `flotilla cluster install-manifest` prints are sufficient and minimal.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use crate::TestFleet;

/// Runs after all other steps: no request of an agent was forbidden.
pub async fn the_printed_rbac_rules_are_sufficient(fleet: &TestFleet) {
    for member in fleet.clusters() {
        assert_eq!(member.forbidden_requests().await, [""; 0], "on {}\n{}", member.name, member.log_tail());
        let agent =
            member.kubectl_json(&["get", "deployment", "flotilla-agent", "-n", "flotilla-agent"]).await;
        assert_eq!(
            agent["status"]["availableReplicas"], 1,
            "its pod passes the namespace's pod security standard"
        );
    }
}

/// No access to other Secrets, no privilege escalation, and no access outside the requested scope.
pub async fn the_printed_rbac_rules_are_minimal(fleet: &TestFleet) {
    let narrow = &fleet.namespaced;
    let read: Api<Secret> = Api::namespaced(narrow.agent_client().await, "kube-system");
    let error = read.list(&Default::default()).await.unwrap_err();
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 403), "{error}");
    let forbidden = [
        "get secrets kube-system",
        "list secrets shop",
        "get secrets default db-credentials",
        "create pods shop",
        "create pods/exec shop",
        "create rbac.authorization.k8s.io/clusterrolebindings",
        "create rbac.authorization.k8s.io/rolebindings shop",
        "escalate rbac.authorization.k8s.io/roles shop",
        "impersonate users",
        "impersonate serviceaccounts kube-system default",
        "create serviceaccounts/token flotilla-agent",
        "delete nodes",
        "delete apiextensions.k8s.io/customresourcedefinitions",
        "patch apiextensions.k8s.io/customresourcedefinitions - certificates.cert-manager.io",
        "create admissionregistration.k8s.io/validatingwebhookconfigurations",
    ];
    for member in fleet.clusters() {
        for what in forbidden {
            assert!(!member.is_authorized(what).await, "the agent of {} may {what}", member.name);
        }
    }
    for (what, allowed) in [
        ("patch apps/deployments shop", true),
        ("patch apps/deployments default", false),
        ("create namespaces", false),
        ("list apps/deployments", true),
    ] {
        assert_eq!(narrow.is_authorized(what).await, allowed, "{what}");
    }
    for (what, allowed) in [
        ("patch apps/deployments default", true),
        ("create namespaces", true),
        ("impersonate serviceaccounts deploy deployer", false),
    ] {
        assert_eq!(fleet.cluster_wide.is_authorized(what).await, allowed, "{what}");
    }
    for (what, allowed) in [
        ("impersonate serviceaccounts deploy deployer", true),
        ("impersonate serviceaccounts kube-system deployer", false),
        ("impersonate serviceaccounts deploy default", false),
        ("patch apps/deployments shop", false),
        ("list apps/deployments shop", false),
    ] {
        assert_eq!(fleet.impersonating.is_authorized(what).await, allowed, "{what}");
    }
}
