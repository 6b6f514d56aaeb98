//! `flotilla auth`: what the caller may do.

use clap::{Args, Subcommand};
use domain::authorization::UserAction;
use domain::token_actions::TokenActions;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for authorization.
#[derive(Subcommand)]
pub enum AuthCommand {
    #[command(name = "can-i")]
    CanI(CanIArgs),
}

/// Whether you may do something; exits with 0 for yes and 1 for no
#[derive(Args)]
pub struct CanIArgs {
    /// The action, such as publish; all actions with --list
    #[arg(required_unless_present = "list")]
    action: Option<String>,
    /// The workload or cluster; it must exist. Roles are the same for all of them
    name: Option<String>,
    /// List every action and whether you may do it
    #[arg(long, conflicts_with_all = ["action", "name"])]
    list: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl AuthCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Self::CanI(can_i) = self;
        can_i.run(remote, out).await
    }
}

impl CanIArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let Some(name) = self.action else { return list_actions(remote, self.output, out).await };
        let action = UserAction::parse(&name).map_err(|error| {
            Failure::usage(format!("{error}."), "\"flotilla auth can-i --list\" shows all actions.")
        })?;
        let review = remote.client.review_access(action, self.name.as_deref()).await?;
        let exit = if review.allowed { ExitStatus::Success } else { ExitStatus::Failed };
        if self.output.format.is_machine() {
            out.print_value(&review, self.output.format)?;
            return Ok(exit);
        }
        out.print_line(if review.allowed { "yes" } else { "no" })?;
        if let Some(reason) = &review.reason {
            out.print_note(reason);
        }
        Ok(exit)
    }
}

/// The actions that the token is limited to. One of a later server is not left out: what the token may do would not be known.
fn parse_token_actions(names: Option<Vec<String>>) -> Result<Option<TokenActions>, Failure> {
    let parsed = names.map(|names| names.join(" ").parse::<TokenActions>()).transpose();
    parsed.map_err(|error| {
        Failure::new(
            format!("The server has an action of a later version: {error}."),
            "flotilla version".to_owned(),
        )
    })
}

async fn list_actions(
    remote: &ServerConnection,
    output: OutputArgs,
    out: &Printer,
) -> Result<ExitStatus, Failure> {
    let own = remote.client.review_access(UserAction::View, None).await?;
    let (role, limit) = (own.role, parse_token_actions(own.token_actions)?);
    let review = |action: &UserAction| wire::AccessReview::new("", role, *action).limited_to(limit.as_ref());
    let reviews: Vec<_> = UserAction::ALL.iter().map(review).collect();
    if output.format.is_machine() {
        out.print_value(&reviews, output.format)?;
        return Ok(ExitStatus::Success);
    }
    let mut table = Table::new(&["ACTION", "ALLOWED", "REQUIRED ROLE"]);
    for review in &reviews {
        let allowed = if review.allowed { "yes" } else { "no" };
        table.add_row().text(review.action.as_str()).text(allowed).text(review.required_role.as_str());
    }
    out.print_note(&format!("Your role is {role}."));
    out.print_table(&table, "There are no actions.")?;
    Ok(ExitStatus::Success)
}
