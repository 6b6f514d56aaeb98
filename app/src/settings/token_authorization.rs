//! The question whether a command line may act as the user: `flotilla login --browser` opens it with the hash of a secret that it has generated, so
//! that the secret is neither typed nor sent to a browser.

use domain::Digest;
use domain::api_token::{DEFAULT_DAYS, confirmation_code};
use domain::authorization::UserAction;
use domain::role::Role;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::ConfirmDialog;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::paths;
use crate::permission::{self, Permission};

/// The lifetimes that can be chosen, in days.
const LIFETIMES: [u32; 4] = [7, DEFAULT_DAYS, 90, 365];

/// Creates a token whose secret the command line has generated.
#[server(prefix = "/api/fn", endpoint = "token_authorize")]
pub async fn token_authorize(
    secret_hash: Digest,
    name: String,
    days: u32,
    #[server(default)] role: String,
    #[server(default)] can_mint: bool,
) -> AppResult<()> {
    use domain::api_token::NewApiToken;

    use super::tokens::parse_role;
    use crate::host;
    let new = NewApiToken {
        role: parse_role(&role)?,
        can_mint: Some(can_mint),
        secret_hash: Some(secret_hash),
        ..NewApiToken::new(name.trim(), days)
    };
    host::into_app_result(host::hub()?.create_token(&host::actor()?, &new).await)?;
    leptos_axum::redirect(paths::SETTINGS);
    Ok(())
}

/// The question about the command line that the address names.
#[component]
pub fn TokenAuthorizationDialog(action: ServerAction<TokenAuthorize>) -> impl IntoView {
    let query = use_query_map();
    let hash = Memo::new(move |_| query.read().get("authorize").unwrap_or_default());
    let name = Memo::new(move |_| query.read().get("name").unwrap_or_default());
    move || {
        let hash = hash.get();
        (!hash.is_empty()).then(|| match hash.parse::<Digest>() {
            Ok(hash) => show_question(&hash, name.get(), action),
            Err(_) => view! {
                <p class="banner hue-degraded" role="alert">
                    "This is not a link of the command line, or a part of it is missing. Run flotilla login --browser again, and open the whole link."
                </p>
            }
            .into_any(),
        })
    }
}

fn show_question(hash: &Digest, name: String, action: ServerAction<TokenAuthorize>) -> AnyView {
    let (code, hash) = (confirmation_code(hash), hash.as_str().to_owned());
    let back = paths::SETTINGS.to_owned();
    let lifetime = |days: &u32| {
        view! { <option value=days.to_string() selected=*days == DEFAULT_DAYS>{format!("{days} days")}</option> }
    };
    view! {
        <ConfirmDialog title="Sign the command line in?" back=back.clone()>
            <ActionForm action=action>
                <Permission action=UserAction::ManageOwnTokens>
                    <input type="hidden" name="secret_hash" value=hash />
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>
                            "Only if you have just run flotilla login, and it shows the code " <b class="mono">{code}</b>
                            ". Whoever has run it gets an API token that acts as you."
                        </p>
                        <div class="field">
                            <label class="field-label" for="authorize-name">"Name of the token"</label>
                            <input class="input" id="authorize-name" name="name" value=name maxlength="63" required=true autocomplete="off" />
                        </div>
                        {role_field()}
                        <div class="field">
                            <label class="field-label" for="authorize-days">"Expires after"</label>
                            <select class="select" id="authorize-days" name="days">{LIFETIMES.iter().map(lifetime).collect_view()}</select>
                        </div>
                        <label class="choice">
                            <input type="checkbox" class="checkbox" name="can_mint" value="true" />
                            "May create and revoke tokens"
                        </label>
                    </div>
                    {dialog_buttons(back, "Sign in", "btn btn-primary")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// The role of the token: that of the user unless a lower one is selected.
fn role_field() -> impl IntoView {
    let user_role = permission::use_role();
    let option = move |role: &'static Role| {
        let is_above = move || user_role.get().is_some_and(|own| *role > own);
        view! { <option value=role.as_str() disabled=is_above>{role.as_str()}</option> }
    };
    view! {
        <div class="field">
            <label class="field-label" for="authorize-role">"Role of the token"</label>
            <select class="select" id="authorize-role" name="role">
                <option value="">"your role"</option>
                {Role::ALL.iter().map(option).collect_view()}
            </select>
        </div>
    }
}
