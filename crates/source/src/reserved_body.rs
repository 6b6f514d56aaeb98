//! Bodies of responses whose memory is reserved before it is allocated, step by step while they are received. A server that sends slowly
//! thus reserves what it has sent and one step, whatever size it states, and only in the share of the user who named it.

use egress::{FetchError, ResponseStream};

use crate::client_shares::{ClientReservation, ClientShares};
use crate::memory_budget::MemoryExhausted;
use crate::requester::current_turn;

/// How much is reserved at least ahead of what is received.
const STEP_BYTES: usize = 1 << 20;
/// When the next step is reserved: a part of a body is not larger than this.
const PART_BYTES: usize = 512 << 10;

/// A body that arrives in parts.
pub(crate) trait BodyStream: Send {
    /// Why it breaks off.
    type Error;

    /// Its size, if that is known before.
    fn stated_bytes(&self) -> Option<usize>;

    /// Appends the next part; `false` at its end.
    fn read_into(&mut self, body: &mut Vec<u8>) -> impl Future<Output = Result<bool, Self::Error>> + Send;
}

impl BodyStream for ResponseStream {
    type Error = FetchError;

    fn stated_bytes(&self) -> Option<usize> {
        Self::stated_bytes(self)
    }

    fn read_into(&mut self, body: &mut Vec<u8>) -> impl Future<Output = Result<bool, FetchError>> + Send {
        Self::read_into(self, body)
    }
}

/// Reads the rest of a response, with the reservation of its memory.
pub(crate) async fn read_reserved<S, E>(
    stream: &mut S,
    shares: &'static ClientShares,
) -> Result<(Vec<u8>, ClientReservation), E>
where
    S: BodyStream,
    E: From<S::Error> + From<MemoryExhausted>,
{
    let most = stream.stated_bytes().unwrap_or(usize::MAX);
    let mut reserved = most.min(STEP_BYTES);
    let mut memory = shares.reserve_in_full(current_turn(), reserved as u64).await?;
    let mut body = Vec::with_capacity(reserved);
    while stream.read_into(&mut body).await? {
        if reserved < most && body.len() + PART_BYTES > reserved {
            // With the size grows the step, so that a large body is not copied with every MiB.
            reserved = most.min(body.len() + body.len() / 4 + STEP_BYTES);
            memory.extend_in_full(reserved as u64).await?;
            body.reserve_exact(reserved.saturating_sub(body.len()));
        }
    }
    body.shrink_to_fit();
    memory.shrink_to(body.len() as u64);
    Ok((body, memory))
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::Duration;

    use egress::{EgressClient, EgressOptions, FetchRequest, MinimumRate, Url};
    use testkit::{HttpResponse, HttpServer};

    use super::*;
    use crate::RemoteAccess;
    use crate::git::{GitError, GitErrorKind};
    use crate::memory_budget::MemoryBudget;

    type Body = Result<(Vec<u8>, ClientReservation), GitError>;

    async fn read(url: &str, shares: &'static ClientShares) -> Body {
        let timeout = Duration::from_secs(60);
        let options = EgressOptions {
            user_agent: "test",
            connect_timeout: timeout,
            read_timeout: timeout,
            minimum_rate: MinimumRate::FILES,
            timeout,
        };
        let request = FetchRequest {
            url: Url::parse(url).unwrap(),
            policy: RemoteAccess::PrivateHttp.policy(),
            accept: "",
            credentials: None,
            validators: None,
            max_bytes: 64 << 20,
            max_redirects: 0,
            headers: Vec::new(),
            body: None,
        };
        let mut stream = EgressClient::new(options).unwrap().open(request).await?;
        read_reserved(&mut stream, shares).await
    }

    #[tokio::test]
    async fn p19_a_body_is_received_only_with_memory_for_it_whether_or_not_its_size_is_stated() {
        static KNOWN: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static UNKNOWN: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("another test", 4 << 20));
        static OF_KNOWN: ClientShares = ClientShares::new(&KNOWN, "a test of one client");
        static OF_UNKNOWN: ClientShares = ClientShares::new(&UNKNOWN, "another test of one client");
        let server = HttpServer::start(|_, request| match &*request.path {
            "/endless" => HttpResponse::endless(),
            _ => HttpResponse::ok("a".repeat(3 << 20)),
        })
        .await;
        let (stated, endless) = (server.url("/stated"), server.url("/endless"));
        let others = (KNOWN.reserve(2 << 20).await.unwrap(), UNKNOWN.reserve(2 << 20).await.unwrap());
        let (first, second) = tokio::join!(read(&stated, &OF_KNOWN), read(&endless, &OF_UNKNOWN));
        for refused in [first, second] {
            assert_eq!(refused.unwrap_err().kind, GitErrorKind::ServerBusy);
        }
        assert_eq!((KNOWN.free_bytes(), UNKNOWN.free_bytes()), (2 << 20, 2 << 20), "nothing is left of both");
        drop(others);
        let (body, memory) = read(&stated, &OF_KNOWN).await.unwrap();
        assert_eq!((body.len(), KNOWN.free_bytes()), (3 << 20, 1 << 20));
        drop(memory);
        // What has no end meets the limit of its size, and leaves nothing either.
        assert_eq!(read(&endless, &OF_UNKNOWN).await.unwrap_err().kind, GitErrorKind::TooLarge);
        assert_eq!(UNKNOWN.free_bytes(), 4 << 20);
    }

    #[tokio::test]
    async fn p20_a_slow_body_reserves_one_step_whatever_size_it_states() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 64 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let server = HttpServer::start(|_, _| {
            HttpResponse::slow().with_header("content-length", (48 << 20).to_string())
        });
        let server = server.await;
        let url = server.url("/stated");
        let reading = tokio::spawn(async move { read(&url, &SHARES).await.map(|_| ()) });
        let began = async {
            while BUDGET.free_bytes() == 64 << 20 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), began).await.expect("the body is read");
        assert!(BUDGET.free_bytes() >= (64 << 20) - STEP_BYTES as u64, "{}", BUDGET.free_bytes());
        reading.abort();
    }
}
