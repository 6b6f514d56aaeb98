//! The rights that `flotilla cluster install-manifest` prints: enough for all of it, and no more.

use k8s_openapi::api::core::v1::Secret;
use kube::Api;

use crate::World;

/// After everything that the agents did.
pub async fn the_printed_rights_were_enough(world: &World) {
    for member in world.members() {
        assert_eq!(member.forbidden().await, [""; 0], "on {}\n{}", member.name, member.last_words());
        let agent = member.json(&["get", "deployment", "flotilla-agent", "-n", "flotilla-agent"]).await;
        assert_eq!(agent["status"]["availableReplicas"], 1, "its pod passes the namespace's pod security");
    }
}

/// Neither what others keep secret, nor more rights, nor anything where nothing was asked for.
pub async fn the_printed_rights_are_no_more_than_that(world: &World) {
    let narrow = &world.narrow;
    let read: Api<Secret> = Api::namespaced(narrow.client_of_agent().await, "kube-system");
    let refused = read.list(&Default::default()).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 403), "{refused}");
    let never = [
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
    for member in world.members() {
        for what in never {
            assert!(!member.may(what).await, "the agent of {} may {what}", member.name);
        }
    }
    for (what, allowed) in [
        ("patch apps/deployments shop", true),
        ("patch apps/deployments default", false),
        ("create namespaces", false),
        ("list apps/deployments", true),
    ] {
        assert_eq!(narrow.may(what).await, allowed, "{what}");
    }
    for (what, allowed) in [
        ("patch apps/deployments default", true),
        ("create namespaces", true),
        ("impersonate serviceaccounts deploy deployer", false),
    ] {
        assert_eq!(world.wide.may(what).await, allowed, "{what}");
    }
    for (what, allowed) in [
        ("impersonate serviceaccounts deploy deployer", true),
        ("impersonate serviceaccounts kube-system deployer", false),
        ("impersonate serviceaccounts deploy default", false),
        ("patch apps/deployments shop", false),
        ("list apps/deployments shop", false),
    ] {
        assert_eq!(world.acting.may(what).await, allowed, "{what}");
    }
}
