//! Deletions of one thing at once.

use anyhow::ensure;
use domain::api_token::NewApiToken;
use domain::chart_repository::NewChartRepository;
use domain::git_repository::GitRepositoryPut;
use domain::join::NewJoinToken;
use domain::notification::{ChannelKind, NewChannel, NewSubscription};
use domain::overrides::ClusterSelector;
use domain::request::{OverridePut, RemovalOptions};
use domain::role::Role;
use domain::user::NewUser;
use hub::{Actor, ActorKind, Error, OverrideChange};

use super::charts::{pack_chart, unused_url};
use crate::races::race::{Race, config_map};

/// Of two deletions of one thing the second one finds that it is gone, whatever it is.
pub async fn delete_once(race: &Race) -> anyhow::Result<()> {
    let cluster = race.create_cluster("a").await?.name;
    Box::pin(delete_draft(race, &cluster)).await?;
    Box::pin(delete_group_and_cluster(race, &cluster)).await?;
    Box::pin(delete_sources(race)).await?;
    Box::pin(delete_subscription_and_channel(race)).await?;
    Box::pin(delete_tokens(race)).await
}

/// Whether a request was refused because what it names is gone.
fn check_gone(what: &str, refused: &Error) -> anyhow::Result<()> {
    ensure!(matches!(refused, Error::NotFound { .. }), "{what}: {refused:?}");
    Ok(())
}

/// An override, and the workload of its draft.
async fn delete_draft(race: &Race, cluster: &str) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let name = race.create_draft("a", config_map("settings"), cluster).await?.name;
    let target = ClusterSelector { clusters: vec![cluster.to_owned()], ..ClusterSelector::default() };
    let content = OverridePut { target, ..OverridePut::default() };
    let save = OverrideChange::Save { name: "o".to_owned(), content };
    let revision = Some(one.change_override(actor, &name, save, None).await?.revision);
    let remove = || OverrideChange::Remove { name: "o".to_owned() };
    let refused = race
        .send_rivals(
            one.change_override(actor, &name, remove(), revision),
            other.change_override(actor, &name, remove(), revision),
        )
        .await?;
    check_gone("override", &refused)?;
    let removal = RemovalOptions::default();
    let refused = race
        .send_rivals(one.delete_workload(actor, &name, removal), other.delete_workload(actor, &name, removal))
        .await?;
    // It exists until the placer has deleted it: then the second request finds that it is being deleted.
    let is_expected = matches!(refused, Error::NotFound { .. } | Error::FailedPrecondition(_));
    ensure!(is_expected, "workload: {refused:?}");
    race.clean_up(&["a"], &[]).await
}

async fn delete_group_and_cluster(race: &Race, name: &str) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    race.create_group("a", name).await?;
    let refused = race.send_rivals(one.delete_group(actor, name), other.delete_group(actor, name)).await?;
    check_gone("group", &refused)?;
    race.create_group("a", name).await?;
    let refused = race
        .send_rivals(
            one.delete_group_with_deployments(actor, name, None),
            other.delete_group_with_deployments(actor, name, None),
        )
        .await?;
    check_gone("group of the deployment API", &refused)?;
    let refused = race
        .send_rivals(one.delete_cluster(actor, name, true), other.delete_cluster(actor, name, true))
        .await?;
    check_gone("cluster", &refused)
}

/// A chart, a repository of charts and a Git repository.
async fn delete_sources(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let version = format!("4.0.{}", race.round);
    one.upload_chart(actor, pack_chart("deleted", &version, "a")?).await?;
    let refused = race
        .send_rivals(
            one.delete_chart(actor, "local", "deleted", &version),
            other.delete_chart(actor, "local", "deleted", &version),
        )
        .await?;
    check_gone("chart", &refused)?;

    let name = race.name("a");
    let url = unused_url(&format!("deletions-{}", race.round));
    let new = NewChartRepository { name: name.clone(), url, ..NewChartRepository::default() };
    one.create_chart_repository(actor, new).await?;
    let refused = race
        .send_rivals(one.remove_chart_repository(actor, &name), other.remove_chart_repository(actor, &name))
        .await?;
    check_gone("repository of charts", &refused)?;

    let url = format!("https://git.test/deletions/{}", race.round);
    one.save_git_repository(actor, &name, GitRepositoryPut { url, ..GitRepositoryPut::default() }, None)
        .await?;
    let refused = race
        .send_rivals(one.remove_git_repository(actor, &name), other.remove_git_repository(actor, &name))
        .await?;
    check_gone("Git repository", &refused)
}

async fn delete_subscription_and_channel(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let channel = NewChannel {
        name: race.name("a"),
        kind: ChannelKind::Webhook,
        url: "https://ops.example.com/hook".to_owned(),
        secret: Some("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned()),
        ..NewChannel::default()
    };
    let name = one.create_channel(actor, channel).await?.name;
    // Nothing has this owner, so that no message waits for the channel.
    let new = NewSubscription {
        channel: name.clone(),
        owner: Some("nobody".to_owned()),
        ..NewSubscription::default()
    };
    let id = one.create_subscription(actor, new).await?.id;
    let refused =
        race.send_rivals(one.delete_subscription(actor, id), other.delete_subscription(actor, id)).await?;
    check_gone("subscription", &refused)?;
    let refused =
        race.send_rivals(one.delete_channel(actor, &name), other.delete_channel(actor, &name)).await?;
    check_gone("channel", &refused)
}

/// An API token is deleted; a join token is revoked, which is no conflict the second time.
async fn delete_tokens(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let user = one.invite_user(actor, NewUser { name: race.name("a"), role: Role::Viewer }).await?.user;
    let owner = Actor::new(user.name, ActorKind::Session(user.id), Role::Viewer);
    let id = one.create_token(&owner, &NewApiToken::new("race", 1)).await?.info.id;
    let refused = race.send_rivals(one.delete_token(&owner, id), other.delete_token(&owner, id)).await?;
    check_gone("API token", &refused)?;

    let id = one.create_join_token(actor, NewJoinToken::default()).await?.id;
    let (first, second) =
        race.send_both(one.revoke_join_token(actor, id), other.revoke_join_token(actor, id)).await;
    ensure!(first.is_ok() && second.is_ok(), "join token: {first:?}; {second:?}");
    Ok(())
}
