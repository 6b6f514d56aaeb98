//! The form of a cluster that joins: its name, its labels, and what its agent may do.

use domain::authorization::UserAction;
use leptos::prelude::*;

use super::ClusterInstall;
use crate::components::ErrorBanner;
use crate::permission::Permission;

/// How long a command is valid unless something else is selected, in minutes.
pub const DEFAULT_MINUTES: u32 = 60;

/// The first step.
pub fn show_form(url: String, action: ServerAction<ClusterInstall>) -> impl IntoView {
    view! {
        <ActionForm action=action attr:class="stack-md" attr:data-guarded="">
            <Permission action=UserAction::JoinCluster>
                <h2 class="section">"Name it, and choose what its agent may do"</h2>
                {move || action.value().get().and_then(Result::err).map(|error| view! { <ErrorBanner error=error /> })}
                <div class="grid gap-4 md:grid-cols-2">
                    {text_field("name", "Cluster name", "prod-eu-1", "Lower-case letters, digits and \"-\"; it can't be changed later.", true)}
                    {text_field("labels", "Labels", "env=prod, region=eu", "Placements select clusters by label.", false)}
                </div>
                <fieldset class="stack-sm">
                    <legend class="field-label">"Its agent may write"</legend>
                    <label class="choice">
                        <input type="radio" class="radio" name="form[cluster_wide]" value="false" checked=true />
                        "in these namespaces"
                    </label>
                    <div class="pl-6">
                        {text_field("namespaces", "Namespaces", "shop, blog", "Separated by commas. It can't write to others.", false)}
                    </div>
                    <label class="choice">
                        <input type="radio" class="radio" name="form[cluster_wide]" value="true" />
                        "in every namespace; it may also create namespaces"
                    </label>
                </fieldset>
                {more_options()}
                <div class="flex flex-wrap items-center gap-4">
                    <button class="btn btn-primary" type="submit">
                        "Create the command"
                    </button>
                    <span class="meta">"Agents connect to " <span class="mono">{url}</span></span>
                </div>
            </Permission>
        </ActionForm>
    }
}

/// Options that are rarely needed.
fn more_options() -> impl IntoView {
    view! {
        <details class="fold">
            <summary>"More options " <span class="text-3">"kinds, lifetime, acceptance"</span></summary>
            <div class="stack-md pt-3 pb-4">
                {text_field("kinds", "Kinds it may write", "the default kinds, without Secret and RBAC", "Deployment, Service … or plural.group for others, such as certificates.cert-manager.io.", false)}
                <div class="field max-w-60">
                    <label class="field-label" for="join-minutes">
                        "The command is valid for"
                    </label>
                    <select class="select" id="join-minutes" name="form[minutes]">
                        <option value=DEFAULT_MINUTES.to_string() selected=true>"an hour"</option>
                        <option value="1440">"a day"</option>
                        <option value="10080">"7 days"</option>
                    </select>
                </div>
                <label class="choice">
                    <input type="checkbox" class="checkbox" name="form[auto_accept]" value="true" />
                    "Accept its agent without comparing keys"
                </label>
            </div>
        </details>
    }
}

fn text_field(
    name: &'static str,
    label: &'static str,
    placeholder: &'static str,
    help: &'static str,
    needed: bool,
) -> impl IntoView {
    let id = format!("join-{name}");
    let help_id = format!("join-{name}-help");
    view! {
        <div class="field">
            <label class="field-label" for=id.clone()>
                {label}
            </label>
            <input
                class="input input-mono"
                id=id
                name=format!("form[{name}]")
                placeholder=placeholder
                maxlength="2000"
                required=needed
                autocomplete="off"
                autocapitalize="off"
                spellcheck="false"
                aria-describedby=help_id.clone()
            />
            <p class="field-help" id=help_id>
                {help}
            </p>
        </div>
    }
}
