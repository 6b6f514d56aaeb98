//! `flotilla channel`: where messages about incidents are sent to.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::notification::{
    Channel, ChannelKind, ChannelTemplate, EmailSecurity, EmailSettings, MessageKind, NewChannel,
    TemplatePreviewRequest,
};

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table, join_names};
use crate::secret::{read_secret, read_template};

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
    /// Set or remove the template for the texts of a channel's messages
    Template(TemplateArgs),
    /// Show what a channel with a template would send about a sample incident
    Preview(PreviewArgs),
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
    /// File with the template for the texts of its messages, or - for stdin
    #[arg(long, value_name = "FILE|-")]
    template_file: Option<PathBuf>,
    #[command(flatten)]
    email: EmailArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Set or remove the template for the texts of a channel's messages
#[derive(Args)]
pub struct TemplateArgs {
    /// Name of the channel
    channel: String,
    /// File with the template, or - for stdin
    #[arg(long, value_name = "FILE|-", required_unless_present = "remove")]
    file: Option<PathBuf>,
    /// Send the built-in text again
    #[arg(long, conflicts_with = "file")]
    remove: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// Show what a channel with a template would send about a sample incident
#[derive(Args)]
pub struct PreviewArgs {
    /// The kind of the channel
    #[arg(long, value_name = "KIND", default_value = "webhook", value_parser = parse_kind)]
    kind: ChannelKind,
    /// File with the template, or - for stdin; without it, the built-in text
    #[arg(long, value_name = "FILE|-")]
    file: Option<PathBuf>,
    /// What the message is about: opened, updated, closed, test or publishEnded
    #[arg(long, value_name = "EVENT", default_value = "opened", value_parser = parse_event)]
    event: MessageKind,
    #[command(flatten)]
    output: OutputArgs,
}

fn parse_event(text: &str) -> Result<MessageKind, String> {
    let kinds = [
        MessageKind::Opened,
        MessageKind::Updated,
        MessageKind::Closed,
        MessageKind::Test,
        MessageKind::PublishEnded,
    ];
    let found = kinds.into_iter().find(|kind| kind.as_str() == text);
    found.ok_or_else(|| format!("the events are {}", kinds.map(MessageKind::as_str).join(", ")))
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
            Self::Template(template) => template.run(remote, out).await?,
            Self::Preview(preview) => preview.run(remote, out).await?,
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
        let template = self.template_file.as_deref().map(read_template).transpose()?;
        let email = self.email.into_settings();
        let new = NewChannel { name: self.name, kind: self.kind, url, secret, email, template };
        let channel = remote.client.create_channel(&new).await?;
        if self.output.format.is_machine() {
            return out.print_value(&channel, self.output.format);
        }
        out.print_line(&format!("channel/{} created", channel.name))?;
        out.print_note(&format!("Test it: flotilla channel test {}", channel.name));
        Ok(())
    }
}

impl TemplateArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let template = self.file.as_deref().map(read_template).transpose()?.unwrap_or_default();
        let change = ChannelTemplate { template };
        let channel = remote.client.set_channel_template(&self.channel, &change).await?;
        if self.output.format.is_machine() {
            return out.print_value(&channel, self.output.format);
        }
        let verb = if self.remove { "removed" } else { "set" };
        out.print_line(&format!("channel/{} template {verb}", channel.name))
    }
}

impl PreviewArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let template = self.file.as_deref().map(read_template).transpose()?.unwrap_or_default();
        let request = TemplatePreviewRequest { kind: self.kind, template, event: Some(self.event) };
        let preview = remote.client.preview_template(&request).await?;
        if self.output.format.is_machine() {
            return out.print_value(&preview, self.output.format);
        }
        out.print_line(if preview.text.is_empty() { &preview.body } else { &preview.text })
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
