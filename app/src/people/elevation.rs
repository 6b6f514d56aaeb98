//! Higher roles until a time: the question that grants one, and the form that ends it.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::{Elevation, User, UserState};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::ConfirmDialog;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;

/// The durations that can be chosen: minutes, and their name.
const DURATIONS: [(u32, &str); 4] = [(30, "30 minutes"), (60, "1 hour"), (240, "4 hours"), (1_440, "1 day")];

/// Gives a user a higher role until a time.
#[server(prefix = "/api/fn", endpoint = "user_elevate")]
pub async fn user_elevate(name: String, role: Role, minutes: u32, reason: String) -> AppResult<()> {
    use crate::host;
    let new = domain::user::NewElevation { role, minutes, reason };
    host::into_app_result(host::hub()?.elevate_user(&host::actor()?, &name, &new).await)?;
    leptos_axum::redirect(paths::PEOPLE);
    Ok(())
}

/// Ends the higher role of a user.
#[server(prefix = "/api/fn", endpoint = "user_end_elevation")]
pub async fn user_end_elevation(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.end_elevation(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::PEOPLE);
    Ok(())
}

/// The higher role of a user with a button that ends it; otherwise a link to the question that grants one.
pub fn show_elevation(user: &User, at: Timestamp, end: ServerAction<UserEndElevation>) -> AnyView {
    let name = user.name.clone();
    match &user.elevation {
        Some(Elevation { role, reason, expires_at, .. }) => {
            let rest = domain::time::format_duration(expires_at.millis_since(at));
            let text = format!("{role} for {rest} more: {reason}");
            let label = format!("End the elevation of {name}");
            view! {
                <ActionForm action=end attr:class="flex flex-wrap items-center gap-2">
                    <input type="hidden" name="name" value=name />
                    <span class="meta">{text}</span>
                    <button class="btn btn-sm" type="submit" aria-label=label>"End"</button>
                </ActionForm>
            }
            .into_any()
        }
        // Above an approver is only admin, which nobody is until a time.
        None if user.role >= Role::Approver || user.state == UserState::Disabled => ().into_any(),
        None => {
            let (href, label) = (paths::user_elevation(&name), format!("Elevate… {name}"));
            view! { <a class="link" href=href aria-label=label>"Elevate…"</a> }.into_any()
        }
    }
}

/// The question about the user that the address names.
#[component]
pub fn ElevationDialog(action: ServerAction<UserElevate>) -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("elevate").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| show_question(name, action))
    }
}

fn show_question(name: String, action: ServerAction<UserElevate>) -> AnyView {
    let back = paths::PEOPLE.to_owned();
    let title = format!("Give {name} a higher role?");
    let role = |role: &Role| view! { <option value=role.as_str()>{role.as_str()}</option> };
    let roles = Role::ALL.iter().filter(|role| **role != Role::Admin && **role != Role::Viewer);
    let roles = roles.map(role).collect_view();
    let duration = |(minutes, label): (u32, &'static str)| {
        view! { <option value=minutes.to_string() selected=minutes == 60>{label}</option> }
    };
    view! {
        <ConfirmDialog title=title back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::ManageUsers>
                    <input type="hidden" name="name" value=name />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>"The role ends by itself. Who granted it and why are in the audit log."</p>
                        <div class="field">
                            <label class="field-label" for="elevation-role">"Role"</label>
                            <select class="select" id="elevation-role" name="role">{roles}</select>
                        </div>
                        <div class="field">
                            <label class="field-label" for="elevation-minutes">"For"</label>
                            <select class="select" id="elevation-minutes" name="minutes">{DURATIONS.map(duration).collect_view()}</select>
                        </div>
                        <div class="field">
                            <label class="field-label" for="elevation-reason">"Reason"</label>
                            <input class="input" id="elevation-reason" name="reason" maxlength="200" required=true autocomplete="off" />
                        </div>
                    </div>
                    {dialog_buttons(back, "Elevate", "btn btn-primary")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
