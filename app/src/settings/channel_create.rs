//! The form that creates a channel.

use domain::authorization::UserAction;
use domain::notification::{Channel, ChannelKind, EmailSecurity};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::clear_after_success;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::permission::Permission;

/// A channel as entered in the form.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelForm {
    /// Its name.
    pub name: String,
    /// What it sends.
    pub kind: ChannelKind,
    /// Where to.
    pub url: String,
    /// Its secret; empty without one.
    pub secret: String,
    /// Name of the mail server; empty for the other kinds.
    pub host: String,
    /// Its port; empty for that of the protection.
    pub port: String,
    /// How the connection to it is protected.
    pub security: EmailSecurity,
    /// The user name there; empty without one.
    pub username: String,
    /// The address of the sender.
    pub from: String,
    /// The addresses of the recipients, with spaces, commas or line ends between them.
    pub to: String,
}

#[cfg(feature = "ssr")]
impl ChannelForm {
    /// The mail server; `None` if none of its fields is filled in.
    fn email(&self) -> AppResult<Option<domain::notification::EmailSettings>> {
        use crate::{errors::AppError, host};
        let is_separator = |c: char| c.is_whitespace() || matches!(c, ',' | ';');
        let to: Vec<String> =
            self.to.split(is_separator).filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let texts = [&self.host, &self.port, &self.username, &self.from];
        if to.is_empty() && texts.iter().all(|text| text.trim().is_empty()) {
            return Ok(None);
        }
        let port = match self.port.trim() {
            "" => None,
            text => Some(text.parse::<u16>().map_err(|_| {
                let message = format!("{text:?} is no port.");
                let hint = "Write a number from 1 to 65535, or leave it empty.";
                host::with_status(AppError::from_finding(domain::Finding::error("G101", message, hint)))
            })?),
        };
        Ok(Some(domain::notification::EmailSettings {
            host: self.host.trim().to_owned(),
            port,
            security: self.security,
            username: self.username.trim().to_owned(),
            from: self.from.trim().to_owned(),
            to,
        }))
    }
}

/// Creates a channel.
#[server(prefix = "/api/fn", endpoint = "channel_create")]
pub async fn channel_create(form: ChannelForm) -> AppResult<Channel> {
    use crate::host;
    use domain::notification::NewChannel;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let new = NewChannel {
        name: form.name.trim().to_owned(),
        kind: form.kind,
        url: form.url.trim().to_owned(),
        email: form.email()?,
        secret: Some(form.secret).filter(|secret| !secret.is_empty()),
        template: None,
    };
    host::into_app_result(hub.create_channel(&actor, new).await)
}

/// The form, closed until it is opened.
pub fn channel_form(create: ServerAction<ChannelCreate>) -> impl IntoView {
    let form = clear_after_success(create.value());
    let result = move || {
        let created = create.value().get().and_then(Result::ok);
        created.map(|channel| view! { <p role="status">{format!("{} was created.", channel.name)}</p> })
    };
    let option = |kind: &'static ChannelKind| view! { <option value=kind.as_str()>{kind.label()}</option> };
    view! {
        <details class="fold">
            <summary>"Create channel"</summary>
            <ActionForm action=create node_ref=form attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
                <Permission action=UserAction::ManageChannels>
                    {action_error(create.value())}
                    {result}
                    <div class="field">
                        <label class="field-label" for="channel-name">"Name"</label>
                        <input class="input input-mono" id="channel-name" name="form[name]" maxlength="63" required=true autocomplete="off" />
                    </div>
                    <div class="field">
                        <label class="field-label" for="channel-kind">"Kind"</label>
                        <select class="select" id="channel-kind" name="form[kind]">
                            {ChannelKind::ALL.iter().map(option).collect_view()}
                        </select>
                    </div>
                    <div class="field">
                        <label class="field-label" for="channel-url">"Address"</label>
                        <input class="input input-mono" id="channel-url" name="form[url]" type="url" maxlength="2000" autocomplete="off" placeholder="https://ops.example.com/hook" />
                        <p class="field-help">"Stored encrypted. Empty for PagerDuty and e-mail."</p>
                    </div>
                    <div class="field">
                        <label class="field-label" for="channel-secret">"Secret"</label>
                        <input class="input" id="channel-secret" name="form[secret]" type="password" maxlength="1000" autocomplete="new-password" />
                        <p class="field-help">"Signs the messages of a webhook; the integration key of PagerDuty; the password at the mail server. Never shown again."</p>
                    </div>
                    {mail_fields()}
                    <div>
                        <button class="btn btn-primary" type="submit">"Create channel"</button>
                    </div>
                </Permission>
            </ActionForm>
        </details>
    }
}

/// The fields of a channel that sends e-mail.
fn mail_fields() -> impl IntoView {
    let option = |kind: &'static EmailSecurity| view! { <option value=kind.as_str()>{kind.label()}</option> };
    view! {
        <details class="fold">
            <summary>"Mail server, for e-mail"</summary>
            <div class="stack-md pt-3">
                <div class="field">
                    <label class="field-label" for="channel-host">"Mail server"</label>
                    <input class="input input-mono" id="channel-host" name="form[host]" maxlength="253" autocomplete="off" placeholder="mail.example.com" />
                </div>
                <div class="field">
                    <label class="field-label" for="channel-security">"Protection"</label>
                    <select class="select" id="channel-security" name="form[security]">
                        {EmailSecurity::ALL.iter().map(option).collect_view()}
                    </select>
                </div>
                <div class="field">
                    <label class="field-label" for="channel-port">"Port"</label>
                    <input class="input input-mono" id="channel-port" name="form[port]" type="number" min="1" max="65535" autocomplete="off" />
                    <p class="field-help">"Empty for the usual one."</p>
                </div>
                <div class="field">
                    <label class="field-label" for="channel-username">"User at the mail server"</label>
                    <input class="input input-mono" id="channel-username" name="form[username]" maxlength="254" autocomplete="off" />
                    <p class="field-help">"Empty if it needs none. The password is the secret."</p>
                </div>
                <div class="field">
                    <label class="field-label" for="channel-from">"Sender"</label>
                    <input class="input input-mono" id="channel-from" name="form[from]" maxlength="254" autocomplete="off" placeholder="flotilla@example.com" />
                </div>
                <div class="field">
                    <label class="field-label" for="channel-to">"Recipients"</label>
                    <input class="input input-mono" id="channel-to" name="form[to]" maxlength="6000" autocomplete="off" placeholder="ops@example.com, team@example.com" />
                    <p class="field-help">"At most 20, with commas between them."</p>
                </div>
            </div>
        </details>
    }
}
