//! The form of an identity provider: who it is, which claims are read, and the roles of its groups. It works without script.

use domain::authorization::UserAction;
use domain::identity_provider::{DEFAULT_GROUPS_CLAIM, DEFAULT_NAME_CLAIM, DEFAULT_SCOPES, IdentityProvider};
use domain::role::Role;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::components::clear_after_success;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::paths::{self, SettingsTab};
use crate::permission::Permission;

/// Rows for roles of groups that a form has in addition to those that exist.
const EMPTY_ROWS: usize = 3;

/// The role of a group as entered in a row of the form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupRoleForm {
    /// The group; empty if the row is not used.
    pub group: String,
    /// The role of its members.
    pub role: Role,
}

impl Default for GroupRoleForm {
    fn default() -> Self {
        Self { group: String::new(), role: Role::Viewer }
    }
}

/// An identity provider as entered in the form.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IdentityProviderForm {
    /// Its name, in its addresses.
    pub name: String,
    /// Its name on the button; empty for its name.
    pub display_name: String,
    /// Its issuer.
    pub issuer: String,
    /// The id of this client.
    pub client_id: String,
    /// The secret of this client; empty to retain the stored one.
    pub client_secret: String,
    /// The requested scopes, separated by spaces; empty for the default.
    pub scopes: String,
    /// The claim with the groups; empty for the default.
    pub groups_claim: String,
    /// The claim from which the name of a new user is made; empty for the default.
    pub name_claim: String,
    /// The roles of groups.
    pub roles: Vec<GroupRoleForm>,
    /// Whether users can sign in with it.
    pub enabled: bool,
    /// The revision that the form was rendered from; 0 for a new provider.
    pub base_revision: i64,
}

/// Without the secret: it must not appear in a log.
impl std::fmt::Debug for IdentityProviderForm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("IdentityProviderForm").field("name", &self.name).finish_non_exhaustive()
    }
}

impl IdentityProviderForm {
    /// What the form of a provider begins with: everything but the secret.
    fn from_provider(provider: &IdentityProvider) -> Self {
        let row = |group: &str, role| GroupRoleForm { group: group.to_owned(), role };
        Self {
            name: provider.name.clone(),
            display_name: provider.display_name.clone(),
            issuer: provider.issuer.clone(),
            client_id: provider.client_id.clone(),
            client_secret: String::new(),
            scopes: provider.scopes.join(" "),
            groups_claim: provider.groups_claim.clone(),
            name_claim: provider.name_claim.clone(),
            roles: provider.roles.iter().map(|binding| row(&binding.group, binding.role)).collect(),
            enabled: provider.enabled,
            base_revision: provider.revision,
        }
    }

    /// What the form of a new provider begins with.
    fn for_new() -> Self {
        Self {
            scopes: DEFAULT_SCOPES.join(" "),
            groups_claim: DEFAULT_GROUPS_CLAIM.to_owned(),
            name_claim: DEFAULT_NAME_CLAIM.to_owned(),
            enabled: true,
            ..Self::default()
        }
    }
}

/// Adds an identity provider, or changes the one with the revision `base_revision`. After a change it leads to the list.
#[server(prefix = "/api/fn", endpoint = "identity_provider_save")]
pub async fn identity_provider_save(form: IdentityProviderForm) -> AppResult<IdentityProvider> {
    use crate::host;
    use domain::identity_provider::{GroupRole, IdentityProviderPut};
    let (hub, actor) = (host::hub()?, host::actor()?);
    let text = |text: String| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
    let name = form.name.trim().to_owned();
    let scopes: Vec<String> = form.scopes.split_whitespace().map(str::to_owned).collect();
    let roles = form.roles.into_iter().filter(|row| !row.group.trim().is_empty());
    let put = IdentityProviderPut {
        display_name: text(form.display_name),
        issuer: form.issuer.trim().to_owned(),
        client_id: form.client_id.trim().to_owned(),
        client_secret: Some(form.client_secret).filter(|secret| !secret.is_empty()),
        scopes: Some(scopes).filter(|scopes| !scopes.is_empty()),
        groups_claim: text(form.groups_claim),
        name_claim: text(form.name_claim),
        roles: roles.map(|row| GroupRole { group: row.group, role: row.role }).collect(),
        enabled: Some(form.enabled),
    };
    let base_revision = form.base_revision;
    let saved = match hub.save_identity_provider(&actor, &name, put, Some(base_revision)).await {
        // The message about a change in the meantime is not for a new one.
        Err(hub::Error::RevisionConflict { .. }) if base_revision == 0 => {
            let message = format!("There is an identity provider {name:?} already.");
            Err(hub::Error::AlreadyExists(format!("{message} Change that one, or choose another name.")))
        }
        saved => saved,
    };
    let saved = host::into_app_result(saved)?;
    if base_revision != 0 {
        leptos_axum::redirect(&paths::settings_tab(SettingsTab::IdentityProviders));
    }
    Ok(saved)
}

/// A line of text of the form.
struct ProviderField {
    /// The name of the field of [`IdentityProviderForm`].
    name: &'static str,
    label: &'static str,
    help: &'static str,
    value: String,
    is_required: bool,
}

impl ProviderField {
    fn view(self, prefix: &str) -> AnyView {
        let Self { name, label, help, value, is_required } = self;
        let id = format!("{prefix}-{}", name.replace('_', "-"));
        let (label_for, help_id) = (id.clone(), format!("{id}-help"));
        view! {
            <div class="field">
                <label class="field-label" for=label_for>{label}</label>
                <input class="input input-mono" id=id name=format!("form[{name}]") value=value required=is_required maxlength="500"
                    autocomplete="off" autocapitalize="off" spellcheck="false" aria-describedby=help_id.clone() />
                <p class="field-help" id=help_id>{help}</p>
            </div>
        }
        .into_any()
    }
}

/// The form: of this provider, or of a new one. The ids of its fields begin with `prefix`.
pub fn provider_form(
    current: Option<&IdentityProvider>,
    prefix: &'static str,
    save: ServerAction<IdentityProviderSave>,
) -> AnyView {
    let form = clear_after_success(save.value());
    let values = current.map_or_else(IdentityProviderForm::for_new, IdentityProviderForm::from_provider);
    let cancel = current.map(|_| {
        view! { <a class="btn" href=paths::settings_tab(SettingsTab::IdentityProviders)>"Cancel"</a> }
    });
    let (fields, enabled) = (show_fields(&values, prefix, current.is_some()), values.enabled);
    let (base_revision, roles) = (values.base_revision.to_string(), values.roles);
    view! {
        <ActionForm action=save node_ref=form attr:class="stack-md pt-3 max-w-180" attr:data-guarded="">
            <Permission action=UserAction::ManageUsers>
                {action_error(save.value())}
                <input type="hidden" name="form[base_revision]" value=base_revision />
                {fields}
                {show_role_rows(roles)}
                <label class="choice">
                    <input type="checkbox" class="checkbox" name="form[enabled]" value="true" checked=enabled />
                    "Users can sign in with it"
                </label>
                <p class="field-help">"Without it, its sessions end and API tokens of its users are refused. It can be tested before users can sign in with it."</p>
                <div class="flex flex-wrap gap-2">
                    <button class="btn btn-primary" type="submit" disabled=move || save.pending().get()>
                        {move || if save.pending().get() { "Saving…" } else { "Save identity provider" }}
                    </button>
                    {cancel}
                </div>
            </Permission>
        </ActionForm>
    }
    .into_any()
}

fn show_fields(values: &IdentityProviderForm, prefix: &'static str, exists: bool) -> AnyView {
    let field = |name, label, help, value: &str, is_required| {
        ProviderField { name, label, help, value: value.to_owned(), is_required }.view(prefix)
    };
    let secret_id = format!("{prefix}-client-secret");
    let secret_help = format!("{secret_id}-help");
    // Users are known by the issuer, and the addresses contain the name: neither can be changed.
    let who = if exists {
        let (name, issuer) = (values.name.clone(), values.issuer.clone());
        view! {
            <input type="hidden" name="form[name]" value=name />
            <input type="hidden" name="form[issuer]" value=issuer />
        }
        .into_any()
    } else {
        view! {
            {field("name", "Name", "In its addresses: lower-case letters, digits and hyphens.", &values.name, true)}
            {field("issuer", "Issuer", "Exactly as its discovery document names it, such as https://id.example.com/realms/main.", &values.issuer, true)}
        }
        .into_any()
    };
    view! {
        {who}
        {field("display_name", "Name on the button", "On the sign-in page, such as Example Inc. Empty for its name.", &values.display_name, false)}
        {field("client_id", "Client id", "The id with which Flotilla is registered there.", &values.client_id, true)}
        <div class="field">
            <label class="field-label" for=secret_id.clone()>"Client secret"</label>
            <input class="input" id=secret_id type="password" name="form[client_secret]" maxlength="4096" autocomplete="new-password"
                aria-describedby=secret_help.clone() />
            <p class="field-help" id=secret_help>"Stored encrypted, never shown again. Leave empty to retain the stored one, or for a public client."</p>
        </div>
        {field("scopes", "Scopes", "Separated by spaces. The provider has to return a refresh token, which most do for offline_access.", &values.scopes, false)}
        {field("groups_claim", "Claim with the groups", "A name, or a JSON pointer such as /realm_access/roles. It is read from the ID token, or else from the user info.", &values.groups_claim, false)}
        {field("name_claim", "Claim with the name", "A new user is named by it, up to the @.", &values.name_claim, false)}
    }
    .into_any()
}

/// The rows of the roles of groups, with empty ones for further groups.
fn show_role_rows(mut roles: Vec<GroupRoleForm>) -> AnyView {
    roles.resize_with(roles.len() + EMPTY_ROWS, GroupRoleForm::default);
    let row = |(at, row): (usize, GroupRoleForm)| {
        let (group_name, role_name) =
            (format!("form[roles][{at}][group]"), format!("form[roles][{at}][role]"));
        let (group_label, role_label) = (format!("Group {}", at + 1), format!("Role of group {}", at + 1));
        let selected = row.role;
        let option = move |role: &'static Role| {
            view! { <option value=role.as_str() selected=*role == selected>{role.as_str()}</option> }
        };
        view! {
            <div class="flex flex-wrap items-center gap-2">
                <input class="input input-mono w-auto" name=group_name value=row.group maxlength="256" autocomplete="off"
                    autocapitalize="off" spellcheck="false" aria-label=group_label />
                <select class="select w-auto" name=role_name aria-label=role_label>
                    {Role::ALL.iter().map(option).collect_view()}
                </select>
            </div>
        }
    };
    view! {
        <fieldset class="stack-sm">
            <legend class="field-label">"Roles of groups"</legend>
            <p class="field-help">
                "Each group exactly as the provider writes it. A user has the highest role of all groups, and without one can't sign in. A row without a group is removed; save to get further rows."
            </p>
            {roles.into_iter().enumerate().map(row).collect_view()}
        </fieldset>
    }
    .into_any()
}
