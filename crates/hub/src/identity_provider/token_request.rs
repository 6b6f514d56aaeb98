//! Requests to the token endpoint and for the user info.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use domain::identity_provider::SignInFailure;
use identity::{ClientAuthentication, MAX_TOKEN_BYTES, ProviderMetadata, encode_form, parse_json};
use serde_json::Value;
use store::identity_provider::IdentityProviderRow;

use super::documents::{IdentityRequest, ProviderDocuments, parse_success};
use crate::Hub;

/// What a provider returns for a code or a refresh token.
pub(super) struct ReturnedTokens {
    pub id_token: Option<String>,
    pub access_token: String,
    pub refresh_token: Option<String>,
}

/// Why a provider returned no tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenRequestFailure {
    /// The code or the refresh token is not valid (any more): repeated, the request has the same answer.
    InvalidGrant,
    /// Anything else.
    Failed(SignInFailure),
}

impl From<SignInFailure> for TokenRequestFailure {
    fn from(failure: SignInFailure) -> Self {
        Self::Failed(failure)
    }
}

impl Hub {
    /// Requests tokens with this grant.
    pub(super) async fn request_tokens(
        &self,
        provider: &IdentityProviderRow,
        documents: &ProviderDocuments,
        grant: &[(&str, &str)],
    ) -> Result<ReturnedTokens, TokenRequestFailure> {
        let request = build_token_request(provider, &documents.metadata, grant);
        let url = &documents.metadata.token_endpoint;
        let response = self.fetch_identity(request).await?;
        if matches!(response.status, 400 | 401) {
            let body = parse_json(&response.body).unwrap_or_default();
            if body.get("error").and_then(Value::as_str) == Some("invalid_grant") {
                return Err(TokenRequestFailure::InvalidGrant);
            }
        }
        let body = parse_success(&response, url)?;
        read_tokens(&body).ok_or(TokenRequestFailure::Failed(SignInFailure::InvalidResponse))
    }

    /// The claims of the user info endpoint about this subject; `None` if the provider has no such endpoint.
    pub(super) async fn request_user_info(
        &self,
        documents: &ProviderDocuments,
        access_token: &str,
        subject: &str,
    ) -> Result<Option<Value>, SignInFailure> {
        let Some(url) = &documents.metadata.userinfo_endpoint else { return Ok(None) };
        let authorization = Some(format!("Bearer {access_token}"));
        let request = IdentityRequest { url: url.clone(), authorization, form: None };
        let response = self.fetch_identity(request).await?;
        let claims = parse_success(&response, url)?;
        if identity::read_subject(&claims) != Some(subject) {
            tracing::warn!(url, "the user info of an identity provider is about another user");
            return Err(SignInFailure::InvalidResponse);
        }
        Ok(Some(claims))
    }
}

/// The request for tokens with this grant, in which the client authenticates as the provider requires it.
pub(super) fn build_token_request(
    provider: &IdentityProviderRow,
    metadata: &ProviderMetadata,
    grant: &[(&str, &str)],
) -> IdentityRequest {
    let mut form = grant.to_vec();
    let mut authorization = None;
    match (&provider.client_secret, metadata.client_authentication) {
        (Some(secret), ClientAuthentication::Basic) => {
            authorization = Some(basic_authorization(&provider.client_id, secret));
        }
        (Some(secret), ClientAuthentication::Post) => {
            form.extend([("client_id", provider.client_id.as_str()), ("client_secret", secret.as_str())]);
        }
        (None, _) => form.push(("client_id", provider.client_id.as_str())),
    }
    IdentityRequest { url: metadata.token_endpoint.clone(), authorization, form: Some(encode_form(&form)) }
}

/// Id and secret are encoded before they are joined (RFC 6749, 2.3.1).
fn basic_authorization(client_id: &str, secret: &str) -> String {
    let encode = |text: &str| encode_form(&[("", text)]).trim_start_matches('=').to_owned();
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", encode(client_id), encode(secret))))
}

fn read_tokens(body: &Value) -> Option<ReturnedTokens> {
    let text = |name: &str| {
        let text = body.get(name).and_then(Value::as_str);
        text.filter(|text| !text.is_empty() && text.len() <= MAX_TOKEN_BYTES).map(str::to_owned)
    };
    let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let access_token = text("access_token").filter(|token| token.bytes().all(|byte| byte.is_ascii_graphic()));
    // Visible characters and spaces (RFC 6749, A.17): no other text can be stored everywhere.
    let is_visible = |token: &String| token.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    is_bearer.then_some(())?;
    Some(ReturnedTokens {
        id_token: text("id_token"),
        access_token: access_token?,
        refresh_token: text("refresh_token").filter(is_visible),
    })
}
