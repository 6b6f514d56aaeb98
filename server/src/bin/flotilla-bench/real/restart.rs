//! B6: kill and restart of the agent, then of the server, on a full cluster: time until a workload published right after
//! is applied, and the number of writes to unchanged objects.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::Request;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};

use super::environment::BenchEnvironment;
use super::table::{ResultTable, ScenarioResult, collect_durations};
use super::{RealArgs, baseline};

/// Time for the work after a restart to finish.
const SETTLE_TIME: Duration = Duration::from_secs(3);
/// Kinds of the applied objects: a group in the API server's metrics, a version, a kind, its plural.
const KINDS: [(&str, &str, &str, &str); 3] = [
    ("", "v1", "ServiceAccount", "serviceaccounts"),
    ("apps", "v1", "Deployment", "deployments"),
    ("flotilla.dev", "v1alpha1", "AppliedRelease", "appliedreleases"),
];
/// Writes per new workload: two objects, and the AppliedRelease before and after.
const WRITES_PER_WORKLOAD: usize = 4;

/// Restarts the agent.
pub async fn measure_agent_restart(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let mut rounds = RestartRounds::prepare(args, world, "b6-agent").await?;
    while let Some(name) = rounds.begin_round(world).await? {
        world.agents[0].kill().await?;
        let begun = Instant::now();
        world.start_agent(0)?;
        world.publisher.publish(&name, 1).await?;
        rounds.finish_round(world, begun.elapsed()).await?;
    }
    table.add(rounds.into_row("B6 agent killed", "≤ 1000, no writes", world));
    Ok(())
}

/// Restarts the server.
pub async fn measure_server_restart(
    args: &RealArgs,
    table: &mut ResultTable,
    world: &mut BenchEnvironment,
) -> anyhow::Result<()> {
    let mut rounds = RestartRounds::prepare(args, world, "b6-server").await?;
    while let Some(name) = rounds.begin_round(world).await? {
        world.server.kill().await?;
        let begun = Instant::now();
        world.start_server().await?;
        world.publisher.publish(&name, 1).await?;
        rounds.finish_round(world, begun.elapsed()).await?;
    }
    table.add(rounds.into_row("B6 server killed", "≤ 2000, no writes", world));
    Ok(())
}

/// The rounds of one scenario and their counts.
struct RestartRounds {
    names: std::vec::IntoIter<String>,
    before: Option<ClusterSnapshot>,
    durations: Vec<Duration>,
    writes: usize,
    changed: usize,
}

impl RestartRounds {
    async fn prepare(args: &RealArgs, world: &mut BenchEnvironment, prefix: &str) -> anyhow::Result<Self> {
        let rounds = if args.quick { 2 } else { 5 };
        let names: Vec<String> = (0..rounds).map(|n| format!("{prefix}-{n}")).collect();
        let draft = |name: &String| (name.clone(), baseline::to_manifests(&baseline::two_objects(name)));
        world.publisher.create_drafts(names.iter().map(draft).collect()).await?;
        world.publisher.skip_past_events().await?;
        Ok(Self { names: names.into_iter(), before: None, durations: Vec::new(), writes: 0, changed: 0 })
    }

    async fn begin_round(&mut self, world: &BenchEnvironment) -> anyhow::Result<Option<String>> {
        let Some(name) = self.names.next() else { return Ok(None) };
        tokio::time::sleep(SETTLE_TIME).await;
        self.before = Some(ClusterSnapshot::capture(world).await?);
        Ok(Some(name))
    }

    async fn finish_round(&mut self, world: &BenchEnvironment, took: Duration) -> anyhow::Result<()> {
        self.durations.push(took);
        tokio::time::sleep(SETTLE_TIME).await;
        let (Some(before), after) = (self.before.take(), ClusterSnapshot::capture(world).await?) else {
            return Ok(());
        };
        self.writes += after.writes.saturating_sub(before.writes + WRITES_PER_WORKLOAD);
        let moved = |(path, version): &(&String, &String)| after.versions.get(*path) != Some(version);
        self.changed += before.versions.iter().filter(moved).count();
        Ok(())
    }

    fn into_row(self, scenario: &str, target: &'static str, world: &BenchEnvironment) -> ScenarioResult {
        let note = format!("{} writes, {} unchanged objects rewritten", self.writes, self.changed);
        ScenarioResult {
            scenario: scenario.into(),
            ours: collect_durations(self.durations),
            target,
            note,
            ..ScenarioResult::with_memory(world)
        }
    }
}

/// The objects' resource versions, and the number of writes of their kinds so far.
struct ClusterSnapshot {
    versions: BTreeMap<String, String>,
    writes: usize,
}

impl ClusterSnapshot {
    async fn capture(world: &BenchEnvironment) -> anyhow::Result<Self> {
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
        Ok(Self { versions, writes: count_writes(&metrics) })
    }
}

/// Write requests of these kinds, including those without a change.
fn count_writes(metrics: &str) -> usize {
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
