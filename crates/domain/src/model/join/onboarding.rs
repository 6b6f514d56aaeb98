//! The stages in which a cluster joins: from the generated manifests until it is online. No stage has a time limit.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{JoinStatus, JoinToken, JoinTokenState, Registration, RegistrationState};
use crate::kubernetes::time::{Timestamp, format_duration};
use crate::model::cluster::{Cluster, Connectivity};

/// A stage of a cluster that joins, in the order in which they are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum OnboardingStageName {
    /// The manifests of its agent were generated, with a join token.
    ManifestsGenerated,
    /// An agent has registered with a key.
    AgentRegistered,
    /// A person, or the join token, has accepted the key.
    Accepted,
    /// The key has a certificate.
    CertificateIssued,
    /// The agent has connected with it and reported the facts of its cluster.
    FactsReported,
    /// Its heartbeats arrive.
    Online,
}

impl OnboardingStageName {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The displayed name.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ManifestsGenerated => "Manifests generated",
            Self::AgentRegistered => "Agent registered",
            Self::Accepted => "Key compared and accepted",
            Self::CertificateIssued => "Certificate issued",
            Self::FactsReported => "Facts reported",
            Self::Online => "Online",
        }
    }
}

/// How far a stage is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum OnboardingState {
    /// It is complete.
    Done,
    /// It is the current one, and not complete yet.
    Waiting,
    /// It can't be completed: a person has to generate new manifests.
    Failed,
    /// An earlier one is not complete.
    #[default]
    Pending,
}

impl OnboardingState {
    /// The name, as in JSON.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One stage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct OnboardingStage {
    /// Which one.
    pub name: OnboardingStageName,
    /// How far it is.
    pub state: OnboardingState,
    /// When it was completed or failed, or since when it waits; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// What was done, or what it waits for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// What a person can do about it; empty if nothing is necessary.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
}

impl OnboardingStage {
    fn new(name: OnboardingStageName, state: OnboardingState, message: impl Into<String>) -> Self {
        Self { name, state, since: None, message: message.into(), hint: String::new() }
    }

    fn since(self, since: impl Into<Option<Timestamp>>) -> Self {
        Self { since: since.into(), ..self }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: hint.into(), ..self }
    }
}

/// A cluster that joins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Onboarding {
    /// The name of the cluster.
    pub cluster: String,
    /// Its stages, in order.
    pub stages: Vec<OnboardingStage>,
    /// The newest join token for this name, without its secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<JoinToken>,
    /// The registration that waits for a decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<Registration>,
    /// Whether that registration used another token than the newest one for this name.
    #[serde(default)]
    pub is_foreign: bool,
}

impl Onboarding {
    /// The first stage that is not complete.
    pub fn current(&self) -> Option<&OnboardingStage> {
        self.stages.iter().find(|stage| stage.state != OnboardingState::Done)
    }

    /// The stage of this name.
    pub fn stage(&self, name: OnboardingStageName) -> Option<&OnboardingStage> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}

/// What is stored about a cluster that joins.
#[derive(Debug, Clone, Default)]
pub struct OnboardingRecords {
    /// The newest join token that is bound to its name.
    pub token: Option<JoinToken>,
    /// The pending registration of its name, otherwise the newest.
    pub registration: Option<Registration>,
    /// When that was decided.
    pub decided_at: Option<Timestamp>,
    /// When a certificate was issued for the key of the registration, and when it expires.
    pub certificate: Option<(Timestamp, Timestamp)>,
    /// The cluster of the registration.
    pub cluster: Option<Cluster>,
    /// When and how that joined.
    pub joining: Option<JoinStatus>,
}

impl OnboardingRecords {
    /// The registration that belongs to the newest token, or waits for a decision. An earlier one is of an earlier agent.
    fn registration(&self) -> Option<&Registration> {
        let is_current = |found: &&Registration| {
            found.state == RegistrationState::Pending
                || self
                    .token
                    .as_ref()
                    .is_none_or(|token| token.id == found.token || found.requested_at > token.created_at)
        };
        self.registration.as_ref().filter(is_current)
    }
}

/// The stages of the cluster of this name at `now`.
pub fn evaluate_onboarding(name: &str, records: OnboardingRecords, now: Timestamp) -> Onboarding {
    let mut stages: Vec<OnboardingStage> = Vec::with_capacity(OnboardingStageName::ALL.len());
    for &stage in OnboardingStageName::ALL {
        let is_reached = stages.last().is_none_or(|before| before.state == OnboardingState::Done);
        stages.push(match is_reached {
            true => evaluate_stage(stage, name, &records, now),
            false => OnboardingStage::new(stage, OnboardingState::Pending, ""),
        });
    }
    let pending = records.registration.filter(|found| found.state == RegistrationState::Pending);
    let is_foreign = match (&pending, &records.token) {
        (Some(found), Some(token)) => found.token != token.id,
        _ => false,
    };
    Onboarding { cluster: name.to_owned(), stages, token: records.token, pending, is_foreign }
}

fn evaluate_stage(
    stage: OnboardingStageName,
    name: &str,
    records: &OnboardingRecords,
    now: Timestamp,
) -> OnboardingStage {
    match stage {
        OnboardingStageName::ManifestsGenerated => manifests_stage(records),
        OnboardingStageName::AgentRegistered => registered_stage(name, records, now),
        OnboardingStageName::Accepted => accepted_stage(name, records),
        OnboardingStageName::CertificateIssued => certificate_stage(records),
        OnboardingStageName::FactsReported => facts_stage(records),
        OnboardingStageName::Online => online_stage(name, records, now),
    }
}

const NEW_MANIFESTS: &str = "Generate a new command, and run it on the cluster.";

fn manifests_stage(records: &OnboardingRecords) -> OnboardingStage {
    let done = |message: String| {
        OnboardingStage::new(OnboardingStageName::ManifestsGenerated, OnboardingState::Done, message)
    };
    match &records.token {
        Some(token) => done(format!("by {}", token.created_by)).since(token.created_at),
        None => done("with a join token for any cluster".to_owned()),
    }
}

fn registered_stage(name: &str, records: &OnboardingRecords, now: Timestamp) -> OnboardingStage {
    let stage =
        |state, message: &str| OnboardingStage::new(OnboardingStageName::AgentRegistered, state, message);
    if let Some(found) = records.registration() {
        let key = found.fingerprint.get(..16).unwrap_or(&found.fingerprint);
        return stage(OnboardingState::Done, &format!("with the key {key}…")).since(found.requested_at);
    }
    let Some(token) = &records.token else {
        return stage(OnboardingState::Failed, "no agent has registered").hint(NEW_MANIFESTS);
    };
    let failed = |message: &str, since: Option<Timestamp>| {
        stage(OnboardingState::Failed, message).since(since).hint(NEW_MANIFESTS)
    };
    match token.state(now) {
        JoinTokenState::Valid => stage(OnboardingState::Waiting, "waits for the agent to register")
            .since(token.created_at)
            .hint(format!(
                "Run the command. If the agent does not appear, see why its pod does not start: \
                 kubectl --context {name} -n flotilla-agent get pods,events."
            )),
        JoinTokenState::Expired => failed("the command has expired", Some(token.expires_at)),
        JoinTokenState::Revoked => failed("the join token was revoked", token.revoked_at),
        JoinTokenState::UsedUp => {
            failed("the command was used, but its registration does not exist any more", None)
        }
    }
}

fn accepted_stage(name: &str, records: &OnboardingRecords) -> OnboardingStage {
    let stage = |state, message: String| OnboardingStage::new(OnboardingStageName::Accepted, state, message);
    let Some(found) = records.registration() else {
        return stage(OnboardingState::Pending, String::new());
    };
    let by = found.decided_by.as_deref().unwrap_or("the join token");
    match found.state {
        RegistrationState::Pending => stage(OnboardingState::Waiting, "waits for a person".to_owned())
            .since(found.requested_at)
            .hint(format!(
                "Accept the key only if the agent logs the same one: \
                 kubectl --context {name} -n flotilla-agent logs deployment/flotilla-agent."
            )),
        RegistrationState::Accepted => {
            let at = records.joining.as_ref().map(|joining| joining.accepted_at).or(records.decided_at);
            stage(OnboardingState::Done, format!("by {by}")).since(at)
        }
        RegistrationState::Rejected => {
            let revoked = records.joining.as_ref().and_then(|joining| joining.revoked_at);
            let message = match revoked {
                Some(_) => "the certificates of the cluster were revoked".to_owned(),
                None => format!("rejected by {by}"),
            };
            stage(OnboardingState::Failed, message).since(revoked.or(records.decided_at)).hint(NEW_MANIFESTS)
        }
    }
}

fn certificate_stage(records: &OnboardingRecords) -> OnboardingStage {
    let stage =
        |state, message: String| OnboardingStage::new(OnboardingStageName::CertificateIssued, state, message);
    match records.certificate {
        Some((created_at, not_after)) => {
            let days = format_duration(not_after.millis_since(created_at));
            stage(OnboardingState::Done, format!("valid for {days}, then renewed by the agent"))
                .since(created_at)
        }
        // An expired certificate is deleted; its agent has renewed it.
        None if records.joining.as_ref().is_some_and(|joining| joining.joined_at.is_some()) => {
            stage(OnboardingState::Done, "renewed by the agent".to_owned())
        }
        None => stage(OnboardingState::Waiting, "the agent gets it with its next request".to_owned())
            .since(records.joining.as_ref().map(|joining| joining.accepted_at)),
    }
}

fn facts_stage(records: &OnboardingRecords) -> OnboardingStage {
    let stage =
        |state, message: String| OnboardingStage::new(OnboardingStageName::FactsReported, state, message);
    let joined_at = records.joining.as_ref().and_then(|joining| joining.joined_at);
    let reported =
        records.cluster.as_ref().filter(|cluster| cluster.facts.is_reported() && joined_at.is_some());
    let Some(cluster) = reported else {
        let message = match joined_at {
            Some(_) => "the agent is connected and has not reported them yet",
            None => "waits for the agent to connect with its certificate",
        };
        let since = joined_at.or(records.certificate.map(|(created_at, _)| created_at));
        return stage(OnboardingState::Waiting, message.to_owned()).since(since);
    };
    let nodes = match cluster.facts.nodes {
        Some(1) => ", 1 node".to_owned(),
        Some(nodes) => format!(", {nodes} nodes"),
        None => String::new(),
    };
    let message = format!("Kubernetes {}{nodes}", cluster.facts.kubernetes_version);
    stage(OnboardingState::Done, message).since(joined_at)
}

fn online_stage(name: &str, records: &OnboardingRecords, now: Timestamp) -> OnboardingStage {
    let stage = |state, message: String| OnboardingStage::new(OnboardingStageName::Online, state, message);
    let Some(cluster) = &records.cluster else { return stage(OnboardingState::Pending, String::new()) };
    if cluster.connectivity == Connectivity::Online {
        let is_confirmed = cluster.pending_facts().is_empty();
        let online = stage(OnboardingState::Done, "its heartbeats arrive".to_owned());
        return match is_confirmed {
            true => online,
            false => online.hint(format!(
                "Confirm its facts on the page of {name}: until then no placement can select by its region or provider."
            )),
        };
    }
    let message = match cluster.last_seen {
        Some(seen) => format!("its last heartbeat was {} ago", seen.format_age(now)),
        None => "waits for the first heartbeat".to_owned(),
    };
    stage(OnboardingState::Waiting, message).since(cluster.last_seen).hint(format!(
        "Check the log of its agent: kubectl --context {name} -n flotilla-agent logs deployment/flotilla-agent."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::id::{ClusterId, JoinTokenId};
    use crate::kubernetes::labels::Labels;
    use crate::model::cluster::{ClusterFacts, ClusterKind};

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn token(number: u64, created: i64) -> JoinToken {
        JoinToken {
            id: JoinTokenId::from_parts(number, 1),
            cluster_name: Some("eu-1".to_owned()),
            labels: Labels::new(),
            auto_accept: false,
            max_uses: 1,
            uses: 0,
            created_by: "ana".to_owned(),
            created_at: at(created),
            expires_at: at(created + 1_000),
            revoked_at: None,
        }
    }

    fn registration(state: RegistrationState, token: &JoinToken) -> Registration {
        Registration {
            name: "eu-1".to_owned(),
            fingerprint: "ab".repeat(32),
            state,
            token: token.id,
            labels: Labels::new(),
            facts: ClusterFacts::default(),
            requested_at: at(20),
            cluster: None,
            decided_by: Some("ben".to_owned()),
        }
    }

    fn states(records: &OnboardingRecords, now: i64) -> String {
        let onboarding = evaluate_onboarding("eu-1", records.clone(), at(now));
        let first = |stage: &OnboardingStage| stage.state.as_str().chars().next().unwrap();
        onboarding.stages.iter().map(first).collect()
    }

    #[test]
    fn a_cluster_joins_stage_by_stage_and_each_waits_without_a_limit() {
        let mut records = OnboardingRecords { token: Some(token(1, 10)), ..OnboardingRecords::default() };
        assert_eq!(states(&records, 30), "dwpppp");
        let waiting = registration(RegistrationState::Pending, &token(1, 10));
        records.registration = Some(waiting.clone());
        assert_eq!(states(&records, 1_000_000), "ddwppp", "an expired token does not end a registration");
        records.registration = Some(Registration { state: RegistrationState::Accepted, ..waiting });
        records.joining = Some(JoinStatus { accepted_at: at(40), ..JoinStatus::default() });
        let cluster = Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, at(40));
        records.cluster = Some(cluster);
        assert_eq!(states(&records, 50), "dddwpp");
        records.certificate = Some((at(50), at(60)));
        assert_eq!(states(&records, 50), "ddddwp");
        records.joining.as_mut().unwrap().joined_at = Some(at(60));
        records.cluster.as_mut().unwrap().facts.kubernetes_version = "v1.36.3".to_owned();
        assert_eq!(states(&records, 70), "dddddw");
        records.cluster.as_mut().unwrap().connectivity = Connectivity::Online;
        assert_eq!(states(&records, 70), "dddddd");
    }

    #[test]
    fn a_stage_that_cannot_be_completed_says_what_to_do() {
        let expired = OnboardingRecords { token: Some(token(1, 10)), ..OnboardingRecords::default() };
        assert_eq!(states(&expired, 5_000), "dfpppp");
        let rejected = OnboardingRecords {
            registration: Some(registration(RegistrationState::Rejected, &token(1, 10))),
            decided_at: Some(at(30)),
            ..expired
        };
        let onboarding = evaluate_onboarding("eu-1", rejected.clone(), at(50));
        let current = onboarding.current().unwrap();
        assert_eq!((&*current.message, current.since), ("rejected by ben", Some(at(30))));
        assert!(!current.hint.is_empty());
        let again = OnboardingRecords { token: Some(token(2, 40)), ..rejected };
        assert_eq!(states(&again, 50), "dwpppp", "the new command waits for a new key");
    }

    #[test]
    fn a_key_of_another_token_is_foreign() {
        let mut other = registration(RegistrationState::Pending, &token(2, 0));
        let token = Some(token(1, 10));
        let records =
            OnboardingRecords { token, registration: Some(other.clone()), ..OnboardingRecords::default() };
        assert!(evaluate_onboarding("eu-1", records.clone(), at(30)).is_foreign);
        other.token = JoinTokenId::from_parts(1, 1);
        let records = OnboardingRecords { registration: Some(other), ..records };
        assert!(!evaluate_onboarding("eu-1", records, at(30)).is_foreign);
    }
}
