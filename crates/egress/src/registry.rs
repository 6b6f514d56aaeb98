//! Requests to registries that follow the OCI distribution specification, with the tokens that they require.

use reqwest::header::{HeaderMap, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;

use crate::client::{EgressClient, FetchRequest, FetchResponse, ResponseStream};
use crate::credentials::Credentials;
use crate::error::{FetchError, FetchErrorKind};
use crate::policy::EgressPolicy;

/// Most bytes of the response of a token endpoint.
const MAX_TOKEN_RESPONSE_BYTES: usize = 64 << 10;

/// The host of a registry's API: that of Docker Hub differs from the name in references.
pub fn registry_host(registry: &str) -> &str {
    match registry {
        "docker.io" | "index.docker.io" => "registry-1.docker.io",
        host => host,
    }
}

/// Requests to one repository of a registry, which share the token that the first of them obtains.
#[derive(Debug)]
pub struct RegistrySession<'a> {
    client: &'a EgressClient,
    credentials: Option<&'a Credentials>,
    token: Option<Credentials>,
}

impl<'a> RegistrySession<'a> {
    /// A session without a token. The credentials are for the registry; its token endpoint receives them only if it is at one of
    /// their origins.
    pub fn new(client: &'a EgressClient, credentials: Option<&'a Credentials>) -> Self {
        Self { client, credentials, token: None }
    }

    /// Sends a request and reads the whole response, as [`Self::open`].
    ///
    /// # Errors
    /// As [`EgressClient::fetch`], also of the token endpoint; the endpoint is at an origin that the credentials are not for.
    pub async fn fetch(&mut self, request: FetchRequest<'_>) -> Result<FetchResponse, FetchError> {
        self.open(request).await?.read_to_end().await
    }

    /// Sends a request, and leaves the body of the response to be read part by part. If the registry requires a token, obtains it and
    /// repeats the request; the credentials of the request itself are not used.
    ///
    /// # Errors
    /// As [`Self::fetch`].
    pub async fn open(&mut self, request: FetchRequest<'_>) -> Result<ResponseStream, FetchError> {
        let first =
            self.client.open(FetchRequest { credentials: self.token.as_ref(), ..request.clone() }).await?;
        if first.status() != StatusCode::UNAUTHORIZED {
            return Ok(first);
        }
        match Challenge::parse(first.headers()) {
            Some(Challenge::Bearer(challenge)) => {
                let (url, policy) = (first.url().clone(), first.policy());
                // Its body is not needed, and must not delay what follows.
                drop(first);
                self.token = Some(self.fetch_token(&url, policy, &challenge, &request).await?);
            }
            Some(Challenge::Basic) if self.credentials.is_some() => self.token = self.credentials.cloned(),
            _ => return Ok(first),
        }
        self.client.open(FetchRequest { credentials: self.token.as_ref(), ..request }).await
    }

    /// A token from the endpoint that the challenge names, for the origin of the request. `registry` sent the challenge, and `policy` is
    /// that for the URLs in it.
    async fn fetch_token(
        &self,
        registry: &Url,
        policy: EgressPolicy,
        challenge: &BearerChallenge,
        request: &FetchRequest<'_>,
    ) -> Result<Credentials, FetchError> {
        #[derive(Deserialize)]
        struct TokenResponse {
            token: Option<String>,
            access_token: Option<String>,
        }
        let invalid =
            |url: &Url, message: String| Err(FetchError::new(FetchErrorKind::InvalidResponse, url, message));
        let Ok(mut realm) = Url::parse(&challenge.realm) else {
            return invalid(registry, "the registry names a token endpoint that is no URL".to_owned());
        };
        if self.credentials.is_some_and(|credentials| credentials.header_for(&realm).is_none()) {
            let message = format!(
                "the registry requests the credentials at {}, which they are not for",
                realm.origin().ascii_serialization()
            );
            return Err(FetchError::new(FetchErrorKind::Credentials, registry, message));
        }
        let pairs = [("service", &challenge.service), ("scope", &challenge.scope)];
        for (key, value) in pairs.into_iter().filter(|(_, value)| !value.is_empty()) {
            realm.query_pairs_mut().append_pair(key, value);
        }
        let token_request = FetchRequest {
            url: realm,
            policy,
            accept: "",
            credentials: self.credentials,
            validators: None,
            max_bytes: MAX_TOKEN_RESPONSE_BYTES,
            max_redirects: request.max_redirects,
            headers: Vec::new(),
            body: None,
        };
        let response = self.client.fetch(token_request).await?;
        if response.status != StatusCode::OK {
            let kind = match response.status {
                StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => FetchErrorKind::Credentials,
                _ => FetchErrorKind::InvalidResponse,
            };
            return Err(FetchError::new(
                kind,
                &response.url,
                format!("no token was issued ({})", response.status),
            ));
        }
        let tokens: Option<TokenResponse> = serde_json::from_slice(&response.body).ok();
        let token = tokens.and_then(|tokens| tokens.token.or(tokens.access_token));
        match token.map(|token| Credentials::bearer(&request.url, &token)) {
            Some(Ok(token)) => Ok(token),
            _ => invalid(&response.url, "the response contains no valid token".to_owned()),
        }
    }
}

/// How a registry wants requests to be authorized.
#[derive(Debug, PartialEq, Eq)]
enum Challenge {
    Basic,
    Bearer(BearerChallenge),
}

impl Challenge {
    /// The challenge in the headers; a bearer challenge if there are several.
    fn parse(headers: &HeaderMap) -> Option<Self> {
        let texts = || headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok());
        if let Some(challenge) = texts().find_map(BearerChallenge::parse) {
            return Some(Self::Bearer(challenge));
        }
        let is_basic = |text: &str| text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("basic"));
        texts().any(is_basic).then_some(Self::Basic)
    }
}

/// `Bearer realm="…",service="…",scope="…"`.
#[derive(Debug, Default, PartialEq, Eq)]
struct BearerChallenge {
    realm: String,
    service: String,
    scope: String,
}

impl BearerChallenge {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix("Bearer ").or_else(|| text.strip_prefix("bearer "))?;
        let mut challenge = Self::default();
        while let Some((key, after)) = rest.split_once("=\"") {
            let (value, after) = after.split_once('"')?;
            match key.trim_matches([' ', ',']) {
                "realm" => value.clone_into(&mut challenge.realm),
                "service" => value.clone_into(&mut challenge.service),
                "scope" => value.clone_into(&mut challenge.scope),
                _ => {}
            }
            rest = after;
        }
        (!challenge.realm.is_empty()).then_some(challenge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(values: &[&'static str]) -> Option<Challenge> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::parse(&headers)
    }

    #[test]
    fn a_bearer_challenge_is_parsed_and_others_are_ignored() {
        let bearer =
            "Bearer realm=\"https://auth.example.com/token\",service=\"a b\",scope=\"repository:x:pull\"";
        let expected = Challenge::Bearer(BearerChallenge {
            realm: "https://auth.example.com/token".to_owned(),
            service: "a b".to_owned(),
            scope: "repository:x:pull".to_owned(),
        });
        assert_eq!(parse(&[bearer]).as_ref(), Some(&expected));
        assert_eq!(parse(&["Basic realm=\"x\"", bearer]).as_ref(), Some(&expected));
        assert_eq!(parse(&["basic realm=\"x\""]), Some(Challenge::Basic));
        for other in ["Bearer", "Bearer service=\"x\"", "Bearer realm=\"x", "Negotiate", ""] {
            assert_eq!(parse(&[other]), None, "{other}");
        }
    }

    #[test]
    fn docker_hub_has_another_host_than_its_references() {
        assert_eq!(registry_host("docker.io"), "registry-1.docker.io");
        assert_eq!(registry_host("registry.example.com:5000"), "registry.example.com:5000");
    }
}
