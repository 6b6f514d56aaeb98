//! B6: the agent, then the server, killed and started again on a full cluster. How long until a workload that is
//! published at once is applied, and what was written on the cluster although nothing of it had changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Request;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};

use super::table::{Row, Table, figures};
use super::world::World;
use super::{Args, bare};

/// Until what a restart sets going has ended.
const SETTLED: Duration = Duration::from_secs(3);
/// Kinds of what is placed: a group in the API server's metrics, a version, a kind, its plural.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("", "v1", "ServiceAccount", "serviceaccounts"),
    ("apps", "v1", "Deployment", "deployments"),
    ("flotilla.dev", "v1alpha1", "AppliedRelease", "appliedreleases"),
];
/// What one new workload writes: two objects, and its record before and after.
const NEW: usize = 4;

/// The agent.
pub async fn agent(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let mut rounds = Rounds::prepare(args, world, "b6-agent").await?;
    while let Some(name) = rounds.next(world).await? {
        world.agents[0].kill().await?;
        let begun = Instant::now();
        world.start_agent(0)?;
        world.person.publish(&name, 1).await?;
        rounds.took(world, begun.elapsed()).await?;
    }
    table.add(rounds.row("B6 agent killed", "≤ 1000, no writes", world));
    Ok(())
}

/// The server.
pub async fn server(args: &Args, table: &mut Table, world: &mut World) -> anyhow::Result<()> {
    let mut rounds = Rounds::prepare(args, world, "b6-server").await?;
    while let Some(name) = rounds.next(world).await? {
        world.server.kill().await?;
        let begun = Instant::now();
        world.start_server().await?;
        world.person.publish(&name, 1).await?;
        rounds.took(world, begun.elapsed()).await?;
    }
    table.add(rounds.row("B6 server killed", "≤ 2000, no writes", world));
    Ok(())
}

/// The rounds of one of them, and what was counted.
struct Rounds {
    names: std::vec::IntoIter<String>,
    before: Option<Snapshot>,
    took: Vec<Duration>,
    writes: usize,
    changed: usize,
}

impl Rounds {
    async fn prepare(args: &Args, world: &mut World, prefix: &str) -> anyhow::Result<Self> {
        let rounds = if args.quick { 2 } else { 5 };
        let names: Vec<String> = (0..rounds).map(|n| format!("{prefix}-{n}")).collect();
        let draft = |name: &String| (name.clone(), bare::yaml(&bare::pair(name)));
        world.person.drafts(names.iter().map(draft).collect()).await?;
        world.person.catch_up().await?;
        Ok(Self { names: names.into_iter(), before: None, took: Vec::new(), writes: 0, changed: 0 })
    }

    async fn next(&mut self, world: &World) -> anyhow::Result<Option<String>> {
        let Some(name) = self.names.next() else { return Ok(None) };
        tokio::time::sleep(SETTLED).await;
        self.before = Some(Snapshot::of(world).await?);
        Ok(Some(name))
    }

    async fn took(&mut self, world: &World, took: Duration) -> anyhow::Result<()> {
        self.took.push(took);
        tokio::time::sleep(SETTLED).await;
        let (Some(before), after) = (self.before.take(), Snapshot::of(world).await?) else { return Ok(()) };
        self.writes += after.writes.saturating_sub(before.writes + NEW);
        let moved = |(path, version): &(&String, &String)| after.versions.get(*path) != Some(version);
        self.changed += before.versions.iter().filter(moved).count();
        Ok(())
    }

    fn row(self, scenario: &str, target: &'static str, world: &World) -> Row {
        let note = format!("{} writes, {} objects changed that were as wanted", self.writes, self.changed);
        Row { scenario: scenario.into(), ours: figures(self.took), target, note, ..Row::now(world) }
    }
}

/// The objects on the cluster with their versions, and how often one of their kinds was written so far.
struct Snapshot {
    versions: BTreeMap<String, String>,
    writes: usize,
}

impl Snapshot {
    async fn of(world: &World) -> anyhow::Result<Self> {
        let client = world.planes[0].client();
        let mut versions = BTreeMap::new();
        for (group, version, kind, plural) in KINDS {
            let resource =
                ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
            let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
            for one in api.list_metadata(&ListParams::default()).await?.items {
                let name = one.metadata.name.unwrap_or_default();
                let path = format!("{plural}/{}/{name}", one.metadata.namespace.unwrap_or_default());
                versions.insert(path, one.metadata.resource_version.unwrap_or_default());
            }
        }
        let metrics = client.request_text(Request::get("/metrics").body(Vec::new())?).await?;
        Ok(Self { versions, writes: writes(&metrics) })
    }
}

/// Writes of these kinds, whether or not they changed anything.
fn writes(metrics: &str) -> usize {
    let counted = |line: &&str| {
        line.starts_with("apiserver_request_total{")
            && KINDS.iter().any(|(_, _, _, plural)| line.contains(&format!("resource=\"{plural}\"")))
            && ["PATCH", "APPLY", "PUT", "POST", "DELETE"]
                .iter()
                .any(|verb| line.contains(&format!("verb=\"{verb}\"")))
    };
    let number = |line: &str| line.rsplit(' ').next()?.parse::<f64>().ok();
    metrics.lines().filter(counted).filter_map(number).sum::<f64>() as usize
}
