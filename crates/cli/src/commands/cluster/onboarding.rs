//! `flotilla cluster onboarding`: how far a cluster is that joins.

use clap::Args;
use domain::join::{Onboarding, OnboardingState};

use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, sanitize};
use crate::resources::clusters::{accept_command, stage_table};
use crate::wait::ChangeSignals;

/// Show how far a cluster is that joins: from its manifests until it is online
#[derive(Args)]
pub struct OnboardingArgs {
    /// The name the cluster will have
    pub cluster: String,
    /// Wait until it is online, or can't become it; without a time limit
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl OnboardingArgs {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let mut onboarding = remote.client.get_onboarding(&self.cluster).await?;
        if self.wait {
            onboarding = self.wait_until_online(remote, out, onboarding).await?;
        }
        if self.output.format.is_machine() {
            return out.print_value(&onboarding, self.output.format);
        }
        print_stages(&onboarding, out)
    }

    /// Reports each stage that it waits for, until the cluster is online or a person has to generate new manifests.
    async fn wait_until_online(
        &self,
        remote: &ServerConnection,
        out: &Printer,
        mut onboarding: Onboarding,
    ) -> Result<Onboarding, Failure> {
        let mut signals = ChangeSignals::start(&remote.client);
        let mut reported = None;
        while let Some(stage) = onboarding.current().filter(|stage| stage.state != OnboardingState::Failed) {
            if reported != Some(stage.name) {
                out.print_note(&sanitize(&format!("{}: {}", stage.name.label(), stage.message)));
                reported = Some(stage.name);
            }
            signals.wait().await;
            onboarding = remote.client.get_onboarding(&self.cluster).await?;
        }
        Ok(onboarding)
    }
}

fn print_stages(onboarding: &Onboarding, out: &Printer) -> Result<(), Failure> {
    out.print_table(&stage_table(&onboarding.stages), "")?;
    if let Some(waiting) = &onboarding.pending {
        if onboarding.is_foreign {
            out.print_note("Its agent used another join token than the newest for this name.");
        }
        out.print_note(&format!("key: {}", sanitize(&waiting.fingerprint)));
        out.print_note(&format!(
            "Compare the key with the agent's log, then: {}",
            accept_command(&waiting.name)
        ));
    } else if let Some(stage) = onboarding.current().filter(|stage| !stage.hint.is_empty()) {
        out.print_note(&sanitize(&stage.hint));
    }
    Ok(())
}
