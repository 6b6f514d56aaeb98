//! `flotilla token`: API tokens of the caller.

use clap::{Args, Subcommand};
use domain::TokenId;
use wire::NewApiToken;

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for API tokens.
#[derive(Subcommand)]
pub enum TokenCommand {
    Create(CreateArgs),
    /// List your tokens, without their secrets
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    Revoke(RevokeArgs),
}

/// Create a token that acts as you; it is printed only once
#[derive(Args)]
pub struct CreateArgs {
    /// Its purpose, such as ci
    name: String,
    /// Lifetime in days, 1 to 365
    #[arg(long, default_value_t = 90, value_name = "N")]
    days: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revoke a token: requests with it are rejected immediately
#[derive(Args)]
pub struct RevokeArgs {
    /// Id of the token
    id: String,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl TokenCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await?,
            Self::List { output } => print_list(remote, output, out).await?,
            Self::Revoke(revoke) => revoke.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl CreateArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let created = remote.client.create_token(&NewApiToken { name: self.name, days: self.days }).await?;
        if self.output.format.is_machine() {
            return out.print_value(&created, self.output.format);
        }
        out.print_note(&format!("token/{} created. It is shown only once:", created.id));
        out.print_line(&created.secret)
    }
}

impl RevokeArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let id: TokenId = self.id.parse().map_err(|_| {
            Failure::usage(
                format!("{:?} is not a token id.", self.id),
                "\"flotilla token list\" shows the ids.",
            )
        })?;
        self.confirm.confirm(&format!("Requests with the token {id} will be rejected."))?;
        remote.client.delete_token(id).await?;
        out.print_line(&format!("token/{id} revoked"))
    }
}

async fn print_list(remote: &ServerConnection, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let tokens = remote.client.list_tokens().await?;
    if output.format.is_machine() {
        return out.print_value(&tokens, output.format);
    }
    let mut table = Table::new(&["ID", "NAME", "LAST USED", "EXPIRES"]);
    for token in &tokens {
        let used = token.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let expires = token.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        table.add_row().text(token.id.to_string()).text(&token.name).text(used).text(expires);
    }
    out.print_table(&table, "There are no tokens.")
}
