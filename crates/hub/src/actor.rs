//! The actor of a request.

use domain::UserId;

/// Who performs an action, and how they were authenticated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name shown in events and history.
    pub name: String,
    /// How they were authenticated.
    pub kind: ActorKind,
    /// The request's key, if the client sent one: the response is stored in the same transaction (P2).
    pub request_key: Option<RequestKey>,
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

impl Actor {
    /// The actor of Flotilla's own actions.
    pub fn system() -> Self {
        Self { name: "flotilla".to_owned(), kind: ActorKind::System, request_key: None }
    }

    /// An actor without a request key.
    pub fn new(name: impl Into<String>, kind: ActorKind) -> Self {
        Self { name: name.into(), kind, request_key: None }
    }

    /// The same actor with this request key.
    #[must_use]
    pub fn with_request_key(self, request: RequestKey) -> Self {
        Self { request_key: Some(request), ..self }
    }

    /// The user, unless the actor is the system.
    pub fn user(&self) -> Option<UserId> {
        match self.kind {
            ActorKind::Session(user) | ActorKind::Token(user) => Some(user),
            ActorKind::System => None,
        }
    }
}
