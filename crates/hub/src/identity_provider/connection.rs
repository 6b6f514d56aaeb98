//! The test of the connection to a provider: what an administrator can know before somebody signs in. It reads the provider now, whatever was read
//! before, and stores nothing.

use domain::authorization::UserAction;
use domain::identity_provider::{
    ProviderCheck, ProviderCheckKind as Kind, ProviderCheckOutcome as Outcome, ProviderTest,
};
use identity::{KeySet, ProviderMetadata, discovery_url, parse_json};
use serde_json::Value;
use store::identity_provider::IdentityProviderRow;

use super::documents::{IdentityRequest, IdentityResponse};
use super::provider_not_found;
use super::token_request::build_token_request;
use crate::{Actor, Error, Hub};

/// A code that no provider has issued: what is answered to it shows whether the client is accepted.
const UNKNOWN_CODE: &str = "flotilla-connection-test";
/// A PKCE verifier of a valid length, which is 43 at least (RFC 7636, 4.1).
const VERIFIER: &str = "flotilla-connection-test-flotilla-connection";
/// Most characters of an issuer or of scopes in a message.
const MAX_SHOWN_CHARS: usize = 200;

impl Hub {
    /// Tests the connection to a provider: discovery document, keys, scopes, and whether the provider accepts the client. One that is disabled is tested too,
    /// so that it is enabled when it works. At most three requests, each with the time limit of its client.
    ///
    /// # Errors
    /// The actor may not manage users, or there is no such provider. What does not work is part of the result.
    pub async fn test_identity_provider(&self, actor: &Actor, name: &str) -> Result<ProviderTest, Error> {
        actor.authorize(UserAction::ManageUsers)?;
        let row = {
            let mut tx = self.read().await?;
            store::identity_provider::get(&mut tx, name).await?
        };
        let row = row.ok_or_else(|| provider_not_found(name))?;
        Ok(ProviderTest::new(Box::pin(self.check_provider(&row)).await))
    }

    async fn check_provider(&self, row: &IdentityProviderRow) -> Vec<ProviderCheck> {
        let failed = |message: String| vec![ProviderCheck::new(Kind::Discovery, Outcome::Failed, message)];
        let document = match self.read_for_test(&discovery_url(&row.issuer)).await {
            Ok(document) => document,
            Err(reason) => return failed(format!("The discovery document can't be used: {reason}.")),
        };
        if let Some(other) = find_other_issuer(&document, &row.issuer) {
            return failed(format!(
                "The discovery document names the issuer {other:?}, and this provider has {:?}. Add a provider with the issuer that the document names.",
                row.issuer
            ));
        }
        let metadata = match ProviderMetadata::parse(&document, &row.issuer) {
            Ok(metadata) => metadata,
            Err(error) => return failed(format!("The discovery document can't be used: {error}.")),
        };
        let message = "The discovery document names the issuer and every endpoint that a sign-in needs.";
        let mut checks = vec![ProviderCheck::new(Kind::Discovery, Outcome::Passed, message)];
        checks.push(self.check_keys(&metadata).await);
        checks.extend(check_scopes(&document, &row.settings.scopes));
        checks.push(self.check_client(row, &metadata).await);
        checks
    }

    async fn check_keys(&self, metadata: &ProviderMetadata) -> ProviderCheck {
        let (outcome, message) = match self.read_for_test(&metadata.jwks_uri).await {
            Err(reason) => (Outcome::Failed, format!("The keys can't be used: {reason}.")),
            Ok(document) => match KeySet::parse(&document).map_or(0, |keys| keys.count()) {
                0 => (
                    Outcome::Failed,
                    "The provider has no key that can be used. Let it sign ID tokens with RS256, PS256, ES256 or EdDSA."
                        .to_owned(),
                ),
                count => (Outcome::Passed, format!("The provider has {count} usable keys.")),
            },
        };
        ProviderCheck::new(Kind::Keys, outcome, message)
    }

    /// Requests tokens for a code that does not exist. A provider authenticates the client before it looks at the code (RFC 6749, 5.2).
    async fn check_client(&self, row: &IdentityProviderRow, metadata: &ProviderMetadata) -> ProviderCheck {
        let redirect_uri = self.redirect_uri(&row.name);
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", UNKNOWN_CODE),
            ("redirect_uri", redirect_uri.as_str()),
            ("code_verifier", VERIFIER),
        ];
        let request = build_token_request(row, metadata, &grant);
        let (outcome, message) = match self.send_identity_request(request).await {
            Err(reason) => (Outcome::Failed, format!("The token endpoint can't be requested: {reason}.")),
            Ok(response) => evaluate_token_response(&response),
        };
        ProviderCheck::new(Kind::Client, outcome, message)
    }

    /// The JSON at an address, or the reason why there is none.
    async fn read_for_test(&self, url: &str) -> Result<Value, String> {
        let request = IdentityRequest { url: url.to_owned(), ..IdentityRequest::default() };
        let response = self.send_identity_request(request).await?;
        if response.status != 200 {
            return Err(format!("{url} answered with status {}", response.status));
        }
        parse_json(&response.body).map_err(|error| format!("{url}: {error}"))
    }
}

/// The issuer that a document names, if it is another one: often only a slash at the end differs.
fn find_other_issuer(document: &Value, issuer: &str) -> Option<String> {
    let named = document.get("issuer").and_then(Value::as_str).filter(|named| *named != issuer)?;
    Some(named.chars().take(MAX_SHOWN_CHARS).collect())
}

/// Compares the requested scopes with those that the provider lists; `None` if it lists none.
fn check_scopes(document: &Value, requested: &[String]) -> Option<ProviderCheck> {
    let listed = document.get("scopes_supported")?.as_array()?;
    let is_listed = |scope: &str| listed.iter().any(|one| one.as_str() == Some(scope));
    let missing: Vec<&str> = requested.iter().map(String::as_str).filter(|scope| !is_listed(scope)).collect();
    let (outcome, message) = if missing.is_empty() {
        (Outcome::Passed, "The provider supports every requested scope.".to_owned())
    } else {
        let shown: String = missing.join(", ").chars().take(MAX_SHOWN_CHARS).collect();
        let effect = "A provider may support more than it lists; if it does not, it may return no refresh token or no groups.";
        (Outcome::Unknown, format!("The provider does not list these scopes: {shown}. {effect}"))
    };
    Some(ProviderCheck::new(Kind::Scopes, outcome, message))
}

/// What the answer to a code that does not exist says about the client.
fn evaluate_token_response(response: &IdentityResponse) -> (Outcome, String) {
    let body = parse_json(&response.body).unwrap_or_default();
    match (response.status, body.get("error").and_then(Value::as_str)) {
        (400 | 401, Some("invalid_grant")) => {
            (Outcome::Passed, "The provider accepts id and secret of the client.".to_owned())
        }
        (400 | 401 | 403, Some("invalid_client" | "unauthorized_client")) => (
            Outcome::Failed,
            "The provider does not accept the client. Check its id and its secret, and that it may use the authorization code flow."
                .to_owned(),
        ),
        (status, _) => (
            Outcome::Unknown,
            format!(
                "The provider answered with status {status} to a code that does not exist, so it is not known whether it accepts the client. A sign-in shows it."
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_that_does_not_tell_about_the_client_is_no_success() {
        let evaluate = |status: u16, body: &Value| {
            evaluate_token_response(&IdentityResponse { status, body: body.to_string().into_bytes() }).0
        };
        assert_eq!(evaluate(400, &json!({"error": "invalid_grant"})), Outcome::Passed);
        assert_eq!(evaluate(401, &json!({"error": "invalid_client"})), Outcome::Failed);
        assert_eq!(evaluate(400, &json!({"error": "unauthorized_client"})), Outcome::Failed);
        for (status, body) in [
            (400, json!({"error": "invalid_request"})),
            (500, json!({"error": "invalid_grant"})),
            (200, json!({"access_token": "a"})),
            (404, Value::Null),
        ] {
            assert_eq!(evaluate(status, &body), Outcome::Unknown, "{status} {body}");
        }
    }

    #[test]
    fn scopes_that_a_provider_does_not_list_are_named() {
        let requested = ["openid".to_owned(), "offline_access".to_owned()];
        let check = |listed: Value| check_scopes(&json!({"scopes_supported": listed}), &requested);
        assert_eq!(check(json!(["openid", "offline_access"])).unwrap().outcome, Outcome::Passed);
        let missing = check(json!(["openid"])).unwrap();
        assert_eq!(missing.outcome, Outcome::Unknown);
        assert!(missing.message.contains(": offline_access."), "{}", missing.message);
        assert_eq!(check(Value::Null), None);
    }
}
