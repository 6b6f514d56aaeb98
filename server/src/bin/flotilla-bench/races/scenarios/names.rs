//! Names and URLs that are used once.

use anyhow::ensure;
use domain::chart_repository::NewChartRepository;
use domain::git_repository::GitRepositoryPut;
use domain::join::NewJoinToken;
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::role::Role;
use domain::user::NewUser;
use domain::workload::{NewWorkload, WorkloadOrder};
use hub::{Error, Hub, RegistrationResult};

use super::charts::{pack_chart, unused_url};
use super::users::join_request;
use crate::races::race::{Race, config_map, spec_on_cluster};

/// Of two requests that create something with one name one is refused.
pub async fn use_names_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.name("a");
    let workload = || NewWorkload {
        name: name.clone(),
        spec: spec_on_cluster(config_map("settings"), "none"),
        ..NewWorkload::default()
    };
    let refused = race
        .send_rivals(one.create_workload(actor, workload()), other.create_workload(actor, workload()))
        .await?;
    ensure!(matches!(refused, Error::NameTaken(_) | Error::AlreadyExists(_)), "workload: {refused:?}");
    let query = ListQuery { q: name.clone(), ..ListQuery::default() };
    let found = one.list_workloads(&query, WorkloadOrder::default()).await?;
    ensure!(found.items.iter().filter(|item| item.name == name).count() == 1, "{name} exists once");

    let group = || ClusterGroup { name: name.clone(), ..ClusterGroup::default() };
    let refused =
        race.send_rivals(one.create_group(actor, group()), other.create_group(actor, group())).await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "group: {refused:?}");

    let user = || NewUser { name: name.clone(), role: Role::Viewer };
    let refused = race.send_rivals(one.invite_user(actor, user()), other.invite_user(actor, user())).await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "user: {refused:?}");

    // Different archives of one version.
    let version = format!("2.0.{}", race.round);
    let (first, second) = (pack_chart("names", &version, "a")?, pack_chart("names", &version, "b")?);
    let refused = race.send_rivals(one.upload_chart(actor, first), other.upload_chart(actor, second)).await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "chart: {refused:?}");

    // The same archive twice is one chart, and no conflict.
    let version = format!("2.1.{}", race.round);
    let (first, second) = (pack_chart("names", &version, "a")?, pack_chart("names", &version, "a")?);
    let (first, second) =
        race.send_both(one.upload_chart(actor, first), other.upload_chart(actor, second)).await;
    ensure!(first.is_ok() && second.is_ok(), "one archive twice: {first:?}; {second:?}");
    race.clean_up(&["a"], &[]).await?;
    race.clean_up_groups(&["a"]).await?;
    Box::pin(use_repository_names_once(race)).await?;
    Box::pin(use_cluster_name_once(race)).await
}

/// Of two repositories with one name and different URLs one is refused.
async fn use_repository_names_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.name("r");
    let url = |part: &str| unused_url(&format!("names-{}-{part}", race.round));
    let new = |part: &str| NewChartRepository {
        name: name.clone(),
        url: url(part),
        ..NewChartRepository::default()
    };
    let refused = race
        .send_rivals(
            one.create_chart_repository(actor, new("a")),
            other.create_chart_repository(actor, new("b")),
        )
        .await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "chart repository: {refused:?}");
    // Both state that there is none yet.
    let put = |part: &str| GitRepositoryPut {
        url: format!("https://git.test/names/{}-{part}", race.round),
        ..GitRepositoryPut::default()
    };
    let refused = race
        .send_rivals(
            one.save_git_repository(actor, &name, put("a"), Some(0)),
            other.save_git_repository(actor, &name, put("b"), Some(0)),
        )
        .await?;
    let is_expected = matches!(refused, Error::AlreadyExists(_) | Error::RevisionConflict { .. });
    ensure!(is_expected, "Git repository: {refused:?}");
    race.delete(&name, async || one.remove_chart_repository(actor, &name).await).await?;
    race.delete(&name, async || one.remove_git_repository(actor, &name).await).await
}

/// Of two agents that join at once as one cluster one is accepted: the other one must not replace it before a user has seen that.
async fn use_cluster_name_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.name("c");
    let mut requests = Vec::new();
    for _ in 0..2 {
        let new = NewJoinToken { auto_accept: true, ..NewJoinToken::default() };
        requests.push(join_request(&one.create_join_token(actor, new).await?, name.clone())?);
    }
    let (first, second) = (requests[0].clone(), requests[1].clone());
    let (first, second) = race
        .send_both(one.register_agent(&race.authority, first), other.register_agent(&race.authority, second))
        .await;
    let is_accepted = |result: &&Result<RegistrationResult, Error>| {
        matches!(result, Ok(RegistrationResult::Certificate(_)))
    };
    let accepted = [&first, &second].into_iter().filter(is_accepted).count();
    ensure!(accepted == 1, "{accepted} agents are accepted: {first:?}; {second:?}");
    let query = ListQuery { q: name.clone(), ..ListQuery::default() };
    let found = other.list_clusters(&query).await?.items;
    let count = found.iter().filter(|item| item.cluster.name == name).count();
    ensure!(count == 1, "{count} clusters have the name {name}");
    // The other agent may wait for a user.
    race.delete(&name, async || one.reject_cluster(actor, &name).await).await?;
    race.clean_up(&[], &["c"]).await
}

/// Of two repositories with one URL in two spellings one is refused.
pub async fn use_repository_urls_once(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let (first, second) = (race.name("a"), race.name("b"));
    let url = format!("https://git.test/acme/deploy-{}", race.round);
    let put = |end: &str| GitRepositoryPut { url: format!("{url}{end}"), ..GitRepositoryPut::default() };
    let refused = race
        .send_rivals(
            one.save_git_repository(actor, &first, put(""), None),
            other.save_git_repository(actor, &second, put(".git"), None),
        )
        .await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "Git repository: {refused:?}");
    let add = async |hub: &Hub, name: &str, end: &str| {
        let url = format!("{}{end}", unused_url(&format!("deploy-{}", race.round)));
        let name = name.to_owned();
        let new = NewChartRepository { name, url, ..NewChartRepository::default() };
        hub.create_chart_repository(actor, new).await
    };
    let refused = race.send_rivals(add(one, &first, ""), add(other, &second, "/")).await?;
    ensure!(matches!(refused, Error::AlreadyExists(_)), "chart repository: {refused:?}");
    // Their number is limited; one of each exists.
    for name in [&first, &second] {
        race.delete(name, async || one.remove_git_repository(actor, name).await).await?;
        race.delete(name, async || one.remove_chart_repository(actor, name).await).await?;
    }
    Ok(())
}
