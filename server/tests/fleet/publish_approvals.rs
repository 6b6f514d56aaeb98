//! The approval that the project requires of every publish (S2-5).

use domain::project::PublishApproval;
use domain::rollout::{Approver, RolloutAction, RolloutState, RolloutStrategy, Wave};
use reqwest::{Method, StatusCode};
use wire::ProjectPut;

use super::*;

impl TestFleet {
    async fn require_approval(&self, approval: PublishApproval) {
        let revision = self.client.get_project().await.unwrap().revision;
        let put = ProjectPut { publish_approval: Some(approval), ..ProjectPut::default() };
        self.client.put_project(&put, revision).await.unwrap();
    }

    /// A client with another token of this user.
    async fn client_of(&self, name: &str) -> Client {
        self.client_with_role(name, Role::Admin).await
    }

    /// The same with a token of this role.
    async fn client_with_role(&self, name: &str, role: Role) -> Client {
        let user = self.hub.ensure_user(name, "correct horse battery").await.unwrap();
        let actor = Actor::new(name, ActorKind::Session(user), Role::Admin);
        let token = NewApiToken { role: Some(role), ..NewApiToken::new(role.as_str(), 1) };
        let token = self.hub.create_token(&actor, &token).await.unwrap().secret;
        Client::new(&self.url, &token).unwrap()
    }

    fn has_reached_a_cluster(&self) -> bool {
        (0..3).any(|cluster| self.deployment(cluster).is_some())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_5_a_publish_without_waves_reaches_no_cluster_before_another_user_approved_it() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        fleet.require_approval(PublishApproval::AnotherUser).await;
        // A change of the locked values by a client that does not know the approval leaves it.
        let revision = fleet.client.get_project().await.unwrap().revision;
        let put = json!({ "lockedValues": "region: eu\n" });
        let path = "/api/v1/projects/default";
        let (saved, _) = fleet.send_if_match(Method::PUT, path, &json!(revision), &put).await;
        assert_eq!(saved, StatusCode::OK);
        let (status, project) = fleet.send(Method::GET, path, Value::Null).await;
        assert_eq!((status, &project["publishApproval"]), (StatusCode::OK, &json!("anotherUser")));

        fleet.client.create_workload(&web_workload()).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let rollout = fleet.client.get_rollout("web", None).await.unwrap();
        assert_eq!(rollout.state, RolloutState::AwaitingApproval);
        let is_gated = |status: &WorkloadStatus| {
            let waves = status.rollout.iter().flat_map(|rollout| &rollout.waves);
            waves.map(|wave| wave.gated).sum::<u32>() == 3
        };
        fleet.wait_for_web(is_gated).await;
        // The publisher can't approve, with no token, and an action of another kind is no approval.
        let other_token = fleet.client_of("ada").await;
        for client in [&fleet.client, &other_token] {
            let refused = client.control_rollout("web", RolloutAction::Approve).await.unwrap_err();
            assert!(refused.to_string().contains("the approval of another user"), "{refused}");
        }
        fleet.client.control_rollout("web", RolloutAction::Pause).await.unwrap();
        fleet.client.control_rollout("web", RolloutAction::Resume).await.unwrap();
        assert!(fleet.client.control_rollout("web", RolloutAction::Promote).await.is_err());
        // The rule is that of the time of the publish.
        fleet.require_approval(PublishApproval::None).await;
        let refused = fleet.client.control_rollout("web", RolloutAction::Approve).await.unwrap_err();
        assert!(refused.to_string().contains("the approval of another user"), "{refused}");
        assert!(!fleet.has_reached_a_cluster());

        let approved =
            fleet.client_of("ben").await.control_rollout("web", RolloutAction::Approve).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        let (_, release) = fleet
            .send(Method::GET, "/api/v1/projects/default/workloads/web/releases/eu-1", Value::Null)
            .await;
        let text = release.to_string();
        let at = approved.waves[0].approved_at.unwrap();
        assert!(text.contains(r#""by":"ben""#) && text.contains(&at.to_string()), "{text}");
        fleet.stop().await;
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_5_waves_that_a_publish_brings_can_not_weaken_what_the_project_requires() {
    with_timeout(Box::pin(async {
        let fleet = TestFleet::start().await;
        fleet.require_approval(PublishApproval::AnotherUser).await;
        let mut new = web_workload();
        let waves = vec![Wave { name: "all".into(), ..Wave::default() }];
        new.spec.rollout =
            RolloutStrategy { waves, approver: Approver::Anyone, ..RolloutStrategy::default() };
        fleet.client.create_workload(&new).await.unwrap();
        fleet.client.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let rollout = fleet.client.get_rollout("web", None).await.unwrap();
        assert_eq!(rollout.state, RolloutState::AwaitingApproval);
        assert_eq!(rollout.strategy.approver, Approver::AnotherUser);
        // A publish whose approval anybody may give, by a client that other users do not need.
        fleet.require_approval(PublishApproval::Anyone).await;
        let ben = fleet.client_of("ben").await;
        ben.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let second = fleet.client.get_rollout("web", None).await.unwrap();
        assert_eq!((&second.state, second.published_by.as_str()), (&RolloutState::AwaitingApproval, "ben"));
        assert_eq!(second.strategy.approver, Approver::Anyone);
        assert!(!fleet.has_reached_a_cluster());

        // Who published with one role can't approve with another one.
        fleet.require_approval(PublishApproval::AnotherUser).await;
        let publisher = fleet.client_with_role("pat", Role::Publisher).await;
        publisher.publish_workload("web", &PublishRequest::default(), None).await.unwrap();
        let forbidden = publisher.control_rollout("web", RolloutAction::Approve).await.unwrap_err();
        assert_eq!(forbidden.code(), "Forbidden", "{forbidden}");
        let approver = fleet.client_with_role("pat", Role::Approver).await;
        let refused = approver.control_rollout("web", RolloutAction::Approve).await.unwrap_err();
        assert!(refused.to_string().contains("the approval of another user"), "{refused}");
        assert!(!fleet.has_reached_a_cluster());
        ben.control_rollout("web", RolloutAction::Approve).await.unwrap();
        fleet.wait_for_web(|status| status.counts.healthy() == 3).await;
        fleet.stop().await;
    }))
    .await;
}
