//! Large bodies while they arrive. Their memory is reserved by what has arrived and one step, not by what they state; what they need while
//! they are used is reserved when they are complete. A client that sends slowly thus retains no more than it has sent.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::StatusCode;
use http_body_util::BodyExt as _;
use hub::run_blocking_in_place;
use source::client_shares::{ClientReservation, ClientShares};
use source::memory_budget::MemoryExhausted;

use crate::contended_rate::{ContendedWindow, RETAINED_PARTS, TooSlowForOthers};
use crate::input::{LARGE_BODY_BYTES, reject_unread_body};
use crate::problem::ApiError;

/// The shares in which a body is reserved, one after the other.
pub struct BodyShares {
    /// While it arrives.
    pub arriving: &'static ClientShares,
    /// When it is complete, until the response.
    pub complete: &'static ClientShares,
    /// The same for one of the usual size; without it, such a body needs no reservation.
    pub usual: Option<&'static ClientShares>,
    /// Whether they are messages of agents. A complete one that exceeds the share of its agent is reserved in full: two such messages are
    /// then not parsed at once. Its values count at any size, because nothing else reserves them.
    pub of_agents: bool,
}

/// What a body may need.
#[derive(Debug, Clone, Copy)]
pub struct BodyNeed {
    /// Most bytes that it may have.
    pub max_bytes: usize,
    /// What it needs when it is complete, as a multiple of its size.
    pub factor: u64,
    /// What its values need, if it has the usual size or is a message of an agent: those of another large one are reserved before it is
    /// parsed ([`crate::value_memory`]).
    pub estimate: Estimate,
}

/// How the values of a body are counted: what they need in bytes, or why the body is refused.
pub type Estimate = fn(&[u8]) -> Result<u64, ApiError>;

/// A body of at most this many bytes needs no reservation: a client has as many of them as connections.
pub const SMALL_BODY_BYTES: usize = 4 << 10;

/// How long a window is in which a part of a large body has to arrive while others lack memory for theirs. They wait for 10 s.
const CONTENDED_WINDOW: Duration = Duration::from_secs(4);

/// Why a body was not received.
pub enum BodyNotReceived {
    /// There was no memory for it.
    Busy(MemoryExhausted),
    /// It is too large, or did not arrive.
    Refused(ApiError),
}

impl From<MemoryExhausted> for BodyNotReceived {
    fn from(exhausted: MemoryExhausted) -> Self {
        Self::Busy(exhausted)
    }
}

impl From<TooSlowForOthers> for BodyNotReceived {
    fn from(error: TooSlowForOthers) -> Self {
        let detail = format!("The body arrived too slowly: {error}. Nothing was stored. Send it again.");
        Self::Refused(ApiError::new(StatusCode::REQUEST_TIMEOUT, "Timeout", detail))
    }
}

/// Receives a body, with the reservation of what it needs; without one if it is small.
///
/// # Errors
/// See [`BodyNotReceived`].
pub async fn receive(
    shares: &BodyShares,
    client: String,
    mut body: Body,
    need: BodyNeed,
) -> Result<(Bytes, Option<ClientReservation>), BodyNotReceived> {
    let mut bytes = Vec::new();
    let mut reserved = LARGE_BODY_BYTES;
    let mut arriving: Option<ClientReservation> = None;
    let mut window = ContendedWindow::new(CONTENDED_WINDOW);
    loop {
        let retained = if arriving.is_some() { reserved as u64 } else { 0 };
        let needed = || if shares.arriving.is_contended() { retained / RETAINED_PARTS } else { 0 };
        let Some(frame) = window.receive(body.frame(), needed).await? else { break };
        let frame = frame.map_err(|error| BodyNotReceived::Refused(reject_unread_body(&error)))?;
        let Ok(part) = frame.into_data() else { continue };
        window.record(part.len(), needed())?;
        let size = bytes.len() + part.len();
        if size > need.max_bytes {
            return Err(BodyNotReceived::Refused(ApiError::from_status(StatusCode::PAYLOAD_TOO_LARGE)));
        }
        if size > reserved {
            // With the size grows the step, so that a large body is not copied with every part.
            reserved = need.max_bytes.min(size + size / 4 + LARGE_BODY_BYTES);
            match &mut arriving {
                Some(memory) => memory.extend_in_full(reserved as u64).await?,
                None => {
                    let memory = shares.arriving.reserve_in_full(client.clone(), reserved as u64).await?;
                    arriving = Some(memory);
                }
            }
            bytes.reserve_exact(reserved.saturating_sub(bytes.len()));
        }
        bytes.extend_from_slice(&part);
    }
    bytes.shrink_to_fit();
    let complete = reserve_complete(shares, client, &bytes, need).await?;
    // Released only now: what waits for its turn to be used is in memory.
    drop(arriving);
    Ok((Bytes::from(bytes), complete))
}

/// Reserves what a complete body needs while it is used; `None` for one that needs no reservation.
async fn reserve_complete(
    shares: &BodyShares,
    client: String,
    bytes: &[u8],
    need: BodyNeed,
) -> Result<Option<ClientReservation>, BodyNotReceived> {
    let by_size = (bytes.len() as u64).saturating_mul(need.factor);
    if bytes.len() > LARGE_BODY_BYTES {
        let reserved = if shares.of_agents {
            let by_values =
                run_blocking_in_place(|| (need.estimate)(bytes)).map_err(BodyNotReceived::Refused)?;
            shares.complete.reserve_in_full(client, by_size.max(by_values)).await?
        } else {
            shares.complete.reserve(client, by_size).await?
        };
        return Ok(Some(reserved));
    }
    let Some(usual) = shares.usual.filter(|_| bytes.len() > SMALL_BODY_BYTES) else { return Ok(None) };
    let by_values = (need.estimate)(bytes).map_err(BodyNotReceived::Refused)?;
    Ok(Some(usual.reserve(client, by_size.max(by_values)).await?))
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::LazyLock;

    use futures::stream::{StreamExt as _, iter, pending};
    use source::memory_budget::MemoryBudget;

    use super::*;

    const NEED: BodyNeed = BodyNeed { max_bytes: 4 << 20, factor: 4, estimate: |_| Ok(0) };

    /// A body of so many KiB; its end arrives or not.
    fn body(kib: usize, has_end: bool) -> Body {
        let parts = iter(vec![Ok::<_, Infallible>(Bytes::from(vec![b'a'; 1 << 10])); kib]);
        if has_end { Body::from_stream(parts) } else { Body::from_stream(parts.chain(pending())) }
    }

    #[tokio::test]
    async fn p20_a_body_that_does_not_end_retains_what_it_has_sent_and_nothing_of_what_it_may_need() {
        static ARRIVING: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static COMPLETE: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 32 << 20));
        static OF_ARRIVING: ClientShares = ClientShares::new(&ARRIVING, "a test of one client");
        static OF_COMPLETE: ClientShares = ClientShares::new(&COMPLETE, "a test of one client");
        let shares =
            BodyShares { arriving: &OF_ARRIVING, complete: &OF_COMPLETE, usual: None, of_agents: false };
        let mut small = Box::pin(receive(&shares, "eve".to_owned(), body(64, false), NEED));
        assert!(futures::poll!(small.as_mut()).is_pending());
        assert_eq!(ARRIVING.free_bytes(), 8 << 20, "the first 64 KiB are those of a usual body");
        let mut large = Box::pin(receive(&shares, "eve".to_owned(), body(1_024, false), NEED));
        while ARRIVING.free_bytes() > 7 << 20 {
            assert!(futures::poll!(large.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
        assert!(ARRIVING.free_bytes() >= (8 << 20) - (3 << 19), "{}", ARRIVING.free_bytes());
        assert_eq!(COMPLETE.free_bytes(), 32 << 20);
        let received = receive(&shares, "ada".to_owned(), body(1_024, true), NEED).await;
        let Ok((bytes, Some(complete))) = received else { panic!("the body is received") };
        assert_eq!((bytes.len(), COMPLETE.free_bytes()), (1 << 20, 28 << 20));
        drop((small, large));
        assert_eq!(ARRIVING.free_bytes(), 8 << 20, "what is complete is reserved only once");
        drop(complete);
        assert_eq!(COMPLETE.free_bytes(), 32 << 20);
    }

    #[tokio::test(start_paused = true)]
    async fn p20_bodies_that_stop_arriving_end_as_soon_as_others_lack_their_memory() {
        static ARRIVING: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static COMPLETE: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 32 << 20));
        static OF_ARRIVING: ClientShares = ClientShares::new(&ARRIVING, "a test of one client");
        static OF_COMPLETE: ClientShares = ClientShares::new(&COMPLETE, "a test of one client");
        static SHARES: BodyShares =
            BodyShares { arriving: &OF_ARRIVING, complete: &OF_COMPLETE, usual: None, of_agents: false };
        let slow: Vec<_> = ["eve", "mallory"]
            .map(|user| tokio::spawn(receive(&SHARES, user.to_owned(), body(3 << 10, false), NEED)))
            .into();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(ARRIVING.free_bytes() < 2 << 20 && slow.iter().all(|task| !task.is_finished()));
        let received = receive(&SHARES, "ada".to_owned(), body(2 << 10, true), NEED).await;
        assert!(matches!(received, Ok((_, Some(_)))), "it waits no longer than for a window");
        for task in slow {
            let Ok(Err(BodyNotReceived::Refused(error))) = task.await else { panic!("it is too slow") };
            assert_eq!(error.status(), StatusCode::REQUEST_TIMEOUT);
            assert!(error.detail().contains("others wait for the memory"), "{}", error.detail());
        }
    }

    #[tokio::test]
    async fn p19_a_body_beyond_its_limit_is_refused_and_leaves_nothing_reserved() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let shares = BodyShares { arriving: &SHARES, complete: &SHARES, usual: None, of_agents: false };
        let need = BodyNeed { max_bytes: 100 << 10, factor: 1, estimate: |_| Ok(0) };
        let refused = receive(&shares, "ada".to_owned(), body(101, true), need).await;
        let Err(BodyNotReceived::Refused(error)) = refused else { panic!("it is too large") };
        assert_eq!(error.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(BUDGET.free_bytes(), 8 << 20);
        let small = receive(&shares, "ada".to_owned(), body(64, true), need).await;
        let Ok((bytes, None)) = small else { panic!("a usual body needs no reservation") };
        assert_eq!(bytes.len(), 64 << 10);
    }

    #[tokio::test]
    async fn p19_a_large_message_is_alone_in_memory_where_it_exceeds_the_share_of_its_agent() {
        static ARRIVING: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static MESSAGES: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static OF_ARRIVING: ClientShares = ClientShares::new(&ARRIVING, "a test of one client");
        static OF_MESSAGES: ClientShares = ClientShares::new(&MESSAGES, "a test of one client");
        let shares =
            BodyShares { arriving: &OF_ARRIVING, complete: &OF_MESSAGES, usual: None, of_agents: true };
        let received = receive(&shares, "eu".to_owned(), body(1_024, true), NEED).await;
        let Ok((_, Some(first))) = received else { panic!("the message is received") };
        assert_eq!(MESSAGES.free_bytes(), 0);
        let mut second = Box::pin(receive(&shares, "us".to_owned(), body(1_024, true), NEED));
        for _ in 0..2_000 {
            assert!(futures::poll!(second.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
        drop(first);
        assert!(matches!(second.await, Ok((_, Some(_)))));
    }

    #[tokio::test]
    async fn p19_a_message_of_any_size_is_reserved_by_its_values_and_refused_before_if_it_has_too_many() {
        static ARRIVING: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static MESSAGES: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 64 << 20));
        static USUAL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 16 << 20));
        static OF_ARRIVING: ClientShares = ClientShares::new(&ARRIVING, "a test of one client");
        static OF_MESSAGES: ClientShares = ClientShares::new(&MESSAGES, "a test of one client");
        static OF_USUAL: ClientShares = ClientShares::new(&USUAL, "a test of one client");
        let shares = BodyShares {
            arriving: &OF_ARRIVING,
            complete: &OF_MESSAGES,
            usual: Some(&OF_USUAL),
            of_agents: true,
        };
        let need = BodyNeed { estimate: |bytes| Ok(32 * bytes.len() as u64), ..NEED };
        let received = receive(&shares, "eu".to_owned(), body(64, true), need).await;
        let Ok((_, Some(usual))) = received else { panic!("the message is received") };
        assert_eq!((USUAL.free_bytes(), MESSAGES.free_bytes()), (14 << 20, 64 << 20));
        let received = receive(&shares, "eu".to_owned(), body(1_024, true), need).await;
        let Ok((_, Some(large))) = received else { panic!("the message is received") };
        assert_eq!(MESSAGES.free_bytes(), 32 << 20);
        drop((usual, large));
        let refuse = BodyNeed { estimate: |_| Err(ApiError::bad_request("Too many values.")), ..NEED };
        let refused = receive(&shares, "eu".to_owned(), body(1_024, true), refuse).await;
        assert!(matches!(refused, Err(BodyNotReceived::Refused(_))));
        assert_eq!(MESSAGES.free_bytes(), 64 << 20);
    }

    #[tokio::test]
    async fn p19_many_bodies_of_the_usual_size_have_a_budget_of_their_own_and_small_ones_need_none() {
        static LARGE: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static USUAL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static OF_LARGE: ClientShares = ClientShares::new(&LARGE, "a test of one client");
        static OF_USUAL: ClientShares = ClientShares::new(&USUAL, "a test of one client");
        let shares =
            BodyShares { arriving: &OF_LARGE, complete: &OF_LARGE, usual: Some(&OF_USUAL), of_agents: false };
        let received = receive(&shares, "ada".to_owned(), body(64, true), NEED).await;
        let Ok((_, Some(by_size))) = received else { panic!("it needs a reservation") };
        assert_eq!((USUAL.free_bytes(), LARGE.free_bytes()), ((8 << 20) - (256 << 10), 8 << 20));
        drop(by_size);
        let many_values = BodyNeed { estimate: |bytes| Ok(32 * bytes.len() as u64), ..NEED };
        let mut reserved = Vec::new();
        for _ in 0..2 {
            let received = receive(&shares, "ada".to_owned(), body(64, true), many_values).await;
            let Ok((_, Some(by_values))) = received else { panic!("it needs a reservation") };
            reserved.push(by_values);
        }
        assert_eq!(USUAL.free_bytes(), 4 << 20, "one client has half of it");
        let mut third = Box::pin(receive(&shares, "ada".to_owned(), body(64, true), many_values));
        assert!(futures::poll!(third.as_mut()).is_pending());
        let received = receive(&shares, "bob".to_owned(), body(64, true), many_values).await;
        assert!(matches!(received, Ok((_, Some(_)))), "others are served");
        let received = receive(&shares, "ada".to_owned(), body(4, true), many_values).await;
        assert!(matches!(received, Ok((_, None))), "a small body needs no reservation");
        drop(reserved);
        assert!(matches!(third.await, Ok((_, Some(_)))));
    }
}
