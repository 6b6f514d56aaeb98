//! `flotilla git`: Git sources of workloads, and the repositories that need credentials.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::git_repository::{GitCredentials, GitLogin, GitRepository, GitRepositoryPut};
use domain::git_status::GitSourceStatus;

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};
use crate::secret::read_secret;

/// The subcommands for Git.
#[derive(Subcommand)]
pub enum GitCommand {
    /// Show the commits of a workload's draft and of its published revision, and what is known about the ref
    Status {
        /// Name of the workload
        workload: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Check the ref of a workload now, for all workloads that follow it
    Check {
        /// Name of the workload
        workload: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Manage the repositories that need credentials, a webhook or signed commits
    #[command(subcommand)]
    Repo(GitRepoCommand),
}

/// The subcommands for repositories.
#[derive(Subcommand)]
pub enum GitRepoCommand {
    Add(AddGitRepoArgs),
    /// List the repositories, without their secrets
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove a repository with its secrets; workloads stay at their commits
    Remove {
        /// Name of the repository
        repository: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Add a repository, or change it; secrets that are not named stay as they are
#[derive(Args)]
pub struct AddGitRepoArgs {
    /// Its name, which the address of its webhook ends with
    name: String,
    /// Its URL, as sources name it: https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH
    url: String,
    /// User name; many servers accept any for a token
    #[arg(long, value_name = "NAME", requires = "password_file", conflicts_with_all = ["private_key_file", "known_hosts"])]
    username: Option<String>,
    /// File with the password or token, or - for stdin
    #[arg(long, value_name = "FILE|-", requires = "username")]
    password_file: Option<PathBuf>,
    /// SSH: file with the private key, without a passphrase, or - for stdin [default: unchanged]
    #[arg(long, value_name = "FILE|-")]
    private_key_file: Option<PathBuf>,
    /// SSH: file with the keys of the server, as ssh-keyscan prints them; without any, the server is not trusted [default: unchanged]
    #[arg(long, value_name = "FILE")]
    known_hosts: Option<PathBuf>,
    /// File with the secret of its webhook, at least 16 bytes, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    webhook_secret_file: Option<PathBuf>,
    /// File with SSH public keys that commits must be signed with, one a line [default: unchanged]
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArgs,
}

impl GitCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Status { workload, output } => {
                print_source(&remote.client.get_git_source(&workload).await?, output.format, out)
            }
            Self::Check { workload, output } => {
                print_source(&remote.client.check_git_source(&workload).await?, output.format, out)
            }
            Self::Repo(command) => command.run(remote, out).await.map(|()| ExitStatus::Success),
        }
    }
}

impl GitRepoCommand {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        match self {
            Self::Add(add) => add.run(remote, out).await,
            Self::List { output } => {
                print_list(&remote.client.list_git_repositories().await?, output.format, out)
            }
            Self::Remove { repository, confirm } => {
                let stay = "Workloads that follow it stay at their commit; the next ones are read without credentials and may be unsigned.";
                confirm.confirm(&format!(
                    "The Git repository {repository} will be removed with its secrets. {stay}"
                ))?;
                remote.client.remove_git_repository(&repository).await?;
                out.print_line(&format!("git repository/{repository} removed"))
            }
        }
    }
}

impl AddGitRepoArgs {
    /// The credentials that are entered; `None` to retain the stored ones.
    fn read_credentials(&self) -> Result<Option<GitCredentials>, Failure> {
        if let (Some(user_name), Some(file)) = (&self.username, &self.password_file) {
            return Ok(Some(GitCredentials::basic(user_name.clone(), read_secret(file)?)));
        }
        let read = |file: &Option<PathBuf>| file.as_deref().map(read_secret).transpose();
        let (private_key, known_hosts) = (read(&self.private_key_file)?, read(&self.known_hosts)?);
        let has_key = private_key.is_some() || known_hosts.is_some();
        Ok(has_key.then(|| GitCredentials {
            private_key: private_key.unwrap_or_default(),
            known_hosts: known_hosts.unwrap_or_default(),
            ..GitCredentials::default()
        }))
    }

    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let credentials = self.read_credentials()?;
        let put = GitRepositoryPut {
            url: self.url,
            credentials,
            webhook_secret: self.webhook_secret_file.as_deref().map(read_secret).transpose()?,
            allowed_signers: self.allowed_signers.as_deref().map(read_secret).transpose()?,
        };
        let saved = remote.client.put_git_repository(&self.name, &put).await?;
        if self.output.format.is_machine() {
            return out.print_value(&saved, self.output.format);
        }
        out.print_line(&format!("git repository/{} saved", saved.name))?;
        if saved.has_webhook {
            out.print_note(&format!("Webhook: POST /api/v1/projects/default/git-webhooks/{}", saved.name));
        }
        Ok(())
    }
}

/// Exit code 1 if the new commit is blocked or the ref can't be read.
fn print_source(source: &GitSourceStatus, format: Format, out: &Printer) -> Result<ExitStatus, Failure> {
    let is_failed = source.status.failure.is_some() || source.follow.blocked.is_some();
    let status = if is_failed { ExitStatus::Rejected } else { ExitStatus::Success };
    if format.is_machine() {
        out.print_value(source, format)?;
        return Ok(status);
    }
    let commit = |pinned: &Option<domain::remote::PinnedCommit>| {
        let text = |pinned: &domain::remote::PinnedCommit| {
            let at = (pinned.committed_at.millis() > 0).then(|| format!(" ({})", pinned.committed_at));
            let origin = domain::remote::describe_origin(&pinned.subject, &pinned.author).unwrap_or_default();
            format!("{} {origin}{}", pinned.short(), at.unwrap_or_default()).trim_end().to_owned()
        };
        pinned.as_ref().map_or_else(|| "-".to_owned(), text)
    };
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut add = |field: &str, value: String| {
        table.add_row().text(field).text(value);
    };
    add("repository", source.repository.clone());
    add(
        "ref",
        if source.reference.is_empty() { "default branch".to_owned() } else { source.reference.clone() },
    );
    add("path", if source.path.is_empty() { ".".to_owned() } else { source.path.clone() });
    add("on new commit", source.on_new_commit.as_str().to_owned());
    add("draft", commit(&source.draft));
    add("published", commit(&source.published));
    add("checked", source.status.checked_at.map_or_else(|| "never".to_owned(), |at| at.to_string()));
    out.print_table(&table, "")?;
    out.print_line(&source.message)?;
    Ok(status)
}

fn print_list(repositories: &[GitRepository], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&repositories, format);
    }
    let mut table = Table::new(&["NAME", "URL", "USER", "WEBHOOK", "SIGNERS"]);
    for repository in repositories {
        let signers = repository.allowed_signers.lines().filter(|line| !line.trim().is_empty()).count();
        let user = match repository.login() {
            GitLogin::User(name) => name,
            other => format!("({other})"),
        };
        let row = table.add_row().text(&repository.name).text(&repository.url).text(user);
        row.text(if repository.has_webhook { "yes" } else { "no" }).text(signers.to_string());
    }
    out.print_table(&table, "There are no Git repositories yet: flotilla git repo add NAME URL")
}
