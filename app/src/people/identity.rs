//! Why a user of an identity provider has the role: what the provider said last, and which roles of groups applied.

use domain::identity_provider::{ReceivedClaim, UserIdentity};
use domain::role::Role;
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

use crate::components::render_resource_part;
use crate::errors::AppResult;
use crate::resource::create_resource;

/// The query of the section.
#[server(prefix = "/api/fn", endpoint = "user_identity_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn user_identity_read(name: String) -> AppResult<UserIdentity> {
    use crate::host;
    host::into_app_result(host::hub()?.get_user_identity(&host::actor()?, &name).await)
}

/// The section about the user that the address names.
#[component]
pub fn IdentitySection() -> impl IntoView {
    let query = use_query_map();
    let name = Memo::new(move |_| query.read().get("identity").unwrap_or_default());
    move || {
        let name = name.get();
        (!name.is_empty()).then(|| {
            let data = create_resource(|| (), move |()| user_identity_read(name.clone()));
            render_resource_part(data, show_identity)
        })
    }
}

fn show_identity(identity: UserIdentity) -> AnyView {
    let UserIdentity { user, provider, issuer, subject, reading, checked_at } = identity;
    let title = format!("Why {user} has this role");
    let provider = provider.unwrap_or_else(|| "removed".to_owned());
    let groups = format!("{}: {}", reading.group_count, reading.groups.join(", "));
    let applied = reading.matched.iter().map(|binding| format!("{} is {}", binding.group, binding.role));
    let applied = applied.collect::<Vec<_>>().join(", ");
    let role = reading.role.map_or("none: no group has a role", Role::as_str);
    let claim = |claim: ReceivedClaim| {
        view! {
            <dt class="mono">{claim.name}</dt>
            <dd class="mono">{claim.value}</dd>
        }
    };
    view! {
        <section class="stack-sm" aria-labelledby="identity">
            <h2 class="section" id="identity">{title}</h2>
            <dl class="pairs">
                <dt>"Identity provider"</dt>
                <dd>{provider} " (" {issuer} ")"</dd>
                <dt>"Subject"</dt>
                <dd class="mono">{subject}</dd>
                <dt>"Read"</dt>
                <dd>{checked_at.to_string()}</dd>
                <dt>"Groups"</dt>
                <dd>{groups}</dd>
                <dt>"Roles of groups"</dt>
                <dd>{applied}</dd>
                <dt>"Role"</dt>
                <dd>{role}</dd>
            </dl>
            <h3 class="field-label">"Claims received"</h3>
            <dl class="pairs">{reading.claims.into_iter().map(claim).collect_view()}</dl>
        </section>
    }
    .into_any()
}
