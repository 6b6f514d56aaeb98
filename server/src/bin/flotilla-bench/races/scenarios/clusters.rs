//! Clusters that are deleted while workloads are placed on them, and reports.

use anyhow::{bail, ensure};
use domain::page::ListQuery;
use hub::{Error, PublishOptions};

use super::exposures::node_port;
use crate::races::agent::{ReportingAgent, report_release};
use crate::races::race::{Race, config_map};

/// A cluster that is deleted while a workload is published to it has no release. With force in every other round, where the publish also
/// stores what it exposes on the cluster.
pub async fn delete_cluster_in_use(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?.name;
    let is_forced = !race.round.is_multiple_of(2);
    let text = if is_forced { node_port(31_000) } else { config_map("settings") };
    let name = race.create_draft("a", text, &cluster).await?.name;
    let (published, deleted) = race
        .send_both(
            race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()),
            race.other.delete_cluster(&race.actor, &cluster, is_forced),
        )
        .await;
    if let Err(error) = published {
        ensure!(matches!(error, Error::Invalid(_) | Error::FailedPrecondition(_)), "publish: {error:?}");
    }
    match deleted {
        Ok(()) => {
            let releases = race.one.list_releases(&name, &ListQuery::default()).await?;
            ensure!(releases.total == 0, "{name} has a release on cluster {cluster}, which was deleted");
        }
        Err(Error::FailedPrecondition(_)) => {
            race.one.get_cluster(&cluster).await?;
        }
        Err(error) => bail!("deletion: {error:?}"),
    }
    race.clean_up(&["a"], &["c"]).await?;
    Ok(())
}

/// A batch of reports that arrives at two servers at once is recorded once.
pub async fn record_batch_once(race: &Race) -> anyhow::Result<()> {
    let cluster = race.name("c");
    let mut agent = ReportingAgent::register(&race.one, &cluster).await?;
    let name = race.create_draft("a", config_map("settings"), &cluster).await?.name;
    race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await?;
    race.wait_until("the workload is placed", async || {
        Ok(!agent.get_desired_state(&race.one).await?.releases.is_empty())
    })
    .await?;
    let state = agent.get_desired_state(&race.one).await?;
    let reports = state.releases.iter().map(|desired| report_release(desired, false)).collect();
    let batch = agent.next_batch(None, reports);
    let (first, second) = race
        .send_both(
            race.one.record_reports(agent.id, batch.clone()),
            race.other.record_reports(agent.id, batch),
        )
        .await;
    let accepted = usize::from(first?.accepted) + usize::from(second?.accepted);
    ensure!(accepted == 1, "the batch was accepted {accepted} times");
    race.clean_up(&["a"], &["c"]).await?;
    Ok(())
}
