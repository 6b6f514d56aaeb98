//! The discovery document of a provider (OpenID Connect Discovery, RFC 8414).

use serde_json::Value;

/// Longest URL, in bytes.
const MAX_URL_BYTES: usize = 2_000;

/// How the client authenticates at the token endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuthentication {
    /// By the header `Authorization`.
    Basic,
    /// By the fields of the form.
    Post,
}

/// What a client needs of the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderMetadata {
    /// Where the browser is sent to.
    pub authorization_endpoint: String,
    /// Where codes are exchanged for tokens.
    pub token_endpoint: String,
    /// Where further claims are read.
    pub userinfo_endpoint: Option<String>,
    /// Where the keys are.
    pub jwks_uri: String,
    /// How the client authenticates, if it has a secret.
    pub client_authentication: ClientAuthentication,
    /// Whether every response names its issuer, so that none of another provider is taken for one of this one (RFC 9207).
    pub names_issuer: bool,
}

/// Why a document is not used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidMetadata {
    /// It is the document of another issuer.
    #[error("the discovery document is that of another issuer")]
    Issuer,
    /// It has no endpoint, or one that is no address.
    #[error("the discovery document has no {0}, or it is not an https address")]
    Endpoint(&'static str),
    /// The provider does not support PKCE with `S256`.
    #[error("the provider does not support PKCE with S256")]
    CodeChallenge,
}

/// The address of the document of an issuer.
pub fn discovery_url(issuer: &str) -> String {
    format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'))
}

impl ProviderMetadata {
    /// Reads the document of this issuer.
    ///
    /// # Errors
    /// It names another issuer, lacks an endpoint, or excludes PKCE.
    pub fn parse(document: &Value, issuer: &str) -> Result<Self, InvalidMetadata> {
        if document.get("issuer").and_then(Value::as_str) != Some(issuer) {
            return Err(InvalidMetadata::Issuer);
        }
        let allows_http = issuer.starts_with("http://");
        let endpoint = |name: &'static str| match document.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(url)) if is_endpoint(url, allows_http) => Ok(Some(url.clone())),
            Some(_) => Err(InvalidMetadata::Endpoint(name)),
        };
        let required = |name: &'static str| -> Result<String, InvalidMetadata> {
            endpoint(name)?.ok_or(InvalidMetadata::Endpoint(name))
        };
        // Absent, the provider does not say; it ignores what it does not know.
        let challenges = document.get("code_challenge_methods_supported").and_then(Value::as_array);
        if challenges.is_some_and(|methods| !methods.iter().any(|method| method == "S256")) {
            return Err(InvalidMetadata::CodeChallenge);
        }
        let methods = document.get("token_endpoint_auth_methods_supported").and_then(Value::as_array);
        let has_method = |name: &str| methods.is_none_or(|all| all.iter().any(|method| method == name));
        let client_authentication = if has_method("client_secret_basic") || !has_method("client_secret_post")
        {
            ClientAuthentication::Basic
        } else {
            ClientAuthentication::Post
        };
        let names_issuer = document.get("authorization_response_iss_parameter_supported");
        Ok(Self {
            authorization_endpoint: required("authorization_endpoint")?,
            token_endpoint: required("token_endpoint")?,
            userinfo_endpoint: endpoint("userinfo_endpoint")?,
            jwks_uri: required("jwks_uri")?,
            client_authentication,
            names_issuer: names_issuer == Some(&Value::Bool(true)),
        })
    }
}

/// Whether this is an address that a browser or the server may be sent to. Plain HTTP only if the issuer is configured with it.
fn is_endpoint(url: &str, allows_http: bool) -> bool {
    let is_web = url.starts_with("https://") || allows_http && url.starts_with("http://");
    is_web
        && url.len() <= MAX_URL_BYTES
        && !url.contains('#')
        && url.bytes().all(|byte| byte.is_ascii_graphic())
}
