//! Channels that send e-mail: the mail server, the addresses, and the text of a message.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::text::{escape_html, facts, title};
use super::{MessageContent, MessageKind};
use crate::kubernetes::name;
use crate::text::finding::Finding;
use crate::text::name_check::INVALID_NAME;

/// Most recipients of a channel.
pub const MAX_RECIPIENTS: usize = 20;
/// Longest address, in bytes (RFC 5321).
const MAX_ADDRESS_BYTES: usize = 254;
/// Longest part of an address before the `@`, in bytes (RFC 5321).
const MAX_LOCAL_PART_BYTES: usize = 64;
/// Longest user name at the mail server, in bytes.
const MAX_USERNAME_BYTES: usize = 254;
/// Longest subject, in characters.
const MAX_SUBJECT_CHARS: usize = 200;

/// How the connection to a mail server is protected.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum EmailSecurity {
    /// The connection begins in clear and must change to TLS before anything is sent (STARTTLS); port 587.
    #[default]
    StartTls,
    /// TLS from the first byte; port 465.
    Tls,
    /// In clear; port 25. Only to private addresses, if whoever runs the server allows it, and without a password.
    Plain,
}

impl EmailSecurity {
    /// Every kind.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == name)
    }

    /// The name for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::StartTls => "STARTTLS (port 587)",
            Self::Tls => "TLS (port 465)",
            Self::Plain => "None (port 25, private addresses only)",
        }
    }

    /// The port, if none is named.
    pub const fn default_port(self) -> u16 {
        match self {
            Self::StartTls => 587,
            Self::Tls => 465,
            Self::Plain => 25,
        }
    }
}

/// The mail server and the addresses of a channel that sends e-mail. The password of the user name is the secret of the channel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmailSettings {
    /// Name or address of the mail server. Its certificate must be for it.
    pub host: String,
    /// The port; without it, that of the protection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// How the connection is protected.
    #[serde(default)]
    pub security: EmailSecurity,
    /// The user name at the mail server; empty if it needs none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub username: String,
    /// The address of the sender.
    pub from: String,
    /// The addresses of the recipients.
    pub to: Vec<String>,
}

impl EmailSettings {
    /// The port that is connected to.
    pub fn effective_port(&self) -> u16 {
        self.port.unwrap_or_else(|| self.security.default_port())
    }

    /// The mail server as a URL, for people.
    pub fn url(&self) -> String {
        let scheme = if self.security == EmailSecurity::Tls { "smtps" } else { "smtp" };
        let port = self.effective_port();
        if self.host.contains(':') {
            format!("{scheme}://[{}]:{port}", self.host)
        } else {
            format!("{scheme}://{}:{port}", self.host)
        }
    }

    /// The part of the sender's address behind the `@`: that of the ids of its messages.
    pub fn sender_domain(&self) -> &str {
        self.from.rsplit_once('@').map_or(self.from.as_str(), |(_, domain)| domain)
    }

    /// Checks the fields. `has_password` is whether the channel has a secret.
    pub(super) fn check(&self, has_password: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !is_host_name(&self.host) && self.host.parse::<IpAddr>().is_err() {
            let message = format!("{:?} is no name of a mail server.", shorten(&self.host));
            findings.push(error(message, "Write its host name, such as mail.example.com.", "/email/host"));
        }
        if self.port == Some(0) {
            findings.push(error(
                "Port 0 can't be connected to.",
                "Leave it out, or write 587.",
                "/email/port",
            ));
        }
        if !is_address(&self.from) {
            findings.push(not_an_address(&self.from, "/email/from"));
        }
        match self.to.len() {
            0 => findings.push(error("There is no recipient.", "Write at least one address.", "/email/to")),
            count if count > MAX_RECIPIENTS => {
                let message = format!("There are {count} recipients, more than {MAX_RECIPIENTS}.");
                findings.push(error(message, "Use the address of a mailing list.", "/email/to"));
            }
            _ => {
                let invalid = self.to.iter().enumerate().filter(|(_, address)| !is_address(address));
                findings.extend(
                    invalid.map(|(index, address)| not_an_address(address, &format!("/email/to/{index}"))),
                );
            }
        }
        findings.extend(self.check_credentials(has_password));
        findings
    }

    fn check_credentials(&self, has_password: bool) -> Option<Finding> {
        let name = self.username.as_str();
        if name.len() > MAX_USERNAME_BYTES || name.contains(char::is_control) {
            return Some(error(
                "The user name is not valid.",
                "Write it as the mail server does.",
                "/email/username",
            ));
        }
        match (name.is_empty(), has_password) {
            (false, false) => Some(error(
                "A user name needs a password.",
                "Write the password as secret, or leave the user name out.",
                "/secret",
            )),
            (true, true) => {
                Some(error("A password needs a user name.", "Write the user name.", "/email/username"))
            }
            (false, true) if self.security == EmailSecurity::Plain => Some(error(
                "A password is sent over TLS only.",
                "Use STARTTLS or TLS, or leave user name and password out.",
                "/email/security",
            )),
            _ => None,
        }
    }
}

fn error(message: impl Into<String>, hint: &str, path: &str) -> Finding {
    Finding::error(INVALID_NAME, message, hint).with_path(path)
}

fn not_an_address(address: &str, path: &str) -> Finding {
    let message = format!("{:?} is no e-mail address.", shorten(address));
    error(message, "Write name@example.com, without a display name.", path)
}

fn shorten(text: &str) -> String {
    text.chars().take(80).collect()
}

/// Whether a text is a host name in letters of either case.
fn is_host_name(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    name::is_subdomain(&lower) && lower.split('.').all(name::is_label)
}

/// Whether a text is an address that is sent as it is: a dot-atom of RFC 5322 at a host name. White space, quotes, commas, brackets and
/// line ends, which could begin another header or command, are in none.
fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let is_atom = |part: &str| {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c);
        !part.is_empty() && part.chars().all(is_allowed)
    };
    text.len() <= MAX_ADDRESS_BYTES
        && local.len() <= MAX_LOCAL_PART_BYTES
        && local.split('.').all(is_atom)
        && is_host_name(domain)
}

/// The content of an e-mail.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EmailContent {
    /// One line without control characters, at most 200 characters, the same for all messages about an incident but for `Re: `.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The same as HTML: everything that is not of this product is escaped.
    pub html: String,
}

/// The content of a message. `link` is the address of the incident or the operation in the console, empty if that is not known.
pub fn build_email(content: &MessageContent, link: &str) -> EmailContent {
    let (title, facts) = (title(content), facts(content));
    let mut text = format!("{title}\n\n");
    let mut rows = String::new();
    for (name, value) in &facts {
        text.push_str(&format!("{name}: {value}\n"));
        rows.push_str(&format!(
            "<tr><th align=\"left\" valign=\"top\">{name}</th><td>{}</td></tr>\n",
            escape_html(value)
        ));
    }
    let body = format!("<h2>{}</h2>\n<table>\n{rows}</table>\n", escape_html(&title));
    finish(content, (&text, &body), link)
}

/// The content of a message with the text of a template, which is no HTML.
pub fn build_email_of_text(content: &MessageContent, text: &str, link: &str) -> EmailContent {
    let body = format!("<p style=\"white-space: pre-wrap\">{}</p>\n", escape_html(text));
    finish(content, (text, &body), link)
}

fn finish(content: &MessageContent, (text, body): (&str, &str), link: &str) -> EmailContent {
    let mut text = without_controls(text.trim_end());
    let mut html = without_controls(body);
    text.push('\n');
    if !link.is_empty() {
        text.push_str(&format!("\n{link}\n"));
        let what = match content {
            MessageContent::Incident(_) => "incident",
            MessageContent::Publish(_) => "publish",
        };
        html.push_str(&format!("<p><a href=\"{}\">Open the {what}</a></p>\n", escape_html(link)));
    }
    let html =
        format!("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n{html}</body></html>\n");
    EmailContent { subject: subject(content), text, html }
}

/// The subject: mail programs sort the messages about an incident into one conversation by it, so it does not change. A publish has one
/// message.
fn subject(content: &MessageContent) -> String {
    let subject = match content {
        MessageContent::Publish(message) => format!("[Flotilla] {}", message.headline()),
        MessageContent::Incident(message) => {
            let of_incident =
                format!("[Flotilla] {}: {}", message.incident.workload, message.incident.reason);
            match message.kind {
                MessageKind::Test => "[Flotilla] Test of a channel".to_owned(),
                MessageKind::Updated | MessageKind::Closed => format!("Re: {of_incident}"),
                MessageKind::Opened | MessageKind::PublishEnded => of_incident,
            }
        }
    };
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    subject.replace(is_break, " ").chars().take(MAX_SUBJECT_CHARS).collect()
}

/// Text whose only control characters are line feeds and tabs.
fn without_controls(text: &str) -> String {
    text.replace("\r\n", "\n").replace(|c: char| c.is_control() && !matches!(c, '\n' | '\t'), " ")
}
