//! What the role of the signed-in user allows: controls that it does not allow are disabled, with the reason beside them. The
//! server authorizes every request again, by the same function.

use domain::authorization::{RoleRequired, UserAction, authorize};
use domain::role::Role;
use leptos::prelude::*;

use crate::components::icon;

/// The role, `None` while it is not known.
#[derive(Clone, Copy)]
struct UserRole(RwSignal<Option<Role>>);

/// Provides the role: that with which the server rendered the document, and later that of the frame's query.
pub fn provide_role() {
    provide_context(UserRole(RwSignal::new(document_role())));
}

/// The role of this request, for the document.
#[cfg(feature = "ssr")]
pub fn document_role() -> Option<Role> {
    use_context::<hub::Actor>().map(|actor| actor.role)
}

/// The role in the document.
#[cfg(not(feature = "ssr"))]
pub fn document_role() -> Option<Role> {
    document().document_element()?.get_attribute("data-role")?.parse().ok()
}

/// The name of the user of this request, for the document.
#[cfg(feature = "ssr")]
pub fn document_user() -> Option<String> {
    use_context::<hub::Actor>().map(|actor| actor.name)
}

/// The name of the user in the document.
#[cfg(not(feature = "ssr"))]
pub fn document_user() -> Option<String> {
    document().document_element()?.get_attribute("data-user")
}

/// Sets the role that the frame's query returned: the user signed in on this page, or the role was changed.
pub fn set_role(role: Role) {
    if let Some(UserRole(signal)) = use_context::<UserRole>()
        && signal.get_untracked() != Some(role)
    {
        signal.set(Some(role));
    }
}

/// The role; `None` while it is not known.
pub fn use_role() -> Signal<Option<Role>> {
    let role = use_context::<UserRole>().map(|UserRole(signal)| signal);
    Signal::derive(move || role?.get())
}

/// Why the role does not allow the action. While the role is not known, nothing is disabled.
pub fn use_refusal(action: UserAction) -> Signal<Option<RoleRequired>> {
    let role = use_role();
    Signal::derive(move || authorize(role.get()?, action).err())
}

/// The controls in it are disabled if the role does not allow the action, with the reason below them. Plain HTML: it also works
/// without script.
#[component]
pub fn Permission(
    /// What the controls do.
    action: UserAction,
    /// Whether the reason is left out, because it is beside other controls of the same section.
    #[prop(optional)]
    quiet: bool,
    /// The controls.
    children: Children,
) -> impl IntoView {
    let refusal = use_refusal(action);
    let reason = move || {
        let refusal = refusal.get().filter(|_| !quiet);
        refusal.map(|refusal| view! { <Refusal refusal=refusal /> })
    };
    view! {
        <fieldset class="permission" disabled=move || refusal.get().is_some()>
            {children()}
            {reason}
        </fieldset>
    }
    .into_any()
}

/// The reason why the role does not allow something.
#[component]
pub fn Refusal(
    /// The reason.
    refusal: RoleRequired,
) -> impl IntoView {
    view! {
        <p class="reason hue-unknown">
            {icon("lock")}
            <span>{refusal.to_string()}</span>
        </p>
    }
    .into_any()
}

/// A link that looks like a button; disabled with the reason beside it if the role does not allow the action.
#[component]
pub fn PermittedLink(
    /// What it leads to.
    action: UserAction,
    /// Its class.
    class: &'static str,
    /// Where it leads.
    #[prop(into)]
    href: String,
    /// Its text.
    #[prop(into)]
    label: String,
    /// Its icon.
    #[prop(optional)]
    icon_name: Option<&'static str>,
) -> impl IntoView {
    let refusal = use_refusal(action);
    let content = move || (icon_name.map(icon), label.clone());
    move || match refusal.get() {
        None => view! { <a class=class href=href.clone()>{content()}</a> }.into_any(),
        Some(refusal) => view! {
            <span class="flex flex-wrap items-center gap-2">
                <button class="btn" type="button" aria-disabled="true">{content()}</button>
                <Refusal refusal=refusal />
            </span>
        }
        .into_any(),
    }
}
