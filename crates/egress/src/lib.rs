//! HTTP requests to addresses that users choose: repositories of charts and of Git, registries of images.
//!
//! Whoever writes a manifest or the URL of a repository chooses where this process connects to, from inside its network. Every such
//! request goes through [`EgressClient`]: the connected address decides, not the spelling of the host ([`ReachableNetwork`]);
//! redirects and addresses named by a response are decided again, by a policy that only becomes narrower ([`EgressPolicy`]);
//! credentials are sent to their own origins only ([`Credentials`]); size, time and rate are bounded. Requests only read:
//! `GET`, or a `POST` that a protocol reads with and that is never redirected. No proxy is used, which would resolve names itself. A
//! program that makes a connection of its own is given an address that was decided here ([`ReachableNetwork::resolve_host`]).
//!
//! The crate depends on no other of this workspace: agent and server use it for different products.

mod client;
mod credentials;
mod error;
mod metadata_address;
mod minimum_rate;
mod network;
mod policy;
mod registry;

pub use client::{
    CacheValidators, EgressClient, EgressOptions, EgressUnavailable, FetchRequest, FetchResponse, PostBody,
    ResponseStream, tls_config,
};
pub use credentials::{Credentials, InvalidCredentials};
pub use error::{FetchError, FetchErrorKind};
pub use minimum_rate::{MinimumRate, RateWindow, TooSlow};
pub use network::ReachableNetwork;
pub use policy::EgressPolicy;
pub use registry::{RegistrySession, registry_host};
pub use reqwest::header;
pub use reqwest::{StatusCode, Url};
