//! How a cluster joins: tokens, registrations that wait for a person, and the conditions of a cluster.

use serde::{Deserialize, Serialize};

use crate::cluster::{Cluster, ClusterFacts, ClusterKind, Reach};
use crate::finding::Finding;
use crate::id::{ClusterId, JoinTokenId};
use crate::labels::Labels;
use crate::time::Timestamp;

/// How long a join token lives when nothing else is said, in minutes (`product.md` F.6).
pub const DEFAULT_TOKEN_MINUTES: u32 = 24 * 60;
/// Longest life of a join token, in minutes: thirty days.
pub const MOST_TOKEN_MINUTES: u32 = 30 * 24 * 60;
/// Most clusters that one join token lets in.
pub const MOST_TOKEN_USES: u32 = 10_000;

/// A join token as lists show it; its secret is nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct JoinToken {
    /// Its id.
    pub id: JoinTokenId,
    /// The only name it lets in, if it is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Labels that clusters get which join with it.
    #[serde(default)]
    pub labels: Labels,
    /// Whether clusters that join with it need no person's word.
    pub auto_accept: bool,
    /// How many keys it lets in.
    pub max_uses: u32,
    /// How many it has let in.
    pub uses: u32,
    /// Who made it.
    pub created_by: String,
    /// When.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// When it was ended before its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

impl JoinToken {
    /// Whether it lets in a new key under this name at `now`.
    pub fn admits(&self, name: &str, now: Timestamp) -> bool {
        self.revoked_at.is_none()
            && now < self.expires_at
            && self.uses < self.max_uses
            && self.cluster_name.as_deref().is_none_or(|bound| bound == name)
    }

    /// Whether a cluster of this name needs no person's word. One that is there already is taken over without one only
    /// by a token that was made for just this name.
    pub fn accepts(&self, name: &str, exists: bool) -> bool {
        self.auto_accept && (!exists || self.cluster_name.as_deref() == Some(name))
    }
}

/// A join token to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NewJoinToken {
    /// The only name it lets in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_name: Option<String>,
    /// Labels that clusters get which join with it.
    pub labels: Labels,
    /// Whether clusters that join with it need no person's word.
    pub auto_accept: bool,
    /// How many keys it lets in, 1 to 10 000.
    pub max_uses: u32,
    /// How long it lives, in minutes, at most thirty days.
    pub minutes: u32,
}

impl Default for NewJoinToken {
    fn default() -> Self {
        Self {
            cluster_name: None,
            labels: Labels::new(),
            auto_accept: false,
            max_uses: 1,
            minutes: DEFAULT_TOKEN_MINUTES,
        }
    }
}

impl NewJoinToken {
    /// What is wrong with it.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = crate::cluster::check_labels(&self.labels);
        let name = self.cluster_name.as_deref();
        findings.extend(name.and_then(|name| crate::name::check_label("Cluster name", name)));
        if !(1..=MOST_TOKEN_MINUTES).contains(&self.minutes) {
            let message =
                format!("A join token lives 1 to {MOST_TOKEN_MINUTES} minutes, not {}.", self.minutes);
            findings.push(Finding::error("TokenLife", message, "A day (1440) suits most uses."));
        }
        if !(1..=MOST_TOKEN_USES).contains(&self.max_uses) {
            let message =
                format!("A join token lets in 1 to {MOST_TOKEN_USES} clusters, not {}.", self.max_uses);
            findings.push(Finding::error("TokenUses", message, "One token for each cluster is safest."));
        }
        if name.is_some() && self.max_uses > 1 {
            let message = "A token that is bound to one name can be used once only.";
            findings.push(Finding::error("TokenUses", message, "Leave the name out, or the number of uses."));
        }
        findings
    }
}

/// How far a registration is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RegistrationState {
    /// It waits for a person.
    Pending,
    /// It was accepted.
    Accepted,
    /// A person refused it, or its cluster's certificates were revoked.
    Rejected,
}

impl RegistrationState {
    /// The word the database keeps, the same as in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Rejected => "rejected",
        }
    }
}

/// An agent that asked to join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// The name it wants to have.
    pub name: String,
    /// SHA-256 of its public key, in hex: what a person compares with what the agent prints.
    pub fingerprint: String,
    /// How far it is.
    pub state: RegistrationState,
    /// The token it came with.
    pub token: JoinTokenId,
    /// Labels it will get.
    #[serde(default)]
    pub labels: Labels,
    /// What it says of its cluster; without the list of kinds.
    #[serde(default)]
    pub facts: ClusterFacts,
    /// Since when it asks.
    pub since: Timestamp,
    /// The cluster it became.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// What a condition is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConditionKind {
    /// A person, or a token that needs none, let it in.
    Accepted,
    /// Its agent has come and its certificate holds.
    Joined,
    /// It is heard from.
    Reachable,
    /// Its API server has told of itself, and pods find a node.
    Healthy,
}

impl ConditionKind {
    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Joined => "Joined",
            Self::Reachable => "Reachable",
            Self::Healthy => "Healthy",
        }
    }
}

/// One condition of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterCondition {
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: ConditionKind,
    /// Whether it is so.
    pub status: bool,
    /// The word programs compare.
    pub reason: String,
    /// The sentence people read.
    pub message: String,
    /// What a person does about it; empty while it is true.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub remedy: String,
    /// Since when, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
}

/// What is known of how a cluster joined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Joining {
    /// Who let it in.
    pub accepted_by: String,
    /// When.
    pub accepted_at: Timestamp,
    /// When its agent came for the first time.
    pub joined_at: Option<Timestamp>,
    /// The version its agent said it has.
    pub agent_version: String,
    /// When its certificates were revoked, if they are.
    pub revoked_at: Option<Timestamp>,
}

/// The conditions of a cluster, in the order in which they come true.
pub fn conditions(cluster: &Cluster, joining: Option<&Joining>) -> Vec<ClusterCondition> {
    let mut all = match joining {
        Some(joining) => vec![accepted(joining), joined(joining)],
        None if cluster.kind == ClusterKind::Agent => Vec::new(),
        None => vec![served(cluster)],
    };
    all.push(reachable(cluster));
    all.push(healthy(cluster));
    for condition in &mut all {
        condition.remedy = if condition.status { String::new() } else { remedy(condition, cluster) };
    }
    all
}

/// What a person does where a condition is not true; by its reason, which is exact.
fn remedy(condition: &ClusterCondition, cluster: &Cluster) -> String {
    let name = &cluster.name;
    match (condition.kind, &*condition.reason) {
        (ConditionKind::Accepted | ConditionKind::Joined, "Revoked") => {
            format!("Give it new manifests: flotilla cluster install-manifest {name}, then accept it again.")
        }
        (ConditionKind::Joined, _) => {
            "Look at the agent's log: kubectl -n flotilla-agent logs deployment/flotilla-agent.".to_owned()
        }
        (ConditionKind::Reachable, _) if cluster.kind == ClusterKind::Agent => {
            "Look whether its agent runs and can reach this server: kubectl -n flotilla-agent logs \
             deployment/flotilla-agent. What is published meanwhile is caught up with."
                .to_owned()
        }
        (ConditionKind::Reachable, _) => {
            "Look whether the server can reach its API server with the kubeconfig.".to_owned()
        }
        (ConditionKind::Healthy, "NotToldYet") => "Nothing: it tells once its agent is connected.".to_owned(),
        (ConditionKind::Healthy, "NotHeardFrom") => "First make it reachable.".to_owned(),
        (ConditionKind::Healthy, _) => "Look at its nodes: kubectl get nodes.".to_owned(),
        (ConditionKind::Accepted, _) => format!("Accept it: flotilla cluster accept {name}."),
    }
}

fn condition(kind: ConditionKind, status: bool, reason: &str, message: String) -> ClusterCondition {
    ClusterCondition { kind, status, reason: reason.to_owned(), message, remedy: String::new(), since: None }
}

fn reachable(cluster: &Cluster) -> ClusterCondition {
    let status = cluster.reach == Reach::Online;
    let message = if status { "It is heard from." } else { "It is not heard from." };
    let since = if status { None } else { cluster.last_seen };
    let message = if since.is_some() { "It was last heard from" } else { message };
    let told = condition(ConditionKind::Reachable, status, cluster.reach.word(), message.to_owned());
    ClusterCondition { since, ..told }
}

fn healthy(cluster: &Cluster) -> ClusterCondition {
    let told = |status, reason, message| condition(ConditionKind::Healthy, status, reason, message);
    let facts = &cluster.facts;
    if !facts.are_known() {
        return told(false, "NotToldYet", "It has not told of itself yet.".to_owned());
    }
    if cluster.reach == Reach::Offline {
        return told(false, "NotHeardFrom", "Nobody knows while it is not heard from.".to_owned());
    }
    let (nodes, ready) =
        facts.node_pools.iter().fold((0, 0), |(nodes, ready), pool| (nodes + pool.nodes, ready + pool.ready));
    match (facts.nodes, ready) {
        (None, _) => told(
            true,
            "ApiServerAnswers",
            "Its API server answers; its nodes are not shown to us.".to_owned(),
        ),
        (Some(0), _) => told(false, "NoNodes", "It has no nodes.".to_owned()),
        (Some(_), 0) => told(false, "NoNodeTakesPods", format!("None of its {nodes} nodes takes pods.")),
        (Some(_), _) => told(true, "NodesTakePods", format!("{ready} of {nodes} nodes take pods.")),
    }
}

fn accepted(joining: &Joining) -> ClusterCondition {
    let revoked = joining.revoked_at.is_some();
    let message = if revoked {
        "Its certificates were revoked: it has to register again.".to_owned()
    } else {
        format!("Accepted by {}.", joining.accepted_by)
    };
    ClusterCondition {
        kind: ConditionKind::Accepted,
        status: !revoked,
        reason: if revoked { "Revoked" } else { "Accepted" }.to_owned(),
        message,
        remedy: String::new(),
        since: joining.revoked_at.or(Some(joining.accepted_at)),
    }
}

fn joined(joining: &Joining) -> ClusterCondition {
    let status = joining.joined_at.is_some() && joining.revoked_at.is_none();
    let (reason, message) = match joining.joined_at {
        _ if joining.revoked_at.is_some() => ("Revoked", "Its agent is no longer let in.".to_owned()),
        Some(_) => ("AgentCame", format!("Its agent has version {}.", joining.agent_version)),
        None => ("Waiting", "Its agent has not come yet.".to_owned()),
    };
    ClusterCondition { since: joining.joined_at, ..condition(ConditionKind::Joined, status, reason, message) }
}

fn served(cluster: &Cluster) -> ClusterCondition {
    ClusterCondition {
        kind: ConditionKind::Accepted,
        status: true,
        reason: "ServedByTheServer".to_owned(),
        message: "The server serves it itself.".to_owned(),
        remedy: String::new(),
        since: Some(cluster.created_at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> JoinToken {
        JoinToken {
            id: JoinTokenId::from_parts(1, 1),
            cluster_name: None,
            labels: Labels::new(),
            auto_accept: true,
            max_uses: 1,
            uses: 0,
            created_by: "ana".to_owned(),
            created_at: Timestamp::from_millis(0),
            expires_at: Timestamp::from_millis(10),
            revoked_at: None,
        }
    }

    #[test]
    fn a_token_admits_until_it_is_used_up_over_or_revoked_and_only_the_name_it_is_bound_to() {
        let at = Timestamp::from_millis;
        assert!(token().admits("eu-1", at(9)));
        assert!(!token().admits("eu-1", at(10)));
        assert!(!JoinToken { uses: 1, ..token() }.admits("eu-1", at(0)));
        assert!(!JoinToken { revoked_at: Some(at(0)), ..token() }.admits("eu-1", at(0)));
        let bound = JoinToken { cluster_name: Some("eu-1".to_owned()), ..token() };
        assert!(bound.admits("eu-1", at(0)) && !bound.admits("eu-10", at(0)) && !bound.admits("eu", at(0)));
    }

    #[test]
    fn a_cluster_that_is_there_is_taken_over_without_a_person_only_by_a_token_for_its_name() {
        assert!(token().accepts("eu-1", false) && !token().accepts("eu-1", true));
        let bound = JoinToken { cluster_name: Some("eu-1".to_owned()), ..token() };
        assert!(bound.accepts("eu-1", true));
        assert!(!JoinToken { auto_accept: false, ..bound }.accepts("eu-1", true));
    }

    #[test]
    fn a_new_token_is_bounded() {
        assert!(NewJoinToken::default().check().is_empty());
        let wrong = [
            NewJoinToken { minutes: 0, ..NewJoinToken::default() },
            NewJoinToken { minutes: MOST_TOKEN_MINUTES + 1, ..NewJoinToken::default() },
            NewJoinToken { max_uses: 0, ..NewJoinToken::default() },
            NewJoinToken { cluster_name: Some("No".to_owned()), ..NewJoinToken::default() },
            NewJoinToken { cluster_name: Some("eu".to_owned()), max_uses: 2, ..NewJoinToken::default() },
        ];
        for wrong in wrong {
            assert_eq!(wrong.check().len(), 1, "{wrong:?}");
        }
    }

    #[test]
    fn every_condition_that_is_not_true_says_what_to_do() {
        let mut cluster =
            Cluster::new(ClusterId::from_parts(1, 1), "eu-1", ClusterKind::Agent, Timestamp::from_millis(0));
        let told = |cluster: &Cluster, joining: &Joining| -> Vec<(&'static str, bool, String)> {
            let all = conditions(cluster, Some(joining));
            assert!(all.iter().all(|one| one.status == one.remedy.is_empty()), "{all:?}");
            all.into_iter().map(|one| (one.kind.word(), one.status, one.reason)).collect()
        };
        let mut joining = Joining { accepted_by: "ana".to_owned(), ..Joining::default() };
        let of = |word: &'static str, status: bool, reason: &str| (word, status, reason.to_owned());
        assert_eq!(
            told(&cluster, &joining),
            [
                of("Accepted", true, "Accepted"),
                of("Joined", false, "Waiting"),
                of("Reachable", false, "Offline"),
                of("Healthy", false, "NotToldYet")
            ]
        );
        joining.joined_at = Some(Timestamp::from_millis(5));
        cluster.reach = Reach::Online;
        cluster.facts.kubernetes_version = "v1.36.3".to_owned();
        cluster.facts.nodes = Some(2);
        cluster.facts.node_pools = vec![crate::cluster::NodePool { nodes: 2, ..Default::default() }];
        assert_eq!(told(&cluster, &joining)[3], of("Healthy", false, "NoNodeTakesPods"));
        cluster.facts.node_pools[0].ready = 1;
        assert!(told(&cluster, &joining).iter().all(|(_, status, _)| *status));
        joining.revoked_at = Some(Timestamp::from_millis(9));
        assert_eq!(told(&cluster, &joining)[0], of("Accepted", false, "Revoked"));
    }
}
