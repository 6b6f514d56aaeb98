//! API tokens.

pub use domain::api_token::{ApiToken, ApiTokenCreated, NewApiToken};
