//! Roles of users by scope. So far only the organisation is a scope.

use domain::role::{Role, ScopeKind};
use domain::{Timestamp, UserId};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx, elevation};

/// Id of the only organisation.
pub(crate) const ORGANIZATION: &str = "default";

/// Sets the role of a user in the organisation. Another role than before ends an elevation, which was granted above the one before: whoever gives
/// a user a lower role wants no higher one to remain.
pub async fn put(tx: &mut Tx, user: UserId, role: Role) -> Result<(), Error> {
    sql("DELETE FROM elevation WHERE user_id = $1 AND EXISTS \
         (SELECT 1 FROM role_binding WHERE subject = $2 AND scope_kind = $3 AND scope_id = $4 AND role <> $5)")
    .bind_text(user)
    .bind_text(user)
    .bind_text(ScopeKind::Organization.as_str())
    .bind_text(ORGANIZATION)
    .bind_text(role)
    .execute(tx)
    .await?;
    sql("INSERT INTO role_binding (subject, scope_kind, scope_id, role) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (subject, scope_kind, scope_id) DO UPDATE SET role = excluded.role")
    .bind_text(user)
    .bind_text(ScopeKind::Organization.as_str())
    .bind_text(ORGANIZATION)
    .bind_text(role)
    .execute(tx)
    .await
    .map(drop)
}

/// Takes the role in the organisation from a user, who may nothing then, and an elevation with it.
pub async fn delete(tx: &mut Tx, user: UserId) -> Result<(), Error> {
    elevation::delete(tx, user).await?;
    sql("DELETE FROM role_binding WHERE subject = $1 AND scope_kind = $2 AND scope_id = $3")
        .bind_text(user)
        .bind_text(ScopeKind::Organization.as_str())
        .bind_text(ORGANIZATION)
        .execute(tx)
        .await
        .map(drop)
}

/// The role of a user in the organisation, if the user has one.
pub async fn get(tx: &mut Tx, user: UserId) -> Result<Option<Role>, Error> {
    let row = sql(
        "SELECT subject AS id, role FROM role_binding WHERE subject = $1 AND scope_kind = $2 AND scope_id = $3",
    )
    .bind_text(user)
    .bind_text(ScopeKind::Organization.as_str())
    .bind_text(ORGANIZATION)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "role_binding", |row| row.parse("role"))
}

/// The role of a user at this time: that in the organisation, or a higher one that was granted until later. `None` without a role in the organisation.
pub async fn get_effective(tx: &mut Tx, user: UserId, now: Timestamp) -> Result<Option<Role>, Error> {
    let row = sql("SELECT b.subject AS id, b.role AS role, e.role AS elevated FROM role_binding b \
         LEFT JOIN elevation e ON e.user_id = b.subject AND e.expires_at > $1 \
         WHERE b.subject = $2 AND b.scope_kind = $3 AND b.scope_id = $4")
    .bind(now.millis())
    .bind_text(user)
    .bind_text(ScopeKind::Organization.as_str())
    .bind_text(ORGANIZATION)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "role_binding", |row| {
        let role: Role = row.parse("role")?;
        let elevated: Option<Role> = row.opt_parse("elevated")?;
        Ok(elevated.map_or(role, |elevated| elevated.max(role)))
    })
}

/// The users with this role who can sign in with a password, other than `except`: whether a user of an identity provider can depends on
/// that. The rows of roles are locked until the transaction ends, so that two transactions do not each take the role from one of the
/// last two administrators.
pub async fn count_others_with(tx: &mut Tx, role: Role, except: UserId) -> Result<u32, Error> {
    if tx.is_postgres() {
        sql("SELECT subject AS id FROM role_binding WHERE scope_kind = $1 AND scope_id = $2 AND role = $3 ORDER BY subject")
            .bind_text(ScopeKind::Organization.as_str())
            .bind_text(ORGANIZATION)
            .bind_text(role)
            .push_locking_clause(tx)
            .fetch_all(tx)
            .await?;
    }
    let count = sql("SELECT COUNT(*) FROM user_account u JOIN role_binding b ON b.subject = u.id \
         WHERE b.scope_kind = $1 AND b.scope_id = $2 AND b.role = $3 AND u.id <> $4 \
         AND u.disabled_at IS NULL AND u.password_hash <> ''")
    .bind_text(ScopeKind::Organization.as_str())
    .bind_text(ORGANIZATION)
    .bind_text(role)
    .bind_text(except)
    .fetch_number(tx)
    .await?;
    Ok(u32::try_from(count).unwrap_or(u32::MAX))
}
