//! The server a command speaks to: flags win over the environment, and that over the context file.

use wire::Client;

use crate::args::Globals;
use crate::config::{self, Config};
use crate::failure::Failure;
use crate::output::Out;

/// A server, and where its address came from.
pub struct Remote {
    /// The client.
    pub client: Client,
    origin: String,
    has_token: bool,
}

impl Remote {
    /// The server that flags, environment and context file name. Nothing is sent yet.
    pub fn connect(globals: &Globals, out: &Out) -> Result<Self, Failure> {
        let file = config::path(globals.config());
        let context = match (&file, globals.is_complete()) {
            (Ok(path), false) => {
                let config = Config::read(path)?;
                let found = config
                    .context(globals.context())
                    .map(|(name, context)| (name.to_owned(), context.clone()));
                if found.as_ref().is_some_and(|(_, context)| !context.token.is_empty())
                    && config::is_open_to_others(path)
                {
                    out.warn(&format!(
                        "{0} holds a token and others can read it; run: chmod 600 {0}",
                        path.display()
                    ));
                }
                if let (Some(name), None) = (globals.context(), &found) {
                    return Err(no_context(name, &config));
                }
                found
            }
            _ => None,
        };
        Self::of(globals, context)
    }

    fn of(globals: &Globals, context: Option<(String, config::Context)>) -> Result<Self, Failure> {
        let (server, origin) = match (globals.server(), &context) {
            (Some(server), _) => (server.to_owned(), globals.server_origin().to_owned()),
            (None, Some((name, context))) => (context.server.clone(), format!("the context {name:?}")),
            (None, None) => return Err(no_server()),
        };
        let token = match (globals.token(), context) {
            (Some(token), _) => token.to_owned(),
            // A token belongs to the server it was made for, and is shown to no other.
            (None, Some((_, context))) if same(&context.server, &server) => context.token,
            _ => String::new(),
        };
        let client = Client::new(&server, &token)?;
        Ok(Self { client, origin, has_token: !token.trim().is_empty() })
    }

    /// Where the address came from, for people.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// How to get in.
    pub fn sign_in_hint(&self) -> String {
        let server = self.client.server();
        let first = if self.has_token { "The token is wrong or over." } else { "No token was sent." };
        format!("{first} Make one in the console at {server}/settings, then run: flotilla login {server}")
    }
}

fn same(a: &str, b: &str) -> bool {
    let bare = |text: &str| text.trim().trim_end_matches('/').to_ascii_lowercase();
    bare(a) == bare(b)
}

fn no_server() -> Failure {
    Failure::usage(
        "It is not known which server to speak to.",
        "Run \"flotilla login https://flotilla.example.com\", or set FLOTILLA_SERVER and FLOTILLA_TOKEN (the demo writes both into cli.env).",
    )
}

fn no_context(name: &str, config: &Config) -> Failure {
    let names: Vec<&str> = config.contexts.keys().map(String::as_str).collect();
    let hint = if names.is_empty() {
        "There are none yet; \"flotilla login\" makes one.".to_owned()
    } else {
        format!("There are: {}.", names.join(", "))
    };
    Failure::usage(format!("There is no context {name:?}."), hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Option<(String, config::Context)> {
        Some(("prod".into(), config::Context { server: "http://a.example/".into(), token: "flt_a".into() }))
    }

    #[test]
    fn a_token_of_the_file_is_never_sent_to_another_server() {
        let to = |server: &str| {
            let globals = Globals { server: Some(server.into()), ..Globals::default() };
            Remote::of(&globals, context()).ok().unwrap().has_token
        };
        assert!(to("http://A.example"));
        assert!(!to("http://b.example"));
        assert!(!to("https://a.example"));
    }

    #[test]
    fn without_any_address_it_says_how_to_give_one() {
        let told = Remote::of(&Globals::default(), None).err().unwrap().told(None).unwrap();
        assert!(told.hint.contains("flotilla login"), "{}", told.hint);
    }
}
