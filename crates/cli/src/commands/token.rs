//! `flotilla token`: API tokens of the caller, or of another user.

use clap::{Args, Subcommand};
use domain::TokenId;
use domain::api_token::DEFAULT_DAYS;
use domain::role::Role;
use wire::{ApiToken, NewApiToken};

use crate::clock;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for API tokens.
#[derive(Subcommand)]
pub enum ApiTokenCommand {
    Create(CreateArgs),
    /// List your tokens, without their secrets
    List {
        /// The tokens of this user instead of yours, as an administrator
        #[arg(long, value_name = "USER")]
        user: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
    },
    Revoke(RevokeTokenArgs),
}

/// Create a token for your user, with your role or a lower one; it is printed only once
#[derive(Args)]
pub struct CreateArgs {
    /// Its purpose, such as ci
    name: String,
    /// Its role, not above yours: viewer, editor, publisher, approver or admin [default: your role]
    #[arg(long, value_name = "ROLE")]
    role: Option<Role>,
    /// An action that it may do in addition to reading, such as publish; may be repeated [default: all of its role]
    #[arg(long = "action", value_name = "ACTION")]
    actions: Vec<String>,
    /// The project that it is for
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// Lifetime in days, 1 to 365
    #[arg(long, default_value_t = DEFAULT_DAYS, value_name = "N")]
    days: u32,
    /// Allow it to create and revoke tokens, none with a higher role
    #[arg(long)]
    can_mint: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Revoke a token: requests with it are rejected immediately
#[derive(Args)]
pub struct RevokeTokenArgs {
    /// Id of the token
    id: String,
    /// A token of this user instead of yours, as an administrator
    #[arg(long, value_name = "USER")]
    user: Option<String>,
    #[command(flatten)]
    confirm: ConfirmArgs,
}

impl ApiTokenCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await?,
            Self::List { user, output } => print_list(remote, user.as_deref(), output, out).await?,
            Self::Revoke(revoke) => revoke.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl CreateArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let new = NewApiToken {
            name: self.name,
            role: self.role,
            project: self.project,
            days: self.days,
            can_mint: self.can_mint.then_some(true),
            actions: Some(self.actions).filter(|actions| !actions.is_empty()),
            secret_hash: None,
        };
        let created = remote.client.create_token(&new).await?;
        if self.output.format.is_machine() {
            return out.print_value(&created, self.output.format);
        }
        let id = created.info.id;
        if let Some(why) = created.omitted {
            return Err(Failure::new(
                format!("The token {id} was created by an earlier attempt of this request. {why}"),
                format!("flotilla token revoke {id}"),
            ));
        }
        let until = created.info.expires_at.map(|at| format!(", valid until {at}")).unwrap_or_default();
        out.print_note(&format!(
            "token/{id} created with the role {}{until}. It is shown only once:",
            created.info.role
        ));
        out.print_line(&created.token)
    }
}

impl RevokeTokenArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let id: TokenId = self.id.parse().map_err(|_| {
            Failure::usage(
                format!("{:?} is not a token id.", self.id),
                "\"flotilla token list\" shows the ids.",
            )
        })?;
        if !self.confirm.is_given() {
            self.confirm.confirm(&describe_revocation(remote, self.user.as_deref(), id).await?)?;
        }
        match &self.user {
            Some(user) => remote.client.delete_user_token(user, id).await?,
            None => remote.client.delete_token(id).await?,
        }
        out.print_line(&format!("token/{id} revoked"))
    }
}

/// What the revocation ends: the name of the token, and when it was last used.
async fn describe_revocation(
    remote: &ServerConnection,
    user: Option<&str>,
    id: TokenId,
) -> Result<String, Failure> {
    let tokens = list_tokens(remote, user).await?;
    let Some(token) = tokens.into_iter().find(|token| token.id == id) else {
        return Ok(format!("Requests with the token {id} will be rejected."));
    };
    let used = match token.last_used_at {
        Some(at) => format!("It was last used {} ago.", clock::format_age(at, clock::now())),
        None => "It was never used.".to_owned(),
    };
    Ok(format!("Requests with the token {} ({id}) will be rejected. {used}", token.name))
}

/// The tokens of a user, or of the caller.
async fn list_tokens(remote: &ServerConnection, user: Option<&str>) -> Result<Vec<ApiToken>, Failure> {
    Ok(match user {
        Some(user) => remote.client.list_user_tokens(user).await?,
        None => remote.client.list_tokens().await?,
    })
}

async fn print_list(
    remote: &ServerConnection,
    user: Option<&str>,
    output: OutputArgs,
    out: &Printer,
) -> Result<(), Failure> {
    let tokens = list_tokens(remote, user).await?;
    if output.format.is_machine() {
        return out.print_value(&tokens, output.format);
    }
    let mut table = Table::new(&["ID", "NAME", "ROLE", "ACTIONS", "LAST USED", "EXPIRES"]);
    for token in &tokens {
        let used = token.last_used_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let expires = token.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        table
            .add_row()
            .text(token.id.to_string())
            .text(&token.name)
            .text(token.role.as_str())
            .text(token.actions.as_ref().map_or_else(|| "all".to_owned(), |actions| actions.join(", ")))
            .text(used)
            .text(expires);
    }
    out.print_table(&table, "There are no tokens.")
}
