//! The audit log: what is recorded, and how it is read and verified (docs/audit.md).
//!
//! A change by a user is recorded in its own transaction: the verb begins it with [`Hub::write_as`]. What changes nothing is recorded in
//! a transaction of its own: denied requests at most once a minute for the same actor and action ([`denials`]), and failed sign-ins at most
//! once a minute for the same actor and address.

use domain::audit::{
    AuditEntry, AuditHead, AuditOutcome, AuditPage, AuditQuery, AuditRecord, AuditVerification,
};
use domain::authorization::{RoleRequired, UserAction};
use domain::event::describe_object;

use crate::sign_in::SignInClient;
use crate::{Actor, Credential, Error, Hub};

mod denials;
mod file;

pub(crate) use denials::DenialCounts;
pub(crate) use file::AuditFileState;

/// Entries that one page has unless the query says otherwise, and at most.
const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 500;
/// Entries that a verification reads at once.
const VERIFY_BATCH: u32 = 1000;
/// Time within which denied requests of the same user and action, or failed sign-ins of the same user and address, are recorded once.
const REPEAT_MILLIS: i64 = 60_000;
/// Longest recorded name of a user that was not authenticated, in characters.
const NAME_MAX: usize = 63;

impl Actor {
    /// The record of a request of this actor; subject, message and changes follow from the events of its transaction.
    pub(crate) fn audit_record(&self, action: &str, outcome: AuditOutcome) -> AuditRecord {
        let credential = match &self.credential {
            Some(Credential::Session { id_hash, .. }) => format!("session {}", id_hash.short()),
            Some(Credential::Token { id, .. }) => format!("token {id}"),
            None => String::new(),
        };
        AuditRecord {
            actor: self.name.clone(),
            credential,
            address: self.origin.address.clone(),
            request_id: self.origin.request_id.clone(),
            action: action.to_owned(),
            outcome,
            subject: String::new(),
            message: String::new(),
            changes: Vec::new(),
        }
    }
}

/// A user as a subject of the audit log. The name may be any text that was typed.
pub(crate) fn describe_user(name: &str) -> String {
    describe_object("user", &name.chars().take(NAME_MAX).collect::<String>())
}

/// The record of a sign-in.
pub(crate) fn sign_in_record(name: &str, client: &SignInClient, message: &str) -> AuditRecord {
    AuditRecord {
        actor: name.chars().take(NAME_MAX).collect(),
        credential: String::new(),
        address: client.network.to_string(),
        request_id: String::new(),
        action: "sign-in".to_owned(),
        outcome: AuditOutcome::Succeeded,
        subject: describe_user(name),
        message: message.to_owned(),
        changes: Vec::new(),
    }
}

impl Hub {
    /// One page of the audit log, newest first. It ends early where its entries have many bytes; the next one begins after them.
    ///
    /// # Errors
    /// Also an entry that can't be read.
    pub async fn list_audit(&self, actor: &Actor, query: &AuditQuery) -> Result<AuditPage, Error> {
        actor.authorize(UserAction::ViewAudit)?;
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
        let mut tx = self.read().await?;
        let listed = store::audit::list(&mut tx, query, limit).await?;
        Ok(AuditPage { items: listed.entries, next: listed.next })
    }

    /// At most this many entries after a position, oldest first, for an export; fewer where they have many bytes, and none only at the end.
    ///
    /// # Errors
    /// Also an entry that can't be read.
    pub async fn export_audit(
        &self,
        actor: &Actor,
        after: i64,
        limit: u32,
    ) -> Result<Vec<AuditEntry>, Error> {
        actor.authorize(UserAction::ViewAudit)?;
        let mut tx = self.read().await?;
        Ok(store::audit::list_after(&mut tx, after, limit).await?)
    }

    /// Verifies the whole log, in batches.
    ///
    /// # Errors
    /// The database does not respond.
    pub async fn verify_audit(&self, actor: &Actor) -> Result<AuditVerification, Error> {
        actor.authorize(UserAction::ViewAudit)?;
        let mut tx = self.read().await?;
        let last = store::audit::last_seq(&mut tx).await?;
        drop(tx);
        let mut head = AuditHead::default();
        loop {
            let mut tx = self.read().await?;
            let batch = store::audit::list_after(&mut tx, head.seq, VERIFY_BATCH).await?;
            drop(tx);
            for entry in &batch {
                if let Err(broken) = head.advance(entry) {
                    return Ok(AuditVerification { head, broken: Some(broken) });
                }
            }
            if batch.is_empty() {
                return Ok(AuditVerification { broken: head.check_end(last).err(), head });
            }
        }
    }

    /// Records that the role of an actor did not allow a request: `subject` is its method and path, or the user where they are not known. A
    /// failure is logged: the request is denied anyway.
    pub async fn record_denial(&self, actor: &Actor, denied: &RoleRequired, subject: &str) {
        let Some(due) = self.denials().count(&actor.name, denied.action, self.clock().now()) else {
            return;
        };
        let mut message = if denied.is_of_token {
            "The API token was created for other actions.".to_owned()
        } else {
            format!("The role {} does not allow it; it needs {}.", denied.role, denied.required)
        };
        if due.others() > 0 {
            message += &format!(" {} such requests before it are not recorded.", due.others());
        }
        let record = AuditRecord {
            subject: subject.to_owned(),
            message,
            ..actor.audit_record(denied.action.as_str(), AuditOutcome::Denied)
        };
        if self.record_unchanged(record).await {
            due.confirm();
        }
    }

    /// Records a sign-out.
    pub async fn record_sign_out(&self, actor: &Actor) {
        let message = "Signed out.".to_owned();
        let signed_out = actor.audit_record("sign-out", AuditOutcome::Succeeded);
        let record = AuditRecord { subject: describe_user(&actor.name), message, ..signed_out };
        self.record_unchanged(record).await;
    }

    /// Records an attempt to sign in that failed.
    pub(crate) async fn record_failed_sign_in(&self, name: &str, client: &SignInClient, why: &str) {
        let record = AuditRecord { outcome: AuditOutcome::Failed, ..sign_in_record(name, client, why) };
        self.record_unchanged(record).await;
    }

    /// Records a sign-in with an identity provider that failed: whose it would have been is not known.
    pub(crate) async fn record_failed_identity_sign_in(
        &self,
        provider: &str,
        client: &SignInClient,
        why: &str,
    ) {
        let subject = describe_object("identity provider", provider);
        let signed_in = sign_in_record(&subject, client, why);
        let record = AuditRecord { outcome: AuditOutcome::Failed, subject, ..signed_in };
        self.record_unchanged(record).await;
    }

    /// Records an attempt to change one's own password with a wrong current one.
    pub(crate) async fn record_failed_password_change(&self, actor: &Actor) {
        let record = AuditRecord {
            subject: describe_user(&actor.name),
            message: "The current password was not correct.".to_owned(),
            ..actor.audit_record(UserAction::ChangeOwnPassword.as_str(), AuditOutcome::Failed)
        };
        self.record_unchanged(record).await;
    }

    /// Records what changed nothing. A failure is logged. Returns whether the log has it.
    async fn record_unchanged(&self, record: AuditRecord) -> bool {
        let recorded = self.try_record_unchanged(record).await;
        if let Err(error) = &recorded {
            tracing::warn!(%error, "a request was not recorded in the audit log");
        }
        recorded.is_ok()
    }

    async fn try_record_unchanged(&self, record: AuditRecord) -> Result<(), Error> {
        let now = self.clock().now();
        let since = now.plus_millis(-REPEAT_MILLIS);
        // Denied requests that are repeated do not get here: they are counted in memory.
        let may_be_repeated = record.outcome == AuditOutcome::Failed;
        // Whoever repeats a failed sign-in does not occupy the writer of the database.
        if may_be_repeated {
            let mut tx = self.read().await?;
            if store::audit::is_recorded_since(&mut tx, &record, since).await? {
                return Ok(());
            }
        }
        let mut tx = self.write().await?;
        if !may_be_repeated || !store::audit::is_recorded_since(&mut tx, &record, since).await? {
            tx.record_audit(record, now);
            tx.commit().await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicI64, Ordering};

    use domain::role::Role;
    use domain::{Timestamp, UserId};

    use super::*;
    use crate::{ActorKind, Clock, HubConfig, RequestOrigin};

    async fn open_hub(folder: &Path, clock: Clock) -> Hub {
        let database = format!("sqlite://{}", folder.join("flotilla.db").display());
        Hub::open(HubConfig::new(database, clock)).await.unwrap()
    }

    fn denied_request() -> (Actor, RoleRequired) {
        let eve = Actor::new("eve", ActorKind::Token(UserId::from_parts(1, 1)), Role::Viewer);
        let denied = eve.check_role(UserAction::Publish).unwrap_err();
        (eve, denied)
    }

    #[tokio::test]
    async fn a_denied_request_whose_client_is_gone_is_counted_by_the_next_one() {
        let folder = tempfile::tempdir().unwrap();
        let seconds = Arc::new(AtomicI64::new(1_000_000));
        let source = seconds.clone();
        let clock = Clock::from_fn(move || Timestamp::from_millis(1_000 * source.load(Ordering::Relaxed)));
        let hub = open_hub(folder.path(), clock).await;
        let (eve, denied) = denied_request();
        {
            let mut abandoned = pin!(hub.record_denial(&eve, &denied, "POST /api/v1/groups"));
            assert!(futures::poll!(abandoned.as_mut()).is_pending(), "it waits for the database");
        }
        seconds.fetch_add(60, Ordering::Relaxed);
        hub.record_denial(&eve, &denied, "POST /api/v1/groups").await;
        let ada = Actor::new("ada", ActorKind::Token(UserId::from_parts(1, 2)), Role::Admin);
        let recorded = hub.export_audit(&ada, 0, 100).await.unwrap();
        let denials = recorded.iter().filter(|entry| entry.record.actor == "eve");
        let messages: Vec<&str> = denials.map(|entry| entry.record.message.as_str()).collect();
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].ends_with(" 1 such requests before it are not recorded."), "{messages:?}");
    }

    #[tokio::test]
    async fn p20_a_denial_that_is_repeated_within_a_minute_does_not_use_the_database() {
        let folder = tempfile::tempdir().unwrap();
        let hub = open_hub(folder.path(), Clock::system()).await;
        let (eve, denied) = denied_request();
        hub.record_denial(&eve, &denied, "POST /api/v1/groups").await;
        let ada = Actor::new("ada", ActorKind::Token(UserId::from_parts(1, 2)), Role::Admin);
        let recorded = hub.export_audit(&ada, 0, 100).await.unwrap();
        assert!(!recorded.is_empty());
        // Also from another address.
        let origin = RequestOrigin { address: "192.0.2.1".to_owned(), request_id: String::new() };
        for actor in [eve.clone(), eve.with_origin(origin)] {
            let mut repeated = pin!(hub.record_denial(&actor, &denied, "POST /api/v1/groups"));
            assert!(futures::poll!(repeated.as_mut()).is_ready(), "it waits for the database");
        }
        assert_eq!(hub.export_audit(&ada, 0, 100).await.unwrap(), recorded);
    }
}
