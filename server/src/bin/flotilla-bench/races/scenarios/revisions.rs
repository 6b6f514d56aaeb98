//! Changes of one object at once, and of the intent of one workload.

use anyhow::{bail, ensure};
use domain::chart_repository::{ChartRepositoryPut, NewChartRepository};
use domain::git_repository::GitRepositoryPut;
use domain::overrides::ClusterSelector;
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::report::DesiredPhase;
use domain::request::{ClusterPatch, OverridePut, RemovalOptions};
use domain::rollout::{RolloutAction, RolloutStrategy, Wave};
use domain::workload::{Intent, NewWorkload};
use hub::{DraftPatch, Error, OverrideChange, PublishOptions};

use super::charts::unused_url;
use crate::races::agent::ReportingAgent;
use crate::races::race::{Race, config_map, spec_on_cluster};

/// Of two changes of one draft, cluster, group or repository the second one is refused.
pub async fn change_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let cluster = race.create_cluster("c").await?;
    let draft = race.create_draft("a", config_map("settings"), &cluster.name).await?;
    let patch =
        |namespace: &str| DraftPatch { namespace: Some(namespace.to_owned()), ..DraftPatch::default() };
    let refused = race
        .send_rivals(
            one.change_draft(actor, &draft.name, patch("front"), draft.revision),
            other.change_draft(actor, &draft.name, patch("back"), draft.revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "draft: {refused:?}");

    let patch = |value: &str| ClusterPatch {
        labels: [("side".to_owned(), Some(value.to_owned()))].into(),
        ..ClusterPatch::default()
    };
    let revision = Some(cluster.revision);
    let refused = race
        .send_rivals(
            one.edit_cluster(actor, &cluster.name, patch("front"), revision),
            other.edit_cluster(actor, &cluster.name, patch("back"), revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "cluster: {refused:?}");

    let group = race.create_group("g", &cluster.name).await?;
    let changed = |member: &str| ClusterGroup { members: vec![member.to_owned()], ..group.clone() };
    let revision = Some(group.revision);
    let refused = race
        .send_rivals(
            one.save_group(actor, changed("front"), revision),
            other.save_group(actor, changed("back"), revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "group: {refused:?}");

    let name = race.name("r");
    let put = |path: &str| GitRepositoryPut {
        url: format!("https://git.test/revisions/{}-{path}", race.round),
        ..GitRepositoryPut::default()
    };
    let created = one.save_git_repository(actor, &name, put("first"), None).await?;
    let revision = Some(created.revision);
    let refused = race
        .send_rivals(
            one.save_git_repository(actor, &name, put("front"), revision),
            other.save_git_repository(actor, &name, put("back"), revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "repository: {refused:?}");
    // Their number is limited.
    one.remove_git_repository(actor, &name).await?;
    Box::pin(change_override_once(race, &draft.name)).await?;
    Box::pin(change_chart_repository_once(race)).await?;
    Box::pin(change_project_once(race)).await?;
    race.clean_up(&["a"], &["c"]).await?;
    race.clean_up_groups(&["g"]).await?;
    Ok(())
}

/// An override is part of the draft.
async fn change_override_once(race: &Race, workload: &str) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let save = |priority: u32| OverrideChange::Save {
        name: "o".to_owned(),
        content: OverridePut {
            target: ClusterSelector { clusters: vec![race.name("c")], ..ClusterSelector::default() },
            priority,
            ..OverridePut::default()
        },
    };
    let revision = Some(one.change_override(actor, workload, save(1), None).await?.revision);
    let refused = race
        .send_rivals(
            one.change_override(actor, workload, save(2), revision),
            other.change_override(actor, workload, save(3), revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "override: {refused:?}");
    Ok(())
}

async fn change_chart_repository_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.name("r");
    let url = |part: &str| unused_url(&format!("revisions-{}-{part}", race.round));
    let new = NewChartRepository { name: name.clone(), url: url("first"), ..NewChartRepository::default() };
    let revision = Some(one.create_chart_repository(actor, new).await?.revision);
    let put = |part: &str| ChartRepositoryPut { url: url(part), ..ChartRepositoryPut::default() };
    let refused = race
        .send_rivals(
            one.change_chart_repository(actor, &name, put("front"), revision),
            other.change_chart_repository(actor, &name, put("back"), revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "repository of charts: {refused:?}");
    race.delete(&name, async || one.remove_chart_repository(actor, &name).await).await
}

/// The values that the project locks; no other scenario changes them.
async fn change_project_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let revision = Some(one.get_project().await?.revision);
    let refused = race
        .send_rivals(
            one.save_project(actor, String::new(), None, revision),
            other.save_project(actor, String::new(), None, revision),
        )
        .await?;
    ensure!(matches!(refused, Error::RevisionConflict { .. }), "project: {refused:?}");
    Ok(())
}

/// Of two publishes of one draft each is a revision of its own or refused.
pub async fn publish_once(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?;
    let name = race.create_draft("a", config_map("settings"), &cluster.name).await?.name;
    let (first, second) = race
        .send_both(
            race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()),
            race.other.publish_workload(&race.actor, &name, "", PublishOptions::default()),
        )
        .await;
    let mut revisions = Vec::new();
    for published in [first, second] {
        match published {
            Ok(published) => revisions.push(published.revision),
            Err(Error::RevisionConflict { .. }) => {}
            Err(error) => bail!(error),
        }
    }
    revisions.sort_unstable();
    ensure!(revisions == [1] || revisions == [1, 2], "{revisions:?}");
    let published = race.one.get_workload(&name).await?.workload.published;
    ensure!(
        published == revisions.last().copied(),
        "{published:?} is published, accepted were {revisions:?}"
    );
    race.clean_up(&["a"], &["c"]).await?;
    Ok(())
}

/// A workload with waves is published and unpublished at once, and its rollout promoted: it has at most one active rollout, and its
/// cluster has what its intent says.
pub async fn change_intent(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let cluster = race.name("c");
    let agent = ReportingAgent::register(one, &cluster).await?;
    let name = race.name("a");
    let mut spec = spec_on_cluster(config_map("settings"), &cluster);
    let wave = Wave { name: "all".to_owned(), ..Wave::default() };
    spec.rollout = RolloutStrategy { waves: vec![wave], ..RolloutStrategy::default() };
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    one.create_workload(actor, new).await?;
    one.publish_workload(actor, &name, "", PublishOptions::default()).await?;
    let publish = async {
        let promoted = one.control_rollout(actor, &name, RolloutAction::Promote).await;
        race.outcomes.count(race.scenario, &promoted);
        one.publish_workload(actor, &name, "", PublishOptions::default()).await
    };
    let unpublish = other.unpublish_workload(actor, &name, RemovalOptions::default());
    let (published, unpublished) = race.send_both(publish, unpublish).await;
    ensure!(published.is_ok() || unpublished.is_ok(), "both were refused: {published:?} {unpublished:?}");
    let workload = other.get_workload(&name).await?.workload;
    let mut active = 0;
    for revision in 1..=workload.published.unwrap_or(2) {
        match one.get_rollout(&name, Some(revision)).await {
            Ok(rollout) => active += usize::from(rollout.is_some_and(|rollout| rollout.state.is_active())),
            Err(Error::NotFound { .. }) => {}
            Err(error) => bail!(error),
        }
    }
    ensure!(active <= 1, "{active} rollouts are active");
    let is_published = workload.intent == Intent::Published;
    ensure!(is_published || active == 0, "a rollout is active, and the workload is not published");
    race.wait_until("the cluster has what the intent says", async || {
        let state = agent.get_desired_state(one).await?;
        let mut phases = state.releases.iter().map(|release| &release.phase);
        let is_present = phases.any(|phase| matches!(phase, DesiredPhase::Present { .. }));
        // A published release may wait for its wave.
        let total = one.list_releases(&name, &ListQuery::default()).await?.total;
        Ok(if is_published { total == 1 } else { !is_present })
    })
    .await?;
    race.clean_up(&["a"], &["c"]).await?;
    Ok(())
}
