//! What the server runs on, and whether its loops and its database work.

use domain::Timestamp;
use domain::server_status::{QueueHealth, ServerStatus, TaskHealth};
use leptos::prelude::*;

use crate::components::{Age, CopyLine, icon, render_resource};
use crate::errors::AppResult;
use crate::live;
use crate::resource::create_resource;

/// The query of both sections.
#[server(prefix = "/api/fn", endpoint = "server_status_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn server_status_read() -> AppResult<ServerStatus> {
    use crate::host;
    host::into_app_result(host::hub_for_reader()?.get_server_status().await)
}

/// Version, database, Helm, and where the documentation is.
#[component]
pub fn AboutSection() -> impl IntoView {
    let data = create_resource(|| (), |()| server_status_read());
    view! {
        <section class="stack-md" aria-labelledby="about">
            <h2 class="section" id="about">"About"</h2>
            {render_resource(data, show_about)}
        </section>
    }
}

fn show_about(status: ServerStatus) -> AnyView {
    let helm = status.helm.clone().unwrap_or_else(|| "not available: charts can't be rendered".to_owned());
    let sandbox = status.renderer_sandbox.as_ref().map(|sandbox| {
        let about = sandbox.describe();
        view! { <dt>"Sandbox of renderers"</dt> <dd>{about}</dd> }
    });
    let build = format!("{} ({} build)", status.version, status.build);
    view! {
        <dl class="pairs">
            <dt>"Flotilla"</dt>
            <dd class="mono">{build}</dd>
            <dt>"Running for"</dt>
            <dd><Age since=status.started_at at=status.read_at /></dd>
            <dt>"Database"</dt>
            <dd class="mono">{status.database}</dd>
            <dt>"Helm"</dt>
            <dd class="mono">{helm}</dd>
            {sandbox}
            <dt>"REST API"</dt>
            // Not pages of the console.
            <dd><a class="link" href="/api/v1/openapi.json" rel="external">"OpenAPI document"</a></dd>
            <dt>"Metrics"</dt>
            <dd><a class="link" href="/metrics" rel="external">"OpenMetrics"</a></dd>
        </dl>
        <div class="stack-sm">
            <p class="text-2">"The command line explains itself; its manual pages are written by flotilla man. The documentation of the server is in its docs folder."</p>
            <CopyLine line="flotilla help" />
        </div>
    }
    .into_any()
}

/// What `/readyz` and the loops report, in words.
#[component]
pub fn HealthSection() -> impl IntoView {
    let refreshes = live::count_refreshes();
    let data = create_resource(move || refreshes.get(), |_| server_status_read());
    view! {
        <section class="stack-md" aria-labelledby="health">
            <h2 class="section" id="health">"Server health"</h2>
            {render_resource(data, show_health)}
        </section>
    }
}

fn show_health(status: ServerStatus) -> AnyView {
    let problems = status.problems();
    let at = status.read_at;
    let verdict = if problems.is_empty() {
        let text = "The database responds, and every background task runs.";
        view! { <p class="state state-quiet hue-healthy whitespace-normal">{icon("healthy")} {text}</p> }
            .into_any()
    } else {
        let one = |text: String| view! { <li class="state state-broken hue-degraded whitespace-normal">{icon("degraded")} {text}</li> };
        view! { <ul class="stack-sm">{problems.into_iter().map(one).collect_view()}</ul> }.into_any()
    };
    let encryption = status.encryption.map(|encryption| {
        let state = encryption.describe();
        let since =
            encryption.active_since.map(|since| view! { ", the active one for " <Age since=since at=at /> });
        view! { <div><dt>"Encryption"</dt><dd>{state} {since}</dd></div> }
    });
    let audit_file = status.audit_file.map(|file| {
        let state = file.describe();
        view! { <div><dt>"Audit file"</dt><dd>{state}</dd></div> }
    });
    let queues = status.queues.clone();
    let tasks = status.tasks.into_iter().map(|task| show_task(task, &queues, at)).collect_view();
    let outage = status.outage.unwrap_or_else(|| "none".to_owned());
    view! {
        {verdict}
        <dl class="facts">
            <div><dt>"Database"</dt><dd>{status.database}</dd></div>
            <div><dt>"A read took"</dt><dd>{format!("{} ms", status.database_millis)}</dd></div>
            <div><dt>"Outage"</dt><dd>{outage}</dd></div>
            {encryption}
            {audit_file}
        </dl>
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Background task"</th>
                    <th scope="col">"State"</th>
                    <th scope="col" class="max-lg:hidden">"What it does"</th>
                    <th scope="col">"Work that is due"</th>
                    <th scope="col" class="right">"Restarts"</th>
                    <th scope="col" class="right">"Failed passes"</th>
                </tr>
            </thead>
            <tbody>{tasks}</tbody>
        </table>
        <p class="meta">
            "Counts are since the start of this server. A task that stops is restarted, and a failed pass is repeated; the log has the reasons."
        </p>
    }
    .into_any()
}

fn show_task(task: TaskHealth, queues: &[QueueHealth], at: Timestamp) -> impl IntoView + use<> {
    let (style, mark, word) = match task.running < task.expected {
        true => ("state state-broken hue-degraded", "degraded", "restarting"),
        false => ("state state-quiet hue-healthy", "healthy", "running"),
    };
    let word = match task.expected {
        0 | 1 => word.to_owned(),
        expected => format!("{} of {expected} {word}", task.running),
    };
    let due = queues.iter().find(|queue| queue.name == task.name).map(|queue| match queue.oldest_due_at {
        Some(oldest) => {
            let count = queue.due;
            view! { {count} ", the oldest for " <Age since=oldest at=at /> }.into_any()
        }
        None => "none".into_any(),
    });
    let has_queue = due.is_some();
    view! {
        <tr>
            <th scope="row" class="cell-name name">{task.name.clone()}</th>
            <td class="cell-state"><span class=style>{icon(mark)} {word}</span></td>
            <td class="max-lg:hidden">{describe_task(&task.name)}</td>
            <td data-label=has_queue.then_some("Work that is due")>{due}</td>
            <td class="right" data-label="Restarts">{task.restarts}</td>
            <td class="right" data-label="Failed passes">{task.failed_passes}</td>
        </tr>
    }
}

/// What a task is for.
fn describe_task(name: &str) -> &'static str {
    match name {
        "placer" => "Places and renders workloads that changed",
        "rollouts" => "Advances rollouts wave by wave",
        "staleness" => "Marks clusters without heartbeats as late or offline",
        "retention" => "Deletes old events, plans and sessions",
        "encryption" => "Encrypts what is stored, and re-encrypts it after a rotation of keys",
        "git" => "Reads the Git refs that workloads follow",
        "incidents" => "Opens incidents of failures that last, and closes them",
        "deliveries" => "Sends messages about incidents to channels",
        "tail" => "Receives the changes of other servers",
        "consoleListener" => "Accepts connections of browsers and clients",
        "auditFile" => "Appends the audit log to a file",
        "agents" => "Serves the clusters that this server connects to itself",
        "agentsListener" => "Accepts connections of agents",
        _ => "",
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::describe_task;

    #[test]
    fn every_loop_of_the_hub_is_described() {
        for name in hub::LOOPS {
            assert!(!describe_task(name).is_empty(), "{name}");
        }
    }
}
