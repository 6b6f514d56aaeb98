//! An agent asks to join. Asked again with the same key, it is told how far it is.

use domain::can::WhyNot;
use domain::cluster::{ClusterFacts, ClusterKind};
use domain::event::{EventKind, NewEvent};
use domain::join::{JoinToken, Registration, RegistrationState};
use domain::{Finding, Severity, name};
use store::Tx;
use subtle::ConstantTimeEq as _;

use super::{JoinRequest, Joined};
use crate::authority::Request;
use crate::hub::Done;
use crate::sign_in::fingerprint;
use crate::{Authority, Error, Hub};

/// Registrations that may wait at once; a person looks at each.
const MOST_PENDING: i64 = 1_000;
/// Longest text and list taken of the facts.
const LONGEST_TEXT: usize = 253;
const LONGEST_LIST: usize = 200;

const BAD_TOKEN: Error = Error::Unauthenticated("The join token is not valid.");

impl Hub {
    /// Lets an agent ask to join. The same key with the same token is the same registration, however often it asks; a
    /// new key uses the token up by one.
    pub async fn agent_register(&self, authority: &Authority, asked: JoinRequest) -> Result<Joined, Error> {
        let Some(request) = Request::read(&asked.csr) else {
            return Err(wrong("The certificate request can't be read.", "Send one for a P-256 key, as PEM."));
        };
        let mut tx = self.write().await?;
        let token = checked(&mut tx, &asked).await?;
        let known = store::registration::by_fingerprint(&mut tx, &request.fingerprint).await?;
        let same = known.filter(|known| known.token == token.id && known.name == asked.name);
        match same {
            Some(known) => self.how_far(tx, authority, &request, (known, token)).await,
            None => self.first_time(tx, authority, (&request, asked), token).await,
        }
    }

    async fn how_far(
        &self,
        mut tx: Tx,
        authority: &Authority,
        request: &Request,
        (known, token): (Registration, JoinToken),
    ) -> Result<Joined, Error> {
        match (known.state, known.cluster) {
            (RegistrationState::Accepted, Some(cluster)) => {
                let issued = self.issue(&mut tx, authority, request, cluster).await?;
                self.commit(tx, Done::default()).await?;
                Ok(Joined::Certificate(issued))
            }
            (RegistrationState::Rejected, _) => Err(refused(&known.name)),
            _ if token.revoked_at.is_some() => Err(BAD_TOKEN),
            _ => Ok(Joined::Pending { fingerprint: known.fingerprint }),
        }
    }

    async fn first_time(
        &self,
        mut tx: Tx,
        authority: &Authority,
        (request, asked): (&Request, JoinRequest),
        token: JoinToken,
    ) -> Result<Joined, Error> {
        if let Some(finding) = name::check_label("Cluster name", &asked.name) {
            return Err(Error::Invalid(vec![finding]));
        }
        let now = self.clock().now();
        if !token.admits(&asked.name, now) || !store::join_token::use_once(&mut tx, token.id).await? {
            tracing::warn!(token = %token.id, name = asked.name, "a join token was shown that lets nobody in");
            return Err(Error::Unauthenticated(
                "The join token has ended, is used up, or is for a cluster of another name.",
            ));
        }
        make_room(&mut tx, &asked.name, &token).await?;
        let exists = store::cluster::by_name(&mut tx, &asked.name).await?;
        if exists.as_ref().is_some_and(|cluster| cluster.kind != ClusterKind::Agent) {
            let message = format!("Cluster {} is served by the server itself.", asked.name);
            return Err(Error::Exists(message));
        }
        let registration = Registration {
            fingerprint: request.fingerprint.clone(),
            state: RegistrationState::Pending,
            token: token.id,
            labels: token.labels.clone(),
            facts: bounded(asked.facts),
            since: now,
            cluster: None,
            decided_by: None,
            name: asked.name,
        };
        store::registration::save(&mut tx, &registration, &asked.csr).await?;
        let mut done = Done::with(pending(&registration));
        if !token.accepts(&registration.name, exists.is_some()) {
            self.commit(tx, done).await?;
            return Ok(Joined::Pending { fingerprint: registration.fingerprint });
        }
        let by = format!("{}, by token {}", token.created_by, token.id);
        let cluster = self.let_in(&mut tx, registration, &by, &mut done).await?;
        let issued = self.issue(&mut tx, authority, request, cluster.id).await?;
        self.commit(tx, done).await?;
        Ok(Joined::Certificate(issued))
    }
}

/// The token, if the secret is its. Hashes of random text are compared, and in constant time at that.
async fn checked(tx: &mut Tx, asked: &JoinRequest) -> Result<JoinToken, Error> {
    let given = fingerprint(&asked.secret);
    let found = store::join_token::get(tx, asked.token).await?;
    let hash = found.as_ref().map_or("", |(_, hash)| hash.as_str());
    let right = bool::from(hash.as_bytes().ct_eq(given.as_bytes()));
    found.map(|(token, _)| token).filter(|_| right).ok_or(BAD_TOKEN)
}

/// An agent that lost its key while it waited may ask again with the same token; somebody else's name is theirs.
async fn make_room(tx: &mut Tx, name: &str, token: &JoinToken) -> Result<(), Error> {
    if let Some(waiting) = store::registration::pending(tx, name).await? {
        if waiting.token != token.id {
            return Err(Error::Exists(format!("Another agent waits already to join as {name}.")));
        }
        store::registration::delete(tx, &waiting.fingerprint).await?;
    }
    if store::registration::count_pending(tx).await? >= MOST_PENDING {
        let why = "Too many registrations wait for a person; accept or reject some first.";
        return Err(Error::NotNow(WhyNot(why.to_owned())));
    }
    Ok(())
}

/// What a stranger says is kept short; kinds are reported once it is in.
fn bounded(facts: ClusterFacts) -> ClusterFacts {
    let text =
        |text: String| -> String { text.chars().filter(|c| !c.is_control()).take(LONGEST_TEXT).collect() };
    let list = |list: Vec<String>| list.into_iter().take(LONGEST_LIST).map(text).collect();
    ClusterFacts {
        kubernetes_version: text(facts.kubernetes_version),
        nodes: facts.nodes,
        storage_classes: list(facts.storage_classes),
        ingress_classes: list(facts.ingress_classes),
        ..ClusterFacts::default()
    }
}

fn pending(registration: &Registration) -> NewEvent {
    let Registration { name, fingerprint, .. } = registration;
    let message = format!("An agent asks to join as {name}; its key is {fingerprint}.");
    NewEvent::new(EventKind::ClusterPending, "agent", message).weighing(Severity::Warning)
}

fn refused(name: &str) -> Error {
    Error::NotNow(WhyNot(format!(
        "This agent's key was refused for cluster {name}; it needs a new join token."
    )))
}

fn wrong(message: &str, hint: &str) -> Error {
    Error::Invalid(vec![Finding::error("CertificateRequest", message, hint)])
}
