//! An agent's request to join. Repeated with the same key, it returns the state of the registration.

use domain::actions::ActionUnavailable;
use domain::cluster::{ClusterFacts, ClusterKind};
use domain::event::{EventDetail, EventSubject, NewEvent};
use domain::join::{JoinToken, Registration, RegistrationState};
use domain::{Finding, JoinTokenId, Timestamp, name_check};
use store::Tx;
use subtle::ConstantTimeEq as _;

use super::accept::Acceptance;
use super::{JoinRequest, RegistrationResult};
use crate::authority::CertificateRequest;
use crate::hub::CommitEffects;
use crate::sign_in::hash_secret;
use crate::{Authority, Error, Hub};

/// Maximum pending registrations: a person reviews each.
const MAX_PENDING: i64 = 1_000;
/// Maximum length of texts and lists in the facts.
const MAX_TEXT_CHARS: usize = 253;
const MAX_LIST_ITEMS: usize = 200;

const INVALID_TOKEN: Error = Error::Unauthenticated("The join token is not valid.");
/// The token exists, but no agent can register with it under this name.
pub(super) const TOKEN_NOT_USABLE: Error = Error::Unauthenticated(
    "The join token has expired, is used up or revoked, or is bound to another cluster name.",
);

/// A request to join whose token has been verified.
struct VerifiedJoin {
    request: CertificateRequest,
    join: JoinRequest,
    token: JoinToken,
}

impl Hub {
    /// Registers an agent that requests to join. The same key with the same token is the same registration, however often
    /// it is repeated; a new key counts as one use of the token.
    pub async fn register_agent(
        &self,
        authority: &Authority,
        join: JoinRequest,
    ) -> Result<RegistrationResult, Error> {
        let Some(request) = CertificateRequest::from_pem(&join.csr) else {
            return Err(certificate_request_error(
                "The certificate request can't be read.",
                "Send one for a P-256 key, as PEM.",
            ));
        };
        let mut tx = self.write().await?;
        let token = verify_token(&mut tx, join.token, &join.secret).await?;
        let known = store::registration::get_by_fingerprint(&mut tx, &request.fingerprint).await?;
        let same = known.filter(|known| known.token == token.id && known.name == join.name);
        let verified = VerifiedJoin { request, join, token };
        match same {
            Some(known) => self.resume_registration(tx, authority, verified, known).await,
            None => self.create_registration(tx, authority, verified).await,
        }
    }

    async fn resume_registration(
        &self,
        mut tx: Tx,
        authority: &Authority,
        VerifiedJoin { request, token, .. }: VerifiedJoin,
        known: Registration,
    ) -> Result<RegistrationResult, Error> {
        match (known.state, known.cluster) {
            (RegistrationState::Accepted, Some(cluster)) => {
                let issued = self.issue_certificate(&mut tx, authority, &request, cluster).await?;
                self.commit(tx, CommitEffects::default()).await?;
                Ok(RegistrationResult::Certificate(issued))
            }
            (RegistrationState::Rejected, _) => Err(rejected_error(&known.name)),
            _ if token.revoked_at.is_some() => Err(INVALID_TOKEN),
            _ => Ok(RegistrationResult::Pending { fingerprint: known.fingerprint }),
        }
    }

    async fn create_registration(
        &self,
        mut tx: Tx,
        authority: &Authority,
        VerifiedJoin { request, join, token }: VerifiedJoin,
    ) -> Result<RegistrationResult, Error> {
        if let Some(finding) = name_check::check_label("Cluster name", &join.name) {
            return Err(Error::Invalid(vec![finding]));
        }
        let now = self.clock().now();
        if !token.is_valid_for(&join.name, now) || !store::join_token::consume_use(&mut tx, token.id).await? {
            tracing::warn!(token = %token.id, name = join.name, "rejected a join token that has expired, is used up or is bound to another cluster name");
            return Err(TOKEN_NOT_USABLE);
        }
        replace_pending_registration(&mut tx, &join.name, &token).await?;
        let registration = Registration {
            fingerprint: request.fingerprint.clone(),
            state: RegistrationState::Pending,
            token: token.id,
            labels: token.labels.clone(),
            facts: truncate_facts(join.facts),
            requested_at: now,
            cluster: None,
            decided_by: None,
            name: join.name,
        };
        store::registration::save(&mut tx, &registration, &join.csr).await?;
        // Read now: another agent that joins at the same time under this name has the pending registration until it commits, and the
        // cluster is its own then.
        let existing = store::cluster::get_by_name(&mut tx, &registration.name).await?;
        if existing.as_ref().is_some_and(|cluster| cluster.kind != ClusterKind::Agent) {
            let message = format!("Cluster {} is served by the server itself.", registration.name);
            return Err(Error::AlreadyExists(message));
        }
        let mut effects = CommitEffects::with_event(new_join_event(&registration, now));
        if !token.can_auto_accept(&registration.name, existing.is_some()) {
            self.commit(tx, effects).await?;
            return Ok(RegistrationResult::Pending { fingerprint: registration.fingerprint });
        }
        let by = format!("{}, by token {}", token.created_by, token.id);
        let acceptance = Acceptance { by: &by, confirms_facts: false };
        let cluster = self.accept_registration(&mut tx, registration, acceptance, &mut effects).await?;
        let issued = self.issue_certificate(&mut tx, authority, &request, cluster.id).await?;
        self.commit(tx, effects).await?;
        Ok(RegistrationResult::Certificate(issued))
    }
}

/// The token, if the secret matches. Compares hashes, in constant time.
pub(super) async fn verify_token(tx: &mut Tx, id: JoinTokenId, secret: &str) -> Result<JoinToken, Error> {
    let presented = hash_secret(secret);
    let found = store::join_token::get(tx, id).await?;
    let hash = found.as_ref().map_or("", |(_, hash)| hash.as_str());
    let matches = bool::from(hash.as_bytes().ct_eq(presented.as_bytes()));
    found.map(|(token, _)| token).filter(|_| matches).ok_or(INVALID_TOKEN)
}

/// Deletes the pending registration of this name, if it used the same token: its agent lost the key. Fails if another
/// token's registration has the name, or if too many are pending.
async fn replace_pending_registration(tx: &mut Tx, name: &str, token: &JoinToken) -> Result<(), Error> {
    if let Some(waiting) = store::registration::get_pending(tx, name).await? {
        if waiting.token != token.id {
            return Err(Error::AlreadyExists(format!("Another agent is already waiting to join as {name}.")));
        }
        store::registration::delete(tx, &waiting.fingerprint).await?;
    }
    if store::registration::count_pending(tx).await? >= MAX_PENDING {
        let why = "Too many registrations are pending; accept or reject some first.";
        return Err(Error::FailedPrecondition(ActionUnavailable(why.to_owned())));
    }
    Ok(())
}

/// Facts of an agent that is not accepted yet, limited in size; kinds and namespaces are reported after it is accepted.
fn truncate_facts(mut facts: ClusterFacts) -> ClusterFacts {
    facts.truncate();
    let text =
        |text: String| -> String { text.chars().filter(|c| !c.is_control()).take(MAX_TEXT_CHARS).collect() };
    let list = |list: Vec<String>| list.into_iter().take(MAX_LIST_ITEMS).map(text).collect();
    ClusterFacts {
        kubernetes_version: text(facts.kubernetes_version),
        nodes: facts.nodes,
        provider: text(facts.provider),
        region: text(facts.region),
        zones: list(facts.zones),
        node_pools: facts.node_pools,
        storage_classes: list(facts.storage_classes),
        ingress_classes: list(facts.ingress_classes),
        ..ClusterFacts::default()
    }
}

fn new_join_event(registration: &Registration, now: Timestamp) -> NewEvent {
    let Registration { name, fingerprint, .. } = registration.clone();
    let detail = EventDetail::JoinRequested { name, fingerprint };
    NewEvent::from_detail(detail, "agent", EventSubject::default(), now)
}

fn rejected_error(name: &str) -> Error {
    Error::FailedPrecondition(ActionUnavailable(format!(
        "This agent's key was rejected for cluster {name}; the agent needs a new join token."
    )))
}

fn certificate_request_error(message: &str, hint: &str) -> Error {
    Error::Invalid(vec![Finding::error("CertificateRequest", message, hint)])
}
