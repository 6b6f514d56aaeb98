//! Subscriptions: which incidents are sent to which channel.

use domain::authorization::UserAction;
use domain::event::{EventKind, NewEvent};
use domain::notification::{MAX_SUBSCRIPTIONS, NewSubscription, Subscription, SubscriptionScope};
use domain::rollout::RolloutWindow;
use domain::{Finding, SubscriptionId};
use store::Tx;
use store::subscription::SubscriptionRow;

use super::channel::incidents_only;
use crate::hub::CommitEffects;
use crate::time_zone::check_zone;
use crate::{Actor, Error, Hub};

impl Hub {
    /// The subscriptions of the project, oldest first.
    pub async fn list_subscriptions(&self) -> Result<Vec<Subscription>, Error> {
        let mut tx = self.read().await?;
        Ok(store::subscription::list(&mut tx, self.project()).await?.iter().map(to_public).collect())
    }

    /// Creates a subscription. If there is one with the same channel and scope, it gets these quiet hours.
    ///
    /// # Errors
    /// It is not valid, there is no such channel or workload, or it is for the publishes of another user.
    pub async fn create_subscription(
        &self,
        actor: &Actor,
        mut new: NewSubscription,
    ) -> Result<Subscription, Error> {
        actor.authorize(UserAction::Subscribe)?;
        if let Some(publisher) = &mut new.publisher {
            check_publisher(publisher, &actor.name)?;
        }
        let scope = new.scope().map_err(Error::Invalid)?;
        let mut findings = new.check_quiet_hours();
        findings.extend(new.quiet_hours.as_ref().and_then(|window| check_zone(window, "/quietHours")));
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let mut tx = self.write_as(actor, UserAction::Subscribe).await?;
        let Some(channel) = store::channel::get(&mut tx, self.project(), &new.channel).await? else {
            return Err(Error::not_found("channel", new.channel));
        };
        if new.publisher.is_some() && !channel.kind.accepts_publishes() {
            return Err(Error::Invalid(vec![incidents_only(channel.kind, "/channel")]));
        }
        if let Some(workload) = &new.workload {
            self.load_workload_head(&mut tx, workload).await?;
        }
        let existing = store::subscription::list(&mut tx, self.project()).await?;
        let same = existing.iter().find(|row| row.channel == new.channel && row.scope == scope);
        if let Some(row) = same.cloned() {
            return self.change_quiet_hours(tx, actor, row, new.quiet_hours).await;
        }
        if existing.len() >= MAX_SUBSCRIPTIONS {
            let message = format!("The project has {MAX_SUBSCRIPTIONS} subscriptions, the most possible.");
            let finding = Finding::error("G101", message, "Delete some, or select workloads by labels.");
            return Err(Error::Invalid(vec![finding.with_path("/channel")]));
        }
        let row = SubscriptionRow {
            id: self.ids().generate(SubscriptionId::from_parts),
            project: self.project(),
            channel: new.channel,
            scope,
            quiet_hours: new.quiet_hours,
            created_by: actor.name.clone(),
            created_at: self.clock().now(),
        };
        store::subscription::insert(&mut tx, &row).await?;
        let message = describe_subscription(&row);
        let event = NewEvent::new(EventKind::SubscriptionCreated, &actor.name, message)
            .with_object("subscription", &row.id.to_string());
        let subscription = to_public(&row);
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 201, &subscription)).await?;
        Ok(subscription)
    }

    /// Gives a subscription other quiet hours; what is held back already stays so.
    async fn change_quiet_hours(
        &self,
        mut tx: Tx,
        actor: &Actor,
        row: SubscriptionRow,
        quiet_hours: Option<RolloutWindow>,
    ) -> Result<Subscription, Error> {
        if row.quiet_hours == quiet_hours {
            return Ok(to_public(&row));
        }
        store::subscription::set_quiet_hours(&mut tx, row.id, quiet_hours.as_ref()).await?;
        let row = SubscriptionRow { quiet_hours, ..row };
        let event = NewEvent::new(EventKind::SubscriptionCreated, &actor.name, describe_subscription(&row))
            .with_object("subscription", &row.id.to_string());
        let subscription = to_public(&row);
        self.commit(tx, CommitEffects::with_event(event).with_response(actor, 201, &subscription)).await?;
        Ok(subscription)
    }

    /// Deletes a subscription. Messages about open incidents are still sent.
    ///
    /// # Errors
    /// There is no such subscription.
    pub async fn delete_subscription(&self, actor: &Actor, id: SubscriptionId) -> Result<(), Error> {
        actor.authorize(UserAction::Subscribe)?;
        let mut tx = self.write_as(actor, UserAction::Subscribe).await?;
        if !store::subscription::delete(&mut tx, self.project(), id).await? {
            return Err(Error::not_found("subscription", id.to_string()));
        }
        let message = format!("Subscription {id} was deleted.");
        let event = NewEvent::new(EventKind::SubscriptionDeleted, &actor.name, message)
            .with_object("subscription", &id.to_string());
        self.commit(tx, CommitEffects::with_event(event).with_empty_response(actor, 204)).await
    }
}

/// Fills in the name of the caller, who is the only one whose publishes it may be for.
fn check_publisher(publisher: &mut String, caller: &str) -> Result<(), Error> {
    if publisher.is_empty() {
        caller.clone_into(publisher);
    }
    if publisher.as_str() == caller {
        return Ok(());
    }
    let message = format!("You are {caller}, and can't subscribe to the publishes of another user.");
    Err(reject(message, "Write your own user name, or an empty text.", "/publisher"))
}

fn reject(message: String, hint: &str, path: &str) -> Error {
    Error::Invalid(vec![Finding::error("G101", message, hint).with_path(path)])
}

fn describe_subscription(row: &SubscriptionRow) -> String {
    let quiet = row.quiet_hours.as_ref().map(|window| format!(", except in its quiet hours, {window}"));
    let (channel, quiet) = (&row.channel, quiet.unwrap_or_default());
    match &row.scope {
        SubscriptionScope::Publisher(name) => {
            format!("The end of each publish by {name} is sent to channel {channel}{quiet}.")
        }
        scope => format!("Incidents of {scope} are sent to channel {channel}{quiet}."),
    }
}

fn to_public(row: &SubscriptionRow) -> Subscription {
    Subscription {
        id: row.id,
        scope: row.scope.to_string(),
        fields: NewSubscription {
            quiet_hours: row.quiet_hours.clone(),
            ..NewSubscription::from_scope(&row.channel, &row.scope)
        },
        created_by: row.created_by.clone(),
        created_at: row.created_at,
    }
}
