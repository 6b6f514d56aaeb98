//! Lost messages and broken connections (P6).

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use agent::{HttpLink, Link, LinkError};
use domain::helm_release::{HelmReleaseReading, HelmReleaseRequest};
use domain::plan::ClusterPlan;
use domain::release::ReleaseState;
use domain::report::{DesiredState, Heartbeat, ReportAck, ReportBatch};
use domain::schema::EncodedSchema;
use domain::{Digest, PlanId, ReleaseId};
use rand::Rng as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::test_server::{MemberCluster, TestServer, wait_until};

#[derive(Default)]
struct MessageCounts {
    sent: AtomicU64,
    lost: AtomicU64,
}

/// A link that loses messages: half of them as requests, half as responses.
struct LossyLink {
    inner: HttpLink,
    counts: Arc<MessageCounts>,
    /// Percentage of lost messages.
    loss_percent: u32,
    /// Whether schema uploads succeed.
    schema_uploads: bool,
}

impl LossyLink {
    async fn maybe_lose<T>(
        &self,
        call: impl Future<Output = Result<T, LinkError>> + Send,
    ) -> Result<T, LinkError> {
        self.counts.sent.fetch_add(1, Relaxed);
        let fate = rand::rng().random_range(0..100);
        let lost = || {
            self.counts.lost.fetch_add(1, Relaxed);
            Err(LinkError::Unreachable("lost".to_owned()))
        };
        if fate < self.loss_percent / 2 {
            return lost();
        }
        let answer = call.await;
        if fate < self.loss_percent { lost() } else { answer }
    }
}

impl Link for LossyLink {
    async fn start_session(&self) -> Result<i64, LinkError> {
        self.maybe_lose(self.inner.start_session()).await
    }

    async fn fetch_desired_state(&self, since: i64) -> Result<DesiredState, LinkError> {
        self.maybe_lose(self.inner.fetch_desired_state(since)).await
    }

    async fn fetch_bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.maybe_lose(self.inner.fetch_bundle(release, digest)).await
    }

    async fn fetch_planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.maybe_lose(self.inner.fetch_planned_bundle(plan, digest)).await
    }

    async fn submit_cluster_plan(&self, plan: PlanId, effect: ClusterPlan) -> Result<(), LinkError> {
        self.maybe_lose(self.inner.submit_cluster_plan(plan, effect)).await
    }

    async fn submit_helm_release(
        &self,
        request: &HelmReleaseRequest,
        reading: HelmReleaseReading,
    ) -> Result<(), LinkError> {
        self.maybe_lose(self.inner.submit_helm_release(request, reading)).await
    }

    async fn send_reports(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        self.maybe_lose(self.inner.send_reports(batch)).await
    }

    async fn upload_schema(&self, schema: &EncodedSchema) -> Result<(), LinkError> {
        if !self.schema_uploads {
            self.counts.lost.fetch_add(1, Relaxed);
            return Err(LinkError::Unreachable("lost".to_owned()));
        }
        self.maybe_lose(self.inner.upload_schema(schema)).await
    }

    async fn send_heartbeat(&self, heartbeat: Heartbeat) -> Result<(), LinkError> {
        self.maybe_lose(self.inner.send_heartbeat(heartbeat)).await
    }
}

/// Publishes, changes and unpublishes; asserts that the cluster and the hub's state converge.
async fn assert_converges(server: &TestServer, member: &MemberCluster) {
    let names = ["a", "b", "c", "d", "e"];
    for value in ["1", "2", "3", "4", "5", "6"] {
        for name in names {
            server.publish(name, value, &["eu-1"]).await;
        }
    }
    for name in &names[..2] {
        server.hub.unpublish_workload(&server.actor, name, Default::default()).await.unwrap();
    }
    for name in &names[..2] {
        server.wait_for_state(name, "eu-1", ReleaseState::Removed).await;
        assert_eq!(member.config_value(name), None);
    }
    for name in &names[2..] {
        member.wait_for_value(name, Some("6")).await;
        server.wait_for_state(name, "eu-1", ReleaseState::Healthy).await;
    }
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let removals = names.map(|name| {
        let removed = format!("{name} on eu-1: Removing → Removed.");
        events.iter().filter(|event| event.message == removed).count()
    });
    assert!(removals.iter().all(|count| *count <= 1), "a repeated message is recorded once: {removals:?}");
}

/// Publishes a workload until enough went wrong; each publish waits for its result, because pending ones are one message.
async fn publish_until(server: &TestServer, what: &str, is_enough: impl Fn() -> bool) {
    let begun = tokio::time::Instant::now();
    let mut value = 0_u32;
    while !is_enough() {
        assert!(begun.elapsed() < testkit::patience(), "timeout: {what}");
        value += 1;
        server.publish("more", &value.to_string(), &["eu-1"]).await;
        server.wait_for_state("more", "eu-1", ReleaseState::Healthy).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_with_30_percent_of_messages_lost_everything_arrives_and_is_recorded_once() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let member = MemberCluster::new("eu-1");
    let counts = Arc::<MessageCounts>::default();
    let link_counts = counts.clone();
    member.start_over_link(Some(server.join_config("eu-1", &token)), |inner| LossyLink {
        inner,
        counts: link_counts,
        loss_percent: 30,
        schema_uploads: true,
    });
    server.wait_for_condition("eu-1", "AgentConnected").await;
    assert_converges(&server, &member).await;
    publish_until(&server, "three messages are lost", || counts.lost.load(Relaxed) >= 3).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_schema_upload_blocks_no_report() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let member = MemberCluster::new("eu-1");
    let counts = Arc::<MessageCounts>::default();
    let link_counts = counts.clone();
    let link = |inner| LossyLink { inner, counts: link_counts, loss_percent: 0, schema_uploads: false };
    member.start_over_link(Some(server.join_config("eu-1", &token)), link);
    server.wait_for_condition("eu-1", "AgentConnected").await;
    wait_until("a schema upload has failed", async || counts.lost.load(Relaxed) > 0).await;
    assert_converges(&server, &member).await;
    member.stop().await;
}

/// A TCP proxy that breaks each connection after a random number of bytes.
async fn start_breaking_proxy(target: SocketAddr) -> (SocketAddr, Arc<AtomicU64>, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, broken) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
    let count = broken.clone();
    let accepting = tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            // A handshake takes about 3,000 bytes: some connections break in it.
            let (count, left) = (count.clone(), rand::rng().random_range(2_000..8_000));
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(target).await else { return };
                if forward_bytes(near, far, left).await {
                    count.fetch_add(1, Relaxed);
                }
            });
        }
    });
    (address, broken, AbortOnDropHandle::new(accepting))
}

/// Forwards bytes until one side closes (false) or `left` bytes have passed (true).
async fn forward_bytes(near: TcpStream, far: TcpStream, mut left: usize) -> bool {
    // Without this, segments are coalesced and the connection breaks at fewer positions.
    near.set_nodelay(true).unwrap();
    far.set_nodelay(true).unwrap();
    let ((mut near_in, mut near_out), (mut far_in, mut far_out)) = (near.into_split(), far.into_split());
    let (mut up, mut down) = (vec![0; 1_024], vec![0; 1_024]);
    while left > 0 {
        let done = tokio::select! {
            read = near_in.read(&mut up) => match read {
                Ok(length @ 1..) => far_out.write_all(&up[..length.min(left)]).await.map(|()| length),
                _ => return false,
            },
            read = far_in.read(&mut down) => match read {
                Ok(length @ 1..) => near_out.write_all(&down[..length.min(left)]).await.map(|()| length),
                _ => return false,
            },
        };
        let Ok(length) = done else { return false };
        left = left.saturating_sub(length);
    }
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_over_breaking_connections_everything_arrives_and_is_recorded_once() {
    let server = TestServer::open().await;
    let target = server.agent_endpoint.url.strip_prefix("https://").unwrap().parse().unwrap();
    let (address, broken, _proxy) = start_breaking_proxy(target).await;
    let token = server.create_auto_accept_token().await;
    let member = MemberCluster::new("eu-1");
    let mut join_config = server.join_config("eu-1", &token);
    join_config.hub = format!("https://{address}");
    member.start(Some(join_config));
    server.wait_for_condition("eu-1", "AgentConnected").await;
    assert_converges(&server, &member).await;
    publish_until(&server, "five connections are broken", || broken.load(Relaxed) >= 5).await;
    member.stop().await;
}
