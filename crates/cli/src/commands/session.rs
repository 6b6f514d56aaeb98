//! `flotilla session`: the caller's sessions in the console.

use clap::{Args, Subcommand};
use domain::session::UserSession;

use crate::clock;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for sessions.
#[derive(Subcommand)]
pub enum SessionCommand {
    /// List where you are signed in to the console
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    Revoke(RevokeSessionArgs),
}

/// End a session, or all of them: its browser has to sign in again
#[derive(Args)]
pub struct RevokeSessionArgs {
    /// Id of the session
    #[arg(required_unless_present = "all", conflicts_with = "all")]
    id: Option<String>,
    /// All your sessions
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl SessionCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => print_list(remote, output, out).await?,
            Self::Revoke(revoke) => revoke.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl RevokeSessionArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let Some(id) = self.id else {
            self.confirm.confirm("You will be signed out of the console in every browser.")?;
            remote.client.revoke_sessions().await?;
            return out.print_line("sessions revoked");
        };
        if !self.confirm.is_given() {
            self.confirm.confirm(&describe_revocation(remote, &id).await?)?;
        }
        remote.client.revoke_session(&id).await?;
        out.print_line(&format!("session/{id} revoked"))
    }
}

/// Which browser has to sign in again.
async fn describe_revocation(remote: &ServerConnection, id: &str) -> Result<String, Failure> {
    let sessions = remote.client.list_sessions().await?;
    let about = match sessions.iter().find(|session| session.id == id) {
        Some(session) => {
            let used = clock::format_age(session.last_used_at, clock::now());
            let browser =
                if session.browser.is_empty() { "unknown browser" } else { session.browser.as_str() };
            format!(" ({browser}, last used {used} ago)")
        }
        None => String::new(),
    };
    Ok(format!("The browser with the session {id}{about} will have to sign in again."))
}

async fn print_list(remote: &ServerConnection, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let sessions = remote.client.list_sessions().await?;
    if output.format.is_machine() {
        return out.print_value(&sessions, output.format);
    }
    let now = clock::now();
    let mut table = Table::new(&["ID", "BROWSER", "ADDRESS", "SIGNED IN", "LAST USED", "EXPIRES"]);
    for UserSession { id, browser, address, signed_in_at, last_used_at, expires_at, .. } in &sessions {
        let row = table.add_row().text(id).text(browser).text(address);
        let row = row.text(clock::format_age(*signed_in_at, now)).text(clock::format_age(*last_used_at, now));
        row.text(expires_at.to_string());
    }
    out.print_table(&table, "You are not signed in to the console in any browser.")
}
