//! What a cluster is offered of a revision depends on the revision, on the facts that it was published with and on what users set: random
//! walks over changes of the fleet, with manifests and with a chart that the real helm renders.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::bundle::Bundle;
use domain::cluster::{ApiResource, ClusterFacts, RenderFacts};
use domain::overrides::{ClusterSelector, DEFAULT_PRIORITY, ObjectSelector, Override, Patch, PatchOp};
use domain::placement::ClusterGroup;
use domain::report::DesiredPhase;
use domain::request::ClusterPatch;
use domain::workload::WorkloadSpec;
use domain::{Digest, OverrideId};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};
use serde_json::{Value, json};

use crate::helm_chart::set_helm;
use crate::rendered_facts::{changed, chart_spec, facts, publish_chart, publish_spec, release};
use crate::test_hub::{TestAgent, TestHub, source, wait_for};

/// Without it a failure could not be repeated.
const SEED: u64 = 1;

/// Facts, a label and a value in manifests.
const MANIFESTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  \
                         version: \"${{ cluster.kubernetesVersion }}\"\n  size: \"${{ cluster.labels.size }}\"\n  \
                         tier: \"${{ cluster.values.tier }}\"\n";
/// The same in a chart, beside a kind that the chart asks for and a value that it generates.
const TEMPLATE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata:\n  \
                        password: {{ randAlphaNum 20 | quote }}\n  version: {{ .Capabilities.KubeVersion.Version | quote }}\n  \
                        widgets: {{ .Capabilities.APIVersions.Has \"example.com/v1/Widget\" | quote }}\n  \
                        size: {{ .Values.size | quote }}\n  tier: {{ .Values.tier | quote }}\n  class: {{ .Values.class | quote }}\n  \
                        metal: {{ .Values.metal | default \"none\" | quote }}\n";
const VALUES: &str = "size: ${{ cluster.labels.size }}\ntier: ${{ cluster.values.tier }}\n";
/// The fact that an override writes.
const CLASS: &str = "${{ cluster.storageClass }}";

/// What renders the workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkSource {
    Manifests,
    Chart,
}

impl WalkSource {
    /// The workload with an override that writes a fact.
    fn spec(self) -> WorkloadSpec {
        let (values, patches) = match self {
            Self::Manifests => {
                let op = PatchOp::Set { path: "/data/class".into(), value: CLASS.into() };
                (String::new(), vec![Patch { object: ObjectSelector::default(), op }])
            }
            Self::Chart => (format!("class: {CLASS}\n"), Vec::new()),
        };
        let target = ClusterSelector { clusters: vec!["east".into()], ..ClusterSelector::default() };
        let (id, name) = (OverrideId::from_parts(1, 1), "east".into());
        let over = Override { id, name, target, priority: DEFAULT_PRIORITY, values, patches };
        let spec = WorkloadSpec { overrides: vec![over], ..chart_spec(VALUES) };
        match self {
            Self::Manifests => WorkloadSpec { source: source(MANIFESTS), ..spec },
            Self::Chart => spec,
        }
    }

    /// What it renders, without what is generated.
    fn render(self, facts: &ReportedFacts, settings: &UserSettings) -> Value {
        let mut data = json!({"version": facts.version, "class": facts.class, "size": settings.size,
            "tier": settings.tier});
        if self == Self::Chart {
            data["widgets"] = facts.has_widgets.to_string().into();
            data["metal"] = settings.metal.unwrap_or("none").into();
        }
        data
    }
}

/// What the cluster reports. Nothing is rendered from the second version of the kind.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ReportedFacts {
    version: &'static str,
    class: &'static str,
    has_widgets: bool,
    has_beta_widgets: bool,
}

impl ReportedFacts {
    fn cluster_facts(&self) -> ClusterFacts {
        let kinds: &[&str] = if self.has_widgets { &["Widget"] } else { &[] };
        let mut reported =
            ClusterFacts { default_storage_class: self.class.into(), ..facts(self.version, kinds) };
        if self.has_beta_widgets {
            reported.apis.push(ApiResource {
                group: "example.com".into(),
                version: "v1beta1".into(),
                kind: "Widget".into(),
                namespaced: true,
                denied: false,
            });
        }
        reported
    }

    fn render_facts(&self) -> RenderFacts {
        RenderFacts::from_reported(&self.cluster_facts())
    }
}

/// What users set without a publish: a label, a value of the cluster, and a value that its group locks and the chart leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserSettings {
    size: &'static str,
    tier: &'static str,
    metal: Option<&'static str>,
}

/// One step of a walk.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FleetChange {
    /// The API server is upgraded or restored.
    Version(&'static str),
    /// Another storage class is the default one.
    Class(&'static str),
    /// The definition of the kind is installed or deleted.
    Widgets(bool),
    /// The definition gets or loses a version.
    BetaWidgets(bool),
    Size(&'static str),
    Tier(&'static str),
    Lock(Option<&'static str>),
    /// An annotation that nothing is rendered from.
    Annotation,
    /// What was rendered is lost, and is rendered again.
    Loss,
    Restart,
    Publish,
}

fn any_change() -> impl Strategy<Value = FleetChange> {
    let one_of = |texts: [&'static str; 2]| prop::sample::select(texts.to_vec());
    prop_oneof![
        4 => one_of(["v1.33.4", "v1.34.1"]).prop_map(FleetChange::Version),
        2 => one_of(["fast", "slow"]).prop_map(FleetChange::Class),
        3 => any::<bool>().prop_map(FleetChange::Widgets),
        2 => any::<bool>().prop_map(FleetChange::BetaWidgets),
        2 => one_of(["s", "xl"]).prop_map(FleetChange::Size),
        2 => one_of(["bronze", "silver"]).prop_map(FleetChange::Tier),
        3 => prop::option::of(one_of(["gold", "tin"])).prop_map(FleetChange::Lock),
        1 => Just(FleetChange::Annotation),
        2 => Just(FleetChange::Loss),
        1 => Just(FleetChange::Restart),
        2 => Just(FleetChange::Publish),
    ]
}

/// What the agent of the cluster gets.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OfferedBundle {
    generation: i64,
    digest: Digest,
    /// Of its ConfigMap.
    data: Value,
}

/// A cluster with a published workload, after the steps so far.
struct FactWalk {
    test: TestHub,
    east: TestAgent,
    source: WalkSource,
    reported: ReportedFacts,
    /// The facts of the latest publish.
    published: ReportedFacts,
    settings: UserSettings,
    revision: u32,
    /// Number of steps.
    steps: u32,
    offered: OfferedBundle,
    /// The digest of every content so far, by the content.
    digests: BTreeMap<String, Digest>,
}

/// Gives the cluster this value.
async fn set_tier(test: &TestHub, tier: &str) {
    let values = json!({"tier": tier}).as_object().cloned();
    let edit = ClusterPatch { values, ..ClusterPatch::default() };
    test.hub.edit_cluster(&test.actor, "east", edit, None).await.unwrap();
}

/// What the agent gets now; `None` while there is nothing, or its bytes are lost: the request lets them be rendered again.
async fn read_offer(test: &TestHub, east: &TestAgent) -> Option<OfferedBundle> {
    let state = test.hub.get_desired_state(east.id, -1, Duration::ZERO).await.ok()?;
    let desired = state.releases.into_iter().next()?;
    let DesiredPhase::Present { bundle: digest, .. } = desired.phase else { return None };
    let bytes = test.hub.get_bundle(east.id, desired.release, &digest).await.ok()?;
    let bundle = Bundle::from_bytes(&bytes).unwrap();
    assert_eq!(bundle.digest(), digest, "the bytes are those of the digest");
    let data = bundle.objects[0]["data"].clone();
    Some(OfferedBundle { generation: desired.generation, digest, data })
}

impl FactWalk {
    async fn begin(source: WalkSource) -> Self {
        let test = TestHub::open().await;
        let settings = UserSettings { size: "s", tier: "bronze", metal: None };
        let mut east = test.register_cluster("east", &[("size", settings.size)]).await;
        set_tier(&test, settings.tier).await;
        let reported =
            ReportedFacts { version: "v1.33.4", class: "fast", has_widgets: false, has_beta_widgets: false };
        east.send_facts(reported.cluster_facts()).await;
        match source {
            WalkSource::Manifests => Box::pin(publish_spec(&test, source.spec())).await,
            WalkSource::Chart => Box::pin(publish_chart(&test, TEMPLATE, source.spec())).await,
        }
        let offered = wait_for("the first bundle", async || read_offer(&test, &east).await).await;
        let published = reported.clone();
        let (revision, steps, digests) = (1, 0, BTreeMap::new());
        Self { test, east, source, reported, published, settings, revision, steps, offered, digests }
    }

    async fn step(mut self, change: FleetChange) -> Self {
        self.steps += 1;
        match change {
            FleetChange::Version(version) => self.reported.version = version,
            FleetChange::Class(class) => self.reported.class = class,
            FleetChange::Widgets(has_widgets) => self.reported.has_widgets = has_widgets,
            FleetChange::BetaWidgets(has_beta_widgets) => self.reported.has_beta_widgets = has_beta_widgets,
            FleetChange::Size(size) => Box::pin(self.set_size(size)).await,
            FleetChange::Tier(tier) => {
                Box::pin(set_tier(&self.test, tier)).await;
                self.settings.tier = tier;
            }
            FleetChange::Lock(metal) => Box::pin(self.set_lock(metal)).await,
            FleetChange::Annotation => Box::pin(self.annotate()).await,
            FleetChange::Loss => Box::pin(self.lose_rendering()).await,
            FleetChange::Restart => self = Box::pin(self.restart()).await,
            FleetChange::Publish => {
                self.revision = Box::pin(self.test.publish("web")).await;
                self.published = self.reported.clone();
            }
        }
        self.east.send_facts(self.reported.cluster_facts()).await;
        Box::pin(self.check(&change)).await;
        self
    }

    async fn set_size(&mut self, size: &'static str) {
        let labels = [("size".to_owned(), Some(size.to_owned()))].into();
        let edit = ClusterPatch { labels, ..ClusterPatch::default() };
        self.test.hub.edit_cluster(&self.test.actor, "east", edit, None).await.unwrap();
        self.settings.size = size;
    }

    /// Lets the group of the cluster lock this value of charts, or deletes the group.
    async fn set_lock(&mut self, metal: Option<&'static str>) {
        let (hub, actor) = (&self.test.hub, &self.test.actor);
        match metal {
            Some(metal) => {
                let group = ClusterGroup {
                    name: "eu".into(),
                    members: vec!["east".into()],
                    locked_values: format!("metal: {metal}\n"),
                    ..ClusterGroup::default()
                };
                hub.save_group(actor, group, None).await.unwrap();
            }
            None if self.settings.metal.is_some() => hub.delete_group(actor, "eu").await.unwrap(),
            None => {}
        }
        self.settings.metal = metal;
    }

    /// Lets the placer render again.
    async fn annotate(&self) {
        let annotations = [("note".to_owned(), Some(self.steps.to_string()))].into();
        let edit = ClusterPatch { annotations, ..ClusterPatch::default() };
        self.test.hub.edit_cluster(&self.test.actor, "east", edit, None).await.unwrap();
    }

    /// Loses the bundle, which the next request of the agent restores, or what helm rendered, which is then rendered with another
    /// generated value.
    async fn lose_rendering(&self) {
        match self.source {
            WalkSource::Manifests => {
                let bundles = "DELETE FROM artifact WHERE digest IN (SELECT released FROM release)";
                self.test.execute_sql(bundles).await;
            }
            WalkSource::Chart => {
                self.test.execute_sql("DELETE FROM chart_rendering").await;
                self.annotate().await;
            }
        }
    }

    async fn restart(mut self) -> Self {
        drop(self.east);
        let test = self.test.restart().await;
        if self.source == WalkSource::Chart {
            set_helm(&test.hub, &test.scratch()).await;
        }
        self.east = test.reconnect_agent("east").await;
        self.test = test;
        // A pass before helm was found has rendered no chart.
        self.annotate().await;
        self
    }

    /// Compares what the cluster is offered, and what its release says, with what was published and set.
    async fn check(&mut self, change: &FleetChange) {
        let content = self.source.render(&self.published, &self.settings);
        let present = self.reported.render_facts();
        let compared = (self.reported != self.published).then(|| Digest::compute(&present.to_bytes()));
        let what = format!("step {}, {change:?}: {content}", self.steps);
        let (offered, notice) = wait_for(&what, async || {
            // Asked first: what is read afterwards has seen every change.
            if !self.test.is_placed().await {
                return None;
            }
            let release = release(&self.test, "east").await;
            let comparison = release.facts_comparison().map(|comparison| &comparison.facts);
            let is_current = release.released_revision() == Some(self.revision);
            let offered = read_offer(&self.test, &self.east).await?;
            let is_settled = is_current && comparison == compared.as_ref();
            let is_settled = is_settled && without_password(&offered.data) == content;
            is_settled.then(|| (offered, release.facts_notice().to_owned()))
        })
        .await;
        assert_eq!(offered.data["password"], self.offered.data["password"], "{what}");
        if *change != FleetChange::Publish && offered.data == self.offered.data {
            assert_eq!(offered, self.offered, "{what}");
        }
        let known = self.digests.entry(content.to_string()).or_insert_with(|| offered.digest.clone());
        assert_eq!(*known, offered.digest, "{what}");
        let expected = if self.source.render(&self.reported, &self.settings) == content {
            String::new()
        } else {
            changed(&self.published.render_facts().describe_changes(&present))
        };
        assert_eq!(notice, expected, "{what}");
        self.offered = offered;
    }
}

/// The data without the value that the chart generates.
fn without_password(data: &Value) -> Value {
    let mut data = data.clone();
    if let Some(data) = data.as_object_mut() {
        data.remove("password");
    }
    data
}

async fn walk(source: WalkSource, changes: Vec<FleetChange>) {
    let mut walk = Box::pin(FactWalk::begin(source)).await;
    for change in changes {
        walk = Box::pin(walk.step(change)).await;
    }
    walk.test.close().await;
}

/// Goes on so many walks of so many steps.
fn walk_often(source: WalkSource, walks: u32, steps: usize) {
    let config = Config {
        cases: walks,
        failure_persistence: None,
        max_shrink_iters: 20,
        rng_seed: RngSeed::Fixed(SEED),
        ..Config::default()
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let result = TestRunner::new(config).run(&prop::collection::vec(any_change(), steps), |changes| {
        runtime.block_on(walk(source, changes));
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn p32_over_any_walk_manifests_are_what_was_published_until_a_user_changes_them() {
    walk_often(WalkSource::Manifests, 3, 30);
}

#[test]
fn p32_over_any_walk_a_chart_is_what_was_published_until_a_user_changes_it() {
    walk_often(WalkSource::Chart, 1, 16);
}
