//! What goes on beside the scenarios: agents that report, releases that are published, clusters and groups that change, and expired rows that
//! are deleted. The rows that all writers share (queues, counts, versions of desired states) are contended.

use std::time::Duration;

use domain::notification::{ChannelKind, NewChannel, NewSubscription};
use domain::placement::{ClusterGroup, Placement, Predicate};
use domain::request::ClusterPatch;
use domain::rollout::{RolloutAction, RolloutStrategy, Wave};
use domain::workload::NewWorkload;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hub::{Actor, Error, Hub, MessageRequest, MessageSender, PublishOptions};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::agent::{ReportingAgent, facts};
use super::race::{Outcomes, config_map, spec_on_cluster};

/// Clusters and workloads of the background.
const CLUSTERS: usize = 3;
const WORKLOADS: usize = 2;
/// Mean pause of a writer between two requests.
const PAUSE: Duration = Duration::from_millis(100);
/// The group that changes, on which one of the workloads is placed.
const GROUP: &str = "background";
/// Receiver of the messages about incidents.
const CHANNEL: &str = "background";

/// Receives every message, so that the outbox empties.
#[derive(Debug, Clone, Copy)]
struct AcceptingReceiver;

impl MessageSender for AcceptingReceiver {
    fn send(&self, _: MessageRequest) -> BoxFuture<'_, Result<u16, String>> {
        async { Ok(204) }.boxed()
    }
}

/// The writers, which run until they are stopped.
pub struct Background {
    stop: CancellationToken,
    writers: JoinSet<()>,
}

impl Background {
    /// Creates clusters and workloads, and starts the writers.
    pub async fn start(servers: &[Hub; 2], outcomes: &Outcomes) -> anyhow::Result<Self> {
        let mut background = Self { stop: CancellationToken::new(), writers: JoinSet::new() };
        for hub in servers {
            hub.set_message_sender(AcceptingReceiver);
        }
        subscribe(&servers[0]).await?;
        for number in 0..CLUSTERS {
            let agent = ReportingAgent::register(&servers[number % 2], &cluster_name(number)).await?;
            background.spawn_reports(servers[number % 2].clone(), agent, outcomes.clone());
        }
        servers[0].save_group(&Actor::system(), group(CLUSTERS), None).await?;
        for number in 0..WORKLOADS {
            create_workload(&servers[0], number).await?;
            background.spawn_publishes(servers.clone(), number, outcomes.clone());
        }
        background.spawn_cluster_edits(servers[0].clone(), outcomes.clone());
        background.spawn_group_edits(servers[1].clone(), outcomes.clone());
        background.spawn_channel_edits(servers[1].clone(), outcomes.clone());
        background.spawn_retention(servers[0].clone());
        Ok(background)
    }

    /// Waits until every writer has finished its request.
    ///
    /// # Errors
    /// A writer panicked.
    pub async fn stop(mut self) -> anyhow::Result<()> {
        self.stop.cancel();
        while let Some(ended) = self.writers.join_next().await {
            ended?;
        }
        Ok(())
    }

    fn spawn_reports(&mut self, hub: Hub, mut agent: ReportingAgent, outcomes: Outcomes) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            let mut round = 0;
            while pause(&stop).await {
                round += 1;
                let reported = agent.report_all(&hub, round % 5 == 4).await;
                outcomes.count("background-reports", &reported);
                if round % 10 == 0 {
                    let lost = hub.record_api_server_outage(agent.id, "no answer").await;
                    outcomes.count("background-reports", &lost);
                    outcomes.count("background-reports", &hub.record_heartbeat(agent.id).await);
                    let batch = agent.next_batch(Some(facts(round / 10)), Vec::new());
                    outcomes.count("background-reports", &hub.record_reports(agent.id, batch).await);
                }
            }
        });
    }

    fn spawn_publishes(&mut self, servers: [Hub; 2], number: usize, outcomes: Outcomes) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            let (actor, name) = (Actor::system(), workload_name(number));
            let mut round = number;
            while pause(&stop).await {
                round += 1;
                let hub = &servers[round % 2];
                let published = hub.publish_workload(&actor, &name, "", PublishOptions::default()).await;
                outcomes.count("background-publishes", &published);
                outcomes.count("background-publishes", &hub.sync_workload(&actor, &name, &[]).await);
                let promoted = hub.control_rollout(&actor, &name, RolloutAction::Promote).await;
                outcomes.count("background-publishes", &promoted);
            }
        });
    }

    fn spawn_cluster_edits(&mut self, hub: Hub, outcomes: Outcomes) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            let mut round = 0;
            while pause(&stop).await {
                round += 1;
                let labels = [("round".to_owned(), Some(round.to_string()))].into();
                let patch = ClusterPatch { labels, ..ClusterPatch::default() };
                let name = cluster_name(round % CLUSTERS);
                let edited = hub.edit_cluster(&Actor::system(), &name, patch, None).await;
                outcomes.count("background-cluster-edits", &edited);
            }
        });
    }

    fn spawn_group_edits(&mut self, hub: Hub, outcomes: Outcomes) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            let mut round = 0;
            while pause(&stop).await {
                round += 1;
                let saved = hub.save_group(&Actor::system(), group(1 + round % CLUSTERS), None).await;
                outcomes.count("background-group-edits", &saved);
            }
        });
    }

    /// Deletes the channel with what waits for it, and adds it again.
    fn spawn_channel_edits(&mut self, hub: Hub, outcomes: Outcomes) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            while pause(&stop).await {
                outcomes
                    .count("background-channel-edits", &hub.delete_channel(&Actor::system(), CHANNEL).await);
                outcomes.count("background-channel-edits", &subscribe(&hub).await);
            }
        });
    }

    /// The loop `retention` runs every hour; this is the same pass.
    fn spawn_retention(&mut self, hub: Hub) {
        let stop = self.stop.clone();
        self.writers.spawn(async move {
            while pause(&stop).await {
                hub.delete_expired_rows(&stop).await;
            }
        });
    }
}

/// Sleeps between half and one and a half times the pause; false once the writers are stopped.
async fn pause(stop: &CancellationToken) -> bool {
    let duration = PAUSE.mul_f64(rand::random_range(0.5..1.5));
    tokio::select! {
        () = tokio::time::sleep(duration) => true,
        () = stop.cancelled() => false,
    }
}

fn cluster_name(number: usize) -> String {
    format!("background-{number}")
}

/// The group with this many clusters.
fn group(members: usize) -> ClusterGroup {
    let members = (0..members).map(cluster_name).collect();
    ClusterGroup { name: GROUP.to_owned(), members, ..ClusterGroup::default() }
}

fn workload_name(number: usize) -> String {
    format!("web-{number}")
}

/// Sends messages about the incidents of every workload to the receiver.
async fn subscribe(hub: &Hub) -> Result<(), Error> {
    let actor = Actor::system();
    let channel = NewChannel {
        name: CHANNEL.to_owned(),
        kind: ChannelKind::Webhook,
        url: "https://ops.example.com/hook".to_owned(),
        secret: Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        ..NewChannel::default()
    };
    hub.create_channel(&actor, channel).await?;
    let subscription = NewSubscription {
        channel: CHANNEL.to_owned(),
        project: Some("default".to_owned()),
        ..NewSubscription::default()
    };
    hub.create_subscription(&actor, subscription).await?;
    Ok(())
}

/// A workload with one wave: on the group, or on all clusters of the background by name.
async fn create_workload(hub: &Hub, number: usize) -> anyhow::Result<()> {
    let name = workload_name(number);
    let mut spec = spec_on_cluster(config_map(&name), "");
    let predicate = if number == 0 {
        Predicate { groups: vec![GROUP.to_owned()], ..Predicate::default() }
    } else {
        Predicate { names: (0..CLUSTERS).map(cluster_name).collect(), ..Predicate::default() }
    };
    spec.placement = Placement { predicates: vec![predicate], ..Placement::default() };
    let wave = Wave { name: "all".to_owned(), ..Wave::default() };
    spec.rollout = RolloutStrategy { waves: vec![wave], ..RolloutStrategy::default() };
    let new = NewWorkload { name, spec, ..NewWorkload::default() };
    hub.create_workload(&Actor::system(), new).await?;
    Ok(())
}
