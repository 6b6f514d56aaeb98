//! `flotilla cluster token`: what a cluster joins with.

use clap::{Args, Subcommand};
use domain::JoinTokenId;
use domain::join::{JoinToken, NewJoinToken};

use super::joining::{labels, minutes};
use crate::clock;
use crate::failure::Failure;
use crate::output::{Out, Output, Table};
use crate::remote::Remote;

/// Join tokens
#[derive(Subcommand)]
pub enum Token {
    Create(Create),
    /// List the newest tokens, without their secrets
    List {
        #[command(flatten)]
        output: Output,
    },
    /// End a token; clusters that joined with it stay
    Revoke {
        /// Its id
        id: String,
    },
}

/// Make a token; it is printed this once
#[derive(Args)]
pub struct Create {
    /// Let in only a cluster of this name
    #[arg(long, value_name = "NAME", conflicts_with = "max_uses")]
    name: Option<String>,
    /// How long it lives, such as 30m, 24h or 7d
    #[arg(long, default_value = "24h", value_name = "TIME")]
    ttl: String,
    /// How many clusters it lets in
    #[arg(long, default_value_t = 1, value_name = "N")]
    max_uses: u32,
    /// Let them in without a person's word
    #[arg(long)]
    auto_accept: bool,
    /// A label they get; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<String>,
    #[command(flatten)]
    output: Output,
}

impl Token {
    /// Runs it.
    pub async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await,
            Self::List { output } => list(remote, output, out).await,
            Self::Revoke { id } => {
                let known: JoinTokenId = id.parse().map_err(|_| {
                    Failure::usage(
                        format!("{id:?} is no id of a token."),
                        "\"flotilla cluster token list\" shows them.",
                    )
                })?;
                remote.client.join_token_revoke(known).await?;
                out.line(&format!("token/{known} revoked"))
            }
        }
    }
}

impl Create {
    async fn run(self, remote: &Remote, out: &Out) -> Result<(), Failure> {
        let new = NewJoinToken {
            cluster_name: self.name,
            labels: labels(&self.labels)?,
            auto_accept: self.auto_accept,
            max_uses: self.max_uses,
            minutes: minutes(&self.ttl)?,
        };
        let made = remote.client.join_token_create(&new).await?;
        if self.output.format.is_machine() {
            return out.value(&made, self.output.format);
        }
        out.note(&format!("This is shown once. Agents dial {}; it ends {}.", made.hub, made.expires_at));
        out.line(&made.token)
    }
}

async fn list(remote: &Remote, output: Output, out: &Out) -> Result<(), Failure> {
    let tokens = remote.client.join_token_list().await?;
    if output.format.is_machine() {
        return out.value(&tokens, output.format);
    }
    let mut table = Table::new(&["ID", "FOR", "USES", "ENDS", "ACCEPT", "BY", "STATE"]);
    for token in &tokens {
        let row = table.row().text(token.id.to_string()).text(token.cluster_name.as_deref().unwrap_or("any"));
        let row = row.text(format!("{}/{}", token.uses, token.max_uses)).text(token.expires_at.to_string());
        let accept = if token.auto_accept { "automatic" } else { "by a person" };
        row.text(accept).text(&token.created_by).text(state(token));
    }
    out.table(&table, "There are no join tokens.")
}

fn state(token: &JoinToken) -> &'static str {
    match token {
        token if token.revoked_at.is_some() => "revoked",
        token if token.expires_at <= clock::now() => "over",
        token if token.uses >= token.max_uses => "used up",
        _ => "good",
    }
}
