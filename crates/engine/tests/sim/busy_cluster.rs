//! Hours and days in the life of a cluster, in virtual time: autoscalers, injectors, operators that copy labels, people with kubectl, lost
//! watches and nodes, upgrades of the API server, outages and restarts of the agent, beside publishes that also drop objects. At the end
//! the workload is removed.
//!
//! After every event three promises are compared with the cluster: what was published is there, nothing of anybody else was
//! touched, and Flotilla wrote only what a person's publish or the drift of its own fields caused. A seed makes a run repeatable.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::report::{DriftOutcome, DriftReport};
use domain::workload::Policies;
use engine::ReleaseInput;
use kubesim::SimCluster;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};

use controllers::Controllers;
use objects::{EDITED_PATHS, count_dropped, has_banner, has_extra, objects, unchanged_fields};
use owned_edits::{OwnedEdit, owned_edits};

use crate::harness::*;

mod controllers;
mod copies;
mod objects;
mod owned_edits;

/// Pause before an event, in seconds. A field that comes back within it three times would be contested.
const PAUSE: std::ops::Range<u64> = 301..900;

const AUTOSCALER: (&str, &str) = ("autoscaling/v2", "HorizontalPodAutoscaler");
const CREW: (&str, &str) = ("life.example.com/v1", "Crew");
const CRON_JOB: (&str, &str) = ("batch/v1", "CronJob");
const DISRUPTION_BUDGET: (&str, &str) = ("policy/v1", "PodDisruptionBudget");
const ENTRY: (&str, &str) = ("life.example.com/v1", "Entry");
const NETWORK_POLICY: (&str, &str) = ("networking.k8s.io/v1", "NetworkPolicy");
const NODE: (&str, &str) = ("v1", "Node");
const ROLE: (&str, &str) = ("rbac.authorization.k8s.io/v1", "Role");
const ROLE_BINDING: (&str, &str) = ("rbac.authorization.k8s.io/v1", "RoleBinding");
const SECRET: (&str, &str) = ("v1", "Secret");
const SERVICE: (&str, &str) = ("v1", "Service");
const SERVICE_ACCOUNT: (&str, &str) = ("v1", "ServiceAccount");
const WEBHOOK: (&str, &str) = ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration");

/// Each round of so many events begins with an upgrade of the API server and the loss of a node, which are rare by chance.
const ROUND: u64 = 20;

type Kind = (&'static str, &'static str);

/// The namespace of the objects of a kind; "" for cluster-scoped kinds.
fn namespace_of(kind: Kind) -> &'static str {
    if kind == WEBHOOK || kind == NAMESPACE { "" } else { "default" }
}

/// An agent whose writes are counted, without those of its own records and reviews of its permissions.
async fn start_counted_agent(cluster: &SimCluster, writes: &Arc<AtomicU64>) -> TestAgent {
    let writes = writes.clone();
    let client = intercepted_client(cluster, move |request| {
        let is_dry_run = request.uri().query().unwrap_or_default().contains("dryRun");
        let path = request.uri().path();
        let is_own = path.contains("/appliedreleases") || path.starts_with("/apis/authorization.k8s.io/");
        if request.method() != http::Method::GET && !is_dry_run && !is_own {
            writes.fetch_add(1, Ordering::SeqCst);
        }
        Interception::Pass
    });
    TestAgent::start(engine::Engine::connect(client, options()).await.unwrap())
}

/// One cluster with its agent, and what has happened to it.
struct Life {
    cluster: SimCluster,
    agent: TestAgent,
    /// Number of writes of its agents.
    writes: Arc<AtomicU64>,
    input: ReleaseInput,
    /// Objects of others, as they wrote them last.
    foreign: Vec<(Kind, String, Value)>,
    controllers: Controllers,
    /// Number of copies of an operator.
    copies: u64,
    replicas: u64,
    /// The size of the Crew `night`.
    size: u64,
    /// The replicas of the Deployment `pool`.
    pool: u64,
    ca_bundle: String,
    /// Number of listeners of others.
    listeners: u64,
    /// Number of nodes that were lost.
    lost_nodes: u64,
    /// Number of upgrades of the API server.
    upgrades: u64,
    random: StdRng,
}

impl Life {
    async fn start(seed: u64) -> Self {
        let cluster = cluster_without_controllers();
        let scaler = json!({"apiVersion": AUTOSCALER.0, "kind": AUTOSCALER.1,
            "metadata": {"name": "theirs", "namespace": "default"}, "spec": {"minReplicas": 1, "maxReplicas": 9,
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
        cluster.create(scaler, "keda-operator").unwrap();
        let scaler = cluster.get(AUTOSCALER, ("default", "theirs")).unwrap();
        let writes = Arc::new(AtomicU64::new(0));
        let agent = start_counted_agent(&cluster, &writes).await;
        let input = present_input(1, 1, &bundle(objects(1)), Policies::default());
        let mut life = Self {
            cluster,
            agent,
            writes,
            input,
            foreign: vec![(AUTOSCALER, "theirs".to_owned(), scaler)],
            controllers: Controllers::default(),
            copies: 0,
            replicas: 2,
            size: 2,
            pool: 2,
            ca_bundle: String::new(),
            listeners: 0,
            lost_nodes: 0,
            upgrades: 0,
            random: StdRng::seed_from_u64(seed),
        };
        life.agent.engine.set_desired(vec![life.input.clone()]);
        life.until_as_published("the first publish").await;
        life.inject();
        life
    }

    /// Why the cluster is not as it was published; empty if it is.
    fn deviation(&self) -> String {
        let get =
            |kind: Kind, name: &str| self.cluster.get(kind, (namespace_of(kind), name)).unwrap_or_default();
        let mut found = Vec::new();
        let mut expect = |what: &str, actual: &Value, expected: Value| {
            if *actual != expected {
                found.push(format!("{what} is {actual}, not {expected}"));
            }
        };
        let settings = get(CONFIG_MAP, "settings");
        expect("settings", &settings["data"], json!({"key": self.input.desired.generation.to_string()}));
        let finalizers = json!(["life.example.com/a", "life.example.com/b"]);
        expect("finalizers", &settings["metadata"]["finalizers"], finalizers);
        expect("login", &get(SECRET, "login")["data"], json!({"user": "YW5u", "password": "eA=="}));
        let web = get(DEPLOYMENT, "web");
        expect("replicas", &web["spec"]["replicas"], self.replicas.into());
        expect("size", &get(CREW, "night")["spec"]["size"], self.size.into());
        expect("pool", &get(DEPLOYMENT, "pool")["spec"]["replicas"], self.pool.into());
        let web = &web["spec"]["template"]["spec"]["containers"][0];
        expect("image", &web["image"], "nginx:1".into());
        expect("env", &web["env"], json!([{"name": "LEVEL", "value": "info"}]));
        expect("selector", &get(SERVICE, "web")["spec"]["selector"], json!({"app": "web"}));
        expect("network policy", &get(NETWORK_POLICY, "deny")["spec"]["podSelector"], json!({}));
        expect("account", &get(SERVICE_ACCOUNT, "web")["imagePullSecrets"], json!([{"name": "registry"}]));
        for (kind, name, field, expected) in unchanged_fields() {
            expect(field, get(kind, name).pointer(field).unwrap_or(&Value::Null), expected);
        }
        let entry = get(ENTRY, "public");
        let names = |list: &Value| -> Vec<String> {
            list.as_array()
                .into_iter()
                .flatten()
                .map(|item| item["name"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let mut listeners: Vec<String> = names(&entry["spec"]["listeners"]);
        listeners.sort();
        let mut expected: Vec<String> =
            (0..self.listeners).map(|number| format!("theirs-{number:04}")).collect();
        expected.extend(["http".to_owned(), "https".to_owned()]);
        expected.sort();
        expect("listeners", &json!(listeners), json!(expected));
        let mut zones: Vec<Value> = entry["spec"]["zones"].as_array().cloned().unwrap_or_default();
        zones.sort_by_key(Value::to_string);
        expect("zones", &json!(zones), json!(["a", "b"]));
        let bundle =
            get(WEBHOOK, "checks.life.example.com")["webhooks"][0]["clientConfig"]["caBundle"].clone();
        expect("bundle", &json!(bundle.as_str().unwrap_or_default()), self.ca_bundle.clone().into());
        let generation = self.input.desired.generation;
        for (kind, name, is_published) in
            [(CONFIG_MAP, "banner", has_banner(generation)), (NETWORK_POLICY, "extra", has_extra(generation))]
        {
            expect(name, &get(kind, name).is_object().into(), is_published.into());
        }
        for (kind, name, object) in self.foreign.iter().chain(&self.controllers.objects) {
            expect(name, &get(*kind, name), object.clone());
        }
        found.join("; ")
    }

    async fn until_as_published(&mut self, event: &str) {
        let started_at = tokio::time::Instant::now();
        self.controllers.run(&self.cluster).await;
        while !self.deviation().is_empty() {
            assert!(started_at.elapsed() < TIMEOUT * 10, "after {event}: {}", self.deviation());
            tokio::time::sleep(Duration::from_millis(50)).await;
            self.controllers.run(&self.cluster).await;
        }
        tokio::time::sleep(QUIET_TIME).await;
        assert_eq!(self.deviation(), "", "after {event}");
    }

    fn edit(&self, kind: Kind, name: &str, manager: &str, edit: impl Fn(&mut Value)) {
        self.cluster.edit(kind, (namespace_of(kind), name), manager, edit).unwrap();
    }

    fn inject(&mut self) {
        self.ca_bundle = format!("Q0E{:04}", self.random.random_range(1_000..9_999));
        let bundle = self.ca_bundle.clone();
        self.edit(WEBHOOK, "checks.life.example.com", "cainjector", |live| {
            live["webhooks"][0]["clientConfig"]["caBundle"] = bundle.clone().into();
        });
    }

    fn scale(&mut self) {
        self.replicas = self.random.random_range(1..9);
        let replicas = self.replicas;
        self.edit(DEPLOYMENT, "web", "kube-controller-manager", |live| {
            live["spec"]["replicas"] = replicas.into()
        });
    }

    /// A scaler without an autoscaler sets the size of a custom object or the replicas of a Deployment. It is reported once in the life of
    /// an agent.
    async fn scale_by_scaler(&mut self) {
        let (written, drift) = (self.written(), self.agent.drift().len());
        // Never that of the manifest.
        let number = self.random.random_range(3..9);
        let (kind, name, field) = if self.random.random_bool(0.5) {
            self.size = number;
            (CREW, "night", "/spec/size")
        } else {
            self.pool = number;
            (DEPLOYMENT, "pool", "/spec/replicas")
        };
        self.cluster.scale(kind, ("default", name), "keda-operator", number).unwrap();
        self.until_as_published("a scaling by a scaler").await;
        assert_eq!(self.written(), written, "a scaler made Flotilla write");
        let reported = self.drift_since(drift);
        let is_expected = |note: &DriftReport| {
            note.outcome == DriftOutcome::Found && note.manager == "keda-operator" && note.fields == [field]
        };
        assert!(reported.len() <= 1 && reported.iter().all(is_expected), "{reported:#?}");
    }

    /// The controller of the CronJob runs a Job, which is of others.
    async fn run_job(&mut self) {
        let (written, drift) = (self.written(), self.agent.drift().len());
        self.controllers.run_job(&self.cluster).await;
        self.until_as_published("a run of the CronJob").await;
        assert_eq!(self.written(), written, "a run made Flotilla write");
        assert_eq!(self.drift_since(drift), [], "a run was reported as drift");
    }

    /// A node is lost with its pods, and another one takes its place.
    fn replace_node(&mut self) {
        let mut node = self.cluster.list(NODE, None).swap_remove(0);
        self.cluster.delete(NODE, ("", node["metadata"]["name"].as_str().unwrap())).unwrap();
        let name = format!("node-{}", self.random.random_range(0..u32::MAX));
        node["metadata"] = json!({"name": name, "labels": node["metadata"]["labels"]});
        self.cluster.create(node, "cloud-controller").unwrap();
        self.lost_nodes += 1;
    }

    fn upgrade_api_server(&mut self) {
        let (minor, patch) = (self.random.random_range(33..40), self.random.random_range(0..9));
        self.cluster.upgrade(&format!("v1.{minor}.{patch}"));
        self.upgrades += 1;
    }

    fn add_listener(&mut self) {
        let item = json!({"name": format!("theirs-{:04}", self.listeners), "port": 9});
        self.listeners += 1;
        self.edit(ENTRY, "public", "kubectl-edit", |live| {
            live["spec"]["listeners"].as_array_mut().unwrap().insert(0, item.clone());
        });
    }

    /// The drift that was reported since there were `before` reports.
    fn drift_since(&self, before: usize) -> Vec<DriftReport> {
        self.agent.drift().split_off(before)
    }

    /// Number of deletions that Flotilla requested.
    fn deletions(&self) -> u64 {
        self.cluster.stats().deletes - self.controllers.deletes
    }

    /// Number of applies, and of all writes of the agents.
    fn written(&self) -> (u64, u64) {
        (self.cluster.stats().applies, self.writes.load(Ordering::SeqCst))
    }

    /// An event that is no reason for a write.
    async fn assert_no_write(&mut self, event: &str, act: impl FnOnce(&mut Self)) {
        let (written, drift) = (self.written(), self.agent.drift().len());
        let deletions = self.deletions();
        act(self);
        self.until_as_published(event).await;
        assert_eq!(self.written(), written, "{event} made Flotilla write");
        assert_eq!(self.deletions(), deletions, "{event} made Flotilla delete");
        assert_eq!(self.drift_since(drift), [], "{event} was reported as drift");
    }

    /// Every edit of what Flotilla owns of the published objects.
    fn owned_edits(&self) -> Vec<OwnedEdit> {
        owned_edits(&self.cluster, &objects(self.input.desired.generation))
    }

    /// Edits one owned field, which one write restores and one report names. `false` if the API server refuses the edit, or if it
    /// changes nothing because the server defaults the value.
    async fn edit_owned_field(&mut self, edit: &OwnedEdit) -> bool {
        let (applies, drift) = (self.cluster.stats().applies, self.agent.drift().len());
        let before = edit.content(&self.cluster);
        let is_edited = edit.apply(&self.cluster) && edit.content(&self.cluster) != before;
        self.until_as_published(&format!("{edit:?}")).await;
        assert_eq!(edit.content(&self.cluster), before, "{edit:?} is not restored");
        let reported = self.drift_since(drift);
        if !is_edited {
            assert_eq!(reported, [], "{edit:?} changed nothing");
            assert_eq!(self.cluster.stats().applies, applies, "{edit:?} changed nothing");
            return false;
        }
        let is_expected = |note: &DriftReport| {
            note.outcome == DriftOutcome::Healed
                && note.object.kind == edit.kind
                && note.object.name == edit.name
                && !note.fields.is_empty()
                && note.fields.iter().all(|field| edit.is_named_by(field))
        };
        assert!(reported.len() == 1 && is_expected(&reported[0]), "{edit:?}: {reported:#?}");
        // An object without the label of its release is missing until it is written; the record says so before and after.
        let records = if edit.hides_object() { 2 } else { 0 };
        assert_eq!(self.cluster.stats().applies, applies + 1 + records, "{edit:?}: one write restores it");
        true
    }

    async fn edit_random_field(&mut self) {
        let edits = self.owned_edits();
        let edit = &edits[self.random.random_range(0..edits.len())];
        self.edit_owned_field(edit).await;
    }

    async fn delete_object(&mut self) {
        let drift = self.agent.drift().len();
        self.cluster.delete(SERVICE, ("default", "web")).unwrap();
        self.until_as_published("a deletion").await;
        let reported = self.drift_since(drift);
        assert!(reported.len() == 1 && reported[0].fields.is_empty(), "{reported:#?}");
    }

    async fn publish(&mut self) {
        let (drift, deletions) = (self.agent.drift().len(), self.deletions());
        let generation = self.input.desired.generation + 1;
        self.input = present_input(1, generation, &bundle(objects(generation)), Policies::default());
        self.agent.engine.set_desired(vec![self.input.clone()]);
        self.until_as_published("a publish").await;
        assert_eq!(self.drift_since(drift), [], "a publish is no drift");
        assert_eq!(self.deletions(), deletions + count_dropped(generation), "a publish prunes what it drops");
    }

    /// A person edits while the API server is unreachable for the agent.
    async fn outage(&mut self) {
        let drift = self.agent.drift().len();
        self.cluster.faults().set_offline(true);
        tokio::time::sleep(Duration::from_secs(120)).await;
        self.edit(CONFIG_MAP, "settings", "kubectl-edit", |live| {
            live["data"]["key"] = "in the outage".into()
        });
        self.cluster.faults().set_offline(false);
        self.until_as_published("an outage").await;
        let fields: Vec<Vec<String>> = self.drift_since(drift).into_iter().map(|note| note.fields).collect();
        assert_eq!(fields, [["/data/key"]]);
    }

    async fn restart_agent(&mut self) {
        let written = self.written();
        let started = start_counted_agent(&self.cluster, &self.writes).await;
        std::mem::replace(&mut self.agent, started).stop().await;
        self.agent.engine.set_desired(vec![self.input.clone()]);
        self.until_as_published("a restart of the agent").await;
        assert_eq!(self.written(), written, "a restart made Flotilla write");
    }

    /// Lets the next event happen.
    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..10 => self.assert_no_write("a scaling", Self::scale).await,
            10..15 => self.scale_by_scaler().await,
            15..25 => self.assert_no_write("an injection", Self::inject).await,
            25..32 => self.assert_no_write("a copy of an object", Self::copy).await,
            32..38 => self.assert_no_write("an item of another manager", Self::add_listener).await,
            38..65 => self.edit_random_field().await,
            65..68 => self.run_job().await,
            68..72 => self.delete_object().await,
            72..88 => self.publish().await,
            88..90 => {
                self.assert_no_write("the loss of the watches", |life| {
                    life.cluster.faults().disconnect_watches()
                })
                .await
            }
            90..92 => {
                self.assert_no_write("an upgrade of the API server", Self::upgrade_api_server).await;
            }
            92..94 => self.assert_no_write("the loss of a node", Self::replace_node).await,
            94..97 => self.outage().await,
            _ => self.restart_agent().await,
        }
    }
}

/// Lives for the hours of `FLOTILLA_LIFE_HOURS` (4 without it) with the seed of `FLOTILLA_LIFE_SEED` (1) plus the number of the
/// cluster; `cargo xtask bench life` sets both.
async fn live(cluster: u64) {
    let number = |name: &str, default: u64| {
        std::env::var(name)
            .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text:?}")))
    };
    let hours = number("FLOTILLA_LIFE_HOURS", 4);
    let seed = number("FLOTILLA_LIFE_SEED", 1) + cluster;
    let mut life = Life::start(seed).await;
    life.until_as_published("the start").await;
    let started_at = tokio::time::Instant::now();
    let mut events = 0;
    while started_at.elapsed() < Duration::from_secs(hours * 3_600) {
        let pause = life.random.random_range(PAUSE);
        tokio::time::sleep(Duration::from_secs(pause)).await;
        match events % ROUND {
            0 => life.assert_no_write("an upgrade of the API server", Life::upgrade_api_server).await,
            1 => life.assert_no_write("the loss of a node", Life::replace_node).await,
            _ => life.step().await,
        }
        events += 1;
    }
    assert!(events >= 3 * hours, "seed {seed}: {events} events only");
    let expected = if hours >= 24 { 3 } else { hours.min(1) };
    let (upgrades, lost_nodes) = (life.upgrades, life.lost_nodes);
    assert!(upgrades >= expected && lost_nodes >= expected, "{upgrades} upgrades, {lost_nodes} lost nodes");
    life.leave().await;
}

#[tokio::test(start_paused = true)]
async fn p13_p25_a_busy_cluster_stays_as_published_and_others_stay_untouched() {
    live(0).await;
}

#[tokio::test(start_paused = true)]
async fn p13_p25_a_second_busy_cluster_stays_as_published_and_others_stay_untouched() {
    live(1).await;
}

#[tokio::test(start_paused = true)]
async fn p13_p25_a_third_busy_cluster_stays_as_published_and_others_stay_untouched() {
    live(2).await;
}

#[tokio::test(start_paused = true)]
async fn p13_every_field_that_flotilla_owns_is_restored_once_after_an_edit_and_after_a_removal() {
    let mut life = Life::start(1).await;
    // The revision with every object.
    while !(has_banner(life.input.desired.generation) && has_extra(life.input.desired.generation)) {
        life.publish().await;
    }
    let edits = life.owned_edits();
    let mut edited: Vec<(String, String)> = Vec::new();
    for edit in &edits {
        tokio::time::sleep(Duration::from_secs(PAUSE.start)).await;
        if life.edit_owned_field(edit).await {
            edited.push((edit.kind.clone(), edit.path.to_string()));
        }
    }
    for (kind, path) in EDITED_PATHS {
        let is_edited = edited.iter().any(|(other, edited)| other == kind && edited == path);
        assert!(is_edited, "{kind} {path} was not edited: {edited:#?}");
    }
    assert!(edited.len() * 2 > edits.len(), "the server refuses most edits: {edited:#?}");
    life.agent.stop().await;
}
