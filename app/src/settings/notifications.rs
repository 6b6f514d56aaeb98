//! Channels for messages about incidents, and the subscriptions that use them.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::notification::Channel;
use leptos::prelude::*;

use super::channel_create::{ChannelCreate, channel_form};
use super::channel_template::{ChannelTemplate, TemplateForms, template_forms};
use super::notification_list::{NotificationList, notifications_read};
use super::subscriptions::{
    SubscriptionCreate, SubscriptionDelete, SubscriptionDialog, SubscriptionsSection,
};
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, ConfirmDialog, Empty, icon, render_resource};
use crate::errors::AppResult;
use crate::paths::{self, SettingsTab};
use crate::permission::Permission;
use crate::resource::{count_successes, create_resource};

/// Sends a message to a channel now; returns what the receiver answered.
#[server(prefix = "/api/fn", endpoint = "channel_test")]
pub async fn channel_test(name: String) -> AppResult<String> {
    use crate::{errors::AppError, host};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let test = host::into_app_result(hub.test_channel(&actor, &name).await)?;
    if test.delivered {
        return Ok(format!("{name}: {}", test.message));
    }
    let hint = "Check the address; nothing was changed.";
    let finding = domain::Finding::error("Channel", format!("{name}: {}", test.message), hint);
    Err(host::with_status(AppError::from_finding(finding)))
}

/// Deletes a channel with its subscriptions.
#[server(prefix = "/api/fn", endpoint = "channel_delete")]
pub async fn channel_delete(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.delete_channel(&host::actor()?, &name).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Notifications));
    Ok(())
}

/// The actions of the section.
#[derive(Clone, Copy)]
pub struct NotificationActions {
    create: ServerAction<ChannelCreate>,
    test: ServerAction<ChannelTest>,
    delete: ServerAction<ChannelDelete>,
    template: ServerAction<ChannelTemplate>,
    subscribe: ServerAction<SubscriptionCreate>,
    unsubscribe: ServerAction<SubscriptionDelete>,
}

impl NotificationActions {
    /// Actions that have not run.
    pub fn new() -> Self {
        Self {
            create: ServerAction::new(),
            test: ServerAction::new(),
            delete: ServerAction::new(),
            template: ServerAction::new(),
            subscribe: ServerAction::new(),
            unsubscribe: ServerAction::new(),
        }
    }
}

/// The section.
#[component]
pub fn NotificationsSection(actions: NotificationActions) -> impl IntoView {
    let NotificationActions { create, test, delete, template, subscribe, unsubscribe } = actions;
    let forms = TemplateForms::new(template);
    let counts = [
        count_successes(create.value()),
        count_successes(delete.value()),
        count_successes(subscribe.value()),
        count_successes(unsubscribe.value()),
    ];
    let data = create_resource(
        move || (counts.map(|count| count.get()), test.version().get()),
        |_| notifications_read(),
    );
    view! {
        <div class="stack">
            <p class="text-2">
                "An incident is sent once when it opens, when its clusters change, and when it closes. A receiver that can't be reached is tried again, with pauses up to an hour."
            </p>
            {action_error(test.value())}
            {move || test.value().get().and_then(Result::ok).map(|text| view! { <p role="status">{text}</p> })}
            {render_resource(data, move |list| show_sections(list, actions, &forms))}
        </div>
    }
    .into_any()
}

fn show_sections(list: NotificationList, actions: NotificationActions, forms: &TemplateForms) -> AnyView {
    let names: Vec<String> = list.channels.iter().map(|channel| channel.name.clone()).collect();
    let at = list.at;
    let templates = template_forms(list.channels.clone(), forms);
    view! {
        <section class="stack-sm" aria-labelledby="channels">
            <h2 class="section" id="channels">"Channels"</h2>
            {show_channels(list.channels, actions.test, at)}
            {channel_form(actions.create)}
        </section>
        {templates}
        <SubscriptionsSection subscriptions=list.subscriptions channels=names create=actions.subscribe />
    }
    .into_any()
}

fn show_channels(channels: Vec<Channel>, test: ServerAction<ChannelTest>, at: Timestamp) -> AnyView {
    if channels.is_empty() {
        return view! {
            <Empty title="No channels" text="A channel is where messages are sent to: a webhook, Slack, Microsoft Teams, Alertmanager, PagerDuty or e-mail."
                command="flotilla channel create ops --url https://ops.example.com/hook">
                // A link to a field opens the fold around it.
                <a class="btn" href="#channel-name" rel="external">
                    "Create channel"
                </a>
            </Empty>
        }
        .into_any();
    }
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Channel"</th>
                    <th scope="col">"Kind"</th>
                    <th scope="col">"Address"</th>
                    <th scope="col">"Status"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{channels.into_iter().map(|channel| channel_row(channel, test, at)).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn channel_row(channel: Channel, test: ServerAction<ChannelTest>, at: Timestamp) -> impl IntoView {
    let status = match (channel.last_error, channel.delivered_at) {
        (Some(error), _) => view! {
            <span class="reason hue-drifted">{icon("warning")} <span>{error}</span></span>
        }
        .into_any(),
        (None, Some(delivered)) => {
            view! { "Delivered " <Age since=delivered at=at suffix=" ago" /> }.into_any()
        }
        (None, None) => "Not used yet".into_any(),
    };
    let recipients = channel.email.map(|email| {
        view! { <div class="meta break-all">{format!("to {}", email.to.join(", "))}</div> }
    });
    let (href, name) = (paths::channel_dialog(&channel.name), channel.name);
    let (test_label, delete_label) = (format!("Test {name}"), format!("Delete… {name}"));
    view! {
        <tr>
            <th scope="row" class="cell-name name">{name.clone()}</th>
            <td data-label="Kind">{channel.kind.label()}</td>
            <td data-label="Address">
                <span class="mono break-all">{channel.url}</span>
                {recipients}
            </td>
            <td data-label="Status">{status}</td>
            <td class="right cell-state">
                <span class="inline-flex justify-end gap-2">
                    <ActionForm action=test>
                        <Permission action=UserAction::ManageChannels quiet=true>
                            <input type="hidden" name="name" value=name />
                            <button class="btn btn-sm" type="submit" aria-label=test_label>"Test"</button>
                        </Permission>
                    </ActionForm>
                    <a class="btn btn-sm btn-danger" href=href aria-label=delete_label>"Delete…"</a>
                </span>
            </td>
        </tr>
    }
}

/// The question before the channel or the subscription that the address names is deleted.
#[component]
pub fn NotificationDialogs(actions: NotificationActions) -> impl IntoView {
    view! {
        <ChannelDialog delete=actions.delete />
        <SubscriptionDialog action=actions.unsubscribe />
    }
}

#[component]
fn ChannelDialog(delete: ServerAction<ChannelDelete>) -> impl IntoView {
    let query = leptos_router::hooks::use_query_map();
    let name = Memo::new(move |_| query.read().get("delete").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| show_question(name, delete))
    }
}

fn show_question(name: String, delete: ServerAction<ChannelDelete>) -> AnyView {
    let back = paths::settings_tab(SettingsTab::Notifications);
    view! {
        <ConfirmDialog title=format!("Delete the channel {name}?") back=back.clone()>
            <ActionForm action=delete>
                <Permission action=UserAction::ManageChannels>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(delete.value())}
                        <p>"Its subscriptions and the messages that wait for it are deleted with it. Incidents stay."</p>
                    </div>
                    {dialog_buttons(back, "Delete channel", "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
