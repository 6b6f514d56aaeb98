//! People: users, their roles, invitations. A link to set a password is displayed once.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::role::Role;
use domain::user::{User, UserState};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{
    Age, Banner, ConfirmDialog, CopyLine, StatusStyle, clear_after_success, render_resource,
    render_resource_part,
};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;
use crate::settings::{PEOPLE_TAB, SettingsTabs};

mod elevation;
mod identity;

use elevation::{ElevationDialog, UserElevate, UserEndElevation, show_elevation};
use identity::IdentitySection;

#[cfg(feature = "ssr")]
use domain::user::PasswordLink;

mod credentials;

use credentials::{UserCredentialsSection, credentials_path};

/// All users.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeopleList {
    /// The users, by name.
    pub users: Vec<User>,
    /// Name of the signed-in user.
    pub own_name: String,
    /// When this was read.
    pub at: Timestamp,
}

/// A link to set a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuedLink {
    /// The user.
    pub name: String,
    /// The whole address.
    pub url: String,
    /// Until when it is valid.
    pub expires_at: Timestamp,
    /// When it was created.
    pub at: Timestamp,
}

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "people_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn people_read() -> AppResult<PeopleList> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let users = host::into_app_result(hub.list_users(&actor).await)?;
    Ok(PeopleList { users, own_name: actor.name, at: hub.clock().now() })
}

/// Invites a user; returns the link to set a password, which can't be read again.
#[server(prefix = "/api/fn", endpoint = "user_invite")]
pub async fn user_invite(name: String, role: Role) -> AppResult<IssuedLink> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let new = domain::user::NewUser { name: name.trim().to_owned(), role };
    let link = host::into_app_result(hub.invite_user(&actor, new).await)?;
    Ok(issued_link(link, hub.clock().now()))
}

/// Creates a link with which a user sets a new password.
#[server(prefix = "/api/fn", endpoint = "user_reset_password")]
pub async fn user_reset_password(name: String) -> AppResult<IssuedLink> {
    use crate::host;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let link = host::into_app_result(hub.reset_password(&actor, &name).await)?;
    Ok(issued_link(link, hub.clock().now()))
}

/// Changes the role of a user; returns the user with the new role.
#[server(prefix = "/api/fn", endpoint = "user_set_role")]
pub async fn user_set_role(name: String, role: Role) -> AppResult<User> {
    use crate::host;
    let user = host::into_app_result(host::hub()?.set_user_role(&host::actor()?, &name, role).await)?;
    leptos_axum::redirect(paths::PEOPLE);
    Ok(user)
}

/// Disables a user.
#[server(prefix = "/api/fn", endpoint = "user_disable")]
pub async fn user_disable(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.disable_user(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::PEOPLE);
    Ok(())
}

/// Enables a user.
#[server(prefix = "/api/fn", endpoint = "user_enable")]
pub async fn user_enable(name: String) -> AppResult<()> {
    use crate::host;
    host::into_app_result(host::hub()?.enable_user(&host::actor()?, &name).await)?;
    leptos_axum::redirect(paths::PEOPLE);
    Ok(())
}

/// The whole address of the link, as the browser of the administrator knows this server.
#[cfg(feature = "ssr")]
fn issued_link(link: PasswordLink, at: Timestamp) -> IssuedLink {
    let url = format!("{}{}", crate::host::console_origin(), link.link.unwrap_or_default());
    IssuedLink { name: link.user.name, url, expires_at: link.expires_at, at }
}

/// The actions of the page.
#[derive(Clone, Copy)]
struct PeopleActions {
    invite: ServerAction<UserInvite>,
    reset: ServerAction<UserResetPassword>,
    set_role: ServerAction<UserSetRole>,
    disable: ServerAction<UserDisable>,
    enable: ServerAction<UserEnable>,
    elevate: ServerAction<UserElevate>,
    end_elevation: ServerAction<UserEndElevation>,
}

impl PeopleActions {
    fn new() -> Self {
        Self {
            invite: ServerAction::new(),
            reset: ServerAction::new(),
            set_role: ServerAction::new(),
            disable: ServerAction::new(),
            enable: ServerAction::new(),
            elevate: ServerAction::new(),
            end_elevation: ServerAction::new(),
        }
    }

    /// Changes after each of them.
    fn version(self) -> [usize; 7] {
        [
            self.invite.version().get(),
            self.reset.version().get(),
            self.set_role.version().get(),
            self.disable.version().get(),
            self.enable.version().get(),
            self.elevate.version().get(),
            self.end_elevation.version().get(),
        ]
    }
}

/// The page.
#[component]
pub fn PeoplePage() -> impl IntoView {
    let actions = PeopleActions::new();
    let data = create_resource(move || actions.version(), |_| people_read());
    view! {
        <Title text="People" />
        <div class="stack max-w-240">
            <h1 class="title">"Settings"</h1>
            <SettingsTabs current=PEOPLE_TAB />
            {issued_link_banner(actions.invite.value())}
            {issued_link_banner(actions.reset.value())}
            {action_error(actions.reset.value())}
            {set_role_result(actions.set_role.value())}
            {action_error(actions.enable.value())}
            {action_error(actions.end_elevation.value())}
            <IdentitySection />
            {render_resource(data, move |list| show_page(list, actions))}
            <UserCredentialsSection />
        </div>
        <DisableDialog action=actions.disable />
        <ElevationDialog action=actions.elevate />
    }
    .into_any()
}

fn show_page(list: PeopleList, actions: PeopleActions) -> AnyView {
    view! {
        <InviteForm action=actions.invite />
        <section class="stack-sm" aria-labelledby="users">
            <h2 class="section" id="users">"Users"</h2>
            {show_users(list, actions)}
        </section>
        <RoleLegend />
    }
    .into_any()
}

/// The link of a successful action.
fn issued_link_banner(value: MappedSignal<Option<AppResult<IssuedLink>>>) -> impl IntoView {
    move || value.get().and_then(Result::ok).map(show_issued_link)
}

fn show_issued_link(link: IssuedLink) -> impl IntoView {
    view! {
        <Banner look=StatusStyle { icon: "token", hue: "hue-healthy", emphasis: "state-quiet" }>
            <div class="stack-sm">
                <p>
                    <b>{format!("Send this link to {} now.", link.name)}</b>
                    {format!(
                        " It sets a password, works once and for {}. It can't be shown again.",
                        domain::time::format_duration(link.expires_at.millis_since(link.at))
                    )}
                </p>
                <CopyLine line=link.url />
            </div>
        </Banner>
    }
}

/// The new role of a user, or the error of the change.
fn set_role_result(value: MappedSignal<Option<AppResult<User>>>) -> impl IntoView {
    move || match value.get() {
        Some(Ok(User { name, role, .. })) => {
            view! { <p role="status">{format!("The role of {name} is {role} now.")}</p> }.into_any()
        }
        Some(Err(error)) => view! { <crate::components::ErrorBanner error=error /> }.into_any(),
        None => ().into_any(),
    }
}

#[component]
fn InviteForm(action: ServerAction<UserInvite>) -> impl IntoView {
    let form = clear_after_success(action.value());
    view! {
        <section class="stack-sm" aria-labelledby="invite">
            <h2 class="section" id="invite">"Invite a person"</h2>
            <ActionForm action=action node_ref=form attr:class="stack-md" attr:data-guarded="">
                {action_error(action.value())}
                <div class="flex flex-wrap items-end gap-4">
                    <Permission action=UserAction::ManageUsers>
                        <div class="field">
                            <label class="field-label" for="user-name">"Name"</label>
                            <input class="input" id="user-name" name="name" maxlength="63" required=true autocomplete="off" autocapitalize="off" />
                        </div>
                        <div class="field">
                            <label class="field-label" for="user-role">"Role"</label>
                            <select class="select" id="user-role" name="role">
                                {role_options(Role::Viewer)}
                            </select>
                        </div>
                        <button class="btn btn-primary" type="submit">"Create link"</button>
                    </Permission>
                </div>
            </ActionForm>
            <noscript>
                <p class="meta">"Without script the link can't be shown; use "<code class="mono">"flotilla user invite"</code>"."</p>
            </noscript>
        </section>
    }
    .into_any()
}

fn role_options(selected: Role) -> impl IntoView {
    let option = move |role: &Role| {
        view! { <option value=role.as_str() selected=*role == selected>{role.as_str()}</option> }
    };
    Role::ALL.iter().map(option).collect_view()
}

fn show_users(list: PeopleList, actions: PeopleActions) -> AnyView {
    let PeopleList { users, own_name, at } = list;
    let row = move |user: User| {
        let is_self = user.name == own_name;
        let last = match user.last_sign_in_at {
            Some(last) => view! { <Age since=last at=at suffix=" ago" /> }.into_any(),
            None => "never".into_any(),
        };
        let state = user.state.label();
        let link = user.link_expires_at.map(|until| {
            format!(", link valid for {}", domain::time::format_duration(until.millis_since(at)))
        });
        view! {
            <tr>
                <th scope="row" class="cell-name">
                    {user.name.clone()} {is_self.then_some(" (you)")}
                </th>
                <td data-label="Role">{role_form(&user, actions.set_role)} {show_elevation(&user, at, actions.end_elevation)}</td>
                <td data-label="State">{state} {link}</td>
                <td data-label="Last sign-in">{last}</td>
                <td class="right cell-state">{user_buttons(&user, is_self, actions)}</td>
            </tr>
        }
    };
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Name"</th>
                    <th scope="col">"Role"</th>
                    <th scope="col">"State"</th>
                    <th scope="col">"Last sign-in"</th>
                    <th scope="col" class="right"><span class="sr-only">"Actions"</span></th>
                </tr>
            </thead>
            <tbody>{users.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
    .into_any()
}

fn role_form(user: &User, action: ServerAction<UserSetRole>) -> AnyView {
    if user.issuer.is_some() {
        // The role follows from the groups at the identity provider.
        let href = paths::user_identity(&user.name);
        let label = format!("Why {} has this role", user.name);
        return view! {
            <span>{user.role.as_str()} " "</span>
            <a class="link" href=href aria-label=label>"Why"</a>
        }
        .into_any();
    }
    let current = user.role.as_str();
    // With script the button waits for another choice.
    let is_unchanged = RwSignal::new(false);
    Effect::new(move |_| is_unchanged.set(true));
    let label = format!("Role of {}", user.name);
    let button = format!("Set role of {}", user.name);
    let (name, role) = (user.name.clone(), user.role);
    view! {
        <ActionForm action=action attr:class="flex flex-wrap items-center gap-2">
            <input type="hidden" name="name" value=name />
            <select class="select w-auto" name="role" aria-label=label on:change=move |event| is_unchanged.set(event_target_value(&event) == current)>
                {role_options(role)}
            </select>
            <button class="btn btn-sm" type="submit" aria-label=button prop:disabled=move || is_unchanged.get()>"Set role"</button>
        </ActionForm>
    }
    .into_any()
}

fn user_buttons(user: &User, is_self: bool, actions: PeopleActions) -> AnyView {
    let name = user.name.clone();
    if user.state == UserState::Disabled {
        let label = format!("Enable {name}");
        let access = access_link(&name);
        return view! {
            <div class="flex flex-wrap items-center justify-end gap-2">
                {access}
                <ActionForm action=actions.enable>
                    <input type="hidden" name="name" value=name />
                    <button class="btn btn-sm" type="submit" aria-label=label>"Enable"</button>
                </ActionForm>
            </div>
        }
        .into_any();
    }
    let verb = if user.state == UserState::Invited { "New link" } else { "Reset password" };
    let reset_label = format!("{verb} of {name}");
    let disable_label = format!("Disable… {name}");
    let href = paths::user_dialog(&name);
    let access = access_link(&name);
    // A user of an identity provider has no password here.
    let has_password = user.issuer.is_none();
    let reset_name = name;
    view! {
        <div class="flex flex-wrap items-center justify-end gap-2">
            {access}
            {has_password.then(|| view! {
                <ActionForm action=actions.reset>
                    <input type="hidden" name="name" value=reset_name />
                    <button class="btn btn-sm" type="submit" aria-label=reset_label>{verb}</button>
                </ActionForm>
            })}
            {(!is_self).then(|| view! { <a class="btn btn-sm btn-danger" href=href aria-label=disable_label>"Disable…"</a> })}
        </div>
    }
    .into_any()
}

/// The link to the sessions and API tokens of a user: also of a disabled one, whose tokens are accepted again after an enable.
fn access_link(name: &str) -> AnyView {
    let (label, href) = (format!("Access of {name}"), credentials_path(name));
    view! { <a class="btn btn-sm" href=href aria-label=label>"Access"</a> }.into_any()
}

/// What each role allows.
#[component]
fn RoleLegend() -> impl IntoView {
    let item = |role: &'static Role| {
        view! {
            <dt class="strong">{role.as_str()}</dt>
            <dd>{role.description()}</dd>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="roles">
            <h2 class="section" id="roles">"Roles"</h2>
            <p class="text-2">"Each role includes those before it."</p>
            <dl class="pairs">{Role::ALL.iter().map(item).collect_view()}</dl>
        </section>
    }
    .into_any()
}

/// The question before the user that the address names is disabled.
#[component]
fn DisableDialog(action: ServerAction<UserDisable>) -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("disable").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| {
            let data = create_resource(|| (), |()| people_read());
            render_resource_part(data, move |list| show_question(&list, &name, action))
        })
    }
}

fn show_question(list: &PeopleList, name: &str, action: ServerAction<UserDisable>) -> AnyView {
    let Some(user) = list.users.iter().find(|user| user.name == name) else { return ().into_any() };
    let name = user.name.clone();
    view! {
        <ConfirmDialog title=format!("Disable {name}?") back=paths::PEOPLE.to_owned()>
            <ActionForm action=action>
                <input type="hidden" name="name" value=name />
                <div class="dialog-body">
                    {action_error(action.value())}
                    <p>"The user is signed out everywhere at once, and API tokens of the user are rejected. The user can be enabled again."</p>
                </div>
                {dialog_buttons(paths::PEOPLE.to_owned(), "Disable", "btn btn-danger-solid")}
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
