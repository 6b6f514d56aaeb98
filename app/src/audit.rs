//! The audit log: what users changed and were denied, and their sign-ins.

use domain::audit::{AuditEntry, AuditOutcome, AuditPage, AuditVerification};
use domain::authorization::UserAction;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::components::age::format_utc;
use crate::components::error::action_error;
use crate::components::{Banner, Empty, FilterForm, StatusStyle, icon, render_resource, search_field};
use crate::errors::AppResult;
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;
use crate::settings::{AUDIT_TAB, SettingsTabs};

/// The page's query.
#[server(prefix = "/api/fn", endpoint = "audit_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn audit_read(
    actor: String,
    action: String,
    subject: String,
    outcome: String,
    before: Option<i64>,
) -> AppResult<AuditPage> {
    use crate::errors::AppError;
    use crate::host;
    use domain::audit::AuditQuery;
    let outcome = match outcome.as_str() {
        "" => None,
        name => Some(AuditOutcome::parse(name).ok_or_else(|| {
            host::with_status(AppError::NotFound { what: "outcome".to_owned(), name: name.to_owned() })
        })?),
    };
    let text = |text: String| text.trim().chars().take(100).collect::<String>();
    let query = AuditQuery {
        actor: text(actor),
        action: text(action),
        subject: text(subject),
        outcome,
        before,
        limit: None,
    };
    host::into_app_result(host::hub()?.list_audit(&host::actor()?, &query).await)
}

/// Verifies the whole log.
#[server(prefix = "/api/fn", endpoint = "audit_verify")]
pub async fn audit_verify() -> AppResult<AuditVerification> {
    use crate::host;
    host::into_app_result(host::hub()?.verify_audit(&host::actor()?).await)
}

/// The page.
#[component]
pub fn AuditLogPage() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).unwrap_or_default();
    let before = move || query.read().get("before").and_then(|before| before.parse::<i64>().ok());
    let verify = ServerAction::<AuditVerify>::new();
    let data = create_resource(
        move || (part("actor"), part("action"), part("subject"), part("outcome"), before()),
        |(actor, action, subject, outcome, before)| audit_read(actor, action, subject, outcome, before),
    );
    let filters = move || ["actor", "action", "subject", "outcome"].map(|name| (name, part(name)));
    view! {
        <Title text="Audit log" />
        <div class="stack max-w-300">
            <h1 class="title">"Settings"</h1>
            <SettingsTabs current=AUDIT_TAB />
            <div class="stack-md">
                {verification(verify)}
                <FilterForm action=paths::AUDIT>
                    <div class="filter-bar">
                        {move || search_field("actor", "User", part("actor"))}
                        {move || filter_field("action", "Action, publish", part("action"))}
                        {move || filter_field("subject", "Subject, workload shop", part("subject"))}
                        {move || outcome_select(&part("outcome"))}
                        <button class="btn" type="submit">
                            "Filter"
                        </button>
                    </div>
                </FilterForm>
                {render_resource(data, move |page| show_page(page, &filters(), before().is_some()))}
            </div>
        </div>
    }
    .into_any()
}

fn filter_field(name: &'static str, label: &'static str, value: String) -> impl IntoView {
    view! { <input class="input input-mono sm:max-w-60" type="search" name=name value=value placeholder=label aria-label=label autocomplete="off" /> }
}

fn outcome_select(selected: &str) -> impl IntoView + use<> {
    let option = |outcome: &AuditOutcome| {
        view! {
            <option value=outcome.as_str() selected=outcome.as_str() == selected>
                {describe_outcome(*outcome)}
            </option>
        }
    };
    view! {
        <select class="select w-auto" name="outcome" aria-label="Outcome">
            <option value="">"Any outcome"</option>
            {AuditOutcome::ALL.iter().map(option).collect_view()}
        </select>
    }
}

const fn describe_outcome(outcome: AuditOutcome) -> &'static str {
    match outcome {
        AuditOutcome::Succeeded => "Succeeded",
        AuditOutcome::Denied => "Denied",
        AuditOutcome::Failed => "Failed",
    }
}

/// What the log is, its verification and its export.
fn verification(verify: ServerAction<AuditVerify>) -> AnyView {
    let result = move || match verify.value().get() {
        Some(Ok(AuditVerification { head, broken: None })) => view! {
            <Banner look=StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" }>
                <p>
                    <b>{format!("Intact up to entry {}.", head.seq)}</b>
                    " Its hash is " <code class="break-all">{head.hash.as_str().to_owned()}</code>
                    ". Store it elsewhere: an export that contains it proves that nothing before was changed."
                </p>
            </Banner>
        }
        .into_any(),
        Some(Ok(AuditVerification { broken: Some(broken), .. })) => view! {
            <p class="banner hue-degraded" role="alert">{format!("The log is not intact. {broken}")}</p>
        }
        .into_any(),
        Some(Err(_)) | None => ().into_any(),
    };
    view! {
        <p class="text-2">
            "What users changed and were denied, and their sign-ins. Each entry has the hash of the one before it, so a changed or removed entry is found."
        </p>
        <div class="flex flex-wrap items-center gap-3">
            <ActionForm action=verify>
                <Permission action=UserAction::ViewAudit>
                    <button class="btn" type="submit" disabled=move || verify.pending().get()>
                        {move || if verify.pending().get() { "Verifying…" } else { "Verify" }}
                    </button>
                </Permission>
            </ActionForm>
            <span class="meta">"Export: " <code>"flotilla audit export"</code></span>
        </div>
        {action_error(verify.value())}
        {result}
    }
    .into_any()
}

fn show_page(page: AuditPage, filters: &[(&'static str, String); 4], later: bool) -> AnyView {
    if page.items.is_empty() {
        return view! { <Empty title="No entries" text="No entry matches." command="flotilla audit list" /> }
            .into_any();
    }
    let pairs: Vec<(&str, &str)> = filters.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let here = paths::query(paths::AUDIT, &pairs);
    let next = page.next.map(|before| paths::query(&here, &[("before", &before.to_string())]));
    let first = later.then_some(here);
    view! {
        <table class="table">
            <thead>
                <tr>
                    <th scope="col">"Time"</th>
                    <th scope="col">"User"</th>
                    <th scope="col">"Action"</th>
                    <th scope="col">"Outcome"</th>
                    <th scope="col">"What"</th>
                    <th scope="col">"From"</th>
                </tr>
            </thead>
            <tbody>{page.items.into_iter().map(show_entry).collect_view()}</tbody>
        </table>
        <nav class="table-foot" aria-label="Pages">
            <span></span>
            <span class="flex gap-4">
                {first.map(|href| view! { <a class="link" href=href>"Newest"</a> })}
                {next.map(|href| view! { <a class="link" href=href rel="next">"Older"</a> })}
            </span>
        </nav>
    }
    .into_any()
}

fn show_entry(entry: AuditEntry) -> impl IntoView {
    let record = entry.record;
    let (style, mark) = match record.outcome {
        AuditOutcome::Succeeded => ("state state-quiet hue-healthy", "check"),
        AuditOutcome::Denied => ("state state-attention hue-drifted", "warning"),
        AuditOutcome::Failed => ("state state-broken hue-degraded", "error"),
    };
    let changes = (!record.changes.is_empty()).then(|| {
        let lines = record.changes.iter().map(|change| format!("{change:#}\n")).collect::<String>();
        view! {
            <details class="fold">
                <summary>"Changes"</summary>
                <pre class="raw max-h-96 overflow-auto" tabindex="0" role="region" aria-label="Changes">{lines}</pre>
            </details>
        }
    });
    let credential =
        (!record.credential.is_empty()).then(|| view! { <p class="meta mono">{record.credential}</p> });
    // An empty text would be a blank in the page: a cell with only a label.
    let text = |text: String| Some(text).filter(|text| !text.is_empty());
    let subject = text(record.subject).map(|subject| view! { <p class="name">{subject}</p> });
    let message = text(record.message).map(|message| view! { <p>{message}</p> });
    let address = text(record.address);
    let from = address.as_ref().map(|_| "From");
    view! {
        <tr>
            <th scope="row" class="cell-name whitespace-nowrap font-normal">
                <time datetime=entry.at.to_string() title=format!("Entry {}, {}", entry.seq, entry.hash)>{format_utc(entry.at)}</time>
            </th>
            <td data-label="User">{record.actor} {credential}</td>
            <td data-label="Action" class="mono">{record.action}</td>
            <td class="cell-state"><span class=style>{icon(mark)} {describe_outcome(record.outcome)}</span></td>
            <td class="cell-text">{subject} {message} {changes}</td>
            <td data-label=from class="mono">{address}</td>
        </tr>
    }
}
