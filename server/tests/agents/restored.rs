//! The hub's database is restored from an older backup (P24).

use domain::release::ReleaseState;

use crate::test_server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn p24_a_hub_restored_from_a_backup_rolls_nothing_back_until_a_person_publishes() {
    let mut server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    server.stop().await;
    let backup = server.copy_database().await;
    let mut server = server.restart().await;
    for value in ["2", "3", "4"] {
        server.publish("web", value, &["eu-1"]).await;
        member.wait_for_value("web", Some(value)).await;
        server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    }
    server.stop().await;
    let server = server.restore(&backup).await;
    server.wait_for_message("web", "eu-1", "restored from an older backup").await;
    server.wait_for_state("web", "eu-1", ReleaseState::Blocked).await;
    assert_eq!(member.config_value("web").as_deref(), Some("4"));
    // Nor does a restarted agent.
    member.stop().await;
    member.start(None);
    server.publish("other", "1", &["eu-1"]).await;
    server.wait_for_state("other", "eu-1", ReleaseState::Healthy).await;
    server.wait_for_message("web", "eu-1", "restored from an older backup").await;
    assert_eq!(member.config_value("web").as_deref(), Some("4"));

    server.publish("web", "5", &["eu-1"]).await;
    member.wait_for_value("web", Some("5")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p24_an_agent_whose_session_a_restored_hub_does_not_know_starts_a_new_one() {
    let mut server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    server.stop().await;
    let backup = server.copy_database().await;
    let mut server = server.restart().await;
    member.stop().await;
    member.start(None);
    server.publish("other", "1", &["eu-1"]).await;
    server.wait_for_state("other", "eu-1", ReleaseState::Healthy).await;
    server.stop().await;
    let server = server.restore(&backup).await;
    // The agent runs on; its session is newer than every session of the backup.
    server.publish("third", "1", &["eu-1"]).await;
    server.wait_for_state("third", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}
