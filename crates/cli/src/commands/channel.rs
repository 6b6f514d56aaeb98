//! `flotilla channel`: where messages about incidents are sent to.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::notification::{Channel, ChannelKind, EmailSecurity, EmailSettings, NewChannel};

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, join_names};
use crate::secret::read_secret;

/// The subcommands for channels.
#[derive(Subcommand)]
pub enum ChannelCommand {
    Create(CreateChannelArgs),
    /// List the channels, without their secrets
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show a channel, without its secrets
    Get {
        /// Name of the channel
        channel: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Send a message to a channel now
    ///
    /// The exit code is 1 if the receiver did not accept it.
    Test {
        /// Name of the channel
        channel: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Delete a channel with its subscriptions and the messages that wait for it
    Delete {
        /// Name of the channel
        channel: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Create a channel
#[derive(Args)]
pub struct CreateChannelArgs {
    /// Its name
    name: String,
    /// What it sends: webhook, slack, teams, alertmanager, pagerduty or email
    #[arg(long, value_name = "KIND", default_value = "webhook", value_parser = parse_kind)]
    kind: ChannelKind,
    /// Where to: https://HOST/PATH; may be omitted for PagerDuty, and is for e-mail
    #[arg(
        long,
        value_name = "URL",
        default_value = "",
        conflicts_with = "url_file",
        hide_default_value = true
    )]
    url: String,
    /// File with the address, if it is a secret, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    url_file: Option<PathBuf>,
    /// File with the secret that signs the messages of a webhook, with the integration key of PagerDuty, or with the password at the mail
    /// server, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    secret_file: Option<PathBuf>,
    #[command(flatten)]
    email: EmailArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// The mail server and the addresses of a channel for e-mail.
#[derive(Args)]
struct EmailArgs {
    /// Name of the mail server, for e-mail
    #[arg(long, value_name = "HOST")]
    smtp_host: Option<String>,
    /// Its port; without it 587, with --smtp-security tls 465, with plain 25
    #[arg(long, value_name = "PORT", requires = "smtp_host")]
    smtp_port: Option<u16>,
    /// How the connection is protected: startTls, tls, or plain, which only private addresses may be if the server allows it
    #[arg(long, value_name = "HOW", default_value = "startTls", value_parser = parse_security, requires = "smtp_host")]
    smtp_security: EmailSecurity,
    /// The user name at the mail server, if it needs one
    #[arg(long, value_name = "NAME", requires = "smtp_host")]
    smtp_user: Option<String>,
    /// The address of the sender
    #[arg(long, value_name = "ADDRESS", requires = "smtp_host")]
    from: Option<String>,
    /// The address of a recipient; may be repeated
    #[arg(long, value_name = "ADDRESS", requires = "smtp_host")]
    to: Vec<String>,
}

impl EmailArgs {
    /// The fields, if a mail server is named.
    fn into_settings(self) -> Option<EmailSettings> {
        Some(EmailSettings {
            host: self.smtp_host?,
            port: self.smtp_port,
            security: self.smtp_security,
            username: self.smtp_user.unwrap_or_default(),
            from: self.from.unwrap_or_default(),
            to: self.to,
        })
    }
}

fn parse_security(text: &str) -> Result<EmailSecurity, String> {
    EmailSecurity::parse(text).ok_or_else(|| {
        let kinds: Vec<&str> = EmailSecurity::ALL.iter().copied().map(EmailSecurity::as_str).collect();
        format!("the protections are {}", kinds.join(", "))
    })
}

fn parse_kind(text: &str) -> Result<ChannelKind, String> {
    ChannelKind::parse(text).ok_or_else(|| {
        let kinds: Vec<&str> = ChannelKind::ALL.iter().copied().map(ChannelKind::as_str).collect();
        format!("the kinds are {}", kinds.join(", "))
    })
}

impl ChannelCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::Create(create) => create.run(remote, out).await?,
            Self::List { output } => print_list(&remote.client.list_channels().await?, output.format, out)?,
            Self::Get { channel, output } => {
                print_list(&[remote.client.get_channel(&channel).await?], output.format, out)?;
            }
            Self::Test { channel, output } => {
                let test = remote.client.test_channel(&channel).await?;
                if output.format.is_machine() {
                    out.print_value(&test, output.format)?;
                } else {
                    out.print_line(&test.message)?;
                }
                if !test.delivered {
                    return Ok(ExitStatus::Failed);
                }
            }
            Self::Delete { channel, confirm } => {
                if !confirm.is_given() {
                    confirm.confirm(&describe_deletion(remote, &channel).await?)?;
                }
                remote.client.delete_channel(&channel).await?;
                out.print_line(&format!("channel/{channel} deleted"))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

/// What is deleted with a channel: the subscriptions that use it.
async fn describe_deletion(remote: &ServerConnection, channel: &str) -> Result<String, Failure> {
    let all = remote.client.list_subscriptions().await?;
    let used: Vec<&str> =
        all.iter().filter(|one| one.fields.channel == channel).map(|one| one.scope.as_str()).collect();
    Ok(match used.len() {
        0 => format!("The channel {channel} will be deleted. No subscription uses it."),
        1 => format!("The channel {channel} will be deleted with its subscription: {}.", used[0]),
        several => format!(
            "The channel {channel} will be deleted with its {several} subscriptions: {}.",
            join_names(&used)
        ),
    })
}

impl CreateChannelArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let url = match &self.url_file {
            Some(file) => read_secret(file)?.trim().to_owned(),
            None => self.url,
        };
        let secret = self.secret_file.as_deref().map(read_secret).transpose()?;
        let email = self.email.into_settings();
        let new = NewChannel { name: self.name, kind: self.kind, url, secret, email };
        let channel = remote.client.create_channel(&new).await?;
        if self.output.format.is_machine() {
            return out.print_value(&channel, self.output.format);
        }
        out.print_line(&format!("channel/{} created", channel.name))?;
        out.print_note(&format!("Test it: flotilla channel test {}", channel.name));
        Ok(())
    }
}

fn print_list(channels: &[Channel], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&channels, format);
    }
    let mut table = Table::new(&["NAME", "KIND", "ADDRESS", "SIGNED", "STATUS"]);
    for channel in channels {
        let row = table.add_row().text(&channel.name).text(channel.kind.as_str()).text(&channel.url);
        let row = row.text(if channel.has_secret { "yes" } else { "no" });
        row.text(channel.last_error.as_deref().unwrap_or("-"));
    }
    out.print_table(&table, "There are no channels yet: flotilla channel create NAME --url URL")
}
