//! One's own sessions: where one is signed in to the console, and how to end that.

use domain::Timestamp;
use domain::session::UserSession;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, ConfirmDialog, pluralize, render_resource, render_resource_part};
use crate::errors::AppResult;
use crate::paths::{self, SettingsTab};
use crate::resource::create_resource;
use crate::sign_in::sign_out_form;

/// The user's sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionList {
    /// The sessions: this one first, then the last used ones.
    pub sessions: Vec<UserSession>,
    /// When this was read.
    pub at: Timestamp,
}

/// The section's query.
#[server(prefix = "/api/fn", endpoint = "sessions_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn sessions_read() -> AppResult<SessionList> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let current = host::session_actions()?.session_id();
    let sessions = host::into_app_result(hub.list_sessions(&actor, current.as_deref()).await)?;
    Ok(SessionList { sessions, at: hub.clock().now() })
}

/// Ends a session of the user.
#[server(prefix = "/api/fn", endpoint = "session_revoke")]
pub async fn session_revoke(id: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.revoke_session(&host::actor()?, &id).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Sessions));
    Ok(())
}

/// Ends every session of the user except this one.
#[server(prefix = "/api/fn", endpoint = "session_revoke_others")]
pub async fn session_revoke_others() -> AppResult<()> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let current = host::session_actions()?.session_id();
    host::into_app_result(hub.revoke_other_sessions(&actor, current.as_deref()).await)?;
    leptos_axum::redirect(&paths::settings_tab(SettingsTab::Sessions));
    Ok(())
}

/// The section.
#[component]
pub fn SessionsSection(
    revoke: ServerAction<SessionRevoke>,
    revoke_others: ServerAction<SessionRevokeOthers>,
) -> impl IntoView {
    let data =
        create_resource(move || (revoke.version().get(), revoke_others.version().get()), |_| sessions_read());
    view! {
        <section class="stack-sm" aria-labelledby="sessions">
            <h2 class="section" id="sessions">"Sessions"</h2>
            <p class="text-2">
                "Where you are signed in to the console. A session ends after 12 hours without use, and after 7 days."
            </p>
            {render_resource(data, show_sessions)}
        </section>
    }
    .into_any()
}

fn show_sessions(list: SessionList) -> AnyView {
    let at = list.at;
    let has_others = list.sessions.iter().any(|session| !session.current);
    let others = has_others.then(|| {
        let href = paths::session_dialog("others");
        view! { <div><a class="btn btn-danger" href=href>"Sign out all others…"</a></div> }
    });
    let rows = list.sessions.into_iter().map(|session| show_session(session, at)).collect_view();
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Browser"</th>
                    <th scope="col">"Address"</th>
                    <th scope="col">"Signed in"</th>
                    <th scope="col">"Last used"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{rows}</tbody>
        </table>
        {others}
    }
    .into_any()
}

fn show_session(session: UserSession, at: Timestamp) -> impl IntoView {
    let name = browser_name(&session);
    let action = if session.current {
        sign_out_form(view! { <button class="btn btn-sm" type="submit">"Sign out"</button> }.into_any())
    } else {
        let label = format!("Sign out… {name}");
        view! {
            <a class="btn btn-sm btn-danger" href=paths::session_dialog(&session.id) aria-label=label>
                "Sign out…"
            </a>
        }
        .into_any()
    };
    let used = if session.current {
        "now".into_any()
    } else {
        view! { <Age since=session.last_used_at at=at suffix=" ago" /> }.into_any()
    };
    let mark = session.current.then(|| view! { " " <span class="tag">"this browser"</span> });
    view! {
        <tr>
            <th scope="row" class="cell-name">{name.clone()} {mark}</th>
            <td data-label="Address" class="mono">{address_text(&session)}</td>
            <td data-label="Signed in"><Age since=session.signed_in_at at=at suffix=" ago" /></td>
            <td data-label="Last used">{used}</td>
            <td class="right cell-state">{action}</td>
        </tr>
    }
}

fn browser_name(session: &UserSession) -> String {
    if session.browser.is_empty() { "Unknown browser".to_owned() } else { session.browser.clone() }
}

fn address_text(session: &UserSession) -> String {
    if session.address.is_empty() { "unknown".to_owned() } else { session.address.clone() }
}

/// The question before the session that the address names, or all others, end.
#[component]
pub fn SessionDialog(
    revoke: ServerAction<SessionRevoke>,
    revoke_others: ServerAction<SessionRevokeOthers>,
) -> impl IntoView {
    let query = use_query_map();
    let id = Memo::new(move |_| query.read().get("revoke").unwrap_or_default());
    move || {
        let id = id.get();
        (!id.is_empty()).then(|| {
            let data = create_resource(|| (), |()| sessions_read());
            render_resource_part(data, move |list| match &*id {
                "others" => ask_others(&list, revoke_others),
                id => ask_one(&list, id, revoke),
            })
        })
    }
}

fn ask_one(list: &SessionList, id: &str, action: ServerAction<SessionRevoke>) -> AnyView {
    let Some(session) = list.sessions.iter().find(|session| session.id == id && !session.current) else {
        return ().into_any();
    };
    let (at, id, used, address) = (list.at, session.id.clone(), session.last_used_at, address_text(session));
    let back = paths::settings_tab(SettingsTab::Sessions);
    view! {
        <ConfirmDialog title=format!("Sign out {}?", browser_name(session)) back=back.clone()>
            <ActionForm action=action>
                <input type="hidden" name="id" value=id />
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>
                        "Last used " <Age since=used at=at suffix=" ago" /> ", signed in at the address "
                        <span class="mono">{address}</span>
                        ". That browser has to sign in again; what was typed there and not saved is lost."
                    </p>
                    <p>"If you do not know it, change your password, too: whoever signed in has it."</p>
                </div>
                {dialog_buttons(back, "Sign out", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn ask_others(list: &SessionList, action: ServerAction<SessionRevokeOthers>) -> AnyView {
    let others = list.sessions.iter().filter(|session| !session.current).count();
    if others == 0 {
        return ().into_any();
    }
    let others = pluralize(u32::try_from(others).unwrap_or(u32::MAX), "other session");
    let back = paths::settings_tab(SettingsTab::Sessions);
    view! {
        <ConfirmDialog title=format!("Sign out {others}?") back=back.clone()>
            <ActionForm action=action>
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>"You stay signed in here. Every other browser has to sign in again. API tokens stay valid."</p>
                </div>
                {dialog_buttons(back, "Sign out", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
