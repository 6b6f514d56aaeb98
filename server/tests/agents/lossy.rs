//! Messages are lost, and connections break in the middle of them (P6).

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use agent::{HttpLink, Link, LinkError};
use domain::plan::Effect;
use domain::release::State;
use domain::report::{ReportAck, ReportBatch, Wants};
use domain::schema::Written;
use domain::{Digest, PlanId, ReleaseId};
use rand::Rng as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::house::{House, Member, until};

#[derive(Default)]
struct Counted {
    sent: AtomicU64,
    lost: AtomicU64,
}

/// A link on which messages are lost: half of them before the hub has them, half of them as its answers.
struct Lossy {
    inner: HttpLink,
    counted: Arc<Counted>,
    /// How many of a hundred.
    loses: u32,
    /// Whether a schema ever gets through.
    schemas: bool,
}

impl Lossy {
    async fn pass<T>(&self, call: impl Future<Output = Result<T, LinkError>> + Send) -> Result<T, LinkError> {
        self.counted.sent.fetch_add(1, Relaxed);
        let fate = rand::rng().random_range(0..100);
        let lost = || {
            self.counted.lost.fetch_add(1, Relaxed);
            Err(LinkError::Unreachable("lost".to_owned()))
        };
        if fate < self.loses / 2 {
            return lost();
        }
        let answer = call.await;
        if fate < self.loses { lost() } else { answer }
    }
}

impl Link for Lossy {
    async fn begin(&self) -> Result<i64, LinkError> {
        self.pass(self.inner.begin()).await
    }

    async fn wants(&self, since: i64) -> Result<Wants, LinkError> {
        self.pass(self.inner.wants(since)).await
    }

    async fn bundle(&self, release: ReleaseId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.pass(self.inner.bundle(release, digest)).await
    }

    async fn planned_bundle(&self, plan: PlanId, digest: &Digest) -> Result<Vec<u8>, LinkError> {
        self.pass(self.inner.planned_bundle(plan, digest)).await
    }

    async fn answer(&self, plan: PlanId, effect: Effect) -> Result<(), LinkError> {
        self.pass(self.inner.answer(plan, effect)).await
    }

    async fn report(&self, batch: ReportBatch) -> Result<ReportAck, LinkError> {
        self.pass(self.inner.report(batch)).await
    }

    async fn schema(&self, schema: &Written) -> Result<(), LinkError> {
        if !self.schemas {
            self.counted.lost.fetch_add(1, Relaxed);
            return Err(LinkError::Unreachable("lost".to_owned()));
        }
        self.pass(self.inner.schema(schema)).await
    }

    async fn heartbeat(&self) -> Result<(), LinkError> {
        self.pass(self.inner.heartbeat()).await
    }
}

/// Publishes, changes and takes back; in the end the cluster and the hub's word about it are as they should be.
async fn converges(house: &House, member: &Member) {
    let names = ["a", "b", "c", "d", "e"];
    for value in ["1", "2", "3", "4", "5", "6"] {
        for name in names {
            house.publish(name, value, &["eu-1"]).await;
        }
    }
    for name in &names[..2] {
        house.hub.workload_unpublish(&house.actor, name, Default::default()).await.unwrap();
    }
    for name in &names[..2] {
        house.until_state(name, "eu-1", State::Removed).await;
        assert_eq!(member.value(name), None);
    }
    for name in &names[2..] {
        member.until_value(name, Some("6")).await;
        house.until_state(name, "eu-1", State::Healthy).await;
    }
    let said = house.hub.events_after(0, 500).await.unwrap();
    let twice = names.map(|name| {
        let removed = format!("{name} on eu-1: Removing → Removed.");
        said.iter().filter(|event| event.message == removed).count()
    });
    assert!(twice.iter().all(|count| *count <= 1), "a repeated message counts once: {twice:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p6_with_three_of_ten_messages_lost_everything_still_arrives_and_counts_once() {
    let house = House::open().await;
    let token = house.open_token().await;
    let member = Member::new("eu-1");
    let counted = Arc::<Counted>::default();
    let counts = counted.clone();
    member.start_over(Some(house.invitation("eu-1", &token)), |inner| Lossy {
        inner,
        counted,
        loses: 30,
        schemas: true,
    });
    house.until_condition("eu-1", "AgentCame").await;
    converges(&house, &member).await;
    member.stop().await;
    let (sent, lost) = (counts.sent.load(Relaxed), counts.lost.load(Relaxed));
    assert!(lost >= 3, "of {sent} messages {lost} were lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_never_gets_through_holds_no_report_up() {
    let house = House::open().await;
    let token = house.open_token().await;
    let member = Member::new("eu-1");
    let counted = Arc::<Counted>::default();
    let counts = counted.clone();
    let link = |inner| Lossy { inner, counted, loses: 0, schemas: false };
    member.start_over(Some(house.invitation("eu-1", &token)), link);
    house.until_condition("eu-1", "AgentCame").await;
    until("the hub has asked for the schema in vain", async || counts.lost.load(Relaxed) > 0).await;
    converges(&house, &member).await;
    member.stop().await;
}

/// Passes bytes on in both directions, and breaks each connection after some.
async fn breaking(target: SocketAddr) -> (SocketAddr, Arc<AtomicU64>, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, broken) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
    let count = broken.clone();
    let accepting = tokio::spawn(async move {
        while let Ok((near, _)) = listener.accept().await {
            // A handshake takes some three thousand bytes: some break even there.
            let (count, left) = (count.clone(), rand::rng().random_range(2_000..8_000));
            tokio::spawn(async move {
                let Ok(far) = TcpStream::connect(target).await else { return };
                if pass_on(near, far, left).await {
                    count.fetch_add(1, Relaxed);
                }
            });
        }
    });
    (address, broken, AbortOnDropHandle::new(accepting))
}

/// Passes bytes on until one side ends, or until so many have passed: then it says true.
async fn pass_on(near: TcpStream, far: TcpStream, mut left: usize) -> bool {
    // Without this the system waits for more bytes and the connection breaks nowhere in particular.
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
async fn p6_over_connections_that_break_anywhere_everything_still_arrives_and_counts_once() {
    let house = House::open().await;
    let target = house.access.url.strip_prefix("https://").unwrap().parse().unwrap();
    let (address, broken, _proxy) = breaking(target).await;
    let token = house.open_token().await;
    let member = Member::new("eu-1");
    let mut invitation = house.invitation("eu-1", &token);
    invitation.hub = format!("https://{address}");
    member.start(Some(invitation));
    house.until_condition("eu-1", "AgentCame").await;
    converges(&house, &member).await;
    member.stop().await;
    let broken = broken.load(Relaxed);
    assert!(broken >= 5, "only {broken} connections broke");
}
