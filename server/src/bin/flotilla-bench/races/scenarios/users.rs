//! Administrators, and tokens with a limited number of uses.

use std::net::Ipv4Addr;

use anyhow::{Context as _, bail, ensure};
use domain::cluster::ClusterFacts;
use domain::join::{NewJoinToken, RegistrationState};
use domain::role::Role;
use domain::user::{User, UserState};
use hub::{Error, JoinRequest, JoinTokenSecret, RegistrationResult, SignInClient};

use crate::races::race::Race;

/// The administrators of `last-administrator`.
const ADMINISTRATORS: [&str; 2] = ["ada", "eve"];
const PASSWORD: &str = "correct horse battery";

/// Two requests with the set-up token create one user. It needs a database without users, so that it is no scenario of the rounds.
pub async fn use_setup_token_once(race: &Race) -> anyhow::Result<()> {
    let token = race.one.create_setup_token().await?.context("the database has users")?;
    let client = SignInClient { network: Ipv4Addr::LOCALHOST.into(), device: None };
    let [first, second] = ADMINISTRATORS;
    let refused = race
        .send_rivals(
            race.one.sign_up_first_user(&token, first, PASSWORD, &client),
            race.other.sign_up_first_user(&token, second, PASSWORD, &client),
        )
        .await?;
    ensure!(matches!(refused, Error::Unauthenticated(_)), "{refused:?}");
    let users = race.one.list_users(&race.actor).await?;
    ensure!(users.len() == 1, "{} users", users.len());
    for name in ADMINISTRATORS {
        race.one.ensure_user(name, PASSWORD).await?;
    }
    Ok(())
}

/// Of two administrators who at once get another role or are disabled one remains, whatever happens to each.
pub async fn retain_administrator(race: &Race) -> anyhow::Result<()> {
    let (one, other, actor) = (&race.one, &race.other, &race.actor);
    let [first, second] = ADMINISTRATORS;
    let refused = race
        .send_rivals(
            one.set_user_role(actor, first, Role::Viewer),
            other.set_user_role(actor, second, Role::Viewer),
        )
        .await?;
    check_administrator(race, &refused).await.context("two roles")?;
    let refused = race
        .send_rivals(one.disable_user(actor, first), other.set_user_role(actor, second, Role::Viewer))
        .await?;
    check_administrator(race, &refused).await.context("a user who is disabled, and a role")?;
    let refused = race.send_rivals(one.disable_user(actor, first), other.disable_user(actor, second)).await?;
    check_administrator(race, &refused).await.context("two users who are disabled")
}

/// One of the administrators can still sign in; the other one is what it was again.
async fn check_administrator(race: &Race, refused: &Error) -> anyhow::Result<()> {
    ensure!(matches!(refused, Error::FailedPrecondition(_)), "{refused:?}");
    let users = race.one.list_users(&race.actor).await?;
    let is_administrator = |user: &&User| user.role == Role::Admin && user.state == UserState::Active;
    let administrators = users.iter().filter(is_administrator).count();
    ensure!(administrators == 1, "{administrators} administrators can sign in");
    for name in ADMINISTRATORS {
        race.one.enable_user(&race.actor, name).await?;
        race.one.set_user_role(&race.actor, name, Role::Admin).await?;
    }
    Ok(())
}

/// A join token for one agent is used by two at once: one is accepted.
pub async fn use_join_token_once(race: &Race) -> anyhow::Result<()> {
    let new = NewJoinToken { auto_accept: true, max_uses: 1, ..NewJoinToken::default() };
    let token = race.one.create_join_token(&race.actor, new).await?;
    let (first, second) = (join_request(&token, race.name("a"))?, join_request(&token, race.name("b"))?);
    let refused = race
        .send_rivals(
            race.one.register_agent(&race.authority, first),
            race.other.register_agent(&race.authority, second),
        )
        .await?;
    ensure!(matches!(refused, Error::Unauthenticated(_)), "{refused:?}");
    race.clean_up(&[], &["a", "b"]).await?;
    Ok(())
}

/// Two agents request one cluster name at once: one registration is pending.
pub async fn register_once(race: &Race) -> anyhow::Result<()> {
    let name = race.name("c");
    let mut requests = Vec::new();
    for _ in 0..2 {
        let token = race.one.create_join_token(&race.actor, NewJoinToken::default()).await?;
        requests.push(join_request(&token, name.clone())?);
    }
    let (first, second) = (requests[0].clone(), requests[1].clone());
    let (first, second) = race
        .send_both(
            race.one.register_agent(&race.authority, first),
            race.other.register_agent(&race.authority, second),
        )
        .await;
    let pending = [&first, &second]
        .into_iter()
        .filter(|result| matches!(result, Ok(RegistrationResult::Pending { .. })))
        .count();
    ensure!(pending == 1, "{pending} agents wait: {first:?} {second:?}");
    let registrations = race.other.list_registrations().await?;
    let stored = registrations
        .iter()
        .filter(|one| one.name == name && one.state == RegistrationState::Pending)
        .count();
    ensure!(stored == 1, "{stored} registrations of {name} are pending");
    race.one.reject_cluster(&race.actor, &name).await?;
    Ok(())
}

/// A cluster whose agent joins again while its certificates are revoked and it is deleted: it exists as what was done last.
pub async fn rejoin_deleted_cluster(race: &Race) -> anyhow::Result<()> {
    let name = race.name("c");
    for _ in 0..2 {
        let token = race.one.create_join_token(&race.actor, NewJoinToken::default()).await?;
        race.one.register_agent(&race.authority, join_request(&token, name.clone())?).await?;
        // The second agent waits until the race.
        if race.one.get_cluster(&name).await.is_err() {
            race.one.accept_cluster(&race.actor, &name, None).await?;
        }
    }
    let delete = async {
        let revoked = race.other.revoke_cluster(&race.actor, &name).await;
        race.outcomes.count(race.scenario, &revoked);
        race.other.delete_cluster(&race.actor, &name, true).await
    };
    let (accepted, deleted) = race.send_both(race.one.accept_cluster(&race.actor, &name, None), delete).await;
    for refused in [accepted.as_ref().err(), deleted.as_ref().err()].into_iter().flatten() {
        let is_expected = matches!(refused, Error::NotFound { .. } | Error::FailedPrecondition(_));
        ensure!(is_expected, "accepted {accepted:?}, deleted {deleted:?}");
    }
    match race.one.get_cluster(&name).await {
        Ok(found) => {
            let is_accepted = accepted.as_ref().is_ok_and(|cluster| cluster.id == found.cluster.id);
            ensure!(is_accepted || deleted.is_err(), "cluster {name} was deleted and not accepted again");
        }
        Err(Error::NotFound { .. }) => {
            ensure!(deleted.is_ok(), "cluster {name} is lost: {deleted:?}");
        }
        Err(error) => bail!(error),
    }
    race.clean_up(&[], &["c"]).await?;
    Ok(())
}

/// The request of an agent with a new key.
pub fn join_request(token: &JoinTokenSecret, name: String) -> anyhow::Result<JoinRequest> {
    let key = rcgen::KeyPair::generate()?;
    let csr = rcgen::CertificateParams::default().serialize_request(&key)?.pem()?;
    Ok(JoinRequest {
        token: token.id,
        secret: token.secret.clone(),
        name,
        csr,
        facts: ClusterFacts::default(),
    })
}
