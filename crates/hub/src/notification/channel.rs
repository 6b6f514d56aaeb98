//! Channels: created, tested and deleted by administrators.

use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent, describe_object};
use domain::incident::{IncidentKind, IncidentState, IncidentSummary};
use domain::notification::{
    Channel, ChannelKind, ChannelTemplate, ChannelTestResult, IncidentMessage, MAX_CHANNELS, MessageContent,
    MessageKind, MessagePayload, NewChannel, TemplatePreview, TemplatePreviewRequest, build_email_of_text,
    build_payload, sample_content,
};
use domain::{DeliveryId, Finding, IncidentId, OperationId};
use serde_json::json;
use store::channel::ChannelRow;

use super::template::{check_template, describe_fault, render_template};
use crate::hub::CommitEffects;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The channels of the project, by name, without their secrets.
    pub async fn list_channels(&self) -> Result<Vec<Channel>, Error> {
        let mut tx = self.read().await?;
        Ok(store::channel::list(&mut tx, self.project()).await?.into_iter().map(to_public).collect())
    }

    /// One channel.
    ///
    /// # Errors
    /// There is no such channel.
    pub async fn get_channel(&self, name: &str) -> Result<Channel, Error> {
        self.load_channel(name).await.map(to_public)
    }

    async fn load_channel(&self, name: &str) -> Result<ChannelRow, Error> {
        let mut tx = self.read().await?;
        let row = store::channel::get(&mut tx, self.project(), name).await?;
        row.ok_or_else(|| Error::not_found("channel", name))
    }

    /// Creates a channel.
    ///
    /// # Errors
    /// It is not valid, or its name is in use.
    pub async fn create_channel(&self, actor: &Actor, new: NewChannel) -> Result<Channel, Error> {
        actor.authorize(UserAction::ManageChannels)?;
        let mut findings = new.check();
        if let Some(template) = &new.template {
            findings.extend(check_template(new.kind, template, &self.sample_messages(new.kind)));
        }
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut tx = self.write_as(actor, UserAction::ManageChannels).await?;
        let existing = store::channel::list(&mut tx, self.project()).await?;
        if existing.iter().any(|row| row.name == new.name) {
            let message = format!("Channel {:?} exists. Delete it first to change it.", new.name);
            return Err(Error::AlreadyExists(message));
        }
        if existing.len() >= MAX_CHANNELS {
            let message = format!("The project has {MAX_CHANNELS} channels, the most possible.");
            let finding = Finding::error("G101", message, "Delete one that is not used.").with_path("/name");
            return Err(Error::Invalid(vec![finding]));
        }
        let target = new.target();
        let row = ChannelRow {
            project: self.project(),
            name: new.name,
            kind: new.kind,
            target,
            secret: new.secret.filter(|secret| !secret.is_empty()),
            email: new.email,
            template: new.template.filter(|template| !template.is_empty()),
            created_by: actor.name.clone(),
            created_at: self.clock().now(),
            failures: 0,
            last_error: None,
            retry_at: None,
            delivered_at: None,
        };
        store::channel::insert(&mut tx, &row).await?;
        let channel = to_public(row);
        let message = format!("Channel {} ({}) was created.", channel.name, channel.kind.label());
        let event = NewEvent::new(EventKind::ChannelCreated, &actor.name, message)
            .with_object("channel", &channel.name);
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 201, &channel)).await?;
        Ok(channel)
    }

    /// Deletes a channel with its subscriptions and what waits for it.
    ///
    /// # Errors
    /// There is no such channel.
    pub async fn delete_channel(&self, actor: &Actor, name: &str) -> Result<(), Error> {
        actor.authorize(UserAction::ManageChannels)?;
        let mut tx = self.write_as(actor, UserAction::ManageChannels).await?;
        if !store::channel::delete(&mut tx, self.project(), name).await? {
            return Err(Error::not_found("channel", name));
        }
        let message = format!("Channel {name} was deleted.");
        let event =
            NewEvent::new(EventKind::ChannelDeleted, &actor.name, message).with_object("channel", name);
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }

    /// Sends a message to a channel now, and reports the outcome. After a success, what waits for the channel is sent.
    ///
    /// # Errors
    /// There is no such channel.
    pub async fn test_channel(&self, actor: &Actor, name: &str) -> Result<ChannelTestResult, Error> {
        actor.authorize(UserAction::ManageChannels)?;
        let channel = self.load_channel(name).await?;
        let id = self.ids().generate(DeliveryId::from_parts);
        let content = MessageContent::Incident(Box::new(self.test_message(actor)));
        let test = match self.send_message(&channel, id, &content).await {
            Ok(note) => {
                let accepted = "The receiver accepted the message.".to_owned();
                let message = note.map_or(accepted.clone(), |note| format!("{accepted} {note}"));
                ChannelTestResult { delivered: true, message }
            }
            Err(failure) => ChannelTestResult { delivered: false, message: failure.message },
        };
        if test.delivered {
            let mut tx = self.write_as(actor, UserAction::ManageChannels).await?;
            store::channel::record_success(&mut tx, self.project(), name, self.clock().now()).await?;
            let message =
                format!("A test message was sent to channel {name}: what waits for it is sent now.");
            tx.describe_audit(describe_object("channel", name), message);
            let effects = CommitEffects { wake_deliveries: true, ..CommitEffects::default() };
            self.commit(tx, effects.with_response(actor, 200, &test)).await?;
        }
        Ok(test)
    }

    /// Sets the template of a channel; without text, removes it.
    ///
    /// # Errors
    /// There is no such channel, or the template is not valid.
    pub async fn set_channel_template(
        &self,
        actor: &Actor,
        name: &str,
        change: ChannelTemplate,
    ) -> Result<Channel, Error> {
        actor.authorize(UserAction::ManageChannels)?;
        let template = Some(change.template).filter(|template| !template.is_empty());
        let mut tx = self.write_as(actor, UserAction::ManageChannels).await?;
        // The kind of a channel does not change, and one of another kind with the same name is another row.
        let row = store::channel::get(&mut tx, self.project(), name).await?;
        let mut row = row.ok_or_else(|| Error::not_found("channel", name))?;
        if let Some(template) = &template {
            let findings = check_template(row.kind, template, &self.sample_messages(row.kind));
            if !findings.is_empty() {
                return Err(Error::Invalid(findings));
            }
        }
        if !store::channel::set_template(&mut tx, self.project(), name, template.as_deref()).await? {
            return Err(Error::not_found("channel", name));
        }
        row.template = template;
        let verb = if row.template.is_some() { "set" } else { "removed" };
        tx.describe_audit(
            describe_object("channel", name),
            format!("The template of channel {name} was {verb}."),
        );
        let channel = to_public(row);
        self.commit(tx, CommitEffects::default().with_response(actor, 200, &channel)).await?;
        Ok(channel)
    }

    /// What a channel with this template would send about a sample incident or publish. Stores and sends nothing.
    ///
    /// # Errors
    /// The template is not valid, or such a channel sends nothing about publishes.
    pub fn preview_template(&self, request: &TemplatePreviewRequest) -> Result<TemplatePreview, Error> {
        let event = request.event.unwrap_or(MessageKind::Opened);
        if event == MessageKind::PublishEnded && !request.kind.accepts_publishes() {
            return Err(Error::Invalid(vec![incidents_only(request.kind, "/event")]));
        }
        let findings = match request.template.as_str() {
            "" => Vec::new(),
            template => check_template(request.kind, template, &self.sample_messages(request.kind)),
        };
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let content = sample_content(event, self.clock().now());
        let link = self.link_of(&content);
        let text = match request.template.as_str() {
            "" => None,
            template => {
                let rendered = render_template(request.kind, template, &content, &link);
                Some(rendered.map_err(|fault| Error::Invalid(vec![describe_fault(fault)]))?)
            }
        };
        let mut payload =
            build_payload(request.kind, DeliveryId::from_parts(1, 1), &content, (&link, "(secret)"));
        if let Some(text) = &text {
            payload = if request.kind == ChannelKind::Email {
                MessagePayload { body: json!(build_email_of_text(&content, text, &link)), ..payload }
            } else {
                payload.with_text(request.kind, text)
            };
        }
        let body = serde_json::to_string_pretty(&payload.body).unwrap_or_default();
        Ok(TemplatePreview { text: text.unwrap_or_default(), body })
    }

    /// A sample of each message that a channel of this kind sends.
    fn sample_messages(&self, kind: ChannelKind) -> Vec<MessageContent> {
        let now = self.clock().now();
        let of_incidents =
            [MessageKind::Opened, MessageKind::Updated, MessageKind::Closed, MessageKind::Test];
        let of_publishes = kind.accepts_publishes().then_some(MessageKind::PublishEnded);
        of_incidents.into_iter().chain(of_publishes).map(|kind| sample_content(kind, now)).collect()
    }

    fn test_message(&self, actor: &Actor) -> IncidentMessage {
        let now = self.clock().now();
        let incident = IncidentSummary {
            id: self.ids().generate(IncidentId::from_parts),
            workload: "test".to_owned(),
            kind: IncidentKind::default(),
            state: IncidentState::Open,
            clusters: Vec::new(),
            cluster_details: Vec::new(),
            cause: format!("{} tests the channel. Nothing fails.", actor.name),
            reason: "Test".to_owned(),
            object: String::new(),
            container: String::new(),
            pod: String::new(),
            hint: String::new(),
            preceding_change: None,
            since: now,
            opened_at: now,
            closed_at: None,
            duration_seconds: None,
            acknowledged_by: None,
            acknowledged_at: None,
        };
        IncidentMessage { kind: MessageKind::Test, incident, owners: Vec::new(), at: now }
    }

    /// The address of an incident in the console; empty if that is not known.
    pub(super) fn incident_link(&self, id: IncidentId) -> String {
        let url = self.notification_settings().console_url.get();
        url.map(|url| format!("{url}/incidents/{id}")).unwrap_or_default()
    }

    /// The address of an operation on a workload in the console; empty if that is not known.
    pub(super) fn operation_link(&self, workload: &str, id: OperationId) -> String {
        let url = self.notification_settings().console_url.get();
        url.map(|url| format!("{url}/workloads/{workload}?tab=history&operation={id}")).unwrap_or_default()
    }
}

/// That a channel of this kind sends nothing about publishes.
pub(super) fn incidents_only(kind: ChannelKind, path: &str) -> Finding {
    let message = format!("A channel for {} is sent incidents only.", kind.label());
    let hint =
        "The end of a publish is no alert that is resolved later: use a webhook, Slack, Teams or e-mail.";
    Finding::error("G101", message, hint).with_path(path)
}

/// What is shown of a channel: everything but the secrets, which paths and queries of addresses can be.
fn to_public(row: ChannelRow) -> Channel {
    let scheme_end = row.target.find("://").map_or(0, |at| at + 3);
    let end = |marks: &[char]| row.target[scheme_end..].find(marks).map(|at| scheme_end + at);
    let url = match row.kind.has_secret_url() {
        true => format!("{}/…", &row.target[..end(&['/', '?', '#']).unwrap_or(row.target.len())]),
        false => row.target[..end(&['?', '#']).unwrap_or(row.target.len())].to_owned(),
    };
    Channel {
        url,
        name: row.name,
        kind: row.kind,
        has_secret: row.secret.is_some(),
        email: row.email,
        template: row.template,
        created_by: row.created_by,
        created_at: row.created_at,
        failures: row.failures,
        last_error: row.last_error,
        retry_at: row.retry_at,
        delivered_at: row.delivered_at,
    }
}
