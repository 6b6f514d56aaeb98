//! The server that a command calls: flags take precedence over the environment, the environment over the context file.

use wire::Client;

use crate::config::{self, ContextFile};
use crate::failure::Failure;
use crate::globals::GlobalArgs;
use crate::output::Printer;

/// A server and the source of its address.
pub struct ServerConnection {
    /// The client.
    pub client: Client,
    address_source: String,
    has_token: bool,
}

impl ServerConnection {
    /// Resolves the server from flags, environment and context file. Sends no request.
    pub fn connect(globals: &GlobalArgs, out: &Printer) -> Result<Self, Failure> {
        let file = config::config_path(globals.config());
        let context = match (&file, globals.is_complete()) {
            (Ok(path), false) => {
                let config = ContextFile::read(path)?;
                let found = config
                    .context(globals.context())
                    .map(|(name, context)| (name.to_owned(), context.clone()));
                if found.as_ref().is_some_and(|(_, context)| !context.token.is_empty())
                    && config::is_readable_by_others(path)
                {
                    out.print_warning(&format!(
                        "{0} contains a token and is readable for other users; run: chmod 600 {0}",
                        path.display()
                    ));
                }
                if let (Some(name), None) = (globals.context(), &found) {
                    return Err(unknown_context(name, &config));
                }
                found
            }
            _ => None,
        };
        Self::resolve(globals, context)
    }

    fn resolve(
        globals: &GlobalArgs,
        context: Option<(String, config::ServerContext)>,
    ) -> Result<Self, Failure> {
        let (server, origin) = match (globals.server(), &context) {
            (Some(server), _) => (server.to_owned(), globals.server_source().to_owned()),
            (None, Some((name, context))) => (context.server.clone(), format!("the context {name:?}")),
            (None, None) => return Err(missing_server()),
        };
        let token = match (globals.token(), context) {
            (Some(token), _) => token.to_owned(),
            // A token belongs to one server and is sent to no other.
            (None, Some((_, context))) if is_same_server(&context.server, &server) => context.token,
            _ => String::new(),
        };
        let client = Client::new(&server, &token)?;
        Ok(Self { client, address_source: origin, has_token: !token.trim().is_empty() })
    }

    /// The source of the address, for messages.
    pub fn address_source(&self) -> &str {
        &self.address_source
    }

    /// The hint for an unauthenticated request.
    pub fn sign_in_hint(&self) -> String {
        let server = self.client.server_url();
        let first = if self.has_token { "The token is invalid or expired." } else { "No token was sent." };
        format!("{first} Create one in the console at {server}/settings, then run: flotilla login {server}")
    }
}

fn is_same_server(a: &str, b: &str) -> bool {
    let bare = |text: &str| text.trim().trim_end_matches('/').to_ascii_lowercase();
    bare(a) == bare(b)
}

fn missing_server() -> Failure {
    Failure::usage(
        "No server is set.",
        "Run \"flotilla login https://flotilla.example.com\", or set FLOTILLA_SERVER and FLOTILLA_TOKEN (the demo writes both into cli.env).",
    )
}

fn unknown_context(name: &str, config: &ContextFile) -> Failure {
    let names: Vec<&str> = config.contexts.keys().map(String::as_str).collect();
    let hint = if names.is_empty() {
        "There are none yet; \"flotilla login\" creates one.".to_owned()
    } else {
        format!("There are: {}.", names.join(", "))
    };
    Failure::usage(format!("There is no context {name:?}."), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example_context() -> Option<(String, config::ServerContext)> {
        Some((
            "prod".into(),
            config::ServerContext { server: "http://a.example/".into(), token: "flt_a".into() },
        ))
    }

    #[test]
    fn a_token_of_the_file_is_never_sent_to_another_server() {
        let to = |server: &str| {
            let globals = GlobalArgs { server: Some(server.into()), ..GlobalArgs::default() };
            ServerConnection::resolve(&globals, example_context()).ok().unwrap().has_token
        };
        assert!(to("http://A.example"));
        assert!(!to("http://b.example"));
        assert!(!to("https://a.example"));
    }

    #[test]
    fn without_an_address_the_hint_names_the_login_command() {
        let failure = ServerConnection::resolve(&GlobalArgs::default(), None).err();
        let Some(Failure::Report(report)) = failure else { panic!("not a report") };
        assert!(report.hint.contains("flotilla login"), "{}", report.hint);
    }
}
