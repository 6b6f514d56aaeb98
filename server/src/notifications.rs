//! The client that sends messages about incidents to addresses that users choose.

mod email;

use std::time::Duration;

use anyhow::Context as _;
use egress::header::{HeaderName, HeaderValue};
use egress::{
    EgressClient, EgressOptions, EgressPolicy, FetchErrorKind, FetchRequest, MinimumRate, PostBody, Url,
};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hub::{EmailRequest, Hub, MessageRequest, MessageSender, SendFailure};

use crate::args::RepositoryArg;
use crate::charts::remote_access;
use email::EmailClient;

/// Time limits of a message. The whole request ends before the lease of its claim.
const OPTIONS: EgressOptions = EgressOptions {
    user_agent: concat!("flotilla/", env!("CARGO_PKG_VERSION")),
    connect_timeout: Duration::from_secs(5),
    read_timeout: Duration::from_secs(10),
    minimum_rate: MinimumRate::FILES,
    timeout: Duration::from_secs(15),
};

/// Most bytes that are read of a response, of which only the status is used.
const MAX_RESPONSE_BYTES: usize = 64 << 10;

/// Gives the hub the client that sends messages. Without it, they wait.
pub fn set_message_sender(hub: &Hub, arg: RepositoryArg) {
    let Some(access) = remote_access(arg) else { return };
    let policy = access.policy();
    let sender = EgressClient::new(OPTIONS)
        .and_then(|client| Ok(EgressSender { client, policy, email: EmailClient::new(policy)? }));
    match sender {
        Ok(sender) => hub.set_message_sender(sender),
        Err(error) => tracing::warn!(%error, "messages about incidents can't be sent"),
    }
}

/// Sends messages to the addresses that the policy allows.
struct EgressSender {
    client: EgressClient,
    policy: EgressPolicy,
    email: EmailClient,
}

impl MessageSender for EgressSender {
    fn send(&self, request: MessageRequest) -> BoxFuture<'_, Result<u16, String>> {
        async move {
            let url = Url::parse(&request.url).map_err(|_| "The address of the channel is no URL.".to_owned())?;
            let headers = parse_headers(&request).map_err(|error| format!("{error:#}."))?;
            let is_strict = self.policy == EgressPolicy::PUBLIC_HTTPS;
            let body = PostBody { content_type: request.content_type, bytes: &request.body };
            let fetch = FetchRequest {
                url,
                policy: self.policy,
                accept: "",
                credentials: None,
                validators: None,
                max_bytes: MAX_RESPONSE_BYTES,
                max_redirects: 0,
                headers,
                body: Some(body),
            };
            match self.client.fetch(fetch).await {
                Ok(response) => Ok(response.status.as_u16()),
                // The receiver has the message; what it answers is not used.
                Err(error) if error.kind == FetchErrorKind::TooLarge => Ok(200),
                Err(error) if error.kind == FetchErrorKind::NotAllowed && is_strict => Err(format!(
                    "The message was not sent: {}. An administrator can allow private addresses with --notifications private-https.",
                    error.message
                )),
                // Without the URL, which can be a secret.
                Err(error) => Err(format!("The message was not sent: {}.", error.message)),
            }
        }
        .boxed()
    }

    fn send_email(&self, email: EmailRequest) -> BoxFuture<'_, Result<(), SendFailure>> {
        async move { self.email.send(&email).await }.boxed()
    }
}

fn parse_headers(request: &MessageRequest) -> anyhow::Result<Vec<(HeaderName, HeaderValue)>> {
    let parse = |(name, value): &(&'static str, String)| {
        let value =
            HeaderValue::from_str(value).with_context(|| format!("the header {name} is not valid"))?;
        Ok((HeaderName::from_static(name), value))
    };
    request.headers.iter().map(parse).collect()
}
