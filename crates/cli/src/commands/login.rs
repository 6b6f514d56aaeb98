//! `flotilla login`: tries a token on a server and keeps both in the context file. The token is never shown.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use clap::Args;
use wire::Client;

use crate::args::Globals;
use crate::config::{self, Config, Context};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// No token of ours is this long.
const LONGEST: usize = 4096;

/// Sign in to a server with an API token, and keep both for the next commands
///
/// The token is made in the console, in Settings. It is read from --token, FLOTILLA_TOKEN, or stdin; on a terminal it
/// is asked for and not shown.
#[derive(Args)]
pub struct Login {
    /// Address of the server, such as https://flotilla.example.com
    server: Option<String>,
    /// Name of the context to keep it under [default: made of the server's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl Login {
    /// Runs it.
    pub async fn run(self, globals: &Globals, out: &Out) -> Result<Exit, Failure> {
        let path = config::path(globals.config())?;
        let mut config = Config::read(&path)?;
        let server = match self.server.as_deref().or(globals.server()) {
            Some(server) => server.trim().to_owned(),
            None => ask("Server: ", "Say which: flotilla login https://flotilla.example.com")?,
        };
        // A wrong address is said before anybody types a secret.
        Client::new(&server, "")?;
        let token = match globals.token() {
            Some(token) => token.to_owned(),
            None => secret(&server)?,
        };
        let client = Client::new(&server, &token)?;
        if let Err(error) = client.token_list().await {
            return Err(refused(error, &client));
        }
        if is_open_road(client.server()) {
            out.warn("The token goes to this server unencrypted; use https outside of your own machine.");
        }
        let name = self.name.or_else(|| globals.context().map(str::to_owned));
        let name = name.unwrap_or_else(|| host(client.server()).to_owned());
        config.contexts.insert(name.clone(), Context { server: client.server().to_owned(), token });
        config.current.clone_from(&name);
        config.write(&path)?;
        out.note(&format!(
            "Signed in to {}. It is the context {name} now, kept in {}.",
            client.server(),
            path.display()
        ));
        Ok(Exit::Done)
    }
}

fn refused(error: wire::Error, client: &Client) -> Failure {
    if error.is_unauthenticated() {
        return Failure::new(
            format!("{} does not take this token; nothing was kept.", client.server()),
            format!("Make a new one in the console at {}/settings.", client.server()),
        );
    }
    error.into()
}

fn ask(question: &str, instead: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("The server is not given.", instead));
    }
    let _ = write!(io::stderr(), "{question}");
    let mut line = String::new();
    io::stdin().lock().take(LONGEST as u64).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Reads the token: from a pipe as it is, from a terminal without showing it.
fn secret(server: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let mut text = String::new();
        io::stdin().lock().take(LONGEST as u64).read_to_string(&mut text)?;
        return non_empty(&text);
    }
    let _ = write!(
        io::stderr(),
        "Make a token at {}/settings.\nToken (not shown): ",
        server.trim_end_matches('/')
    );
    let _ = io::stderr().flush();
    crossterm::terminal::enable_raw_mode()?;
    let typed = type_blind();
    let _ = crossterm::terminal::disable_raw_mode();
    let _ = writeln!(io::stderr());
    non_empty(&typed?)
}

/// Reads keys until Enter; the terminal is in raw mode and shows nothing.
fn type_blind() -> Result<String, Failure> {
    let mut typed = Vec::new();
    for byte in io::stdin().lock().bytes() {
        match byte? {
            b'\r' | b'\n' => break,
            // Ctrl-C and Ctrl-D are keys like others in raw mode.
            3 | 4 => return Err(Failure::new("Nothing was kept.", "")),
            8 | 127 => drop(typed.pop()),
            byte if typed.len() < LONGEST => typed.push(byte),
            _ => {}
        }
    }
    String::from_utf8(typed).map_err(|_| wire::Error::BadToken.into())
}

fn non_empty(text: &str) -> Result<String, Failure> {
    match text.trim() {
        "" => Err(Failure::usage("The token is empty.", "Give it by --token, FLOTILLA_TOKEN or stdin.")),
        token => Ok(token.to_owned()),
    }
}

fn host(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Whether the way to the server can be listened to.
fn is_open_road(server: &str) -> bool {
    let host = host(server);
    let bare = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let near = matches!(bare, "localhost" | "[::1]") || bare.starts_with("127.");
    server.starts_with("http://") && !near
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_machine_may_be_spoken_to_in_the_open() {
        assert!(is_open_road("http://flotilla.example"));
        for fine in
            ["https://flotilla.example", "http://127.0.0.1:4600", "http://localhost:1", "http://[::1]:4600"]
        {
            assert!(!is_open_road(fine), "{fine}");
        }
    }

    #[test]
    fn a_context_is_called_after_its_host() {
        assert_eq!(host("https://flotilla.example:8443/sub"), "flotilla.example:8443");
    }
}
