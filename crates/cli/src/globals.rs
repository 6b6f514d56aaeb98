//! The global flags, which select the server.

use std::path::{Path, PathBuf};

use clap::Args;

/// Flags that select the server.
#[derive(Args, Default)]
#[command(next_help_heading = "Server")]
pub struct GlobalArgs {
    /// Address of the server
    #[arg(long, global = true, env = "FLOTILLA_SERVER", value_name = "URL")]
    pub server: Option<String>,
    /// API token; prefer FLOTILLA_TOKEN or the context file, because other users of the machine can see command lines
    #[arg(long, global = true, env = "FLOTILLA_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Context of the context file to use instead of the current one
    #[arg(long, global = true, env = "FLOTILLA_CONTEXT", value_name = "NAME")]
    pub context: Option<String>,
    /// The context file [default: ~/.config/flotilla/config.yaml]
    #[arg(long, global = true, env = "FLOTILLA_CONFIG", value_name = "FILE", hide_env_values = true)]
    pub config: Option<PathBuf>,
}

impl GlobalArgs {
    /// The address of the server; an empty variable counts as not set.
    pub fn server(&self) -> Option<&str> {
        non_empty(self.server.as_ref())
    }

    /// The API token; an empty variable counts as not set.
    pub fn token(&self) -> Option<&str> {
        non_empty(self.token.as_ref())
    }

    /// The name of the context; an empty variable counts as not set.
    pub fn context(&self) -> Option<&str> {
        non_empty(self.context.as_ref())
    }

    /// Whether server and token are set without a context, so that the context file is not read.
    pub fn is_complete(&self) -> bool {
        self.server().is_some() && self.token().is_some() && self.context().is_none()
    }

    /// The flag or variable that sets the address of the server.
    pub fn server_source(&self) -> &'static str {
        let environment = std::env::var("FLOTILLA_SERVER").ok();
        if environment.as_deref().map(str::trim) == self.server() { "FLOTILLA_SERVER" } else { "--server" }
    }

    /// The path of the context file, if it is set.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }
}

fn non_empty(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_counts_as_no_server() {
        let globals = GlobalArgs { server: Some("  ".into()), ..GlobalArgs::default() };
        assert_eq!(globals.server(), None);
    }
}
