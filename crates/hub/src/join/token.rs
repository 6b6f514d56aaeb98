//! Join tokens: made, listed, ended.

use domain::JoinTokenId;
use domain::event::{EventKind, NewEvent};
use domain::join::{JoinToken, NewJoinToken};

use super::JoinSecret;
use crate::hub::Done;
use crate::sign_in::fingerprint;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Makes a join token; its secret is in the answer and nowhere else.
    pub async fn join_token_create(&self, actor: &Actor, new: NewJoinToken) -> Result<JoinSecret, Error> {
        let findings = new.check();
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let now = self.clock().now();
        let secret = self.ids().secret();
        let token = JoinToken {
            id: self.ids().make(JoinTokenId::from_parts),
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
        let mut tx = self.write().await?;
        store::join_token::insert(&mut tx, &token, &fingerprint(&secret)).await?;
        let message = made(&token);
        let event = NewEvent::new(EventKind::JoinTokenCreated, &actor.name, message);
        self.commit(tx, Done::with(event)).await?;
        Ok(JoinSecret { id: token.id, secret, expires_at: token.expires_at })
    }

    /// The newest join tokens, ended ones too, without secrets.
    pub async fn join_token_list(&self) -> Result<Vec<JoinToken>, Error> {
        let mut tx = self.read().await?;
        Ok(store::join_token::list(&mut tx).await?)
    }

    /// Ends a join token. What waits with it waits in vain; what was accepted stays.
    pub async fn join_token_revoke(&self, actor: &Actor, id: JoinTokenId) -> Result<(), Error> {
        let mut tx = self.write().await?;
        if store::join_token::get(&mut tx, id).await?.is_none() {
            return Err(Error::not_found("join token", id.to_string()));
        }
        if !store::join_token::revoke(&mut tx, id, self.clock().now()).await? {
            return Ok(());
        }
        let message = format!("Join token {id} was revoked.");
        let event = NewEvent::new(EventKind::JoinTokenRevoked, &actor.name, message);
        self.commit(tx, Done::with(event)).await
    }
}

fn made(token: &JoinToken) -> String {
    let who = match (&token.cluster_name, token.max_uses) {
        (Some(name), _) => format!("cluster {name}"),
        (None, 1) => "one cluster".to_owned(),
        (None, uses) => format!("{uses} clusters"),
    };
    let word = if token.auto_accept { ", without a person's word" } else { "" };
    format!("A token was made for {who} to join{word}: {}.", token.id)
}
