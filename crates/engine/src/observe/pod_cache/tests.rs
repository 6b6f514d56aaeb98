//! Tests of the cache of pods and warnings.

use super::*;

fn cache() -> PodCache {
    let (background, _work) = tokio::sync::mpsc::unbounded_channel();
    PodCache::new(ApiClient::unreachable(), background, Arc::default())
}

fn object(name: &str, owner: &str) -> Value {
    json!({"metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
        "ownerReferences": [{"uid": owner, "controller": true}]}})
}

fn warning(pod: &str) -> Value {
    json!({"involvedObject": {"kind": "Pod", "namespace": "shop", "name": pod, "uid": format!("uid-{pod}")},
        "reason": "Unhealthy", "message": "no", "lastTimestamp": "2026-11-20T12:00:00Z"})
}

#[tokio::test]
async fn p30_nothing_remains_cached_of_objects_that_a_list_no_longer_contains() {
    let cache = cache();
    for round in 0..3 {
        let pod = format!("web-{round}");
        let set = object(&format!("set-{round}"), "deployment");
        cache.handle_replica_set_event(WatcherEvent::Listed(vec![set], 1), "shop");
        cache.handle_pod_event(
            WatcherEvent::Listed(vec![object(&pod, &format!("uid-set-{round}"))], 1),
            "shop",
        );
        cache.handle_warning_event(WatcherEvent::Upserted(warning(&pod)), "shop");
    }
    assert_eq!(cache.pods_of("deployment").len(), 1);
    let index = cache.lock_index();
    let sizes = [index.pods.len(), index.owner_of.len(), index.warnings.len(), index.replica_sets.len()];
    assert_eq!((sizes, index.replica_sets_of["deployment"].len()), ([1; 4], 1));
}

#[tokio::test]
async fn pods_of_earlier_revisions_of_a_deployment_are_not_current() {
    let cache = cache();
    for (revision, set) in [("1", "old"), ("2", "new")] {
        let mut object = object(set, "deployment");
        object["metadata"]["annotations"] = json!({"deployment.kubernetes.io/revision": revision});
        cache.handle_replica_set_event(WatcherEvent::Upserted(object), "shop");
    }
    for (pod, set) in [("old-pod", "uid-old"), ("new-pod", "uid-new")] {
        cache.handle_pod_event(WatcherEvent::Upserted(self::object(pod, set)), "shop");
    }
    let names = |revision| -> Vec<String> {
        let pods = cache.current_pods_of("deployment", revision);
        pods.iter().map(|pod| object_key(pod).1).collect()
    };
    assert_eq!(names(None), ["new-pod"]);
    assert_eq!(names(Some(2)), ["new-pod"]);
    assert_eq!(names(Some(3)), Vec::<String>::new(), "its replica set is not observed yet");
    assert_eq!(cache.pods_of("deployment").len(), 2);
}

#[tokio::test]
async fn p30_a_warning_without_a_pod_is_dropped_when_its_event_expires() {
    let cache = cache();
    cache.handle_warning_event(WatcherEvent::Upserted(warning("gone")), "shop");
    cache.handle_pod_event(WatcherEvent::Upserted(object("web", "set")), "shop");
    cache.handle_warning_event(WatcherEvent::Upserted(warning("web")), "shop");
    for pod in ["gone", "web"] {
        cache.handle_warning_event(WatcherEvent::Deleted(warning(pod)), "shop");
    }
    let warned: Vec<String> = cache.lock_index().warnings.keys().cloned().collect();
    assert_eq!(warned, ["uid-web"], "the warning of an existing pod outlives its event");
}

#[tokio::test]
async fn p30_a_warning_about_a_controller_lasts_until_it_expires_or_is_no_longer_listed() {
    let cache = cache();
    let failed = |name: &str, message: &str| {
        json!({"involvedObject": {"kind": "StatefulSet", "namespace": "shop", "name": name, "uid": format!("uid-{name}")},
            "reason": "FailedCreate", "message": message, "lastTimestamp": "2026-11-20T12:00:00Z"})
    };
    for name in ["a", "b", "c"] {
        cache.handle_warning_event(WatcherEvent::Upserted(failed(name, "too long")), "shop");
    }
    let message =
        |name: &str| cache.failed_creation(&format!("uid-{name}")).map(|found| found["message"].clone());
    assert_eq!(message("a"), Some("too long".into()));
    cache.handle_warning_event(WatcherEvent::Deleted(failed("a", "an older one")), "shop");
    assert_eq!(message("a"), Some("too long".into()));
    cache.handle_warning_event(WatcherEvent::Deleted(failed("a", "too long")), "shop");
    assert_eq!(message("a"), None);
    cache.handle_warning_event(WatcherEvent::Listed(vec![failed("b", "quota")], 2), "shop");
    assert_eq!((message("b"), message("c")), (Some("quota".into()), None));
    cache.remove_owner("uid-b");
    assert_eq!(message("b"), None);
}

#[tokio::test]
async fn p30_a_pod_with_another_owner_is_not_listed_under_both() {
    let cache = cache();
    for owner in ["former", "present"] {
        cache.handle_pod_event(WatcherEvent::Upserted(object("db-0", owner)), "shop");
    }
    assert_eq!((cache.pods_of("former").len(), cache.pods_of("present").len()), (0, 1));
}
