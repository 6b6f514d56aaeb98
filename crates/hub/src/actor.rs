//! Who does something.

use domain::UserId;

/// Who does something, and how they proved it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The name people read in events and history.
    pub name: String,
    /// How they are known.
    pub kind: ActorKind,
    /// The request this is about, if the client gave it a key: its answer is stored with what it did (P2).
    pub request: Option<RequestKey>,
}

/// A client's own name for a request, so that it may be sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestKey {
    /// The `Idempotency-Key`.
    pub key: String,
    /// Hash of method, path and body: another request under the same key is a mistake of the client.
    pub request_hash: String,
}

/// How an actor is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActorKind {
    /// A person signed in to the console.
    Session(UserId),
    /// Somebody with a person's API token.
    Token(UserId),
    /// Flotilla itself.
    System,
}

impl Actor {
    /// Flotilla itself.
    pub fn system() -> Self {
        Self { name: "flotilla".to_owned(), kind: ActorKind::System, request: None }
    }

    /// Somebody known in this way.
    pub fn new(name: impl Into<String>, kind: ActorKind) -> Self {
        Self { name: name.into(), kind, request: None }
    }

    /// The same actor, asking under this key.
    #[must_use]
    pub fn asking(self, request: RequestKey) -> Self {
        Self { request: Some(request), ..self }
    }

    /// The user behind it, if a person is.
    pub fn user(&self) -> Option<UserId> {
        match self.kind {
            ActorKind::Session(user) | ActorKind::Token(user) => Some(user),
            ActorKind::System => None,
        }
    }
}
