//! Operations on incidents, channels and subscriptions.

use domain::incident::{IncidentQuery, IncidentSummary};
use domain::notification::{
    Channel, ChannelTemplate, ChannelTestResult, IncidentDetails, NewChannel, NewSubscription, Subscription,
    TemplatePreview, TemplatePreviewRequest,
};
use domain::page::Page;
use domain::{IncidentId, SubscriptionId};
use http::Method;

use super::Client;
use crate::Error;

impl Client {
    /// One page of incidents, newest first.
    pub async fn list_incidents(&self, query: &IncidentQuery) -> Result<Page<IncidentSummary>, Error> {
        self.api_call(Method::GET, &["incidents"]).query(query).send_json().await
    }

    /// One incident, with what was sent about it.
    pub async fn get_incident(&self, id: IncidentId) -> Result<IncidentDetails, Error> {
        self.api_call(Method::GET, &["incidents", &id.to_string()]).send_json().await
    }

    /// Acknowledges an incident.
    pub async fn acknowledge_incident(&self, id: IncidentId) -> Result<IncidentDetails, Error> {
        self.api_call(Method::POST, &["incidents", &format!("{id}:ack")]).send_json().await
    }

    /// The channels, by name.
    pub async fn list_channels(&self) -> Result<Vec<Channel>, Error> {
        self.api_call(Method::GET, &["channels"]).send_json().await
    }

    /// One channel.
    pub async fn get_channel(&self, name: &str) -> Result<Channel, Error> {
        self.api_call(Method::GET, &["channels", name]).send_json().await
    }

    /// Creates a channel.
    pub async fn create_channel(&self, new: &NewChannel) -> Result<Channel, Error> {
        self.api_call(Method::POST, &["channels"]).body(new).send_json().await
    }

    /// Sends a message to a channel now.
    pub async fn test_channel(&self, name: &str) -> Result<ChannelTestResult, Error> {
        self.api_call(Method::POST, &["channels", &format!("{name}:test")]).send_json().await
    }

    /// Sets or removes the template of a channel.
    pub async fn set_channel_template(&self, name: &str, change: &ChannelTemplate) -> Result<Channel, Error> {
        self.api_call(Method::PUT, &["channels", name, "template"]).body(change).send_json().await
    }

    /// What a channel with a template would send.
    pub async fn preview_template(&self, request: &TemplatePreviewRequest) -> Result<TemplatePreview, Error> {
        self.api_call(Method::POST, &["channels:preview"]).body(request).send_json().await
    }

    /// Deletes a channel with its subscriptions.
    pub async fn delete_channel(&self, name: &str) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["channels", name]).send_ignoring_body().await
    }

    /// The subscriptions, oldest first.
    pub async fn list_subscriptions(&self) -> Result<Vec<Subscription>, Error> {
        self.api_call(Method::GET, &["subscriptions"]).send_json().await
    }

    /// Creates a subscription.
    pub async fn create_subscription(&self, new: &NewSubscription) -> Result<Subscription, Error> {
        self.api_call(Method::POST, &["subscriptions"]).body(new).send_json().await
    }

    /// Deletes a subscription.
    pub async fn delete_subscription(&self, id: SubscriptionId) -> Result<(), Error> {
        self.api_call(Method::DELETE, &["subscriptions", &id.to_string()]).send_ignoring_body().await
    }
}
