//! Sign in, sign out, and the sign-up of the first user with the set-up token.

use domain::identity_provider::{SignInFailure, SignInProvider};
use leptos::prelude::*;
use leptos::server_fn::ServerFn;
use leptos_meta::Title;
use leptos_router::components::Redirect;
use leptos_router::hooks::use_query_map;

use crate::components::{Banner, ErrorBanner, StatusStyle, icon_sized, render_resource};
use crate::errors::AppResult;
use crate::paths;
use crate::resource::create_resource;
use crate::workloads::left_forms::use_left_forms;

/// Signs a user in and redirects to `next`.
#[server(prefix = "/api/fn", endpoint = "sign_in")]
pub async fn sign_in(name: String, password: String, next: String) -> AppResult<()> {
    use crate::host;
    let client = host::session_actions()?.client();
    let session = host::into_app_result(host::hub()?.sign_in(&name, &password, &client).await)?;
    start_session(session).await?;
    leptos_axum::redirect(host::sanitize_next(&next));
    Ok(())
}

/// Signs the first user up with the set-up token, and in.
#[server(prefix = "/api/fn", endpoint = "sign_up")]
pub async fn sign_up(token: String, name: String, password: String) -> AppResult<()> {
    use crate::host;
    let client = host::session_actions()?.client();
    let signed_up = host::hub()?.sign_up_first_user(&token, &name, &password, &client).await;
    let session = host::into_app_result(signed_up)?;
    start_session(session).await?;
    leptos_axum::redirect(paths::FLEET);
    Ok(())
}

/// Ends the session.
#[server(prefix = "/api/fn", endpoint = "sign_out")]
pub async fn sign_out() -> AppResult<()> {
    use crate::{errors::AppError, host};
    host::session_actions()?
        .end_session()
        .await
        .map_err(|why| host::with_status(AppError::DatabaseUnavailable(why)))?;
    // Without an actor the session had ended before.
    if let Some(actor) = use_context::<hub::Actor>() {
        host::hub()?.record_sign_out(&actor).await;
    }
    leptos_axum::redirect(paths::SIGN_IN);
    Ok(())
}

/// The form that signs out. It loads a document: the browser asks before that if something is not saved, and nothing that was typed
/// remains for the next user.
pub fn sign_out_form(button: AnyView) -> AnyView {
    view! {
        <form method="post" action=SignOut::url()>
            {button}
        </form>
    }
    .into_any()
}

/// Starts the session of a user, with the response of this request.
#[cfg(feature = "ssr")]
pub async fn start_session(session: hub::NewSession) -> AppResult<()> {
    use crate::{errors::AppError, host};
    host::session_actions()?
        .start_session(session)
        .await
        .map_err(|why| host::with_status(AppError::DatabaseUnavailable(why)))
}

/// Whether no user has signed up yet.
#[server(prefix = "/api/fn", endpoint = "needs_setup", input = leptos::server_fn::codec::GetUrl)]
pub async fn needs_setup() -> AppResult<bool> {
    use crate::host;
    host::into_app_result(host::hub()?.needs_setup().await)
}

/// The identity providers that users can sign in with.
#[server(prefix = "/api/fn", endpoint = "sign_in_providers", input = leptos::server_fn::codec::GetUrl)]
pub async fn sign_in_providers() -> AppResult<Vec<SignInProvider>> {
    use crate::host;
    host::into_app_result(host::hub()?.list_sign_in_providers().await)
}

/// The failure of a sign-in with an identity provider that the address names: only a known one has a text.
fn show_failure(name: &str) -> Option<AnyView> {
    let message = SignInFailure::parse(name)?.message();
    let look = StatusStyle { icon: "note", hue: "hue-unknown", emphasis: "state-quiet" };
    Some(view! { <Banner look=look><p>{message}</p></Banner> }.into_any())
}

/// The buttons of the identity providers. They load a document: the provider is another site.
fn show_providers(providers: Vec<SignInProvider>, next: &str) -> AnyView {
    if providers.is_empty() {
        return ().into_any();
    }
    let button = |provider: SignInProvider| {
        let href = paths::identity_sign_in(&provider.name, next);
        let label = format!("Sign in with {}", provider.display_name);
        view! { <a class="btn" href=href rel="external">{label}</a> }
    };
    view! { <div class="fields">{providers.into_iter().map(button).collect_view()}</div> }.into_any()
}

/// The sign-in page.
#[component]
pub fn SignInPage() -> impl IntoView {
    let action = ServerAction::<SignIn>::new();
    let query = use_query_map();
    let next = move || query.read().get("next").unwrap_or_default();
    let failure = move || query.read().get("failure").unwrap_or_default();
    let first = create_resource(|| (), |()| needs_setup());
    let providers = create_resource(|| (), |()| sign_in_providers());
    // Another user may sign in within this document.
    let left_forms = use_left_forms();
    Effect::new(move |_| left_forms.set_user(None));
    view! {
        <Title text="Sign in" />
        <Transition>
            {move || first.get().and_then(Result::ok).filter(|first| *first).map(|_| view! { <Redirect path=paths::SETUP /> })}
        </Transition>
        <SignInCard title="Sign in to Flotilla">
            {move || show_failure(&failure())}
            <ActionForm action=action attr:class="fields">
                {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                <input type="hidden" name="next" value=next />
                {text_field("name", "Name", "username", String::new())}
                {password_field("Password", "current-password")}
                <button class="btn btn-primary" type="submit">
                    "Sign in"
                </button>
            </ActionForm>
            {render_resource(providers, move |providers| show_providers(providers, &next()))}
        </SignInCard>
    }
    .into_any()
}

/// The set-up page: the first user signs up.
#[component]
pub fn SetupPage() -> impl IntoView {
    let action = ServerAction::<SignUp>::new();
    let token = use_query_map().get_untracked().get("token").unwrap_or_default();
    view! {
        <Title text="Set up" />
        <SignInCard title="Set up Flotilla">
            <p class="text-2">
                "Nobody has signed up yet. The server printed the set-up token when it started; the token works once."
            </p>
            <ActionForm action=action attr:class="fields">
                {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                {text_field("token", "Set-up token", "one-time-code", token)}
                {text_field("name", "Your name", "username", String::new())}
                {password_field("Password, at least 12 characters", "new-password")}
                <button class="btn btn-primary" type="submit">
                    "Set up and sign in"
                </button>
            </ActionForm>
            <p class="meta">
                "Set up already? " <a class="link" href=paths::SIGN_IN>
                    "Sign in"
                </a>
            </p>
        </SignInCard>
    }
    .into_any()
}

/// The frame of the pages without a signed-in user.
#[component]
pub fn SignInCard(
    /// The title.
    title: &'static str,
    /// The content.
    children: Children,
) -> impl IntoView {
    view! {
        <main class="content" id="content">
            <div class="stack-md mx-auto max-w-90 pt-14">
                <p class="flex items-center gap-2 font-semibold text-body">
                    {icon_sized("brand", "icon icon-18")} "Flotilla"
                </p>
                <h1 class="title">{title}</h1>
                {children()}
            </div>
        </main>
    }
    .into_any()
}

fn text_field(
    name: &'static str,
    label: &'static str,
    complete: &'static str,
    value: String,
) -> impl IntoView {
    view! {
        <div class="field">
            <label class="field-label" for=name>
                {label}
            </label>
            <input class="input" id=name name=name value=value autocomplete=complete autocapitalize="off" maxlength="200" required=true />
        </div>
    }
}

/// The field of a password.
pub fn password_field(label: &'static str, complete: &'static str) -> impl IntoView {
    let least = if complete == "new-password" { "12" } else { "1" };
    view! {
        <div class="field">
            <label class="field-label" for="password">
                {label}
            </label>
            <input
                class="input"
                id="password"
                type="password"
                name="password"
                autocomplete=complete
                minlength=least
                maxlength="200"
                required=true
            />
        </div>
    }
}
