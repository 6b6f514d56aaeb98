//! One's own password.

use leptos::prelude::*;

use crate::components::clear_after_success;
use crate::components::error::action_error;
use crate::errors::AppResult;

/// Changes the password of the user.
#[server(prefix = "/api/fn", endpoint = "own_password_change")]
pub async fn own_password_change(
    current_password: String,
    new_password: String,
    #[server(default)] end_other_sessions: bool,
) -> AppResult<()> {
    use crate::host;
    use crate::paths::{self, SettingsTab};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let session = host::session_actions()?;
    let (client, current) = (session.client(), session.session_id());
    let change = domain::user::PasswordChange { current_password, new_password, end_other_sessions };
    host::into_app_result(hub.change_password(&actor, &change, &client, current.as_deref()).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Sessions));
    Ok(())
}

/// The section.
#[component]
pub fn PasswordSection() -> impl IntoView {
    let action = ServerAction::<OwnPasswordChange>::new();
    let form = clear_after_success(action.value());
    let is_changed = move || matches!(action.value().get(), Some(Ok(())));
    view! {
        <section class="stack-sm" aria-labelledby="own-password">
            <h2 class="section" id="own-password">"Password"</h2>
            <ActionForm action=action node_ref=form attr:class="fields">
                {action_error(action.value())}
                {move || is_changed().then(|| view! { <p role="status">"Your password is changed."</p> })}
                {field("Current password", "current-password", "current_password", "1")}
                {field("New password, at least 12 characters", "new-password", "new_password", "12")}
                <label class="choice">
                    <input type="checkbox" class="checkbox" name="end_other_sessions" value="true" checked=true />
                    "Sign out all other sessions"
                </label>
                <div>
                    <button class="btn" type="submit">"Change password"</button>
                </div>
            </ActionForm>
        </section>
    }
    .into_any()
}

/// A field for a password. `complete` is its purpose for password managers, and its id.
fn field(
    label: &'static str,
    complete: &'static str,
    name: &'static str,
    least: &'static str,
) -> impl IntoView {
    view! {
        <div class="field">
            <label class="field-label" for=complete>{label}</label>
            <input
                class="input"
                id=complete
                type="password"
                name=name
                autocomplete=complete
                minlength=least
                maxlength="200"
                required=true
            />
        </div>
    }
}
