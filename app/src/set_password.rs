//! The page of a link with which an invited user, or one whose password was reset, sets a password.

use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::components::ErrorBanner;
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;
use crate::sign_in::{SignInCard, password_field};

/// The name of the user of a link; `None` if the link is not valid any more.
#[server(prefix = "/api/fn", endpoint = "password_link_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn password_link_read(token: String) -> AppResult<Option<String>> {
    use crate::host;
    match host::hub()?.find_password_link(&token).await {
        Ok(name) => Ok(Some(name)),
        Err(hub::Error::Unauthenticated(_)) => Ok(None),
        Err(error) => host::into_app_result(Err(error)),
    }
}

/// Sets the password of the user of a link, and signs the user in.
#[server(prefix = "/api/fn", endpoint = "password_set")]
pub async fn password_set(token: String, password: String) -> AppResult<()> {
    use crate::host;
    let client = host::session_actions()?.client();
    let set = host::hub()?.set_password_with_link(&token, &password, &client).await;
    crate::sign_in::start_session(host::into_app_result(set)?).await?;
    leptos_axum::redirect(paths::FLEET);
    Ok(())
}

const INVALID_LINK: &str = "This link is not valid any more: it was used, replaced or has expired. Ask an administrator for another one.";

/// The page.
#[component]
pub fn SetPasswordPage() -> impl IntoView {
    let action = ServerAction::<PasswordSet>::new();
    let token = use_query_map().get_untracked().get("token").unwrap_or_default();
    let queried = token.clone();
    let user = create_resource(move || queried.clone(), password_link_read);
    view! {
        <Title text="Set a password" />
        <SignInCard title="Set your password">
            <Transition>
                {move || {
                    let token = token.clone();
                    user.get().map(|user| match user {
                        Ok(Some(name)) => show_form(name, token, action),
                        Ok(None) => view! { <p role="alert">{INVALID_LINK}</p> }.into_any(),
                        Err(error) => view! { <ErrorBanner error=error /> }.into_any(),
                    })
                }}
            </Transition>
            <p class="meta">
                "Have a password already? " <a class="link" href=paths::SIGN_IN>"Sign in"</a>
            </p>
        </SignInCard>
    }
    .into_any()
}

fn show_form(name: String, token: String, action: ServerAction<PasswordSet>) -> AnyView {
    view! {
        <p class="text-2">"You sign in as " <b class="strong">{name.clone()}</b> "."</p>
        <ActionForm action=action attr:class="fields">
            {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
            <input type="hidden" name="token" value=token />
            // For password managers.
            <input type="hidden" name="username" autocomplete="username" value=name disabled=true />
            {password_field("Password, at least 12 characters", "new-password")}
            <button class="btn btn-primary" type="submit">"Set password and sign in"</button>
        </ActionForm>
    }
    .into_any()
}
