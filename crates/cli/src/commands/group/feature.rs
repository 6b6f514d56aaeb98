//! `flotilla group feature`: features of a group (S1-2).

use clap::Subcommand;
use domain::placement::{FeatureProperties, FeatureStatus};

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};

/// The subcommands for the features of a group.
#[derive(Subcommand)]
pub enum FeatureCommand {
    /// List the features of a group, and whether their settings are in effect
    List {
        /// Name of the group
        group: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Enable a feature, or replace its properties
    Enable {
        /// Name of the group
        group: String,
        /// deployment or membershipLock
        feature: String,
        /// A property of the feature; may be repeated
        #[arg(long = "property", value_name = "KEY=VALUE")]
        properties: Vec<String>,
    },
    /// Disable a feature; without the feature deployment, the deployments of the group are deleted
    Disable {
        /// Name of the group
        group: String,
        /// deployment or membershipLock
        feature: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

impl FeatureCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        match self {
            Self::List { group, output } => {
                let features = remote.client.list_group_features(&group).await?;
                if output.format.is_machine() {
                    return out.print_value(&features, output.format);
                }
                print_features(&features, out)
            }
            Self::Enable { group, feature, properties } => {
                let properties = parse_properties(&properties)?;
                let status = remote.client.enable_group_feature(&group, &feature, &properties).await?;
                print_features(&[status], out)
            }
            Self::Disable { group, feature, confirm } => {
                if feature == "deployment" {
                    confirm.confirm(&format!("The deployments of the group {group} will be deleted."))?;
                }
                let status = remote.client.disable_group_feature(&group, &feature).await?;
                print_features(&[status], out)
            }
        }
    }
}

fn parse_properties(texts: &[String]) -> Result<FeatureProperties, Failure> {
    let parse = |text: &String| {
        let parts = text.split_once('=').filter(|(key, _)| !key.is_empty());
        let (key, value) = parts.ok_or_else(|| {
            Failure::usage(format!("{text:?} is not a property."), "Write --property key=value.")
        })?;
        Ok((key.to_owned(), value.into()))
    };
    texts.iter().map(parse).collect()
}

fn print_features(features: &[FeatureStatus], out: &Printer) -> Result<(), Failure> {
    let mut table = Table::new(&["FEATURE", "ENABLED", "STATE", "MESSAGE"]);
    for status in features {
        let row = table.add_row().text(status.feature.name.as_str());
        let row = row.text(if status.feature.enabled { "yes" } else { "no" });
        row.text(<&str>::from(status.reconcile_state)).text(&status.last_reconcile_error);
    }
    out.print_table(&table, "The group has no features.")
}
