//! `flotilla login`: verifies a token on a server and stores both in the context file. The token is never shown.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::time::Duration;

use clap::Args;
use domain::Digest;
use domain::api_token::confirmation_code;
use domain::authorization::UserAction;
use tokio::time::{Instant, sleep};
use wire::Client;

use crate::config::{self, ContextFile, ServerContext};
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::globals::GlobalArgs;
use crate::output::Printer;

/// Upper limit of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 4096;
/// How long a user may take to allow it in the browser.
const BROWSER_TIMEOUT: Duration = Duration::from_secs(10 * 60);
/// Pause between two requests that find out whether it is allowed.
const BROWSER_PAUSE: Duration = Duration::from_secs(2);

/// Sign in to a server with an API token, and store both for the next commands
///
/// Create the token in the console, in Settings. It is read from --token, FLOTILLA_TOKEN, or stdin; a terminal prompts for
/// it without showing it. With --browser it is allowed there instead: also for users of an identity provider.
#[derive(Args)]
pub struct LoginArgs {
    /// Address of the server, such as https://flotilla.example.com
    server: Option<String>,
    /// Name of the new context [default: the host of the server]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print a link to the console, and a code that is typed there; no token is typed
    #[arg(long)]
    browser: bool,
}

impl LoginArgs {
    /// Runs it.
    pub async fn run(self, globals: &GlobalArgs, out: &Printer) -> Result<ExitStatus, Failure> {
        let path = config::config_path(globals.config())?;
        let mut config = ContextFile::read(&path)?;
        let server = match self.server.as_deref().or(globals.server()) {
            Some(server) => server.trim().to_owned(),
            None => prompt("Server: ", "Name it: flotilla login https://flotilla.example.com")?,
        };
        // An invalid address is reported before a secret is typed.
        Client::new(&server, "")?;
        let token = match globals.token() {
            _ if self.browser => authorize_in_browser(&server, out).await?,
            Some(token) => token.to_owned(),
            None => read_token(&server)?,
        };
        let client = Client::new(&server, &token)?;
        if let Err(error) = client.list_tokens().await {
            return Err(sign_in_failure(error, &client));
        }
        if is_unencrypted_remote(client.server_url()) {
            out.print_warning(
                "The token is sent to this server unencrypted; use https for any server but localhost.",
            );
        }
        let name = self.name.or_else(|| globals.context().map(str::to_owned));
        let name = name.unwrap_or_else(|| server_host(client.server_url()).to_owned());
        config.contexts.insert(name.clone(), ServerContext { server: client.server_url().to_owned(), token });
        config.current.clone_from(&name);
        config.write(&path)?;
        out.print_note(&format!(
            "Signed in to {}. It is now the context {name}, stored in {}.",
            client.server_url(),
            path.display()
        ));
        Ok(ExitStatus::Success)
    }
}

/// Waits until the user has allowed a new secret in the console. It is generated here, and only its hash is in the link: whoever sees the link learns nothing
/// that can be used. The code is not in the link: the user types it, so that nobody allows a link that came from somebody else.
async fn authorize_in_browser(server: &str, out: &Printer) -> Result<String, Failure> {
    let token = wire::generate_token_secret();
    let hash = Digest::compute(token.as_bytes());
    let client = Client::new(server, &token)?;
    out.print_note("Open this page, and type the code there:");
    out.print_note(&format!("{}/settings?authorize={}", client.server_url(), hash.as_str()));
    out.print_note(&format!("Code: {}", confirmation_code(&hash)));
    let deadline = Instant::now() + BROWSER_TIMEOUT;
    loop {
        match client.review_access(UserAction::View, None).await {
            // Whoever has allowed it decides as whom the next commands act.
            Ok(access) => {
                out.print_note(&format!("{} has allowed it, with the role {}.", access.user, access.role));
                return Ok(token);
            }
            // Not allowed yet.
            Err(error) if error.is_unauthenticated() => {}
            Err(error) => return Err(error.into()),
        }
        if Instant::now() >= deadline {
            let message = "Nobody allowed it within 10 minutes; nothing was stored.";
            return Err(Failure::new(message, format!("flotilla login --browser {server}")));
        }
        sleep(BROWSER_PAUSE).await;
    }
}

fn sign_in_failure(error: wire::Error, client: &Client) -> Failure {
    if error.is_unauthenticated() {
        return Failure::new(
            format!("{} rejected this token; nothing was stored.", client.server_url()),
            format!("Create a new one in the console at {}/settings.", client.server_url()),
        );
    }
    error.into()
}

fn prompt(question: &str, instead: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage("No server is set.", instead));
    }
    let _ = write!(io::stderr(), "{question}");
    let mut line = String::new();
    io::stdin().lock().take(MAX_TOKEN_BYTES as u64).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// Reads the token from a pipe, or from a terminal without showing it.
fn read_token(server: &str) -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        let mut text = String::new();
        io::stdin().lock().take(MAX_TOKEN_BYTES as u64).read_to_string(&mut text)?;
        return require_token(&text);
    }
    let _ = write!(
        io::stderr(),
        "Create a token at {}/settings.\nToken (not shown): ",
        server.trim_end_matches('/')
    );
    let _ = io::stderr().flush();
    crossterm::terminal::enable_raw_mode()?;
    let typed = read_hidden();
    let _ = crossterm::terminal::disable_raw_mode();
    let _ = writeln!(io::stderr());
    require_token(&typed?)
}

/// Reads keys until Enter; the terminal is in raw mode without echo.
fn read_hidden() -> Result<String, Failure> {
    let mut typed = Vec::new();
    for byte in io::stdin().lock().bytes() {
        match byte? {
            b'\r' | b'\n' => break,
            // Ctrl-C and Ctrl-D are ordinary keys in raw mode.
            3 | 4 => return Err(Failure::new("Cancelled; nothing was stored.", "")),
            8 | 127 => drop(typed.pop()),
            byte if typed.len() < MAX_TOKEN_BYTES => typed.push(byte),
            _ => {}
        }
    }
    String::from_utf8(typed).map_err(|_| wire::Error::InvalidToken.into())
}

fn require_token(text: &str) -> Result<String, Failure> {
    match text.trim() {
        "" => Err(Failure::usage("The token is empty.", "Set it with --token, FLOTILLA_TOKEN or stdin.")),
        token => Ok(token.to_owned()),
    }
}

fn server_host(server: &str) -> &str {
    let rest = server.split_once("://").map_or(server, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest)
}

/// Whether the connection is unencrypted and leaves this machine.
fn is_unencrypted_remote(server: &str) -> bool {
    let host = server_host(server);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    let is_loopback = matches!(name, "localhost" | "[::1]") || name.starts_with("127.");
    server.starts_with("http://") && !is_loopback
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_addresses_may_be_unencrypted() {
        assert!(is_unencrypted_remote("http://flotilla.example"));
        for fine in
            ["https://flotilla.example", "http://127.0.0.1:4600", "http://localhost:1", "http://[::1]:4600"]
        {
            assert!(!is_unencrypted_remote(fine), "{fine}");
        }
    }

    #[test]
    fn a_context_is_named_after_its_host() {
        assert_eq!(server_host("https://flotilla.example:8443/sub"), "flotilla.example:8443");
    }
}
