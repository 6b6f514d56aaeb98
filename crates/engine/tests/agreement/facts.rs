//! Reported facts of the cluster.

use domain::quantity::Quantity;
use serde_json::json;

use crate::test_env::*;

pub async fn facts_contain_version_kinds_and_namespaces(env: TestEnv) {
    let facts = env.agent.engine.read_facts().await.unwrap();
    assert!(facts.kubernetes_version.starts_with("v1."), "{}", facts.kubernetes_version);
    assert_eq!(facts.serves("apps", "v1", "Deployment"), Some(true));
    assert_eq!(facts.serves("apps", "v1beta1", "Deployment"), Some(false));
    assert!(facts.namespace("kube-system").is_some());
    let [pool] = &facts.node_pools[..] else { panic!("{:?}", facts.node_pools) };
    assert_eq!((&*pool.os, pool.nodes, pool.ready), ("linux", 3, 3));
    assert!(pool.largest_cpu > Quantity::ZERO && pool.memory > pool.largest_memory);
}

pub async fn a_quota_is_reported_with_its_usage(env: TestEnv) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "7", "limits.memory": "1536Mi"}},
    });
    env.create(quota, "somebody").await;
    env.wait_until("reported", async || {
        let facts = env.agent.engine.read_facts().await.unwrap();
        let quotas =
            facts.namespace(&env.namespace).map(|namespace| namespace.quotas.clone()).unwrap_or_default();
        quotas.iter().any(|quota| {
            quota
                .remaining()
                .eq([("limits.memory", Quantity::parse("1.5Gi").unwrap()), ("pods", Quantity::from_units(7))])
                && quota.used.len() == 2
        })
    })
    .await;
}

pub async fn the_pod_security_level_of_a_namespace_is_reported(env: TestEnv) {
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}});
    env.merge_patch(NAMESPACE, &env.namespace, labels, "somebody").await;
    env.wait_until("reported", async || {
        let facts = env.agent.engine.read_facts().await.unwrap();
        facts.namespace(&env.namespace).is_some_and(|namespace| namespace.pod_security == "baseline")
    })
    .await;
}

pub async fn g205_service_accounts_with_pull_secrets_are_reported(env: TestEnv) {
    let account = |name: &str, secrets: serde_json::Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, "imagePullSecrets": secrets});
    env.create(account("plain", json!([])), "somebody").await;
    env.create(account("deployer", json!([{"name": "reg"}])), "somebody").await;
    env.wait_until("reported", async || {
        let facts = env.agent.engine.read_facts().await.unwrap();
        let accounts = facts.namespace(&env.namespace).and_then(|namespace| namespace.pull_accounts.clone());
        accounts.is_some_and(|accounts| accounts == ["deployer"])
    })
    .await;
}
