//! Join tokens: create, list, revoke.

use domain::JoinTokenId;
use domain::authorization::UserAction;
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::join::{JoinToken, NewJoinToken};

use super::JoinTokenSecret;
use crate::hub::CommitEffects;
use crate::sign_in::hash_secret;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Creates a join token; its secret is in the result and nowhere else.
    pub async fn create_join_token(
        &self,
        actor: &Actor,
        new: NewJoinToken,
    ) -> Result<JoinTokenSecret, Error> {
        actor.authorize(UserAction::JoinCluster)?;
        let findings = new.check();
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let now = self.clock().now();
        let secret = self.ids().generate_secret();
        let token = JoinToken {
            id: self.ids().generate(JoinTokenId::from_parts),
            cluster_name: new.cluster_name,
            labels: new.labels,
            auto_accept: new.auto_accept,
            max_uses: new.max_uses,
            uses: 0,
            created_by: actor.name.clone(),
            created_at: now,
            expires_at: now.plus_millis(i64::from(new.minutes) * 60_000),
            revoked_at: None,
        };
        let mut tx = self.write_as(actor, UserAction::JoinCluster).await?;
        store::join_token::insert(&mut tx, &token, &hash_secret(&secret)).await?;
        let detail = EventDetail::JoinTokenCreated {
            id: token.id,
            cluster_name: token.cluster_name.clone(),
            max_uses: token.max_uses,
            auto_accept: token.auto_accept,
        };
        let subject = EventSubject::object("join token", &token.id.to_string());
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        self.commit(tx, CommitEffects::with_event(event)).await?;
        Ok(JoinTokenSecret { id: token.id, secret, expires_at: token.expires_at })
    }

    /// The newest join tokens, also expired and revoked ones, without secrets.
    pub async fn list_join_tokens(&self) -> Result<Vec<JoinToken>, Error> {
        let mut tx = self.read().await?;
        Ok(store::join_token::list(&mut tx).await?)
    }

    /// Revokes a join token. Its pending registrations get no certificate; accepted agents are not affected.
    pub async fn revoke_join_token(&self, actor: &Actor, id: JoinTokenId) -> Result<(), Error> {
        actor.authorize(UserAction::JoinCluster)?;
        let mut tx = self.write_as(actor, UserAction::JoinCluster).await?;
        if store::join_token::get(&mut tx, id).await?.is_none() {
            return Err(Error::not_found("join token", id.to_string()));
        }
        let now = self.clock().now();
        if !store::join_token::revoke(&mut tx, id, now).await? {
            return Ok(());
        }
        let detail = EventDetail::JoinTokenRevoked { id };
        let subject = EventSubject::object("join token", &id.to_string());
        let event = NewEvent::from_detail(detail, &actor.name, subject, now);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }
}
