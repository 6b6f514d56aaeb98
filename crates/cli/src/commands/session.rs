//! `flotilla session`: the sessions in the console of the caller, or of another user.

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
        /// The sessions of this user instead of yours, as an administrator
        #[arg(long, value_name = "USER")]
        user: Option<String>,
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
    /// A session of this user instead of yours, or all of them, as an administrator
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl SessionCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { user, output } => print_list(remote, user.as_deref(), output, out).await?,
            Self::Revoke(revoke) => revoke.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl RevokeSessionArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let user = self.user.as_deref();
        let Some(id) = self.id else {
            let who = user.unwrap_or("You");
            self.confirm.confirm(&format!("{who} will be signed out of the console in every browser."))?;
            match user {
                Some(user) => remote.client.revoke_user_sessions(user).await?,
                None => remote.client.revoke_sessions().await?,
            }
            return out.print_line("sessions revoked");
        };
        if !self.confirm.is_given() {
            self.confirm.confirm(&describe_revocation(remote, user, &id).await?)?;
        }
        match user {
            Some(user) => remote.client.revoke_user_session(user, &id).await?,
            None => remote.client.revoke_session(&id).await?,
        }
        out.print_line(&format!("session/{id} revoked"))
    }
}

/// The sessions of a user, or of the caller.
async fn list_sessions(remote: &ServerConnection, user: Option<&str>) -> Result<Vec<UserSession>, Failure> {
    Ok(match user {
        Some(user) => remote.client.list_user_sessions(user).await?,
        None => remote.client.list_sessions().await?,
    })
}

/// Which browser has to sign in again.
async fn describe_revocation(
    remote: &ServerConnection,
    user: Option<&str>,
    id: &str,
) -> Result<String, Failure> {
    let sessions = list_sessions(remote, user).await?;
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

async fn print_list(
    remote: &ServerConnection,
    user: Option<&str>,
    output: OutputArgs,
    out: &Printer,
) -> Result<(), Failure> {
    let sessions = list_sessions(remote, user).await?;
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
    let who = user.map_or_else(|| "You are".to_owned(), |user| format!("{user} is"));
    out.print_table(&table, &format!("{who} not signed in to the console in any browser."))
}
