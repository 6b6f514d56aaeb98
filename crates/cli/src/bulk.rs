//! Commands on several workloads: each is requested on its own, in the order named, and one that fails does not stop the others.

use clap::Args;
use domain::labels::LabelSelector;
use domain::page::ListQuery;
use domain::workload::WorkloadSummary;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::failure_report::build_report;
use crate::output::{Printer, join_names, pluralize};
use crate::pages::list_pages;
use crate::resources::CommandTarget;

/// The workloads of a command.
#[derive(Args)]
pub struct WorkloadNames {
    /// Names of workloads
    #[arg(required_unless_present = "selector", value_name = "WORKLOAD")]
    names: Vec<String>,
    /// All workloads with these labels, such as team=web
    #[arg(short = 'l', long, conflicts_with = "names", value_name = "LABELS")]
    selector: Option<String>,
}

impl WorkloadNames {
    /// The only one that is named; `None` if there are several or a selector.
    pub fn single(&self) -> Option<&str> {
        match (&self.names[..], &self.selector) {
            ([only], None) => Some(only),
            _ => None,
        }
    }

    /// The resource that the command names.
    pub fn target(&self) -> CommandTarget {
        self.single().map_or(CommandTarget::Unspecified, |name| CommandTarget::Workload(name.to_owned()))
    }

    /// The workloads that exist, as lists show them; for names also those that are named twice only once.
    async fn load(&self, remote: &ServerConnection) -> Result<Vec<WorkloadSummary>, Failure> {
        let selector = match &self.selector {
            Some(text) => parse_selector(text)?,
            None => String::new(),
        };
        let query = ListQuery { label_selector: selector, ..ListQuery::default() };
        Ok(list_pages(query, async |query| remote.client.list_workloads(&query).await).await?)
    }

    /// The names without duplicates. A selector that matches no workload is an error.
    pub async fn resolve(&self, remote: &ServerConnection) -> Result<Vec<String>, Failure> {
        let Some(selector) = &self.selector else {
            let mut names: Vec<String> = Vec::new();
            for name in &self.names {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            return Ok(names);
        };
        let found = self.load(remote).await?;
        if found.is_empty() {
            return Err(Failure::new(
                format!("No workload has the labels {selector}."),
                "See the labels of a workload with: flotilla get WORKLOAD",
            ));
        }
        Ok(found.into_iter().map(|workload| workload.name).collect())
    }

    /// What a removal of these workloads concerns, as a sentence.
    pub async fn describe_removal(
        &self,
        names: &[String],
        remote: &ServerConnection,
    ) -> Result<String, Failure> {
        if let Some(name) = self.single() {
            return describe_one_removal(name, remote).await;
        }
        let all = self.load(remote).await?;
        let known = all.iter().filter(|workload| names.contains(&workload.name));
        let lines: Vec<String> = known
            .map(|workload| {
                format!("{} on {}", workload.name, count(workload.counts.targeted() as usize, "cluster"))
            })
            .collect();
        Ok(format!("This removes {}: {}.", count(names.len(), "workload"), lines.join(", ")))
    }
}

async fn describe_one_removal(name: &str, remote: &ServerConnection) -> Result<String, Failure> {
    let status = remote.client.get_workload_status(name, None).await?;
    let present = status.target_clusters.iter().filter(|target| !target.state.is_gone());
    let clusters: Vec<&str> = present.map(|target| &*target.cluster_name).collect();
    Ok(match clusters.len() {
        0 => format!("{name} runs on no cluster."),
        several => {
            format!("This removes {name} from {}: {}.", count(several, "cluster"), join_names(&clusters))
        }
    })
}

/// `1 workload`, `3 workloads`.
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {}", pluralize(n, noun))
}

/// An unset variable in a script must not select every workload.
fn parse_selector(text: &str) -> Result<String, Failure> {
    let hint = "Write it as team=web or env in (dev,test).";
    let selector: LabelSelector =
        text.parse().map_err(|error| Failure::usage(format!("--selector is invalid: {error}."), hint))?;
    if selector.is_empty() {
        return Err(Failure::usage("--selector is empty and would select every workload.", hint));
    }
    Ok(selector.to_string())
}

/// Runs `act` for each workload, and prints each failure with its reason. The last failure decides the exit code; after several
/// workloads their numbers are printed.
pub async fn run_for_each(
    names: &[String],
    remote: &ServerConnection,
    out: &Printer,
    act: impl AsyncFn(&str) -> Result<ExitStatus, Failure>,
) -> Result<ExitStatus, Failure> {
    if let [only] = names {
        return act(only).await;
    }
    let (mut failed, mut exit) = (0, ExitStatus::Success);
    for name in names {
        let report = match act(name).await {
            Ok(ExitStatus::Success) => continue,
            Ok(status) => {
                (failed, exit) = (failed + 1, status);
                continue;
            }
            Err(failure) => build_report(failure, Some(remote)),
        };
        // Without a report the reader of stdout is gone.
        let Some(mut report) = report else { return Ok(exit) };
        report.message = format!("workload/{name}: {}", report.message);
        out.print_failure(&report);
        (failed, exit) = (failed + 1, report.exit);
    }
    if failed > 0 {
        out.print_note(&format!("{failed} of {} failed.", count(names.len(), "workload")));
    }
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_selector_does_not_select_every_workload() {
        assert!(parse_selector("").is_err());
        assert!(parse_selector("team in (web").is_err());
        assert_eq!(parse_selector(" team = web ").ok().as_deref(), Some("team=web"));
    }

    #[test]
    fn only_one_name_without_a_selector_is_a_single_workload() {
        let names = |names: &[&str], selector: Option<&str>| WorkloadNames {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            selector: selector.map(str::to_owned),
        };
        assert_eq!(names(&["a"], None).single(), Some("a"));
        assert_eq!(names(&["a", "b"], None).single(), None);
        assert_eq!(names(&[], Some("a=b")).single(), None);
    }
}
