//! What the hub is told of the cluster itself.

use domain::quantity::Quantity;
use serde_json::json;

use crate::place::*;

pub async fn facts_tell_version_kinds_and_namespaces(place: Place) {
    let facts = place.agent.engine.facts().await.unwrap();
    assert!(facts.kubernetes_version.starts_with("v1."), "{}", facts.kubernetes_version);
    assert_eq!(facts.serves("apps", "v1", "Deployment"), Some(true));
    assert_eq!(facts.serves("apps", "v1beta1", "Deployment"), Some(false));
    assert!(facts.namespace("kube-system").is_some());
    let [pool] = &facts.node_pools[..] else { panic!("{:?}", facts.node_pools) };
    assert_eq!((&*pool.os, pool.nodes, pool.ready), ("linux", 3, 3));
    assert!(pool.largest_cpu > Quantity::ZERO && pool.memory > pool.largest_memory);
}

pub async fn a_quota_is_told_with_what_is_used_of_it(place: Place) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "small"},
        "spec": {"hard": {"pods": "7", "limits.memory": "1536Mi"}},
    });
    place.create(quota, "somebody").await;
    place
        .eventually("told", async || {
            let facts = place.agent.engine.facts().await.unwrap();
            let quotas =
                facts.namespace(&place.namespace).map(|told| told.quotas.clone()).unwrap_or_default();
            quotas.iter().any(|quota| {
                quota
                    .left()
                    .eq([("limits.memory", Quantity::parse("1.5Gi").unwrap()), ("pods", Quantity::whole(7))])
                    && quota.used.len() == 2
            })
        })
        .await;
}

pub async fn the_pod_security_level_of_a_namespace_is_told(place: Place) {
    let labels = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}});
    place.merge(NAMESPACE, &place.namespace, labels, "somebody").await;
    place
        .eventually("told", async || {
            let facts = place.agent.engine.facts().await.unwrap();
            facts.namespace(&place.namespace).is_some_and(|told| told.pod_security == "baseline")
        })
        .await;
}

pub async fn g205_service_accounts_that_bring_pull_secrets_are_told(place: Place) {
    let account = |name: &str, secrets: serde_json::Value| json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}, "imagePullSecrets": secrets});
    place.create(account("plain", json!([])), "somebody").await;
    place.create(account("deployer", json!([{"name": "reg"}])), "somebody").await;
    place
        .eventually("told", async || {
            let facts = place.agent.engine.facts().await.unwrap();
            let told = facts.namespace(&place.namespace).and_then(|told| told.pull_accounts.clone());
            told.is_some_and(|told| told == ["deployer"])
        })
        .await;
}
