//! Higher roles of users until a time, with the reason. They end by themselves: a role is evaluated with the time of its request.

use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::{Elevation, MAX_ELEVATION_MINUTES, NewElevation, User};
use domain::{Finding, Timestamp, UserId};
use store::Tx;
use store::elevation::ElevationRow;

use super::{find_issuer, user_event};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

/// Longest reason, in characters.
const MAX_REASON_CHARS: usize = 200;

impl Hub {
    /// Gives a user a higher role until a time, in place of an elevation before it. It applies from the next request on, also to API tokens with a higher role.
    ///
    /// # Errors
    /// There is no such user, the user is disabled, the role is not above that of the user or is admin, or there is no reason.
    pub async fn elevate_user(&self, actor: &Actor, name: &str, new: &NewElevation) -> Result<User, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (account, role) = self.lock_user(&mut tx, name).await?;
        if account.disabled_at.is_some() {
            let message = format!("{name} is disabled.");
            return Err(Error::Invalid(vec![Finding::error("Elevation", message, "Enable the user first.")]));
        }
        let findings = check_elevation(new, role);
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let now = self.clock().now();
        let row = ElevationRow {
            user: account.id,
            role: new.role,
            reason: new.reason.trim().to_owned(),
            created_by: actor.name.clone(),
            created_at: now,
            expires_at: now.plus_millis(i64::from(new.minutes) * 60_000),
        };
        store::elevation::put(&mut tx, &row).await?;
        let issuer = find_issuer(&mut tx, account.id).await?;
        let user = User { elevation: Some(to_view(&row)), ..super::to_view(&account, Some(role), issuer) };
        let message = format!("{name} has the role {} for {} minutes: {}", new.role, new.minutes, row.reason);
        let effects = CommitEffects::with_event(user_event(actor, name, message));
        self.commit(tx, effects.with_response(actor, 200, &user)).await?;
        self.live().notify_credentials();
        Ok(user)
    }

    /// Ends the elevation of a user.
    ///
    /// # Errors
    /// There is no such user, or the user has no elevation.
    pub async fn end_elevation(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let mut tx = self.write_as(actor, UserAction::ManageUsers).await?;
        let (account, role) = self.lock_user(&mut tx, name).await?;
        if !store::elevation::delete(&mut tx, account.id).await? {
            return Err(Error::not_found("elevation of user", name.chars().take(80).collect::<String>()));
        }
        let message = format!("The elevation of {name} was ended: the role is {role} again.");
        let effects = CommitEffects::with_event(user_event(actor, name, message));
        self.commit(tx, effects.with_empty_response(actor, 204)).await?;
        self.live().notify_credentials();
        Ok(())
    }
}

/// The elevation of a user that counts at this time.
pub(super) async fn find_elevation(
    tx: &mut Tx,
    user: UserId,
    now: Timestamp,
) -> Result<Option<Elevation>, Error> {
    let found = store::elevation::get(tx, user).await?;
    Ok(found.filter(|row| row.expires_at > now).map(|row| to_view(&row)))
}

fn check_elevation(new: &NewElevation, role: Role) -> Vec<Finding> {
    let finding =
        |message: String, hint: &str, path: &str| Finding::error("Elevation", message, hint).with_path(path);
    let mut findings = Vec::new();
    if new.role == Role::Admin {
        let message = "Nobody can be an admin until a time: an admin could keep the role.".to_owned();
        findings.push(finding(message, "Choose a lower role, or change the role of the user.", "/role"));
    } else if new.role <= role {
        let message = format!("The user has the role {role} already.");
        findings.push(finding(message, "Choose a higher role.", "/role"));
    }
    if !(1..=MAX_ELEVATION_MINUTES).contains(&new.minutes) {
        let message =
            format!("An elevation lasts 1 to {MAX_ELEVATION_MINUTES} minutes, not {}.", new.minutes);
        findings.push(finding(message, "60 minutes suit most tasks.", "/minutes"));
    }
    let length = new.reason.trim().chars().count();
    if !(1..=MAX_REASON_CHARS).contains(&length) || new.reason.chars().any(char::is_control) {
        let message =
            format!("The reason is empty, has more than {MAX_REASON_CHARS} characters or several lines.");
        findings.push(finding(message, "Write a sentence, or the number of a ticket.", "/reason"));
    }
    findings
}

/// An elevation as it is shown.
pub(super) fn to_view(row: &ElevationRow) -> Elevation {
    Elevation {
        role: row.role,
        reason: row.reason.clone(),
        created_by: row.created_by.clone(),
        expires_at: row.expires_at,
    }
}
