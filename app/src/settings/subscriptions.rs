//! Subscriptions: which incidents are sent to which channel.

use domain::authorization::UserAction;
use domain::notification::Subscription;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::notification_list::notifications_read;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{ConfirmDialog, Empty, clear_after_success, render_resource_part};
use crate::errors::AppResult;
use crate::paths::{self, SettingsTab};
use crate::permission::Permission;
use crate::resource::create_resource;

/// The values of the select for the scope, with their labels.
const SCOPES: [(&str, &str); 5] = [
    ("workload", "Workload"),
    ("owner", "Owner"),
    ("selector", "Labels of workloads"),
    ("project", "All workloads"),
    ("publisher", "None: only my own publishes"),
];

/// A subscription as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SubscriptionForm {
    /// Name of the channel.
    pub channel: String,
    /// What the subscription selects by.
    pub scope: String,
    /// The workload, the owner or the labels.
    pub value: String,
    /// Quiet hours, such as `22:00-06:00 Europe/Berlin`; empty for none.
    pub quiet: String,
}

/// Creates a subscription.
#[server(prefix = "/api/fn", endpoint = "subscription_create")]
pub async fn subscription_create(form: SubscriptionForm) -> AppResult<Subscription> {
    use crate::{errors::AppError, host};
    use domain::Finding;
    use domain::notification::NewSubscription;
    use domain::rollout::RolloutWindow;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let quiet_hours = match form.quiet.trim() {
        "" => None,
        text => Some(text.parse::<RolloutWindow>().map_err(|error| {
            let hint = "Leave it empty to send messages at any time.";
            let finding = Finding::error("G513", format!("{error}."), hint).with_path("/quietHours");
            host::with_status(AppError::Invalid(vec![finding]))
        })?),
    };
    let mut new = NewSubscription { channel: form.channel, quiet_hours, ..NewSubscription::default() };
    let value = Some(form.value.trim().to_owned());
    match form.scope.as_str() {
        "workload" => new.workload = value,
        "owner" => new.owner = value,
        "selector" => new.selector = value,
        "publisher" => new.publisher = Some(String::new()),
        _ => new.project = Some("default".to_owned()),
    }
    host::into_app_result(hub.create_subscription(&actor, new).await)
}

/// Deletes a subscription. Then leads to the list without the question.
#[server(prefix = "/api/fn", endpoint = "subscription_delete")]
pub async fn subscription_delete(id: domain::SubscriptionId) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_subscription(&host::actor()?, id).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Notifications));
    Ok(())
}

/// The section.
#[component]
pub fn SubscriptionsSection(
    /// The subscriptions, oldest first.
    subscriptions: Vec<Subscription>,
    /// Names of the channels.
    channels: Vec<String>,
    create: ServerAction<SubscriptionCreate>,
) -> impl IntoView {
    let has_channels = !channels.is_empty();
    view! {
        <section class="stack-sm" aria-labelledby="subscriptions">
            <h2 class="section" id="subscriptions">"Subscriptions"</h2>
            {show_subscriptions(subscriptions, has_channels)}
            {has_channels.then(|| subscription_form(channels, create))}
        </section>
    }
    .into_any()
}

fn show_subscriptions(subscriptions: Vec<Subscription>, has_channels: bool) -> AnyView {
    if subscriptions.is_empty() && !has_channels {
        return view! {
            <Empty title="No subscriptions" text="Create a channel first: a subscription sends incidents to a channel." />
        }
        .into_any();
    }
    if subscriptions.is_empty() {
        return view! {
            <Empty title="No subscriptions" text="A subscription sends the incidents of a workload, of an owner or of labels to a channel."
                command="flotilla subscription create --channel ops --owner team-shop" />
        }
        .into_any();
    }
    let row = |one: Subscription| {
        // The visible text is part of the name that screen readers announce.
        let label = format!("Delete… the subscription of {} for {}", one.fields.channel, one.scope);
        let quiet = one.fields.quiet_hours.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
        let href = paths::subscription_dialog(&one.id.to_string());
        view! {
            <tr>
                <th scope="row" class="cell-name">{one.scope}</th>
                <td data-label="Channel" class="name">{one.fields.channel}</td>
                <td data-label="Quiet hours">{quiet}</td>
                <td data-label="Created by">{one.created_by}</td>
                <td class="right cell-state">
                    <a class="btn btn-sm btn-danger" href=href aria-label=label>"Delete…"</a>
                </td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Incidents of"</th>
                    <th scope="col">"Channel"</th>
                    <th scope="col">"Quiet hours"</th>
                    <th scope="col">"Created by"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{subscriptions.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn subscription_form(channels: Vec<String>, create: ServerAction<SubscriptionCreate>) -> impl IntoView {
    let form = clear_after_success(create.value());
    let channel = |name: String| view! { <option value=name.clone()>{name.clone()}</option> };
    let scope = |(value, label): (&'static str, &'static str)| view! { <option value=value>{label}</option> };
    view! {
        <details class="fold">
            <summary>"Create subscription"</summary>
            <ActionForm action=create node_ref=form attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
                <Permission action=UserAction::Subscribe>
                    {action_error(create.value())}
                    <div class="field">
                        <label class="field-label" for="subscription-channel">"Channel"</label>
                        <select class="select" id="subscription-channel" name="form[channel]">
                            {channels.into_iter().map(channel).collect_view()}
                        </select>
                    </div>
                    <div class="field">
                        <label class="field-label" for="subscription-scope">"Incidents of"</label>
                        <select class="select" id="subscription-scope" name="form[scope]">
                            {SCOPES.map(scope).collect_view()}
                        </select>
                    </div>
                    <div class="field">
                        <label class="field-label" for="subscription-value">"Name or labels"</label>
                        <input class="input input-mono" id="subscription-value" name="form[value]" maxlength="500" autocomplete="off" placeholder="web, team-shop, or team=shop" />
                        <p class="field-help">"Empty for all workloads, and for your own publishes: each is one message when it is operational everywhere, fails or needs you."</p>
                    </div>
                    <div class="field">
                        <label class="field-label" for="subscription-quiet">"Quiet hours"</label>
                        <input class="input input-mono" id="subscription-quiet" name="form[quiet]" maxlength="120" autocomplete="off" placeholder="22:00-06:00 Europe/Berlin" aria-describedby="subscription-quiet-help" />
                        <p class="field-help" id="subscription-quiet-help">"Messages are held back until they end; what is opened and closed within them is not sent. In UTC without a zone; sat,sun at the end for some days only. Empty for none."</p>
                    </div>
                    <div>
                        <button class="btn" type="submit">"Create subscription"</button>
                    </div>
                </Permission>
            </ActionForm>
        </details>
    }
}

/// The question before the subscription that the address names is deleted.
#[component]
pub fn SubscriptionDialog(action: ServerAction<SubscriptionDelete>) -> impl IntoView {
    let query = use_query_map();
    let id = Memo::new(move |_| query.read().get("unsubscribe").unwrap_or_default());
    move || {
        let id = id.get();
        (!id.is_empty()).then(|| {
            let data = create_resource(|| (), |()| notifications_read());
            render_resource_part(data, move |list| show_question(&list.subscriptions, &id, action))
        })
    }
}

fn show_question(
    subscriptions: &[Subscription],
    id: &str,
    action: ServerAction<SubscriptionDelete>,
) -> AnyView {
    let Some(one) = subscriptions.iter().find(|one| one.id.to_string() == id) else {
        return ().into_any();
    };
    let (channel, scope, created_by) =
        (one.fields.channel.clone(), one.scope.clone(), one.created_by.clone());
    let back = paths::settings_tab(SettingsTab::Notifications);
    let id = one.id.to_string();
    let is_for_publishes = one.fields.publisher.is_some();
    let about = if is_for_publishes { "The end of " } else { "New incidents of " };
    let end = if is_for_publishes { " is no longer sent to " } else { " are no longer sent to " };
    let rest = if is_for_publishes {
        "."
    } else {
        ", unless another subscription selects them. Messages about open incidents are still sent."
    };
    view! {
        <ConfirmDialog title=format!("Delete the subscription of {channel}?") back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::Subscribe>
                    <input type="hidden" name="id" value=id />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>
                            {about}
                            <b>{scope}</b>
                            {end}
                            <b class="name">{channel}</b>
                            {rest}
                        </p>
                        <p>"It was created by "{created_by}"."</p>
                    </div>
                    {dialog_buttons(back, "Delete subscription", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
