//! B4: from the moment somebody has changed an applied object until it is back as it was.

use std::pin::Pin;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::{Stream, StreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::{Value, json};

use super::table::{Row, Table, figures};
use super::world::{BARE, OURS, World};
use super::{Args, bare, burst};

/// Objects of the small case.
const FEW: usize = 10;
/// Between the end of one repair and the next harm: the engine has written down what it did.
const APART: Duration = Duration::from_millis(100);
/// A repair that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(60);

/// What somebody does to an object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    Delete,
    Label,
    Spec,
}

const HARMS: [(Harm, &str); 3] =
    [(Harm::Delete, "delete"), (Harm::Label, "edit a label"), (Harm::Spec, "edit the spec")];

/// With few objects on the cluster.
pub async fn few(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let names: Vec<String> = (0..FEW).map(|n| format!("b4-{n}")).collect();
    let draft = |name: &String| (name.clone(), bare::yaml(&bare::pair(name)));
    world.person.drafts(names.iter().map(draft).collect()).await?;
    world.person.catch_up().await?;
    world.person.publish_all(&names).await?;
    run(args, table, world, &names).await
}

/// On the full cluster.
pub async fn full(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let names: Vec<String> = (0..args.full()).map(burst::name).collect();
    run(args, table, world, &names).await
}

async fn run(args: &Args, table: &mut Table, world: &World, names: &[String]) -> anyhow::Result<()> {
    let runs = args.runs(50);
    let client = world.planes[0].client();
    let api: Api<Deployment> = Api::namespaced(client.clone(), OURS);
    let mut next = 0;
    for (harm, word) in HARMS {
        let idle = world.idle(args).await;
        let (mut seen, before, mut ours) = (Seen::of(&api).await?, world.usage(), Vec::new());
        for _ in 0..runs {
            let name = &names[next % names.len()];
            if next >= names.len() {
                // It was put back before: only a person's word ends the pause that follows a repair.
                world.person.sync(name).await?;
                tokio::time::sleep(APART).await;
            }
            next += 1;
            ours.push(heal(&api, &mut seen, harm, name, None).await?);
            tokio::time::sleep(APART).await;
        }
        let scenario = format!("B4 {word}, {} placed", names.len() * 2);
        let mut row = Row::of(scenario, world, &before, runs);
        row.without(&idle, APART + ours.iter().sum::<Duration>() / u32::try_from(runs)?);
        row.ours = figures(ours);
        row.limit = Some(figures(limit(&client, harm, runs).await?));
        row.target = "p50 ≤ 8, p95 ≤ 15";
        table.add(row);
    }
    Ok(())
}

/// A watch and one apply by a plain client.
async fn limit(client: &kube::Client, harm: Harm, runs: usize) -> anyhow::Result<Vec<Duration>> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), BARE);
    let mut all = Vec::new();
    let name = "repaired";
    bare::apply(client, &bare::deployment(name, "1.0")).await?;
    let mut seen = Seen::of(&api).await?;
    for _ in 0..runs {
        all.push(heal(&api, &mut seen, harm, name, Some(client)).await?);
        tokio::time::sleep(APART).await;
    }
    Ok(all)
}

/// Does harm to one object; how long after the API server's answer it was back. With a `healer`, that client does what
/// the engine does otherwise.
async fn heal(
    api: &Api<Deployment>,
    seen: &mut Seen,
    harm: Harm,
    name: &str,
    healer: Option<&kube::Client>,
) -> anyhow::Result<Duration> {
    let act = async {
        harm.act(api, name).await?;
        anyhow::Ok(Instant::now())
    };
    let follow = async {
        seen.until(name, |event| harm.is_done(event)).await?;
        if let Some(client) = healer {
            bare::apply(client, &bare::deployment(name, "1.0")).await?;
        }
        seen.until(name, |event| harm.is_undone(event)).await?;
        anyhow::Ok(Instant::now())
    };
    let both = async { tokio::try_join!(act, follow) };
    let (done, healed) = tokio::time::timeout(PATIENCE, both)
        .await
        .with_context(|| format!("{name} was never put back"))??;
    Ok(healed.saturating_duration_since(done))
}

impl Harm {
    async fn act(self, api: &Api<Deployment>, name: &str) -> anyhow::Result<()> {
        let patch = match self {
            Self::Delete => {
                api.delete(name, &DeleteParams::background()).await?;
                return Ok(());
            }
            Self::Label => json!({"metadata": {"labels": {"tier": "other"}}}),
            Self::Spec => json!({"spec": {"replicas": 7}}),
        };
        let params = PatchParams { field_manager: Some("kubectl-edit".into()), ..PatchParams::default() };
        api.patch(name, &params, &Patch::Merge::<Value>(patch)).await?;
        Ok(())
    }

    fn is_done(self, event: &WatchEvent<Deployment>) -> bool {
        match (self, event) {
            (Self::Delete, WatchEvent::Deleted(_)) => true,
            (Self::Label | Self::Spec, WatchEvent::Modified(one)) => !self.is_as_wanted(one),
            _ => false,
        }
    }

    fn is_undone(self, event: &WatchEvent<Deployment>) -> bool {
        match event {
            WatchEvent::Added(one) | WatchEvent::Modified(one) => self.is_as_wanted(one),
            _ => false,
        }
    }

    fn is_as_wanted(self, one: &Deployment) -> bool {
        let label = one.metadata.labels.as_ref().and_then(|labels| labels.get("tier"));
        let replicas = one.spec.as_ref().and_then(|spec| spec.replicas);
        match self {
            Self::Delete => true,
            Self::Label => label.is_some_and(|tier| tier == "web"),
            Self::Spec => replicas.is_none_or(|replicas| replicas == 1),
        }
    }
}

/// What happens to the Deployments of a namespace.
struct Seen(Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<Deployment>>> + Send>>);

impl Seen {
    async fn of(api: &Api<Deployment>) -> anyhow::Result<Self> {
        let now = api.list_metadata(&ListParams::default()).await?.metadata.resource_version;
        let stream = api.watch(&WatchParams::default(), &now.unwrap_or_default()).await?;
        Ok(Self(Box::pin(stream)))
    }

    async fn until(
        &mut self,
        name: &str,
        ok: impl Fn(&WatchEvent<Deployment>) -> bool,
    ) -> anyhow::Result<()> {
        while let Some(event) = self.0.next().await {
            let event = event?;
            let about = match &event {
                WatchEvent::Added(one) | WatchEvent::Modified(one) | WatchEvent::Deleted(one) => {
                    one.metadata.name.as_deref()
                }
                _ => None,
            };
            if about == Some(name) && ok(&event) {
                return Ok(());
            }
        }
        anyhow::bail!("the watch ended")
    }
}
