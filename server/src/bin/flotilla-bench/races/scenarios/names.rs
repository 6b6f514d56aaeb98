//! Names and URLs that are used once.

use anyhow::ensure;
use domain::chart_repository::NewChartRepository;
use domain::git_repository::GitRepositoryPut;
use domain::page::ListQuery;
use domain::placement::ClusterGroup;
use domain::role::Role;
use domain::user::NewUser;
use domain::workload::{NewWorkload, WorkloadOrder};
use hub::{Error, Hub};

use super::charts::pack_chart;
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
    Ok(())
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
        let (name, url) = (name.to_owned(), format!("{url}{end}"));
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
