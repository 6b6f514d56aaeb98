//! The stages of a cluster that joins, live, with the decision on the key of its agent.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::join::{Onboarding, OnboardingStageName, OnboardingState, Registration};
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::JoinAddress;
use crate::clusters::registrations::{RegistrationActions, rejection_link};
use crate::clusters::stages::show_stage;
use crate::components::error::action_error;
use crate::components::{Banner, CopyLine, StatusStyle, icon, render_resource};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// The stages of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OnboardingView {
    /// The stages.
    pub onboarding: Onboarding,
    /// When this was read.
    pub at: Timestamp,
}

/// How far the cluster of this name is.
#[server(prefix = "/api/fn", endpoint = "onboarding_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn onboarding_read(cluster: String) -> AppResult<OnboardingView> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    let onboarding = host::into_app_result(hub.get_onboarding(&cluster).await)?;
    Ok(OnboardingView { onboarding, at: hub.clock().now() })
}

/// The step with the stages.
#[component]
pub fn JoinProgress(
    address: Memo<JoinAddress>,
    decide: RegistrationActions,
    /// Set when an agent has registered.
    has_registered: RwSignal<bool>,
) -> impl IntoView {
    // Registrations are in the event log, which the fleet's topic covers.
    let version = live::watch_version(|| Some(Topic::Fleet));
    let refreshes = live::count_refreshes();
    let data = create_resource(
        move || (address.read().cluster.clone(), version.get(), refreshes.get(), decide.version()),
        |(cluster, ..)| onboarding_read(cluster),
    );
    view! {
        <h2 class="section">"Onboarding"</h2>
        {render_resource(data, move |view| {
            let registered = view.onboarding.stage(OnboardingStageName::AgentRegistered);
            let is_done = registered.is_some_and(|stage| stage.state == OnboardingState::Done);
            // An effect that read the query itself would suspend the whole page while it is loading again.
            Effect::new(move |_| {
                if is_done != has_registered.get_untracked() {
                    has_registered.set(is_done);
                }
            });
            show_progress(view, &address.get_untracked(), decide)
        })}
    }
}

fn show_progress(view: OnboardingView, address: &JoinAddress, decide: RegistrationActions) -> AnyView {
    let OnboardingView { onboarding, at } = view;
    let is_online = onboarding.current().is_none();
    let Onboarding { cluster, stages, pending, is_foreign, .. } = onboarding;
    let hint = stages.iter().find(|stage| stage.name == OnboardingStageName::Online);
    let hint = hint.map(|stage| stage.hint.clone()).filter(|_| is_online).unwrap_or_default();
    let back = address.to_path();
    let refresh = back.clone();
    let items = stages.into_iter().map(|stage| show_stage(stage, at)).collect_view();
    let decision = pending.map(|waiting| show_decision(waiting, is_foreign, back, decide));
    let end = is_online.then(|| show_online(cluster, hint));
    view! {
        <ol class="stages" aria-label="Stages">{items}</ol>
        {decision}
        {end}
        <noscript>
            <p class="meta">
                "Without script this page does not update by itself. "
                <a class="link" href=refresh>"Refresh"</a>
            </p>
        </noscript>
    }
    .into_any()
}

/// The key to compare with the log of the agent, what the agent reported, and the two decisions.
fn show_decision(
    waiting: Registration,
    is_foreign: bool,
    back: String,
    decide: RegistrationActions,
) -> impl IntoView {
    let accept = decide.accept;
    let name = waiting.name.clone();
    let log = format!("kubectl --context {name} -n flotilla-agent logs deployment/flotilla-agent");
    let foreign = is_foreign.then(|| {
        view! {
            <div class="warn-box hue-drifted">
                <b>"This agent used another join token than the newest command."</b>
                " Reject it unless you know where it comes from."
            </div>
        }
    });
    let hidden =
        |name: &'static str, value: &str| view! { <input type="hidden" name=name value=value.to_owned() /> };
    let (named, leads_back) = (hidden("name", &name), hidden("back", &back));
    let key = hidden("fingerprint", &waiting.fingerprint);
    let verb = format!("Accept {name}");
    view! {
        <section class="panel stack-md" aria-labelledby="compare">
            <h3 class="section" id="compare">"Compare the key"</h3>
            {foreign}
            {action_error(accept.value())}
            <dl class="pairs">
                <dt>"Key"</dt>
                <dd class="mono break-all">{waiting.fingerprint.clone()}</dd>
                {show_facts(&waiting)}
            </dl>
            <div class="stack-sm">
                <p>"Accept it only if the log of the agent has the same key, and these facts are right:"</p>
                <CopyLine line=log />
            </div>
            <div class="flex flex-wrap gap-2">
                <ActionForm action=accept>
                    <Permission action=UserAction::JoinCluster>
                        {named}
                        {leads_back}
                        {key}
                        <button class="btn btn-primary" type="submit">
                            {icon("check")}
                            {verb}
                        </button>
                    </Permission>
                </ActionForm>
                {rejection_link(&back, &waiting.name)}
            </div>
        </section>
    }
}

/// What the agent reported about its cluster with its request.
fn show_facts(waiting: &Registration) -> impl IntoView + use<> {
    let facts = &waiting.facts;
    let location = [&facts.provider, &facts.region].into_iter().chain(&facts.zones);
    let location: Vec<&str> = location.filter(|part| !part.is_empty()).map(String::as_str).collect();
    let nodes = facts.nodes.map(|nodes| nodes.to_string()).unwrap_or_default();
    let rows = [
        ("Kubernetes", facts.kubernetes_version.clone()),
        ("Location", location.join(", ")),
        ("Nodes", nodes),
    ];
    let shown = rows.into_iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(what, value)| view! { <dt>{what}</dt><dd>{value}</dd> }).collect_view()
}

/// The cluster is online: where to go from here.
fn show_online(cluster: String, hint: String) -> impl IntoView {
    let page = paths::cluster(&cluster);
    let open = format!("Open {cluster}");
    view! {
        <Banner look=StatusStyle { icon: "online", hue: "hue-healthy", emphasis: "state-quiet" }>
            <p><b>{format!("{cluster} is online.")}</b>" Workloads can be placed on it now. "{hint}</p>
            <div class="banner-actions">
                <a class="btn" href=page>{open}</a>
                <a class="btn btn-primary" href=paths::WORKLOAD_NEW>"New workload"</a>
            </div>
        </Banner>
    }
}
