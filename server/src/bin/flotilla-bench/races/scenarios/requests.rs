//! Repeated requests, and what loops of two servers do once.

use anyhow::{bail, ensure};
use domain::ClusterId;
use domain::incident::{IncidentKind, IncidentQuery, IncidentState};
use domain::report::ReportBatch;
use domain::workload::NewWorkload;
use hub::{Actor, Error, Hub, PublishOptions, RequestKey};
use tokio::time::Instant;

use super::charts::upload_once;
use super::groups::deployment_request;
use crate::races::agent::{ReportingAgent, report_release};
use crate::races::race::{Race, config_map, spec_on_cluster};

/// A request that arrives at two servers at once with one `Idempotency-Key` is executed once.
pub async fn execute_key_once(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?;
    let name = race.create_draft("a", config_map("settings"), &cluster.name).await?.name;
    let key = race.name("key");
    let request = RequestKey { key: key.clone(), request_hash: "hash".to_owned() };
    let actor = race.actor.clone().with_request_key(request);
    let (first, second) = race
        .send_both(
            race.one.publish_workload(&actor, &name, "", PublishOptions::default()),
            race.other.publish_workload(&actor, &name, "", PublishOptions::default()),
        )
        .await;
    ensure!(first.is_ok() || second.is_ok(), "both were refused: {first:?} {second:?}");
    let stored = race.other.stored_response(&actor, &key, "hash").await?;
    ensure!(stored.is_some_and(|response| response.status == 202), "no response is stored");
    let published = race.one.get_workload(&name).await?.workload.published;
    ensure!(published == Some(1), "revision {published:?} is published");
    race.clean_up(&["a"], &["c"]).await?;
    Box::pin(execute_other_request_never(race)).await?;
    Box::pin(execute_deployment_once(race)).await
}

/// The actor whose requests have this key and this content.
fn with_key(race: &Race, key: &str, content: &str) -> Actor {
    let request = RequestKey { key: key.to_owned(), request_hash: content.to_owned() };
    race.actor.clone().with_request_key(request)
}

/// Of two different requests that arrive at once with one key one is executed.
async fn execute_other_request_never(race: &Race) -> anyhow::Result<()> {
    let key = race.name("other-key");
    let names = [race.name("o"), race.name("p")];
    let new = |name: &str| NewWorkload {
        name: name.to_owned(),
        spec: spec_on_cluster(config_map("settings"), "none"),
        ..NewWorkload::default()
    };
    let (first, second) = (with_key(race, &key, "first"), with_key(race, &key, "second"));
    race.send_rivals(
        race.one.create_workload(&first, new(&names[0])),
        race.other.create_workload(&second, new(&names[1])),
    )
    .await?;
    let mut created = 0;
    for name in &names {
        match race.one.get_workload(name).await {
            Ok(_) => created += 1,
            Err(Error::NotFound { .. }) => {}
            Err(error) => bail!(error),
        }
    }
    ensure!(created == 1, "two requests with one key have created {created} workloads");
    race.clean_up(&["o", "p"], &[]).await
}

/// A deployment without a release name, and the deletion of its group, arrive at two servers at once, each with one key: there is one
/// deployment, and each has one stored response.
async fn execute_deployment_once(race: &Race) -> anyhow::Result<()> {
    upload_once(race).await?;
    let cluster = race.name("d");
    ReportingAgent::register(&race.one, &cluster).await?;
    let group = race.create_group("g", &cluster).await?.name;
    let key = race.name("deployment-key");
    let actor = with_key(race, &key, "create");
    let request = || deployment_request("");
    let (first, second) = race
        .send_both(
            race.one.create_deployment(&actor, &group, request(), Instant::now()),
            race.other.create_deployment(&actor, &group, request(), Instant::now()),
        )
        .await;
    ensure!(first.is_ok() || second.is_ok(), "both deployments were refused: {first:?} {second:?}");
    let deployments = race.other.list_deployments(&group).await?;
    ensure!(deployments.len() == 1, "one request has created {} deployments", deployments.len());
    let stored = race.other.stored_response(&actor, &key, "create").await?;
    ensure!(stored.is_some(), "no response of the deployment is stored");

    let key = race.name("deletion-key");
    let actor = with_key(race, &key, "delete");
    let (first, second) = race
        .send_both(
            race.one.delete_group_with_deployments(&actor, &group, None),
            race.other.delete_group_with_deployments(&actor, &group, None),
        )
        .await;
    ensure!(first.is_ok() != second.is_ok(), "the group is deleted once: {first:?} {second:?}");
    let stored = race.other.stored_response(&actor, &key, "delete").await?;
    ensure!(stored.is_some_and(|response| response.status == 204), "no response of the deletion is stored");
    race.clean_up(&[], &["d"]).await
}

/// Two clusters report one failure at once, and the loops of all servers run: one incident is open.
pub async fn open_incident_once(race: &Race) -> anyhow::Result<()> {
    let clusters = [race.name("c"), race.name("d")];
    let mut agents = Vec::new();
    for cluster in &clusters {
        agents.push(ReportingAgent::register(&race.one, cluster).await?);
    }
    let name = race.name("a");
    let mut spec = spec_on_cluster(config_map("settings"), &clusters[0]);
    spec.placement.predicates[0].names = clusters.to_vec();
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    race.one.create_workload(&race.actor, new).await?;
    race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await?;
    let mut batches = Vec::new();
    for agent in &mut agents {
        race.wait_until("the workload is placed", async || {
            Ok(!agent.get_desired_state(&race.one).await?.releases.is_empty())
        })
        .await?;
        let state = agent.get_desired_state(&race.one).await?;
        let reports = state.releases.iter().map(|desired| report_release(desired, true)).collect();
        batches.push((agent.id, agent.next_batch(None, reports)));
    }
    let [(first_id, first), (second_id, second)] = batches.as_slice() else { bail!("two batches") };
    let report_and_advance = async |hub: &Hub, id: ClusterId, batch: &ReportBatch| {
        hub.record_reports(id, batch.clone()).await?;
        hub.advance_due_incidents().await.map(drop)
    };
    let (first, second) = race
        .send_both(
            report_and_advance(&race.one, *first_id, first),
            report_and_advance(&race.other, *second_id, second),
        )
        .await;
    first?;
    second?;
    let query = IncidentQuery {
        state: Some(IncidentState::Open),
        workload: name.clone(),
        ..IncidentQuery::default()
    };
    race.wait_until("the incident has both clusters", async || {
        let mut open = race.one.list_incidents(&query).await?.items;
        // A loop that a race stopped once is another one: nothing is damped here.
        open.retain(|incident| incident.kind == IncidentKind::Failure);
        ensure!(open.len() <= 1, "{} incidents of {name} are open", open.len());
        Ok(open.iter().any(|incident| incident.clusters.len() == 2))
    })
    .await?;
    race.clean_up(&["a"], &["c", "d"]).await?;
    Ok(())
}
