//! `flotilla subscription`: which incidents, and whose publishes, are sent to which channel.

use clap::{Args, Subcommand};
use domain::SubscriptionId;
use domain::notification::{NewSubscription, Subscription};
use domain::rollout::RolloutWindow;

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};

/// The subcommands for subscriptions.
#[derive(Subcommand)]
pub enum SubscriptionCommand {
    Create(Box<CreateSubscriptionArgs>),
    /// List the subscriptions
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Delete a subscription; messages about open incidents are still sent
    Delete {
        /// Id of the subscription
        subscription: SubscriptionId,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Send incidents, or the end of your own publishes, to a channel
#[derive(Args)]
#[group(id = "scope", required = true, multiple = false)]
pub struct ScopeArgs {
    /// Those of this workload
    #[arg(long, value_name = "WORKLOAD")]
    workload: Option<String>,
    /// Those of the workloads of this owner, and those on clusters of this owner
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// Those of the workloads with these labels, such as team=shop
    #[arg(long, value_name = "LABELS")]
    selector: Option<String>,
    /// Those of all workloads of the project, which is default
    #[arg(long, value_name = "PROJECT")]
    project: Option<String>,
    /// No incidents: one message about the end of each of your own publishes
    #[arg(long)]
    my_publishes: bool,
}

/// Send incidents, or the end of your own publishes, to a channel
#[derive(Args)]
pub struct CreateSubscriptionArgs {
    /// Name of the channel
    #[arg(long, value_name = "CHANNEL")]
    channel: String,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Hold messages back in these hours of the week, such as "22:00-06:00 Europe/Berlin" or "00:00-24:00 sat,sun", in UTC without a zone
    #[arg(long, value_name = "HOURS")]
    quiet_hours: Option<RolloutWindow>,
    #[command(flatten)]
    output: OutputArgs,
}

impl SubscriptionCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await?,
            Self::List { output } => {
                print_list(&remote.client.list_subscriptions().await?, output.format, out)?;
            }
            Self::Delete { subscription, confirm } => {
                if !confirm.is_given() {
                    confirm_deletion(remote, subscription, confirm).await?;
                }
                remote.client.delete_subscription(subscription).await?;
                out.print_line(&format!("subscription/{subscription} deleted"))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

/// Asks, with the channel and what the subscription selects.
async fn confirm_deletion(
    remote: &ServerConnection,
    id: SubscriptionId,
    confirm: ConfirmArgs,
) -> Result<(), Failure> {
    let all = remote.client.list_subscriptions().await?;
    let Some(known) = all.iter().find(|known| known.id == id) else {
        let hint = "See the ids with: flotilla subscription list";
        return Err(Failure::new(format!("There is no subscription {id}."), hint));
    };
    let about = if known.fields.publisher.is_some() { "The end of" } else { "New incidents of" };
    confirm.confirm(&format!("{about} {} will no longer be sent to {}.", known.scope, known.fields.channel))
}

impl CreateSubscriptionArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let new = NewSubscription {
            channel: self.channel,
            workload: self.scope.workload,
            owner: self.scope.owner,
            selector: self.scope.selector,
            project: self.scope.project,
            publisher: self.scope.my_publishes.then(String::new),
            quiet_hours: self.quiet_hours,
        };
        let created = remote.client.create_subscription(&new).await?;
        if self.output.format.is_machine() {
            return out.print_value(&created, self.output.format);
        }
        out.print_line(&format!("subscription/{} created", created.id))
    }
}

fn print_list(subscriptions: &[Subscription], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&subscriptions, format);
    }
    let mut table = Table::new(&["ID", "CHANNEL", "INCIDENTS OF", "QUIET HOURS", "BY"]);
    for one in subscriptions {
        let row = table.add_row().text(one.id.to_string()).text(&one.fields.channel);
        let quiet = one.fields.quiet_hours.as_ref().map(ToString::to_string);
        row.text(&one.scope).text(quiet.as_deref().unwrap_or("-")).text(&one.created_by);
    }
    let nothing =
        "There are no subscriptions yet: flotilla subscription create --channel CHANNEL --workload WORKLOAD";
    out.print_table(&table, nothing)
}
