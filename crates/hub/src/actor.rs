//! The actor of a request, and the one place that decides what it may do.

use std::sync::Arc;

use domain::authorization::{RoleRequired, UserAction, authorize};
use domain::role::Role;
use domain::token_actions::TokenActions;
use domain::{Digest, TokenId, UserId};

use crate::Error;

/// Who performs an action, and how they were authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name shown in events and history.
    pub name: String,
    /// How they were authenticated.
    pub kind: ActorKind,
    /// The effective role: that of the user, limited by that of the API token.
    pub role: Role,
    /// What authenticated the request; it may be revoked while a stream is open.
    pub credential: Option<Credential>,
    /// The request's key, if the client sent one: the response is stored in the same transaction (P2).
    pub request_key: Option<RequestKey>,
    /// Where the request came from.
    pub origin: Arc<RequestOrigin>,
}

/// Where a request came from, for the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The address of the client.
    pub address: String,
    /// The `X-Request-Id`.
    pub request_id: String,
}

/// A client's idempotency key for a request, so that it can be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// The `Idempotency-Key`.
    pub key: String,
    /// Hash of method, path and body: another request with the same key is a client error.
    pub request_hash: String,
}

/// How an actor was authenticated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A person signed in to the console.
    Session(UserId),
    /// A client with a user's API token.
    Token(UserId),
    /// Flotilla itself.
    System,
}

/// A session or an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    /// A session.
    Session {
        /// The hash under which it is stored.
        id_hash: Digest,
        /// The epoch of its user in which it started.
        epoch: i64,
        /// The sign-in with an identity provider that it ends with.
        identity: Option<String>,
    },
    /// An API token.
    Token {
        /// Its id.
        id: TokenId,
        /// Whether it may create further tokens.
        can_mint: bool,
        /// The only actions that it may do in addition to reading; `None` for all of its role.
        actions: Option<TokenActions>,
    },
}

impl Actor {
    /// The actor of Flotilla's own actions.
    pub fn system() -> Self {
        Self::new("flotilla", ActorKind::System, Role::Admin)
    }

    /// An actor without a request key.
    pub fn new(name: impl Into<String>, kind: ActorKind, role: Role) -> Self {
        let origin = Arc::default();
        Self { name: name.into(), kind, role, credential: None, request_key: None, origin }
    }

    /// The same actor, authenticated by this credential.
    #[must_use]
    pub fn with_credential(self, credential: Credential) -> Self {
        Self { credential: Some(credential), ..self }
    }

    /// The same actor with this request key.
    #[must_use]
    pub fn with_request_key(self, request: RequestKey) -> Self {
        Self { request_key: Some(request), ..self }
    }

    /// The same actor, whose request came from there.
    #[must_use]
    pub fn with_origin(self, origin: RequestOrigin) -> Self {
        Self { origin: Arc::new(origin), ..self }
    }

    /// The user, unless the actor is the system.
    pub fn user(&self) -> Option<UserId> {
        match self.kind {
            ActorKind::Session(user) | ActorKind::Token(user) => Some(user),
            ActorKind::System => None,
        }
    }

    /// Rejects an action that the role of the actor, or its API token, does not allow. Every verb calls it first; a test finds one that does not.
    ///
    /// # Errors
    /// The role is not sufficient, or the API token is for other actions.
    pub fn authorize(&self, action: UserAction) -> Result<(), Error> {
        self.check_role(action).map_err(Error::Forbidden)
    }

    /// The only actions that the API token of the actor may do in addition to reading; `None` if all that its role allows.
    pub fn token_actions(&self) -> Option<&TokenActions> {
        match &self.credential {
            Some(Credential::Token { actions, .. }) => actions.as_ref(),
            _ => None,
        }
    }

    /// Whether the role of the actor and its API token allow an action.
    ///
    /// # Errors
    /// One of them does not; the error says which, and what is needed.
    pub fn check_role(&self, action: UserAction) -> Result<(), RoleRequired> {
        match self.kind {
            ActorKind::System => Ok(()),
            ActorKind::Session(_) | ActorKind::Token(_) => {
                authorize(self.role, action)?;
                self.token_actions().map_or(Ok(()), |actions| actions.require(self.role, action))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_role_limits_users_and_not_the_system() {
        let user = ActorKind::Token(UserId::from_parts(1, 1));
        assert!(Actor::new("ada", user, Role::Viewer).authorize(UserAction::Publish).is_err());
        assert!(Actor::new("ada", user, Role::Publisher).authorize(UserAction::Publish).is_ok());
        assert!(Actor::system().authorize(UserAction::ManageUsers).is_ok());
    }

    /// Functions with an actor that are no verbs: they read or store what belongs to the request of a verb.
    const NO_VERBS: [&str; 5] =
        ["stored_response", "store_response", "is_still_authorized", "record_denial", "record_sign_out"];

    /// Verbs that store only what is derived and deleted again.
    const UNRECORDED: [&str; 1] = ["create_plan"];

    /// What begins the transaction of a user.
    const BEGINNINGS: [&str; 3] = ["self.write_as(", "self.write_groups(", "self.begin_group_creation("];

    /// What stores the response of a request in the transaction of its change.
    const RESPONSES: [&str; 8] = [
        ".with_response(",
        ".with_empty_response(",
        "change.commit(",
        ".commit_cluster_change(",
        ".commit_removal(",
        ".store_edit(",
        ".store_group(",
        ".store_group_view(",
    ];

    /// Functions that return the transaction to a verb, and the verb whose requests have no key, because its response has a secret that
    /// clients need.
    const WITHOUT_RESPONSES: [&str; 3] = ["write_groups", "begin_group_creation", "create_join_token"];

    fn read_sources(folder: &Path, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read_sources(&path, all);
            } else if path.extension().is_some_and(|end| end == "rs") {
                all.push(std::fs::read_to_string(&path).unwrap());
            }
        }
    }

    fn read_all_sources() -> Vec<String> {
        let mut sources = Vec::new();
        read_sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut sources);
        sources
    }

    /// A transaction that does not is refused at its commit; this finds one that no test commits.
    #[test]
    fn p2_every_transaction_of_a_user_stores_the_response_of_its_request() {
        let mut writers = 0;
        for text in read_all_sources() {
            let product = text.split("\nmod tests {").next().unwrap();
            for function in product.split("async fn ").skip(1) {
                let name = function.split(['(', '<']).next().unwrap();
                let begins = BEGINNINGS.iter().any(|call| function.contains(call));
                if !begins || WITHOUT_RESPONSES.contains(&name) {
                    continue;
                }
                writers += 1;
                let stores = RESPONSES.iter().any(|call| function.contains(call));
                assert!(stores, "{name} commits a change without the response of its request");
            }
        }
        assert!(writers > 40, "{writers}");
    }

    #[test]
    fn every_verb_authorizes_its_actor_first() {
        let sources = read_all_sources();
        let mut verbs = 0;
        for function in sources.iter().flat_map(|text| text.split("    pub async fn ").skip(1)) {
            let name = function.split(['(', '<']).next().unwrap();
            let (signature, body) = function.split_once("{\n").unwrap();
            if !signature.contains("actor: &Actor") || NO_VERBS.contains(&name) {
                continue;
            }
            verbs += 1;
            let body = body.trim_start();
            // A role that depends on the request is determined first.
            let first = body.strip_prefix("let action = match ").and_then(|rest| rest.split_once("};\n"));
            let body = first.map_or(body, |(_, rest)| rest.trim_start());
            assert!(body.starts_with("actor.authorize("), "{name} does not authorize first");
            let is_recorded = UNRECORDED.contains(&name) || !body.contains("self.write()");
            assert!(is_recorded, "{name} changes something without an audit record");
        }
        assert!(verbs > 50, "{verbs}");
    }
}
