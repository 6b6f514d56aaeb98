//! The question whether a command line may act as the user: `flotilla login --browser` prints its address, with the hash of a secret that it has
//! generated, so that the secret is neither typed nor sent to a browser.
//!
//! Anybody can send a user such an address with the hash of an own secret. So the page does not show the code of the hash: the user types it from
//! the own terminal, and an address alone leads to no token. What is shown comes from the console, not from the address.

use domain::Digest;
use domain::api_token::DEFAULT_DAYS;
use domain::authorization::UserAction;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use super::tokens::role_field;
use crate::components::ConfirmDialog;
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;

/// The lifetimes that can be chosen, in days.
const LIFETIMES: [u32; 3] = [7, DEFAULT_DAYS, 90];
/// The name of the token unless the user enters another one.
const TOKEN_NAME: &str = "command-line";

/// Creates a token whose secret the command line has generated, if the code is that of its hash. It creates no other tokens.
#[server(prefix = "/api/fn", endpoint = "token_authorize")]
pub async fn token_authorize(
    secret_hash: Digest,
    name: String,
    days: u32,
    #[server(default)] role: String,
    #[server(default)] code: String,
) -> AppResult<()> {
    use domain::Finding;
    use domain::api_token::{NewApiToken, is_confirmed};

    use super::tokens::parse_role;
    use crate::{errors::AppError, host};
    if !is_confirmed(&secret_hash, &code) {
        let message = "This is not the code of the command line that has printed this link.";
        let hint =
            "Type the code that your own terminal shows. If somebody sent you the link, close this page.";
        let finding = Finding::error("ConfirmationCode", message, hint).with_path("/code");
        return Err(host::with_status(AppError::from_finding(finding)));
    }
    let new = NewApiToken {
        role: parse_role(&role)?,
        can_mint: Some(false),
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
    move || {
        let hash = hash.get();
        (!hash.is_empty()).then(|| match hash.parse::<Digest>() {
            Ok(hash) => show_question(&hash, action),
            Err(_) => view! {
                <p class="banner hue-degraded" role="alert">
                    "This is not a link of the command line, or a part of it is missing. Run flotilla login --browser again, and open the whole link."
                </p>
            }
            .into_any(),
        })
    }
}

fn show_question(hash: &Digest, action: ServerAction<TokenAuthorize>) -> AnyView {
    let (hash, back) = (hash.as_str().to_owned(), paths::SETTINGS.to_owned());
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
                            "Only if you have just run flotilla login yourself. Whoever has run it gets an API token that acts as you: if somebody sent you this link, close the page."
                        </p>
                        <div class="field">
                            <label class="field-label" for="authorize-code">"Code in your terminal"</label>
                            <input class="input input-mono" id="authorize-code" name="code" placeholder="xxxx-xxxx-xxxx" maxlength="20" required=true
                                autocomplete="off" autocapitalize="off" spellcheck="false" />
                        </div>
                        <div class="field">
                            <label class="field-label" for="authorize-name">"Name of the token"</label>
                            <input class="input" id="authorize-name" name="name" value=TOKEN_NAME maxlength="63" required=true autocomplete="off" />
                        </div>
                        {role_field("authorize-role", "Role of the token")}
                        <div class="field">
                            <label class="field-label" for="authorize-days">"Expires after"</label>
                            <select class="select" id="authorize-days" name="days">{LIFETIMES.iter().map(lifetime).collect_view()}</select>
                        </div>
                    </div>
                    {dialog_buttons(back, "Sign in", "btn btn-primary")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}
