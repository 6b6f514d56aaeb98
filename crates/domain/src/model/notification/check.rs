//! The checks of channels and subscriptions before they are stored.

use super::{ChannelKind, EmailSettings, NewChannel, NewSubscription, PAGERDUTY_URL, SubscriptionScope};
use crate::kubernetes::labels::LabelSelector;
use crate::kubernetes::name;
use crate::model::owner::check_owners;
use crate::text::finding::Finding;
use crate::text::name_check::INVALID_NAME;

/// Longest URL, in bytes.
const MAX_URL_BYTES: usize = 2_000;
/// Longest secret, in bytes.
const MAX_SECRET_BYTES: usize = 1_000;
/// Shortest secret that signs messages, in bytes.
const MIN_SIGNING_SECRET_BYTES: usize = 16;

fn error(message: impl Into<String>, hint: &str, path: &str) -> Finding {
    Finding::error(INVALID_NAME, message, hint).with_path(path)
}

impl ChannelKind {
    /// Whether messages about publishes can be sent through it; the others have alerts, which have to be resolved.
    pub const fn accepts_publishes(self) -> bool {
        !matches!(self, Self::Alertmanager | Self::Pagerduty)
    }
}

impl NewChannel {
    /// The address: that of PagerDuty if it is omitted, and that of the mail server of a channel that sends e-mail.
    pub fn target(&self) -> String {
        match (self.kind, self.url.trim()) {
            (ChannelKind::Pagerduty, "") => PAGERDUTY_URL.to_owned(),
            (ChannelKind::Email, _) => self.email.as_ref().map(EmailSettings::url).unwrap_or_default(),
            (_, url) => url.to_owned(),
        }
    }

    /// Checks the fields themselves; whether the address may be connected to is decided when a message is sent.
    pub fn check(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !name::is_label(&self.name) {
            let shown: String = self.name.chars().take(80).collect();
            let message = format!("{shown:?} is no name of a channel.");
            findings.push(error(message, "Use lower-case letters, digits and \"-\", at most 63.", "/name"));
        }
        match self.kind {
            ChannelKind::Email => findings.extend(self.check_email()),
            _ => findings.extend(self.check_url()),
        }
        let bytes = self.secret.as_ref().map_or(0, String::len);
        if bytes > MAX_SECRET_BYTES {
            let message = format!("The secret has {bytes} bytes, more than {MAX_SECRET_BYTES}.");
            findings.push(error(message, "Use a shorter one.", "/secret"));
        }
        match self.kind {
            ChannelKind::Pagerduty if bytes == 0 => findings.push(error(
                "A channel for PagerDuty needs the integration key of a service.",
                "In PagerDuty, add the integration Events API v2 to the service, and write its key as secret.",
                "/secret",
            )),
            ChannelKind::Webhook if self.secret.is_some() && bytes < MIN_SIGNING_SECRET_BYTES => {
                let message = format!("The secret has {bytes} bytes; at least {MIN_SIGNING_SECRET_BYTES} are needed.");
                findings.push(error(message, "Generate one: openssl rand -hex 32.", "/secret"));
            }
            ChannelKind::Slack | ChannelKind::Teams | ChannelKind::Alertmanager if bytes > 0 => {
                let message = format!("A channel for {} has no secret.", self.kind.label());
                findings.push(error(message, "Leave it out; the address is stored encrypted.", "/secret"));
            }
            _ => {}
        }
        findings
    }

    fn check_email(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.url.is_empty() {
            let hint = "Leave it out; the mail server is the host of email.";
            findings.push(error("A channel for e-mail has no URL.", hint, "/url"));
        }
        match &self.email {
            Some(email) => {
                findings.extend(email.check(self.secret.as_ref().is_some_and(|text| !text.is_empty())));
            }
            None => findings.push(error(
                "A channel for e-mail needs a mail server, a sender and recipients.",
                "Write them as email: {host, from, to}.",
                "/email",
            )),
        }
        findings
    }

    fn check_url(&self) -> Option<Finding> {
        if self.email.is_some() {
            let message = format!("A channel for {} has no mail server.", self.kind.label());
            return Some(error(message, "Leave email out, or use the kind email.", "/email"));
        }
        let target = self.target();
        let host = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
        let authority = host.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
        if target.len() <= MAX_URL_BYTES
            && !authority.is_empty()
            && !authority.contains('@')
            && !target.contains(|c: char| c.is_whitespace() || c.is_control())
        {
            return None;
        }
        let hint = "Write https://host/path, without a user name, as the receiver shows it.";
        Some(error("The address is no URL that messages can be sent to.", hint, "/url"))
    }
}

impl NewSubscription {
    /// Checks the quiet hours themselves; whether their time zone exists is checked where the table of zones is.
    pub fn check_quiet_hours(&self) -> Vec<Finding> {
        let Some(window) = &self.quiet_hours else { return Vec::new() };
        let findings = window.check("/quietHours");
        if findings.is_empty() && window.is_always_open() {
            let message = "The quiet hours are the whole week, so nothing would ever be sent.";
            let hint = "Shorten them, or delete the subscription.";
            return vec![Finding::error("G513", message, hint).with_path("/quietHours/to")];
        }
        findings
    }

    /// The scope of the fields.
    ///
    /// # Errors
    /// There is not exactly one, it is not valid, or the project is not the only one that there is.
    pub fn scope(&self) -> Result<SubscriptionScope, Vec<Finding>> {
        let reject = |finding: Finding| Err(vec![finding]);
        if let Some(name) = &self.publisher {
            return self.check_publisher(name);
        }
        match (&self.workload, &self.owner, &self.selector, &self.project) {
            (Some(name), None, None, None) if name::is_label(name) => {
                Ok(SubscriptionScope::Workload(name.clone()))
            }
            (Some(name), None, None, None) => {
                let shown: String = name.chars().take(80).collect();
                let message = format!("{shown:?} is no name of a workload.");
                reject(error(message, "Write the name of a workload.", "/workload"))
            }
            (None, Some(owner), None, None) if !owner.trim().is_empty() => {
                let owner = owner.trim().to_owned();
                let findings = check_owners(std::slice::from_ref(&owner));
                if findings.is_empty() { Ok(SubscriptionScope::Owner(owner)) } else { Err(findings) }
            }
            (None, None, Some(text), None) => match text.parse::<LabelSelector>() {
                Ok(selector) if !selector.is_empty() => Ok(SubscriptionScope::Selector(selector)),
                Ok(_) => reject(error(
                    "The selector is empty.",
                    "For all workloads, write project: default.",
                    "/selector",
                )),
                Err(why) => reject(error(
                    why.to_string(),
                    "Write a label selector such as team=shop,tier!=test.",
                    "/selector",
                )),
            },
            (None, None, None, Some(project)) if project == "default" => Ok(SubscriptionScope::Project),
            (None, None, None, Some(_)) => {
                reject(error("There is no such project.", "The only project is default.", "/project"))
            }
            _ => reject(error(
                "A subscription selects by exactly one of workload, owner, selector, project and publisher.",
                "Write one of them; create several subscriptions for several.",
                "/workload",
            )),
        }
    }

    fn check_publisher(&self, name: &str) -> Result<SubscriptionScope, Vec<Finding>> {
        let others = [&self.workload, &self.owner, &self.selector, &self.project];
        if others.iter().any(|other| other.is_some()) {
            let hint = "Create one subscription for publishes and others for incidents.";
            let message =
                "A subscription for the publishes of a user has no workload, owner, selector or project.";
            return Err(vec![error(message, hint, "/publisher")]);
        }
        let findings = check_owners(&[name.to_owned()]);
        if name.is_empty() || !findings.is_empty() {
            return Err(vec![error(
                "The publisher is no name of a user.",
                "Write your own user name.",
                "/publisher",
            )]);
        }
        Ok(SubscriptionScope::Publisher(name.to_owned()))
    }
}
