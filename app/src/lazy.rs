//! The parts of the console whose code is fetched when a page first displays them: editors, review and administration.
//! The pages that display the fleet are in the main module, which every page loads.
//!
//! On the server all parts are linked in, and a part is a plain function.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leptos::prelude::*;
use leptos_meta::Meta;
use leptos_router::ChooseView;
use leptos_router::hooks::use_location;
use wasm_split_helpers::{SplitLoaderError, wasm_split};

use crate::audit::AuditLogPage;
use crate::charts::{ChartPage, ChartsPage};
use crate::clusters::{ClusterPage, GroupPage, GroupsPage, JoinPage, NewGroupPage};
#[cfg(feature = "hydrate")]
use crate::components::resource_view::skeleton;
use crate::drift::DriftPage;
use crate::events::EventsPage;
use crate::incidents::{IncidentPage, IncidentsPage};
use crate::paths::WorkloadTab;
use crate::people::PeoplePage;
use crate::search::{Palette, PaletteRequest, SearchPage};
use crate::settings::SettingsPage;
use crate::workloads::{
    BulkPanel, ConfigTab, NewPage, OverridesPage, OverridesTab, PlacementPage, PlacementTab, PoliciesPage,
    PoliciesTab, PublishPage, RevisionPage, RolloutGridPage, RolloutPage, SourcePage, WizardFrame,
};

/// The view of a part, or why its code could not be fetched.
pub type LazyResult = Result<AnyView, SplitLoaderError>;

/// Name of the `<meta>` elements that list the parts that the server rendered into this page.
const PART_META_NAME: &str = "part";

/// A part: code that is fetched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LazyPart {
    /// The frame of the wizard, its small steps, and the editor of policies.
    Wizard,
    /// The editor of files.
    Source,
    /// The editors of a placement and of a rollout.
    Placement,
    /// The editor of overrides.
    Overrides,
    /// The review before a publish.
    Review,
    /// One cluster, groups of them, one revision, joining, events, incidents, people, the audit log, settings, actions on several workloads.
    Secondary,
    /// The search: its page, and the palette.
    Search,
}

impl LazyPart {
    #[cfg(feature = "hydrate")]
    const ALL: [Self; 7] = [
        Self::Wizard,
        Self::Source,
        Self::Placement,
        Self::Overrides,
        Self::Review,
        Self::Secondary,
        Self::Search,
    ];

    /// Its name in `#[wasm_split]`, and therefore in the names of its files.
    const fn name(self) -> &'static str {
        match self {
            Self::Wizard => "wizard",
            Self::Source => "source",
            Self::Placement => "placement",
            Self::Overrides => "overrides",
            Self::Review => "review",
            Self::Secondary => "secondary",
            Self::Search => "search",
        }
    }

    /// Fetches its code; returns immediately if it is loaded.
    async fn fetch(self) -> Result<(), SplitLoaderError> {
        match self {
            Self::Wizard => fetch_wizard().await,
            Self::Source => fetch_source().await,
            Self::Placement => fetch_placement().await,
            Self::Overrides => fetch_overrides().await,
            Self::Review => fetch_review().await,
            Self::Secondary => fetch_secondary().await,
            Self::Search => fetch_search().await,
        }
    }
}

/// A page that is a part. A skeleton is displayed until its code is loaded.
#[derive(Clone)]
pub struct LazyRoute<F>(pub LazyPart, pub F);

impl<F, P> ChooseView for LazyRoute<F>
where
    F: Fn() -> P + Clone + Send + 'static,
    P: Future<Output = LazyResult> + 'static,
{
    async fn choose(self) -> AnyView {
        lazy_view(self.0, (self.1)())
    }

    /// Delays navigation until the wizard's frame is loaded, so that the previous page stays until then. A failure is
    /// ignored here: [`Self::choose`] tries again and displays it.
    async fn preload(&self) {
        if self.0 == LazyPart::Wizard {
            let _ = self.0.fetch().await;
        }
    }
}

/// A part inside a page: rendered immediately if its code is loaded, else a skeleton until then.
pub fn lazy_view(part: LazyPart, view: impl Future<Output = LazyResult> + 'static) -> AnyView {
    let mut view: Pin<Box<dyn Future<Output = LazyResult>>> = Box::pin(view);
    match view.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(view) => render_part(part, view),
        Poll::Pending => waiting(part, view),
    }
}

fn render_part(part: LazyPart, view: LazyResult) -> AnyView {
    hint(part);
    match view {
        Ok(view) => view! {
            <Meta name=PART_META_NAME content=part.name() />
            {view}
        }
        .into_any(),
        Err(_) => view! { <PartUnavailable /> }.into_any(),
    }
}

#[cfg(feature = "hydrate")]
fn waiting(part: LazyPart, view: Pin<Box<dyn Future<Output = LazyResult>>>) -> AnyView {
    let view = send_wrapper::SendWrapper::new(view);
    let view = Suspend::new(async move { render_part(part, view.await) });
    view! { <Suspense fallback=skeleton>{view}</Suspense> }.into_any()
}

/// Never called on the server: there a part is a plain function.
#[cfg(not(feature = "hydrate"))]
fn waiting(_: LazyPart, _: Pin<Box<dyn Future<Output = LazyResult>>>) -> AnyView {
    ().into_any()
}

/// Adds preload headers, so that the browser fetches the part's files in parallel with the main module.
#[cfg(feature = "ssr")]
fn hint(part: LazyPart) {
    use http::header::{HeaderValue, LINK};
    let (Some(assets), Some(response)) =
        (use_context::<crate::assets::Assets>(), use_context::<leptos_axum::ResponseOptions>())
    else {
        return;
    };
    for address in assets.part_addresses(part.name()) {
        let link = format!("<{address}>; rel=preload; as=fetch; crossorigin");
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.append_header(LINK, link);
        }
    }
}

#[cfg(not(feature = "ssr"))]
fn hint(_: LazyPart) {}

/// Fetches the parts that the server rendered into this page; to be called before hydration, which needs their code.
///
/// # Errors
/// They could not be fetched. The page works without script.
#[cfg(feature = "hydrate")]
pub async fn fetch_rendered_parts() -> Result<(), String> {
    for part in LazyPart::ALL {
        let mark = format!("meta[name={PART_META_NAME}][content={}]", part.name());
        if document().query_selector(&mark).ok().flatten().is_some() {
            part.fetch().await.map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

/// Displayed if a part's code could not be fetched: no network, or the server has a newer console.
#[component]
fn PartUnavailable() -> impl IntoView {
    let here = use_location();
    let href = move || format!("{}{}", here.pathname.get(), here.search.get());
    view! {
        <section class="empty" role="alert">
            <h1 class="section">"This part of the console could not be loaded"</h1>
            <p>"The server could not be reached, or it has a newer version of the console. Nothing was changed."</p>
            <div class="empty-actions">
                <a class="btn" href=href rel="external">
                    "Load this page again"
                </a>
            </div>
        </section>
    }
    .into_any()
}

/// The pages of [`LazyPart::Wizard`].
#[derive(Debug, Clone, Copy)]
pub enum WizardView {
    /// The frame of all steps.
    Frame,
    /// The page for a new workload.
    New,
    /// The wizard's step for policies.
    Policies,
    /// The policies as a tab of the workload of this name.
    PoliciesTab(Memo<String>),
}

/// The pages of [`LazyPart::Placement`].
#[derive(Debug, Clone, Copy)]
pub enum PlacementView {
    /// The tab of the workload of this name.
    Tab(Memo<String>),
    /// The wizard's step for the placement.
    Step,
    /// The wizard's step for the rollout.
    Rollout,
}

/// The pages of [`LazyPart::Secondary`].
#[derive(Debug, Clone, Copy)]
pub enum SecondaryView {
    /// One cluster.
    Cluster,
    /// All cluster groups.
    Groups,
    /// A new cluster group.
    NewGroup,
    /// One cluster group.
    Group,
    /// A cluster joins.
    Join,
    /// Charts of the project.
    Charts,
    /// One chart.
    Chart,
    /// The event log.
    Events,
    /// Incidents.
    Incidents,
    /// One incident.
    Incident,
    /// The drift inbox.
    Drift,
    /// A revision of a workload.
    Revision,
    /// The clusters of a rollout.
    Rollout,
    /// Users and their roles.
    People,
    /// The audit log.
    Audit,
    /// Settings.
    Settings,
    /// The dialog or the result of an action on several workloads.
    Bulk,
}

/// The views of [`LazyPart::Search`].
#[derive(Debug, Clone)]
pub enum SearchView {
    /// The page.
    Page,
    /// The palette.
    Palette(PaletteRequest),
}

/// The editor in a tab of the workload of this name; nothing for a tab without an editor.
pub fn workload_editor(tab: WorkloadTab, name: Memo<String>) -> AnyView {
    match tab {
        WorkloadTab::Config => lazy_view(LazyPart::Source, source(Some(name))),
        WorkloadTab::Placement => lazy_view(LazyPart::Placement, placement(PlacementView::Tab(name))),
        WorkloadTab::Overrides => lazy_view(LazyPart::Overrides, overrides(Some(name))),
        WorkloadTab::Policies => lazy_view(LazyPart::Wizard, wizard(WizardView::PoliciesTab(name))),
        WorkloadTab::Clusters | WorkloadTab::History | WorkloadTab::Events => ().into_any(),
    }
}

/// The dialog or the result of an action on several workloads.
pub fn bulk_panel() -> AnyView {
    lazy_view(LazyPart::Secondary, secondary(SecondaryView::Bulk))
}

// One function for each part: the future of a split function is ready immediately only if the same function fetched the
// code. With several functions for a part, hydration would find a pending page and display it twice.

/// The frame of the wizard and its small steps.
#[wasm_split(wizard, fallible, preload(fetch_wizard))]
pub fn wizard(view: WizardView) -> LazyResult {
    Ok(match view {
        WizardView::Frame => view! { <WizardFrame /> }.into_any(),
        WizardView::New => view! { <NewPage /> }.into_any(),
        WizardView::Policies => view! { <PoliciesPage /> }.into_any(),
        WizardView::PoliciesTab(name) => view! { <PoliciesTab name=name /> }.into_any(),
    })
}

/// The files: the tab of the workload of this name, or the wizard's step.
#[wasm_split(source, fallible, preload(fetch_source))]
pub fn source(tab: Option<Memo<String>>) -> LazyResult {
    Ok(match tab {
        Some(name) => view! { <ConfigTab name=name /> }.into_any(),
        None => view! { <SourcePage /> }.into_any(),
    })
}

/// The editors of placement and rollout, which evaluate the fleet in the browser.
#[wasm_split(placement, fallible, preload(fetch_placement))]
pub fn placement(view: PlacementView) -> LazyResult {
    Ok(match view {
        PlacementView::Tab(name) => view! { <PlacementTab name=name /> }.into_any(),
        PlacementView::Step => view! { <PlacementPage /> }.into_any(),
        PlacementView::Rollout => view! { <RolloutPage /> }.into_any(),
    })
}

/// The overrides: the tab of the workload of this name, or the wizard's step.
#[wasm_split(overrides, fallible, preload(fetch_overrides))]
pub fn overrides(tab: Option<Memo<String>>) -> LazyResult {
    Ok(match tab {
        Some(name) => view! { <OverridesTab name=name /> }.into_any(),
        None => view! { <OverridesPage /> }.into_any(),
    })
}

/// The review before a publish.
#[wasm_split(review, fallible, preload(fetch_review))]
pub fn review() -> LazyResult {
    Ok(view! { <PublishPage /> }.into_any())
}

/// Pages that are opened rarely.
#[wasm_split(secondary, fallible, preload(fetch_secondary))]
pub fn secondary(view: SecondaryView) -> LazyResult {
    Ok(match view {
        SecondaryView::Cluster => view! { <ClusterPage /> }.into_any(),
        SecondaryView::Groups => view! { <GroupsPage /> }.into_any(),
        SecondaryView::NewGroup => view! { <NewGroupPage /> }.into_any(),
        SecondaryView::Group => view! { <GroupPage /> }.into_any(),
        SecondaryView::Join => view! { <JoinPage /> }.into_any(),
        SecondaryView::Charts => view! { <ChartsPage /> }.into_any(),
        SecondaryView::Chart => view! { <ChartPage /> }.into_any(),
        SecondaryView::Incidents => view! { <IncidentsPage /> }.into_any(),
        SecondaryView::Incident => view! { <IncidentPage /> }.into_any(),
        SecondaryView::Drift => view! { <DriftPage /> }.into_any(),
        SecondaryView::Events => view! { <EventsPage /> }.into_any(),
        SecondaryView::Revision => view! { <RevisionPage /> }.into_any(),
        SecondaryView::Rollout => view! { <RolloutGridPage /> }.into_any(),
        SecondaryView::People => view! { <PeoplePage /> }.into_any(),
        SecondaryView::Audit => view! { <AuditLogPage /> }.into_any(),
        SecondaryView::Settings => view! { <SettingsPage /> }.into_any(),
        SecondaryView::Bulk => view! { <BulkPanel /> }.into_any(),
    })
}

/// The search.
#[wasm_split(search, fallible, preload(fetch_search))]
pub fn search(view: SearchView) -> LazyResult {
    Ok(match view {
        SearchView::Page => view! { <SearchPage /> }.into_any(),
        SearchView::Palette(request) => view! { <Palette request=request /> }.into_any(),
    })
}
