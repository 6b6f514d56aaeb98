//! Watches: resuming, bookmarks, streaming lists, selectors, and versions that are too old.

use std::time::Duration;

use crate::support::{config_map, parse_object, start_cluster};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, InitialListStrategy};
use serde_json::json;

fn config_map_of_team(name: &str, team: &str) -> ConfigMap {
    parse_object(json!({"metadata": {"name": name, "labels": {"team": team}}, "data": {"key": "1"}}))
}

fn describe_event(event: &WatchEvent<ConfigMap>) -> (String, String) {
    match event {
        WatchEvent::Added(o) => ("ADDED".into(), o.metadata.name.clone().unwrap()),
        WatchEvent::Modified(o) => ("MODIFIED".into(), o.metadata.name.clone().unwrap()),
        WatchEvent::Deleted(o) => ("DELETED".into(), o.metadata.name.clone().unwrap()),
        WatchEvent::Bookmark(b) => ("BOOKMARK".into(), b.metadata.resource_version.clone()),
        WatchEvent::Error(status) => ("ERROR".into(), status.code.to_string()),
    }
}

async fn next_event(
    stream: &mut (impl futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Unpin),
) -> (String, String) {
    let event = tokio::time::timeout(Duration::from_secs(10), stream.next()).await;
    describe_event(&event.expect("an event").expect("the stream continues").expect("an event"))
}

#[tokio::test(start_paused = true)]
async fn a_watch_resumes_from_a_version_and_delivers_later_changes() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let from = cluster.resource_version().to_string();
    api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    api.patch("a", &PatchParams::default(), &Patch::Merge(json!({"data": {"key": "2"}}))).await.unwrap();
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let params = WatchParams::default().labels("team=x");
    let mut stream = api.watch(&params, &from).await.unwrap().boxed();
    for expected in ["ADDED", "MODIFIED", "DELETED"] {
        assert_eq!(next_event(&mut stream).await, (expected.to_owned(), "a".to_owned()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_that_no_longer_matches_is_reported_as_deleted() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let created = api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    let version = created.metadata.resource_version.unwrap();
    let params = WatchParams::default().labels("team=x");
    let mut stream = api.watch(&params, &version).await.unwrap().boxed();
    let patch = |team: &str| Patch::Merge(json!({"metadata": {"labels": {"team": team}}}));
    api.patch("a", &PatchParams::default(), &patch("y")).await.unwrap();
    assert_eq!(next_event(&mut stream).await.0, "DELETED");
    api.patch("a", &PatchParams::default(), &patch("x")).await.unwrap();
    assert_eq!(next_event(&mut stream).await.0, "ADDED");
}

#[tokio::test(start_paused = true)]
async fn a_compacted_version_is_410() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let from = cluster.resource_version().to_string();
    api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    cluster.compact();
    let mut stream = api.watch(&WatchParams::default(), &from).await.unwrap().boxed();
    assert_eq!(next_event(&mut stream).await, ("ERROR".to_owned(), "410".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn compaction_does_not_affect_a_running_watch() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let created = api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    let params = WatchParams::default().labels("team=x");
    let mut stream = api.watch(&params, &created.metadata.resource_version.unwrap()).await.unwrap().boxed();
    api.create(&PostParams::default(), &config_map_of_team("b", "x")).await.unwrap();
    assert_eq!(next_event(&mut stream).await.1, "b");
    cluster.compact();
    api.create(&PostParams::default(), &config_map_of_team("c", "x")).await.unwrap();
    assert_eq!(next_event(&mut stream).await.1, "c");
}

#[tokio::test(start_paused = true)]
async fn an_idle_watch_gets_bookmarks() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    tokio::time::sleep(Duration::from_secs(1)).await;
    let from = cluster.resource_version().to_string();
    let params = WatchParams::default().labels("team=x");
    let mut stream = api.watch(&params, &from).await.unwrap().boxed();
    let event = stream.next().await.unwrap().unwrap();
    assert_eq!(describe_event(&event).0, "BOOKMARK");
}

#[tokio::test(start_paused = true)]
async fn the_watcher_works_with_both_list_strategies() {
    for strategy in [InitialListStrategy::ListWatch, InitialListStrategy::StreamingList] {
        let (_cluster, client) = start_cluster();
        let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
        api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
        let config = watcher::Config::default().labels("team=x");
        let config = watcher::Config { initial_list_strategy: strategy, ..config };
        let mut stream = watcher::watcher(api.clone(), config).boxed();
        let mut events = Vec::new();
        while events.len() < 4 {
            match stream.try_next().await.unwrap().unwrap() {
                watcher::Event::Init => events.push("init".to_owned()),
                watcher::Event::InitApply(o) => events.push(format!("init {}", o.metadata.name.unwrap())),
                watcher::Event::InitDone => {
                    events.push("done".to_owned());
                    api.create(&PostParams::default(), &config_map_of_team("b", "x")).await.unwrap();
                }
                watcher::Event::Apply(o) => events.push(format!("apply {}", o.metadata.name.unwrap())),
                watcher::Event::Delete(_) => panic!("nothing was deleted"),
            }
        }
        assert_eq!(events, ["init", "init a", "done", "apply b"]);
    }
}

#[tokio::test(start_paused = true)]
async fn the_watcher_lists_again_after_410() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    let config = watcher::Config::default().labels("team=x");
    let mut stream = watcher::watcher(api.clone(), config).boxed();
    let mut inits = 0;
    while inits < 2 {
        // Errors are expected: the watch breaks and is rejected before the watcher lists again.
        if let Ok(watcher::Event::InitDone) = stream.next().await.unwrap() {
            inits += 1;
            // While the watch is broken, the history is compacted past its version.
            cluster.faults().set_offline(true);
            cluster.create(config_map("b", "1"), "test").ok();
            cluster.compact();
            cluster.faults().set_offline(false);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_can_be_watched() {
    let (_cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    let list = api.list_metadata(&kube::api::ListParams::default().labels("team=x")).await.unwrap();
    assert_eq!(list.items[0].metadata.name.as_deref(), Some("a"));
    let mut stream = api.watch_metadata(&WatchParams::default().labels("team=x"), "0").await.unwrap().boxed();
    let event = stream.next().await.unwrap().unwrap();
    assert!(matches!(event, WatchEvent::Added(o) if o.metadata.name.as_deref() == Some("a")));
}

#[tokio::test(start_paused = true)]
async fn watches_can_be_ended_without_an_error() {
    let (cluster, client) = start_cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "kube-public");
    let version = cluster.resource_version().to_string();
    let mut stream = api.watch(&WatchParams::default().labels("team=x"), &version).await.unwrap().boxed();
    let ending = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        cluster.close_watches();
    };
    let (last, ()) = tokio::join!(stream.next(), ending);
    assert!(last.is_none());
}

#[tokio::test]
async fn stopping_a_server_ends_its_watches_cleanly() {
    let (cluster, _client) = start_cluster();
    let server = cluster.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let config = kube::Config::new(server.url().parse().unwrap());
    let api: Api<ConfigMap> = Api::namespaced(kube::Client::try_from(config).unwrap(), "kube-public");
    let version = cluster.resource_version().to_string();
    let params = WatchParams::default().labels("team=x");
    let mut stream = api.watch(&params, &version).await.unwrap().boxed();
    api.create(&PostParams::default(), &config_map_of_team("a", "x")).await.unwrap();
    assert_eq!(next_event(&mut stream).await, ("ADDED".to_owned(), "a".to_owned()));
    drop(server);
    let end = tokio::time::timeout(Duration::from_secs(10), stream.next()).await.expect("an end");
    assert!(end.is_none(), "{end:?}");
}
