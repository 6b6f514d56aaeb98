//! `flotilla chart repo`: the repositories that charts are fetched from.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::chart_repository::{ChartRepository, NewChartRepository, RepositoryCredentials};

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, pluralize};
use crate::secret::read_secret;

/// The subcommands for repositories.
#[derive(Subcommand)]
pub enum RepoCommand {
    Add(AddRepoArgs),
    /// List the repositories with the age of their indexes
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Read the index of a repository now, or of all
    Update {
        /// Name of the repository [default: all]
        repository: Option<String>,
    },
    /// Remove a repository; rejected while a workload names a chart of it
    Remove {
        /// Name of the repository
        repository: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Add a repository: an HTTP server with an index.yaml, or an OCI registry
#[derive(Args)]
pub struct AddRepoArgs {
    /// Its name, the first part of references to its charts
    name: String,
    /// https://host/path of the folder with index.yaml, or oci://host/path
    url: String,
    /// User name
    #[arg(long, value_name = "NAME", requires = "password_file")]
    username: Option<String>,
    /// File with the password, or - for stdin
    #[arg(long, value_name = "FILE|-", requires = "username")]
    password_file: Option<PathBuf>,
    /// File with a bearer token for an HTTP repository, or - for stdin
    #[arg(long, value_name = "FILE|-", conflicts_with = "username")]
    token_file: Option<PathBuf>,
    /// URL of the registry's token endpoint, if it is on another host than the registry
    #[arg(long, value_name = "URL", requires = "username")]
    token_endpoint: Option<String>,
    /// Request an OCI registry over plain HTTP, if the server allows that
    #[arg(long)]
    plain_http: bool,
    #[command(flatten)]
    output: OutputArgs,
}

impl RepoCommand {
    pub(super) async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(remote, out).await,
            Self::List { output } => {
                let repositories = remote.client.list_chart_repositories().await?;
                print_list(&repositories, output.format, out)
            }
            Self::Update { repository } => update(repository, remote, out).await,
            Self::Remove { repository, confirm } => {
                let effect = "with its credentials, its index and the charts that were fetched from it.";
                confirm.confirm(&format!("The chart repository {repository} will be removed {effect}"))?;
                remote.client.remove_chart_repository(&repository).await?;
                out.print_line(&format!("chart repository/{repository} removed"))
            }
        }
    }
}

impl AddRepoArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let format = self.output.format;
        let added = remote.client.create_chart_repository(&self.to_request()?).await?;
        if format.is_machine() {
            return out.print_value(&added, format);
        }
        out.print_line(&format!("chart repository/{} added", added.name))?;
        describe_status(&added, out)
    }

    fn to_request(&self) -> Result<NewChartRepository, Failure> {
        let credentials = match (&self.username, &self.password_file, &self.token_file) {
            (Some(user_name), Some(file), _) => RepositoryCredentials::Basic {
                user_name: user_name.clone(),
                password: read_secret(file)?,
                token_endpoint: self.token_endpoint.clone().unwrap_or_default(),
            },
            (.., Some(file)) => RepositoryCredentials::Bearer { token: read_secret(file)? },
            _ => RepositoryCredentials::None,
        };
        Ok(NewChartRepository {
            name: self.name.clone(),
            url: self.url.clone(),
            plain_http: self.plain_http,
            credentials,
        })
    }
}

/// Refreshes one repository or all; a repository that can't be read is an error after all were tried.
async fn update(repository: Option<String>, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
    let names = match repository {
        Some(name) => vec![name],
        None => remote.client.list_chart_repositories().await?.into_iter().map(|one| one.name).collect(),
    };
    let mut failed = Vec::new();
    for name in names {
        let refreshed = remote.client.refresh_chart_repository(&name).await?;
        match &refreshed.status.failure {
            None => {
                out.print_line(&format!("chart repository/{name} updated"))?;
                describe_status(&refreshed, out)?;
            }
            Some(failure) => failed.push(format!("{name}: {} {}", failure.message, failure.hint)),
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(failed.join("\n"), "The last complete indexes stay in use.")),
    }
}

/// What a person should know about a repository beyond its success.
fn describe_status(repository: &ChartRepository, out: &Printer) -> Result<(), Failure> {
    let status = &repository.status;
    if let Some(failure) = &status.failure {
        out.print_note(&format!("It can't be read now: {} {}", failure.message, failure.hint));
    } else if let Some(charts) = status.chart_count {
        out.print_line(&format!("{charts} {}: flotilla chart search", pluralize(charts as usize, "chart")))?;
    } else {
        out.print_note("A registry has no list of its charts. Use them by name: --chart REPOSITORY/NAME");
    }
    if !status.changed_versions.is_empty() {
        out.print_note(&format!(
            "The repository now publishes other content for {}. The stored charts stay in use.",
            status.changed_versions.join(", ")
        ));
    }
    Ok(())
}

fn print_list(repositories: &[ChartRepository], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&repositories, format);
    }
    let mut table = Table::new(&["NAME", "URL", "CHARTS", "UPDATED", "PROBLEM"]);
    for repository in repositories {
        let status = &repository.status;
        let charts = status.chart_count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let updated = status.refreshed_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let problem = status.failure.as_ref().map(|failure| failure.message.clone()).unwrap_or_default();
        let row = table.add_row().text(&repository.name).text(&repository.url).text(charts);
        row.text(updated).text(problem);
    }
    out.print_table(&table, "There are no chart repositories yet: flotilla chart repo add NAME URL")
}
