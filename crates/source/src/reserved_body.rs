//! Bodies of responses whose memory is reserved before it is allocated: by the size that the response states, or step by step while it is
//! received. A server that sends slowly thus reserves what it has sent, and not what it may send.

use egress::{FetchError, ResponseStream};

use crate::memory_budget::{MemoryBudget, MemoryExhausted, MemoryReservation};

/// How much is reserved ahead of a body of unknown size.
const STEP_BYTES: usize = 1 << 20;

/// Reads the rest of a response, with the reservation of its memory.
pub(crate) async fn read_reserved<E>(
    stream: &mut ResponseStream,
    budget: &MemoryBudget,
) -> Result<(Vec<u8>, MemoryReservation), E>
where
    E: From<FetchError> + From<MemoryExhausted>,
{
    let stated = stream.stated_bytes();
    let mut reserved = stated.unwrap_or(STEP_BYTES);
    let mut memory = budget.reserve(reserved as u64).await?;
    let mut body = Vec::with_capacity(reserved);
    while stream.read_into(&mut body).await? {
        if stated.is_none() && body.len() + STEP_BYTES > reserved {
            reserved = body.len() + 2 * STEP_BYTES;
            budget.extend(&mut memory, reserved as u64).await?;
            body.reserve_exact(reserved - body.len());
        }
    }
    body.shrink_to_fit();
    memory.shrink_to(body.len() as u64);
    Ok((body, memory))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use egress::{EgressClient, EgressOptions, FetchRequest, MinimumRate, Url};
    use testkit::{HttpResponse, HttpServer};

    use super::*;
    use crate::RemoteAccess;
    use crate::git::{GitError, GitErrorKind};

    type Body = Result<(Vec<u8>, MemoryReservation), GitError>;

    async fn read(url: &str, budget: &MemoryBudget) -> Body {
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
        read_reserved(&mut stream, budget).await
    }

    #[tokio::test]
    async fn p19_a_body_is_received_only_with_memory_for_it_whether_or_not_its_size_is_stated() {
        let known = MemoryBudget::new("a test", 4 << 20);
        let unknown = MemoryBudget::new("another test", 4 << 20);
        let server = HttpServer::start(|_, request| match &*request.path {
            "/endless" => HttpResponse::endless(),
            _ => HttpResponse::ok("a".repeat(3 << 20)),
        })
        .await;
        let (stated, endless) = (server.url("/stated"), server.url("/endless"));
        let others = (known.reserve(2 << 20).await.unwrap(), unknown.reserve(2 << 20).await.unwrap());
        let (first, second) = tokio::join!(read(&stated, &known), read(&endless, &unknown));
        for refused in [first, second] {
            assert_eq!(refused.unwrap_err().kind, GitErrorKind::ServerBusy);
        }
        assert_eq!((known.free_bytes(), unknown.free_bytes()), (2 << 20, 2 << 20), "nothing is left of both");
        drop(others);
        let (body, memory) = read(&stated, &known).await.unwrap();
        assert_eq!((body.len(), known.free_bytes()), (3 << 20, 1 << 20));
        drop(memory);
        // What has no end meets the limit of its size, and leaves nothing either.
        assert_eq!(read(&endless, &unknown).await.unwrap_err().kind, GitErrorKind::TooLarge);
        assert_eq!(unknown.free_bytes(), 4 << 20);
    }
}
