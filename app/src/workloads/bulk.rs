//! Actions on several workloads: what they concern, the confirmation, and the result for each workload. Each workload is changed by
//! the same verb as a single one, in a transaction of its own.

use domain::Timestamp;
use domain::authorization::UserAction;
use domain::selection::{BulkAction, SelectedWorkload, WorkloadSelection};
use leptos::prelude::*;
use leptos_router::hooks::use_query_map;
use serde::{Deserialize, Serialize};

use super::list_address::ListAddress;
use super::selection::{NAME_PARAMETER, names_in_query};
use crate::components::dialog::dialog_buttons;
use crate::components::error::action_error;
use crate::components::{Age, Banner, ConfirmDialog, StatusStyle, icon, pluralize, render_resource_part};
use crate::errors::AppResult;
use crate::live::{self, Topic};
use crate::paths;
use crate::permission::Permission;
use crate::resource::create_resource;

/// The selected workloads, as they are now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectionData {
    /// The workloads.
    pub selection: WorkloadSelection,
    /// When this was read, by the server's clock.
    pub read_at: Timestamp,
}

/// Reads what an action on these workloads concerns.
#[server(prefix = "/api/fn", endpoint = "workload_selection_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn workload_selection_read(
    #[server(default)] names: Vec<String>,
    action: BulkAction,
) -> AppResult<SelectionData> {
    use crate::host;
    let hub = host::hub_for_reader()?;
    check_number(&names)?;
    let selection = host::into_app_result(hub.get_workload_selection(&names, action).await)?;
    Ok(SelectionData { selection, read_at: hub.clock().now() })
}

/// Requests an immediate reconciliation of each of these workloads on all of its clusters. Redirects to the list with the result.
#[server(prefix = "/api/fn", endpoint = "workloads_sync")]
pub async fn workloads_sync(
    #[server(default)] names: Vec<String>,
    #[server(default)] list: ListAddress,
) -> AppResult<()> {
    use crate::host;
    check_number(&names)?;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let mut outcome = BulkOutcome::default();
    for name in &names {
        outcome.add(name, hub.sync_workload(&actor, name, &[]).await);
    }
    outcome.finish(&list, BulkAction::Sync)
}

/// Removes each of these workloads from every cluster; the drafts are retained. `confirmed` is their number, which is required for a
/// large removal. Redirects to the list with the result.
#[server(prefix = "/api/fn", endpoint = "workloads_unpublish")]
pub async fn workloads_unpublish(
    #[server(default)] names: Vec<String>,
    #[server(default)] objects: String,
    #[server(default)] force: bool,
    #[server(default)] confirmed: String,
    #[server(default)] list: ListAddress,
) -> AppResult<()> {
    use super::dialogs::removal_options;
    use crate::{errors::AppError, host};
    check_number(&names)?;
    let (hub, actor) = (host::hub()?, host::actor()?);
    let selection = hub.get_workload_selection(&names, BulkAction::Unpublish).await;
    let number = host::into_app_result(selection)?.confirmation();
    if let Some(number) = number.filter(|number| confirmed.trim() != number.to_string()) {
        let why = domain::Finding::error(
            "G505",
            format!("This removes {number} workloads, and their number was not typed."),
            format!("Type {number} to confirm it."),
        );
        return Err(host::with_status(AppError::from_finding(why)));
    }
    let mut outcome = BulkOutcome::default();
    for name in &names {
        let removed = hub.unpublish_workload(&actor, name, removal_options(&objects, (force, false))).await;
        outcome.add(name, removed);
    }
    outcome.finish(&list, BulkAction::Unpublish)
}

#[cfg(feature = "ssr")]
fn check_number(names: &[String]) -> AppResult<()> {
    use crate::{errors::AppError, host};
    use domain::selection::MAX_SELECTED;
    let why = match names.len() {
        0 => "No workload is selected.".to_owned(),
        n if n > MAX_SELECTED => format!("{n} workloads are selected."),
        _ => return Ok(()),
    };
    let hint = format!("Select 1 to {MAX_SELECTED} workloads.");
    Err(host::with_status(AppError::from_finding(domain::Finding::error("G100", why, hint))))
}

/// The result for each workload.
#[cfg(feature = "ssr")]
#[derive(Default)]
struct BulkOutcome {
    done: Vec<String>,
    failed: Vec<crate::errors::ChangeFailure>,
}

#[cfg(feature = "ssr")]
impl BulkOutcome {
    fn add<T>(&mut self, name: &str, result: Result<T, hub::Error>) {
        match result.map_err(crate::errors::AppError::from) {
            Ok(_) => self.done.push(name.to_owned()),
            Err(error) => self
                .failed
                .push(crate::errors::ChangeFailure { name: name.to_owned(), message: error.to_string() }),
        }
    }

    /// Redirects to the list with the result. Error: the failures, with those that are done.
    fn finish(self, list: &ListAddress, action: BulkAction) -> AppResult<()> {
        use crate::{errors::AppError, host};
        let Self { done, failed } = self;
        if !failed.is_empty() {
            return Err(host::with_status(AppError::PartlyFailed { done, failed }));
        }
        let names = done.iter().map(|name| (NAME_PARAMETER, name.as_str()));
        let pairs: Vec<(&str, &str)> = names.chain([("done", action.as_str())]).collect();
        leptos_axum::redirect(&list.address(&pairs));
        Ok(())
    }
}

/// The dialog that the query parameter `dialog` names, or the result of the action that `done` names.
#[component]
pub fn BulkPanel() -> impl IntoView {
    let query = use_query_map();
    let part = move |name: &'static str| query.read().get(name).and_then(|action| BulkAction::parse(&action));
    let names = Memo::new(move |_| query.with(names_in_query));
    let list = Memo::new(move |_| query.with(ListAddress::from_query));
    let asked = Memo::new(move |_| (part("dialog"), part("done")));
    let (sync, unpublish) = (ServerAction::<WorkloadsSync>::new(), ServerAction::<WorkloadsUnpublish>::new());
    move || match asked.get() {
        (Some(action), _) => {
            let attempts = move || (sync.version().get(), unpublish.version().get());
            let data = create_resource(
                move || (names.get(), attempts()),
                move |(names, _)| workload_selection_read(names, action),
            );
            render_resource_part(data, move |data| {
                let dialog = BulkDialog { selection: data.selection, list: list.get_untracked() };
                match action {
                    BulkAction::Sync => sync_dialog(dialog, sync),
                    BulkAction::Unpublish => unpublish_dialog(dialog, unpublish),
                }
            })
            .into_any()
        }
        (None, Some(action)) => result_view(names, list, action),
        (None, None) => ().into_any(),
    }
}

/// What a dialog shows.
struct BulkDialog {
    selection: WorkloadSelection,
    list: ListAddress,
}

impl BulkDialog {
    /// The list with the same selection, without the dialog.
    fn back(&self) -> String {
        let names = self.selection.items.iter().map(|one| (NAME_PARAMETER, one.name.as_str()));
        self.list.address(&names.collect::<Vec<_>>())
    }

    /// `3 workloads`, `storefront`.
    fn subject(&self) -> String {
        let mut available = self.selection.available();
        match (available.next(), available.count()) {
            (Some(only), 0) => only.name.clone(),
            (first, more) => pluralize(count(more + usize::from(first.is_some())), "workload"),
        }
    }

    /// The names and the address of the list, as fields.
    fn hidden_fields(&self) -> AnyView {
        let names = self.selection.available().map(|one| one.name.clone());
        let names =
            names.map(|name| view! { <input type="hidden" name="names[]" value=name /> }).collect_view();
        let field = |(name, value): (&'static str, &str)| {
            view! { <input type="hidden" name=format!("list[{name}]") value=value.to_owned() /> }
        };
        view! {
            {names}
            {self.list.parts().map(field).collect_view()}
        }
        .into_any()
    }

    /// Each workload with what the action concerns, or why it is skipped.
    fn items(&self) -> AnyView {
        view! { <ul class="selection-list">{self.selection.items.iter().map(item_view).collect_view()}</ul> }
            .into_any()
    }

    /// Cancel and the action; without an available workload only the way back.
    fn buttons(&self, action: BulkAction, class: &'static str) -> AnyView {
        if self.selection.available().next().is_some() {
            return dialog_buttons(self.back(), action.label(), class).into_any();
        }
        view! {
            <div class="dialog-actions">
                <a class="btn" href=self.back()>"Close"</a>
            </div>
        }
        .into_any()
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn item_view(one: &SelectedWorkload) -> impl IntoView + use<> {
    let (symbol, hue, text) = match &one.unavailable {
        None => {
            let clusters = pluralize(one.counts.targeted(), "cluster");
            ("check", "hue-healthy", format!("{clusters}, {}", pluralize(one.objects, "object")))
        }
        Some(why) => ("minus", "hue-unknown", format!("Skipped: {why}")),
    };
    view! {
        <li class=hue>
            {icon(symbol)}
            <span class="name strong">{one.name.clone()}</span>
            <span class="meta">{text}</span>
        </li>
    }
}

fn sync_dialog(dialog: BulkDialog, action: ServerAction<WorkloadsSync>) -> AnyView {
    let title = match dialog.selection.available().next() {
        Some(_) => {
            format!("Sync {} on {} now?", dialog.subject(), pluralize(dialog.selection.clusters, "cluster"))
        }
        None => "None of the selected workloads can be synced".to_owned(),
    };
    view! {
        <ConfirmDialog title=title back=dialog.back()>
            <ActionForm action=action>
                <Permission action=UserAction::Sync>
                    {dialog.hidden_fields()}
                    <div class="dialog-body">
                        {action_error(action.value())}
                        <p>"Every agent resets its retry delay, compares the live objects with the published revision and reverts differences. No cluster is added."</p>
                        {dialog.items()}
                    </div>
                    {dialog.buttons(BulkAction::Sync, "btn btn-primary")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

fn unpublish_dialog(dialog: BulkDialog, action: ServerAction<WorkloadsUnpublish>) -> AnyView {
    let selection = &dialog.selection;
    let is_possible = selection.available().next().is_some();
    let title = match is_possible {
        true => format!("Unpublish {} from {}?", dialog.subject(), pluralize(selection.clusters, "cluster")),
        false => "None of the selected workloads can be unpublished".to_owned(),
    };
    let unreachable = match selection.unreachable() {
        0 => String::new(),
        n => format!(
            " {} can't be reached now and are removed when their clusters reconnect.",
            pluralize(n, "release")
        ),
    };
    let scope = format!(
        "{} with {} are removed.{unreachable} Namespaces that Flotilla created and volume claims of StatefulSets remain, and so do the drafts with their history.",
        pluralize(selection.releases(), "release"),
        pluralize(selection.objects(), "object"),
    );
    let fields = is_possible.then(|| removal_fields(selection));
    view! {
        <ConfirmDialog title=title back=dialog.back()>
            <ActionForm action=action>
                <Permission action=UserAction::Unpublish>
                    {dialog.hidden_fields()}
                    <div class="dialog-body">
                        {action_error(action.value())}
                        {is_possible.then(|| view! { <p>{scope}</p> })}
                        {dialog.items()}
                        {fields}
                    </div>
                    {dialog.buttons(BulkAction::Unpublish, "btn btn-danger-solid")}
                </Permission>
            </ActionForm>
        </ConfirmDialog>
    }
    .into_any()
}

/// What happens to the objects, to clusters that are not reachable, and the number to type.
fn removal_fields(selection: &WorkloadSelection) -> AnyView {
    let force = (selection.unreachable() > 0).then(|| {
        let releases = pluralize(selection.unreachable(), "release");
        view! {
            <label class="choice">
                <input type="checkbox" name="force" class="checkbox" value="true" />
                {format!("Abandon {releases} that can't be reached, and complete their removal later")}
            </label>
        }
    });
    let number = selection.confirmation().map(|number| {
        view! {
            <div class="field">
                <label class="field-label" for="confirmed">
                    {format!("Type {number} to unpublish {number} workloads")}
                </label>
                <input class="input input-mono max-w-24" id="confirmed" name="confirmed" inputmode="numeric" pattern=number.to_string() required=true autocomplete="off" />
            </div>
        }
    });
    view! {
        <div class="stack-sm">
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="policy" checked=true />
                "By the deletion policy of each workload"
            </label>
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="delete" />
                "Delete the objects"
            </label>
            <label class="choice">
                <input type="radio" name="objects" class="radio" value="leave" />
                "Orphan: leave the objects running and stop managing them"
            </label>
        </div>
        {force}
        {number}
    }
    .into_any()
}

/// What was requested for each workload and how far it is, read again while the page is open.
fn result_view(names: Memo<Vec<String>>, list: Memo<ListAddress>, action: BulkAction) -> AnyView {
    let version = live::watch_version(|| Some(Topic::Fleet));
    let data = create_resource(
        move || (names.get(), version.get()),
        move |(names, _)| workload_selection_read(names, action),
    );
    render_resource_part(data, move |SelectionData { selection, read_at }| {
        let total = pluralize(count(selection.items.len()), "workload");
        let rows = selection.items.iter().map(|one| result_row(one, action, read_at)).collect_view();
        let look = match selection.items.iter().all(|one| is_requested(one, action)) {
            true => StatusStyle { icon: "check", hue: "hue-healthy", emphasis: "state-quiet" },
            false => StatusStyle { icon: "warning", hue: "hue-drifted", emphasis: "state-attention" },
        };
        view! {
            <Banner look=look>
                <div class="grow">
                    <p>
                        <b>{format!("{} of {total}: ", action.label())}</b>
                        <a class="link" href=list.get_untracked().address(&[])>"Close"</a>
                    </p>
                    <ul class="selection-list">{rows}</ul>
                </div>
            </Banner>
        }
        .into_any()
    })
    .into_any()
}

/// Whether the action is what was requested last for this workload.
fn is_requested(one: &SelectedWorkload, action: BulkAction) -> bool {
    one.latest.as_ref().is_some_and(|latest| latest.kind == action.operation())
}

fn result_row(one: &SelectedWorkload, action: BulkAction, read_at: Timestamp) -> impl IntoView + use<> {
    let is_requested = is_requested(one, action);
    let (symbol, hue) = if is_requested { ("check", "hue-healthy") } else { ("warning", "hue-drifted") };
    let requested = one.latest.clone().filter(|_| is_requested).map(|latest| {
        view! { "requested " <Age since=latest.at at=read_at suffix=" ago" /> {format!(" by {}", latest.actor)} }
    });
    let now = match (one.phase, action) {
        (None, _) => one.unavailable.clone().unwrap_or_default(),
        (Some(phase), BulkAction::Unpublish) if one.counts.targeted() > 0 => {
            format!("{}, on {} now", phase.label(), pluralize(one.counts.targeted(), "cluster"))
        }
        (Some(phase), BulkAction::Unpublish) => phase.label().to_owned(),
        (Some(_), BulkAction::Sync) => {
            format!("{} of {} healthy", one.counts.healthy(), pluralize(one.counts.targeted(), "cluster"))
        }
    };
    let other = (!is_requested).then(|| format!("{} is not its latest operation: ", action.label()));
    view! {
        <li class=hue>
            {icon(symbol)}
            <a class="name strong" href=paths::workload(&one.name)>{one.name.clone()}</a>
            <span class="meta">{other} {requested} {is_requested.then_some(": ")} {now}</span>
        </li>
    }
}
