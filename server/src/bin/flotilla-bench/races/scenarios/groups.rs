//! Cluster groups beside publishes and each other.

use anyhow::{bail, ensure};
use domain::chart::ChartSource;
use domain::cluster::ClusterKind;
use domain::deployment::DeploymentRequest;
use domain::guard::RELEASE_NAME_IN_USE;
use domain::page::ListQuery;
use domain::placement::{ClusterGroup, GroupFeatureName, INVALID_GROUP};
use domain::request::ClusterPatch;
use domain::workload::{Intent, NewWorkload, Source, WorkloadOrder};
use hub::{Error, NewCluster, PublishContent, PublishOptions, WorkloadEdit};
use tokio::time::Instant;

use super::charts::upload_once;
use crate::races::agent::ReportingAgent;
use crate::races::race::{Race, config_map, spec_on_cluster};

/// A group that is deleted while an earlier revision that names it is published again: one of both is refused. Neither the draft nor the
/// published revision names it, so that only the lock of the publish decides.
pub async fn delete_group_of_revision(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?;
    let group = race.create_group("g", &cluster.name).await?.name;
    let name = race.name("a");
    let without_group = spec_on_cluster(config_map("settings"), &cluster.name);
    let mut spec = without_group.clone();
    spec.placement.predicates[0].groups = vec![group.clone()];
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    race.one.create_workload(&race.actor, new).await?;
    let first = race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await?.revision;
    let edit = WorkloadEdit { spec: Some(without_group), ..WorkloadEdit::default() };
    race.one.edit_workload(&race.actor, &name, edit, None).await?;
    race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await?;

    let again = PublishOptions { content: PublishContent::Revision(first), ..PublishOptions::default() };
    let refused = race
        .send_rivals(
            race.one.publish_workload(&race.actor, &name, "", again),
            race.other.delete_group(&race.actor, &group),
        )
        .await?;
    let is_expected =
        matches!(refused, Error::NotFound { .. } | Error::Invalid(_) | Error::FailedPrecondition(_));
    ensure!(is_expected, "{refused:?}");
    race.clean_up(&["a"], &["c"]).await?;
    race.clean_up_groups(&["g"]).await
}

/// A group that is deleted while a workload is created and published to it: one of both is refused.
pub async fn delete_group_of_draft(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("c").await?;
    let group = race.create_group("g", &cluster.name).await?.name;
    let name = race.name("a");
    let mut spec = spec_on_cluster(config_map("settings"), &cluster.name);
    spec.placement.predicates[0].groups = vec![group.clone()];
    let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
    let publish = async {
        race.one.create_workload(&race.actor, new).await?;
        race.one.publish_workload(&race.actor, &name, "", PublishOptions::default()).await
    };
    let (published, deleted) = race.send_both(publish, race.other.delete_group(&race.actor, &group)).await;
    ensure!(
        published.is_err() || deleted.is_err(),
        "{name} is published to group {group}, which does not exist"
    );
    ensure!(published.is_ok() || deleted.is_ok(), "both were refused: {published:?} {deleted:?}");
    race.clean_up(&["a"], &["c"]).await?;
    race.clean_up_groups(&["g"]).await?;
    Ok(())
}

/// The feature `deployment` is disabled while a deployment is created: it is not created, or is deleted with the others.
pub async fn disable_feature_in_use(race: &Race) -> anyhow::Result<()> {
    upload_once(race).await?;
    let cluster = race.name("c");
    ReportingAgent::register(&race.one, &cluster).await?;
    let group = race.create_group("g", &cluster).await?.name;
    let name = race.name("a");
    let request = deployment_request(&name);
    let feature = GroupFeatureName::Deployment.as_str();
    let (created, disabled) = race
        .send_both(
            race.one.create_deployment(&race.actor, &group, request, Instant::now()),
            race.other.disable_group_feature(&race.actor, &group, feature),
        )
        .await;
    if let Err(error) = disabled {
        bail!("the feature was not disabled: {error:?}");
    }
    match race.one.get_workload(&name).await {
        Ok(found) => {
            ensure!(
                found.workload.intent != Intent::Published,
                "{name} is published to group {group}, whose feature is disabled ({created:?})"
            );
            ensure!(created.is_ok(), "{name} was refused and is stored: {created:?}");
        }
        Err(Error::NotFound { .. }) => {}
        Err(error) => bail!(error),
    }
    race.clean_up(&["a"], &["c"]).await?;
    race.clean_up_groups(&["g"]).await?;
    Ok(())
}

/// Of two exclusive groups with one member one is refused (G502).
pub async fn exclude_groups(race: &Race) -> anyhow::Result<()> {
    let group = |part: &str| ClusterGroup {
        name: race.name(part),
        members: vec![race.name("c")],
        exclusive: true,
        ..ClusterGroup::default()
    };
    let refused = race
        .send_rivals(
            race.one.create_group(&race.actor, group("a")),
            race.other.create_group(&race.actor, group("b")),
        )
        .await?;
    ensure!(is_group_conflict(&refused), "{refused:?}");
    race.clean_up_groups(&["a", "b"]).await?;
    Box::pin(exclude_changed_members(race)).await?;
    Box::pin(exclude_labels(race)).await?;
    Box::pin(exclude_changed_labels(race)).await
}

/// Of two exclusive groups that get the same member at once one is refused (G502).
async fn exclude_changed_members(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let group = |part: &str, members: Vec<String>| ClusterGroup {
        name: race.name(part),
        members,
        exclusive: true,
        ..ClusterGroup::default()
    };
    for part in ["a", "b"] {
        one.create_group(actor, group(part, Vec::new())).await?;
    }
    let members = vec![race.name("c")];
    let refused = race
        .send_rivals(
            one.save_group(actor, group("a", members.clone()), None),
            other.save_group(actor, group("b", members), None),
        )
        .await?;
    ensure!(is_group_conflict(&refused), "members: {refused:?}");
    race.clean_up_groups(&["a", "b"]).await
}

/// Of labels with which a cluster joins one exclusive group, and another exclusive group that it would be in, one is refused (G502).
async fn exclude_labels(race: &Race) -> anyhow::Result<()> {
    let (name, value) = (race.name("c"), format!("x{}", race.round));
    let labels = [("b".to_owned(), value.clone())].into();
    let new = NewCluster { labels, lease_seconds: 600, ..NewCluster::new(&name, ClusterKind::Agent) };
    race.one.register_cluster(&race.actor, new).await?;
    let group = |part: &str| -> anyhow::Result<ClusterGroup> {
        let selector = Some(format!("{part}={value}").parse()?);
        Ok(ClusterGroup { name: race.name(part), selector, exclusive: true, ..ClusterGroup::default() })
    };
    race.one.create_group(&race.actor, group("a")?).await?;
    let labels = [("a".to_owned(), Some(value.clone()))].into();
    let patch = ClusterPatch { labels, ..ClusterPatch::default() };
    let refused = race
        .send_rivals(
            race.one.edit_cluster(&race.actor, &name, patch, None),
            race.other.create_group(&race.actor, group("b")?),
        )
        .await?;
    ensure!(is_group_conflict(&refused), "labels: {refused:?}");
    race.clean_up_groups(&["a", "b"]).await?;
    race.clean_up(&[], &["c"]).await
}

/// Of two labels that are added at once to a cluster, with each of which it joins another exclusive group, one is refused (G502).
async fn exclude_changed_labels(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.create_cluster("d").await?.name;
    let value = format!("y{}", race.round);
    for part in ["a", "b"] {
        let selector = Some(format!("{part}={value}").parse()?);
        let group =
            ClusterGroup { name: race.name(part), selector, exclusive: true, ..ClusterGroup::default() };
        one.create_group(actor, group).await?;
    }
    let patch = |label: &str| ClusterPatch {
        labels: [(label.to_owned(), Some(value.clone()))].into(),
        ..ClusterPatch::default()
    };
    let refused = race
        .send_rivals(
            one.edit_cluster(actor, &name, patch("a"), None),
            other.edit_cluster(actor, &name, patch("b"), None),
        )
        .await?;
    ensure!(is_group_conflict(&refused), "two labels: {refused:?}");
    race.clean_up_groups(&["a", "b"]).await?;
    race.clean_up(&[], &["d"]).await
}

fn is_group_conflict(refused: &Error) -> bool {
    matches!(refused, Error::Invalid(findings) if findings.iter().any(|finding| finding.code == INVALID_GROUP))
}

/// Of two deployments with one release name on one cluster one is refused (G105).
pub async fn use_release_names_once(race: &Race) -> anyhow::Result<()> {
    upload_once(race).await?;
    let cluster = race.name("c");
    ReportingAgent::register(&race.one, &cluster).await?;
    let groups = [race.create_group("g", &cluster).await?.name, race.create_group("h", &cluster).await?.name];
    // The plain name of the workload is taken, so that each deployment has another workload name.
    race.create_draft("a", config_map("settings"), "none").await?;
    let name = race.name("a");
    let refused = race
        .send_rivals(
            race.one.create_deployment(&race.actor, &groups[0], deployment_request(&name), Instant::now()),
            race.other.create_deployment(&race.actor, &groups[1], deployment_request(&name), Instant::now()),
        )
        .await?;
    ensure!(is_name_conflict(&refused), "{refused:?}");
    let mut published = 0;
    for group in &groups {
        published += race.one.list_deployments(group).await?.len();
    }
    ensure!(published == 1, "{published} deployments have the name {name}");
    // The draft that has the plain name, and the published one; nothing of the one that was refused.
    let query = ListQuery { q: name.clone(), ..ListQuery::default() };
    let stored = race.one.list_workloads(&query, WorkloadOrder::default()).await?.items;
    ensure!(stored.len() == 2, "{} workloads have the name {name}", stored.len());
    for group in &groups {
        delete_with_deployments(race, group).await?;
    }
    Box::pin(extend_release_name(race, &cluster)).await?;
    Box::pin(publish_release_name(race, &cluster)).await?;
    race.clean_up(&["a", "e", "f"], &["c"]).await?;
    Ok(())
}

/// Of two workloads that are published at once with one release name on one cluster one is refused (G105).
async fn publish_release_name(race: &Race, cluster: &str) -> anyhow::Result<()> {
    let names = [race.name("e"), race.name("f")];
    for name in &names {
        let source = ChartSource {
            chart: super::charts::REFERENCE.to_owned(),
            version: super::charts::VERSION.to_owned(),
            release_name: race.name("r"),
            ..ChartSource::default()
        };
        let mut spec = spec_on_cluster(String::new(), cluster);
        spec.source = Source::Chart(source);
        let new = NewWorkload { name: name.clone(), spec, ..NewWorkload::default() };
        race.one.create_workload(&race.actor, new).await?;
    }
    let refused = race
        .send_rivals(
            race.one.publish_workload(&race.actor, &names[0], "", PublishOptions::default()),
            race.other.publish_workload(&race.actor, &names[1], "", PublishOptions::default()),
        )
        .await?;
    ensure!(is_name_conflict(&refused), "two publishes: {refused:?}");
    let mut published = 0;
    for name in &names {
        let workload = race.one.get_workload(name).await?.workload;
        published += usize::from(workload.intent == Intent::Published);
    }
    ensure!(published == 1, "{published} workloads have the release");
    Ok(())
}

/// Of a deployment that gets a further cluster with its group, and another one that is created with its name on that cluster, one is
/// refused (G105).
async fn extend_release_name(race: &Race, cluster: &str) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let added = race.name("d");
    ReportingAgent::register(one, &added).await?;
    let group = race.create_group("i", cluster).await?;
    let rival = race.create_group("j", &added).await?.name;
    let name = race.name("b");
    let request = deployment_request(&name);
    Box::pin(one.create_deployment(actor, &group.name, request.clone(), Instant::now())).await?;
    let members = vec![cluster.to_owned(), added];
    let extended = ClusterGroup { members, ..group.clone() };
    let extend = async {
        one.save_group(actor, extended, None).await?;
        let update = one.update_deployment(actor, (&group.name, &name), request.clone(), Instant::now());
        Box::pin(update).await
    };
    let create = other.create_deployment(actor, &rival, request.clone(), Instant::now());
    let refused = race.send_rivals(extend, create).await?;
    ensure!(is_name_conflict(&refused), "extended group: {refused:?}");
    delete_with_deployments(race, &group.name).await?;
    delete_with_deployments(race, &rival).await?;
    race.clean_up(&[], &["d"]).await
}

async fn delete_with_deployments(race: &Race, group: &str) -> anyhow::Result<()> {
    let delete = async || Box::pin(race.one.delete_group_with_deployments(&race.actor, group, None)).await;
    race.delete(group, delete).await
}

fn is_name_conflict(refused: &Error) -> bool {
    matches!(refused, Error::Invalid(findings) if findings.iter().any(|finding| finding.code == RELEASE_NAME_IN_USE))
}

/// The request for a deployment of the chart of the run.
pub fn deployment_request(release: &str) -> DeploymentRequest {
    DeploymentRequest {
        name: super::charts::REFERENCE.to_owned(),
        version: super::charts::VERSION.to_owned(),
        namespace: "shop".to_owned(),
        release_name: release.to_owned(),
        ..DeploymentRequest::default()
    }
}
