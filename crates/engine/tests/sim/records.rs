//! The record of a release on its cluster: what it says, whose it is, what it holds.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use domain::Digest;
use domain::policy::{DeletionPolicy, Policies};
use domain::release::StageName;
use http::{Method, Request};
use serde_json::{Value, json};
use tower::Service;

use crate::harness::*;

async fn agent_of(cluster: &kubesim::Cluster, hub: &str) -> Agent {
    let client = kube::Client::new(cluster.service(), "default");
    let options = engine::Options { hub: hub.to_owned(), agent: format!("agent of {hub}"), ..options() };
    Agent::start(engine::Engine::connect(client, options).await.unwrap())
}

fn records_of<'a>(records: &'a [Value], hub: &str) -> Vec<&'a Value> {
    let hash = Digest::of(hub.as_bytes()).as_str().trim_start_matches("sha256:").to_owned();
    records.iter().filter(|record| record["spec"]["hubHash"] == hash.as_str()).collect()
}

#[tokio::test]
async fn s3_7_a_record_carries_the_hash_of_the_hub_of_the_spec_and_of_every_object() {
    let cluster = still_cluster();
    let agent = agent_of(&cluster, "https://hub.example.com").await;
    let content = bundle(vec![config_map("a", "1")]);
    let wanted = desired(1, 1, &content, Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let records = cluster.list(RECORD, None);
    let record = records_of(&records, "https://hub.example.com")[0];
    let name = record["metadata"]["name"].as_str().unwrap();
    let hub = record["spec"]["hubHash"].as_str().unwrap();
    assert_eq!((hub.len(), name), (64, format!("{hub}-{}", release(1).to_string().to_lowercase()).as_str()));
    assert_eq!(record["spec"]["specHash"], content.digest().as_str());
    assert_eq!(record["spec"]["agentId"], "agent of https://hub.example.com");
    let live = cluster.get(CONFIG_MAP, ("default", "a")).unwrap();
    let entry = &record["spec"]["resources"][0];
    assert_eq!(entry["hash"], live["metadata"]["annotations"][engine::HASH_ANNOTATION]);
    assert_eq!(entry["uid"], live["metadata"]["uid"]);
    let changed = desired(1, 2, &bundle(vec![config_map("a", "2")]), Policies::default());
    agent.engine.set_desired(vec![changed.clone()]);
    agent.until_operational(&changed.want).await;
    until("replaced by field", || {
        let records = cluster.list(RECORD, None);
        records.len() == 1 && records[0]["spec"]["specHash"] != content.digest().as_str()
    })
    .await;
    agent.stop().await;
}

#[tokio::test]
async fn s3_8_a_record_whose_release_is_not_named_any_more_is_marked_and_nothing_is_removed() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    agent.engine.set_desired(vec![]);
    until("marked", || cluster.list(RECORD, None)[0]["spec"]["evictionStart"].is_string()).await;
    assert!(agent.engine.records()[0].eviction_start.is_some());
    assert!(cluster.get(CONFIG_MAP, ("default", "a")).is_some());
    agent.engine.set_desired(vec![wanted]);
    until("named again", || cluster.list(RECORD, None)[0]["spec"].get("evictionStart").is_none()).await;
    agent.stop().await;
}

/// A connection whose watch of records never says anything, as one that lags behind.
#[derive(Clone)]
struct BlindToRecords(kubesim::ApiService);

impl Service<Request<kube::client::Body>> for BlindToRecords {
    type Response = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Response;
    type Error = kubesim::Unreachable;
    type Future = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        let uri = request.uri().to_string();
        if uri.contains("appliedreleases") && uri.contains("watch=") {
            return Box::pin(std::future::pending());
        }
        self.0.call(request)
    }
}

#[tokio::test]
async fn s3_11_a_record_that_is_gone_is_not_made_anew_to_say_that_nobody_names_it() {
    let cluster = still_cluster();
    let client = kube::Client::new(BlindToRecords(cluster.service()), "default");
    let agent = Agent::start(engine::Engine::connect(client, options()).await.unwrap());
    let wanted = desired(1, 1, &bundle(vec![config_map("a", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    let name = cluster.list(RECORD, None)[0]["metadata"]["name"].as_str().unwrap().to_owned();
    let let_go = |record: &mut Value| record["metadata"]["finalizers"] = json!([]);
    cluster.touch(RECORD, ("", &name), "somebody", let_go).unwrap();
    cluster.delete(RECORD, ("", &name)).unwrap();
    assert_eq!(agent.engine.records().len(), 1, "the engine has not seen it go");
    agent.engine.set_desired(vec![]);
    until("known to be gone", || agent.engine.records().is_empty()).await;
    assert_eq!(cluster.list(RECORD, None), [] as [Value; 0]);
    agent.stop().await;
}

#[tokio::test]
async fn s3_13_of_an_object_that_two_records_list_only_our_claim_is_removed() {
    let cluster = still_cluster();
    let ours = agent_of(&cluster, "https://one.example.com").await;
    let wanted =
        desired(1, 1, &bundle(vec![config_map("both", "1"), config_map("own", "1")]), Policies::default());
    ours.engine.set_desired(vec![wanted.clone()]);
    ours.until_operational(&wanted.want).await;
    until("recorded", || cluster.list(RECORD, None)[0]["spec"]["applied"] != "").await;
    // Another hub's agent recorded the same object.
    let both = cluster.get(CONFIG_MAP, ("default", "both")).unwrap();
    let mut other = cluster.list(RECORD, None).remove(0);
    other["metadata"] = json!({"name": "other", "finalizers": ["flotilla.dev/applied-cleanup"]});
    other["spec"]["hubHash"] = "f".repeat(64).into();
    other["spec"]["releaseId"] = release(9).to_string().into();
    other["spec"]["resources"] = json!([{"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "both",
        "resource": "configmaps", "uid": both["metadata"]["uid"], "hash": "x"}]);
    cluster.create(other, "flotilla").unwrap();
    // A second engine has surely seen it: what an engine finds when it starts is all there is.
    ours.stop().await;
    let ours = agent_of(&cluster, "https://one.example.com").await;
    assert_eq!(ours.engine.records().len(), 1, "the other hub's record is not ours");
    ours.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    ours.until(release(1), "gone", |report| report.gone).await;
    assert!(cluster.get(CONFIG_MAP, ("default", "own")).is_none());
    let left = cluster.get(CONFIG_MAP, ("default", "both")).unwrap();
    assert_eq!(left["metadata"]["uid"], both["metadata"]["uid"]);
    assert!(left["metadata"]["labels"].get(engine::RELEASE_LABEL).is_none());
    assert_eq!(cluster.list(RECORD, None).len(), 1, "only ours is gone");
    ours.stop().await;
}

#[tokio::test]
async fn s3_10_nothing_is_gone_before_the_record_is() {
    let cluster = still_cluster();
    let agent = agent(&cluster).await;
    let wanted = desired(1, 1, &bundle(vec![config_map("held", "1")]), Policies::default());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    let hold = |object: &mut Value| object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", hold).unwrap();
    agent.engine.set_desired(vec![absent(1, 2, DeletionPolicy::Foreground)]);
    agent.until_trouble(release(1), StageName::Pruned, "FinalizerPending").await;
    let record = cluster.list(RECORD, None).remove(0);
    assert!(record["metadata"]["deletionTimestamp"].is_string(), "asked for, and held by its finalizer");
    let deletes = cluster.stats().deletes;
    // The same want again and again, under new generations: marked once.
    for generation in 3..6 {
        agent.engine.set_desired(vec![absent(1, generation, DeletionPolicy::Foreground)]);
        agent.until(release(1), "seen", |report| report.generation == generation && !report.gone).await;
    }
    assert_eq!(cluster.stats().deletes, deletes, "what is being deleted is not deleted again");
    assert_eq!(cluster.list(RECORD, None)[0]["metadata"]["uid"], record["metadata"]["uid"]);
    let free = |object: &mut Value| object["metadata"]["finalizers"] = json!([]);
    cluster.touch(CONFIG_MAP, ("default", "held"), "kubectl-edit", free).unwrap();
    agent.until(release(1), "gone", |report| report.gone).await;
    assert!(cluster.list(RECORD, None).is_empty());
    agent.stop().await;
}

/// Path and user of each write.
type Heard = Vec<(String, Option<String>)>;

/// Notes as whom each object is written or deleted.
#[derive(Clone)]
struct Listening {
    inner: kubesim::ApiService,
    heard: Arc<Mutex<Heard>>,
}

impl Service<Request<kube::client::Body>> for Listening {
    type Response = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Response;
    type Error = kubesim::Unreachable;
    type Future = <kubesim::ApiService as Service<Request<kube::client::Body>>>::Future;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<kube::client::Body>) -> Self::Future {
        if request.method() != Method::GET {
            let user = request.headers().get("Impersonate-User");
            let user = user.and_then(|user| user.to_str().ok()).map(str::to_owned);
            self.heard.lock().unwrap().push((request.uri().path().to_owned(), user));
        }
        self.inner.call(request)
    }
}

#[tokio::test]
async fn the_executor_writes_and_deletes_the_objects_and_the_agent_keeps_the_record() {
    let cluster = still_cluster();
    let heard = Arc::new(Mutex::new(Heard::new()));
    let service = Listening { inner: cluster.service(), heard: heard.clone() };
    let engine = engine::Engine::connect(kube::Client::new(service, "default"), options()).await.unwrap();
    let agent = Agent::start(engine);
    let policies = Policies { executor: "web/deployer".into(), ..Policies::default() };
    let wanted = desired(1, 1, &bundle(vec![config_map("a", "1")]), policies.clone());
    agent.engine.set_desired(vec![wanted.clone()]);
    agent.until_operational(&wanted.want).await;
    let mut leave = absent(1, 2, DeletionPolicy::Foreground);
    leave.want.goal = domain::report::Goal::Absent { deletion: DeletionPolicy::Foreground, policies };
    agent.engine.set_desired(vec![leave]);
    agent.until(release(1), "gone", |report| report.gone).await;
    let heard = heard.lock().unwrap().clone();
    let (objects, rest): (Vec<_>, Vec<_>) = heard.iter().partition(|(path, _)| path.contains("/configmaps/"));
    assert_eq!(objects.len(), 2, "{heard:?}");
    assert!(objects.iter().all(|(_, user)| user.as_deref() == Some("system:serviceaccount:web:deployer")));
    assert!(rest.iter().all(|(_, user)| user.is_none()), "{rest:?}");
    agent.stop().await;
}
