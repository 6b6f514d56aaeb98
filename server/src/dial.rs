//! Where agents dial in: the listener of its own that `serve` has when it was asked for, and `demo` always.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use axum::http::Uri;
use hub::{Authority, Hub};

use crate::agents::{AgentAccess, AgentListener};
use crate::args::Dial;

/// Listens for agents, if that was asked for. `home` is where the agents' authority is kept if nothing else is said.
///
/// # Errors
/// The port, the address or the authority are not usable.
pub async fn listen(
    dial: &Dial,
    home: Option<&Path>,
    hub: &Hub,
) -> anyhow::Result<Option<(AgentListener, AgentAccess)>> {
    let Some(address) = dial.agent_listen else { return Ok(None) };
    let folder = dial.agent_ca.as_deref().or(home);
    let folder =
        folder.context("with --database, say with --agent-ca where the agents' authority is kept")?;
    std::fs::create_dir_all(folder).with_context(|| format!("can't make {}", folder.display()))?;
    let authority = Arc::new(Authority::open(folder, hub.clock().clone())?);
    let url = dial.agent_url.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    let names = names(address, url.as_deref())?;
    let listener = AgentListener::bind(address, authority.clone(), names, hub.clock().clone()).await?;
    let url = url.unwrap_or_else(|| format!("https://{}", listener.address()));
    Ok(Some((listener, AgentAccess { authority, url })))
}

/// Names and addresses under which agents dial.
fn names(address: SocketAddr, url: Option<&str>) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    if let Some(url) = url {
        let parsed: Uri = url.parse().with_context(|| format!("--agent-url {url:?} is no address"))?;
        let host = parsed.host().filter(|_| parsed.scheme_str() == Some("https"));
        let host = host.with_context(|| format!("--agent-url {url:?} must begin with https://"))?;
        names.push(host.trim_matches(['[', ']']).to_owned());
    }
    if !address.ip().is_unspecified() {
        names.push(address.ip().to_string());
    }
    if names.is_empty() {
        bail!(
            "--agent-listen {address} is every address of this machine: say with --agent-url how agents reach it"
        );
    }
    names.dedup();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_listener_is_known_by_the_address_that_agents_dial() {
        let any = "0.0.0.0:4601".parse().unwrap();
        let one = "127.0.0.1:0".parse().unwrap();
        assert_eq!(names(any, Some("https://hub.example.com:4601")).unwrap(), ["hub.example.com"]);
        assert_eq!(names(any, Some("https://[::1]:4601")).unwrap(), ["::1"]);
        assert_eq!(names(one, None).unwrap(), ["127.0.0.1"]);
        assert!(names(any, None).is_err());
        assert!(names(any, Some("http://hub.example.com")).is_err());
    }
}
