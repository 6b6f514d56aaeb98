//! Sets up the agents' listener: for `serve` if configured, for `demo` always.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use axum::http::Uri;
use hub::{Authority, Hub};

use crate::agents::{self, AgentEndpoint, AgentListener};
use crate::args::AgentEndpointArgs;
use crate::listener::DescriptorBudget;

/// Binds the agents' listener, if configured. `home` is the default folder of the agents' authority.
///
/// # Errors
/// The port, the address or the authority are not usable.
pub async fn listen(
    dial: &AgentEndpointArgs,
    home: Option<&Path>,
    hub: &Hub,
) -> anyhow::Result<Option<(AgentListener, AgentEndpoint)>> {
    let Some(address) = dial.agent_listen else { return Ok(None) };
    let folder = dial.agent_ca.as_deref().or(home);
    let folder = folder.context(
        "--database needs --agent-ca DIR: the folder of the authority that signs agents' certificates",
    )?;
    std::fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    let authority = Arc::new(Authority::open(folder, hub.clock().clone())?);
    let url = dial.agent_url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    let names = certificate_names(address, url.as_deref())?;
    let limits = dial.connection_limits(DescriptorBudget::raise());
    let listener = agents::bind(address, authority.clone(), names, hub.clock().clone(), limits).await?;
    let url = url.unwrap_or_else(|| format!("https://{}", listener.address()));
    Ok(Some((listener, AgentEndpoint { authority, url })))
}

/// DNS names and addresses for the listener's certificate.
fn certificate_names(address: SocketAddr, url: Option<&str>) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    if let Some(url) = url {
        let parsed: Uri = url.parse().with_context(|| format!("--agent-url {url:?} is not a valid URL"))?;
        let host = parsed.host().filter(|_| parsed.scheme_str() == Some("https"));
        let host = host.with_context(|| format!("--agent-url {url:?} must begin with https://"))?;
        names.push(host.trim_matches(['[', ']']).to_owned());
    }
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    if names.is_empty() {
        bail!(
            "--agent-listen {address} listens on every address: set --agent-url to the URL under which agents reach it"
        );
    }
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listeners_certificate_has_the_names_that_agents_connect_to() {
        let any = "0.0.0.0:4601".parse().unwrap();
        let one = "127.0.0.1:0".parse().unwrap();
        assert_eq!(
            certificate_names(any, Some("https://hub.example.com:4601")).unwrap(),
            ["hub.example.com"]
        );
        assert_eq!(certificate_names(any, Some("https://[::1]:4601")).unwrap(), ["::1"]);
        assert_eq!(certificate_names(one, None).unwrap(), ["127.0.0.1"]);
        assert!(certificate_names(any, None).is_err());
        assert!(certificate_names(any, Some("http://hub.example.com")).is_err());
    }
}
