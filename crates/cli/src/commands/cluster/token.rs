//! `flotilla cluster token`: manages join tokens.

use clap::{Args, Subcommand};
use domain::JoinTokenId;
use domain::join::{JoinToken, NewJoinToken};

use super::join::{parse_labels, parse_minutes};
use crate::clock;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// Join tokens
#[derive(Subcommand)]
pub enum JoinTokenCommand {
    Create(CreateTokenArgs),
    /// List the newest tokens, without their secrets
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Revoke a token; clusters that joined with it stay
    Revoke {
        /// Id of the token
        id: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Create a token; it is printed only once
#[derive(Args)]
pub struct CreateTokenArgs {
    /// Valid only for a cluster with this name
    #[arg(long, value_name = "NAME", conflicts_with = "max_uses")]
    name: Option<String>,
    /// Lifetime, such as 30m, 24h or 7d
    #[arg(long, default_value = "24h", value_name = "TIME")]
    ttl: String,
    /// How many clusters can join with it
    #[arg(long, default_value_t = 1, value_name = "N")]
    max_uses: u32,
    /// Accept the clusters without an approval
    #[arg(long)]
    auto_accept: bool,
    /// A label of the new clusters; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    #[command(flatten)]
    output: OutputArgs,
}

impl JoinTokenCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await,
            Self::List { output } => print_list(remote, output, out).await,
            Self::Revoke { id, confirm } => {
                let known: JoinTokenId = id.parse().map_err(|_| {
                    Failure::usage(
                        format!("{id:?} is not a token id."),
                        "\"flotilla cluster token list\" shows the ids.",
                    )
                })?;
                if !confirm.is_given() {
                    confirm.confirm(&describe_revocation(remote, known).await?)?;
                }
                remote.client.revoke_join_token(known).await?;
                out.print_line(&format!("token/{known} revoked"))
            }
        }
    }
}

/// What the revocation ends: the cluster that the token is for, and how many agents have used it.
async fn describe_revocation(remote: &ServerConnection, id: JoinTokenId) -> Result<String, Failure> {
    let tokens = remote.client.list_join_tokens().await?;
    let Some(token) = tokens.into_iter().find(|token| token.id == id) else {
        return Ok(format!("No agent can join with the token {id} any more."));
    };
    let cluster = token.cluster_name.map(|name| format!(" as {name}")).unwrap_or_default();
    let used = match token.uses {
        0 => "No agent has used it.".to_owned(),
        1 => "1 agent has used it and stays.".to_owned(),
        several => format!("{several} agents have used it and stay."),
    };
    Ok(format!("No agent can join{cluster} with the token {id} any more. {used}"))
}

impl CreateTokenArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let new = NewJoinToken {
            cluster_name: self.name,
            labels: parse_labels(&self.labels)?,
            auto_accept: self.auto_accept,
            max_uses: self.max_uses,
            minutes: parse_minutes(&self.ttl)?,
        };
        let created = remote.client.create_join_token(&new).await?;
        if self.output.format.is_machine() {
            return out.print_value(&created, self.output.format);
        }
        out.print_note(&format!(
            "The token is shown only once. Agents connect to {}; it expires {}.",
            created.hub, created.expires_at
        ));
        out.print_line(&created.token)
    }
}

async fn print_list(remote: &ServerConnection, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let tokens = remote.client.list_join_tokens().await?;
    if output.format.is_machine() {
        return out.print_value(&tokens, output.format);
    }
    let mut table = Table::new(&["ID", "CLUSTER", "USES", "EXPIRES", "ACCEPT", "CREATED BY", "STATE"]);
    for token in &tokens {
        let row =
            table.add_row().text(token.id.to_string()).text(token.cluster_name.as_deref().unwrap_or("any"));
        let row = row.text(format!("{}/{}", token.uses, token.max_uses)).text(token.expires_at.to_string());
        let accept = if token.auto_accept { "automatic" } else { "manual" };
        row.text(accept).text(&token.created_by).text(token_state(token));
    }
    out.print_table(&table, "There are no join tokens.")
}

fn token_state(token: &JoinToken) -> &'static str {
    token.state(clock::now()).as_str()
}
