//! The parts of the console whose code is fetched when a page first shows them: what a person needs to edit, to publish and
//! to settle things once. Everything that shows the fleet is in the module that every page starts.
//!
//! On the server all parts are there, and a part is a plain function.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use leptos::prelude::*;
use leptos_meta::Meta;
use leptos_router::ChooseView;
use leptos_router::hooks::use_location;
use wasm_split_helpers::{SplitLoaderError, wasm_split};

use crate::clusters::{ClusterPage, GroupPage, GroupsPage, JoinPage};
#[cfg(feature = "hydrate")]
use crate::components::loaded::skeleton;
use crate::events::EventsPage;
use crate::settings::SettingsPage;
use crate::workloads::{
    ConfigTab, NewPage, OverridesPage, OverridesTab, PlacementPage, PlacementTab, PoliciesPage, PublishPage,
    RevisionPage, RolloutPage, SourcePage, WizardFramed,
};

/// What comes of showing a part.
pub type Shown = Result<AnyView, SplitLoaderError>;

/// Name of the marks in the page's head: the parts that the server rendered this page with.
const MARK: &str = "part";

/// Code that is fetched together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The frame of the wizard, and its steps that are small forms.
    Wizard,
    /// The editor of files.
    Source,
    /// The editors of a placement and of a rollout.
    Placement,
    /// The editor of overrides.
    Overrides,
    /// The review before a publish.
    Review,
    /// One cluster, groups of them, one revision, joining, events, settings.
    Around,
}

impl Part {
    #[cfg(feature = "hydrate")]
    const ALL: [Self; 6] =
        [Self::Wizard, Self::Source, Self::Placement, Self::Overrides, Self::Review, Self::Around];

    /// Its name in `#[wasm_split]`, and therefore in the names of its files.
    const fn name(self) -> &'static str {
        match self {
            Self::Wizard => "wizard",
            Self::Source => "source",
            Self::Placement => "placement",
            Self::Overrides => "overrides",
            Self::Review => "review",
            Self::Around => "around",
        }
    }

    /// Fetches its code; at once if it is here.
    async fn fetch(self) -> Result<(), SplitLoaderError> {
        match self {
            Self::Wizard => fetch_wizard().await,
            Self::Source => fetch_source().await,
            Self::Placement => fetch_placement().await,
            Self::Overrides => fetch_overrides().await,
            Self::Review => fetch_review().await,
            Self::Around => fetch_around().await,
        }
    }
}

/// A page that is a part. Bars stand in its place until its code has come.
#[derive(Clone)]
pub struct Late<F>(pub Part, pub F);

impl<F, P> ChooseView for Late<F>
where
    F: Fn() -> P + Clone + Send + 'static,
    P: Future<Output = Shown> + 'static,
{
    async fn choose(self) -> AnyView {
        late(self.0, (self.1)())
    }

    /// Until there is a frame, the page before stays. A failure is shown by [`Self::choose`], after it has tried once more.
    async fn preload(&self) {
        if self.0 == Part::Wizard {
            let _ = self.0.fetch().await;
        }
    }
}

/// A part inside a page: at once if its code is here, else bars until it has come.
pub fn late(part: Part, view: impl Future<Output = Shown> + 'static) -> AnyView {
    let mut view: Pin<Box<dyn Future<Output = Shown>>> = Box::pin(view);
    match view.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(view) => shown(part, view),
        Poll::Pending => waiting(part, view),
    }
}

fn shown(part: Part, view: Shown) -> AnyView {
    hint(part);
    match view {
        Ok(view) => view! {
            <Meta name=MARK content=part.name() />
            {view}
        }
        .into_any(),
        Err(_) => view! { <Lost /> }.into_any(),
    }
}

#[cfg(feature = "hydrate")]
fn waiting(part: Part, view: Pin<Box<dyn Future<Output = Shown>>>) -> AnyView {
    let view = send_wrapper::SendWrapper::new(view);
    let view = Suspend::new(async move { shown(part, view.await) });
    view! { <Suspense fallback=skeleton>{view}</Suspense> }.into_any()
}

/// Never on the server: there a part is a plain function.
#[cfg(not(feature = "hydrate"))]
fn waiting(_: Part, _: Pin<Box<dyn Future<Output = Shown>>>) -> AnyView {
    ().into_any()
}

/// Tells the browser to fetch the part's files beside the module, not after it.
#[cfg(feature = "ssr")]
fn hint(part: Part) {
    use http::header::{HeaderValue, LINK};
    let (Some(assets), Some(response)) =
        (use_context::<crate::shell::Assets>(), use_context::<leptos_axum::ResponseOptions>())
    else {
        return;
    };
    for address in assets.of_part(part.name()) {
        let link = format!("<{address}>; rel=preload; as=fetch; crossorigin");
        if let Ok(link) = HeaderValue::from_str(&link) {
            response.append_header(LINK, link);
        }
    }
}

#[cfg(not(feature = "ssr"))]
fn hint(_: Part) {}

/// Before hydration, which is for code that is there: fetches the parts that the server rendered into this page.
///
/// # Errors
/// They could not be fetched. The page works without script.
#[cfg(feature = "hydrate")]
pub async fn arrive() -> Result<(), String> {
    for part in Part::ALL {
        let mark = format!("meta[name={MARK}][content={}]", part.name());
        if document().query_selector(&mark).ok().flatten().is_some() {
            part.fetch().await.map_err(|why| why.to_string())?;
        }
    }
    Ok(())
}

/// What stands where a part's code could not be fetched: the network is gone, or the server has a newer console.
#[component]
fn Lost() -> impl IntoView {
    let here = use_location();
    let href = move || format!("{}{}", here.pathname.get(), here.search.get());
    view! {
        <section class="empty" role="alert">
            <h1 class="section">"This part of the console could not be loaded"</h1>
            <p>"The server was not reached, or it has a newer console by now. Nothing was changed."</p>
            <div class="empty-actions">
                <a class="btn" href=href rel="external">
                    "Load this page again"
                </a>
            </div>
        </section>
    }
    .into_any()
}

/// The pages of [`Part::Wizard`].
#[derive(Debug, Clone, Copy)]
pub enum WizardView {
    /// The frame of all steps.
    Frame,
    /// The page for a new workload.
    New,
    /// The step for how it is kept.
    Policies,
}

/// The pages of [`Part::Placement`].
#[derive(Debug, Clone, Copy)]
pub enum PlacementView {
    /// The tab of the workload of this name.
    Tab(Memo<String>),
    /// The wizard's step for where it belongs.
    Step,
    /// The wizard's step for the waves in which it goes there.
    Rollout,
}

/// The pages of [`Part::Around`].
#[derive(Debug, Clone, Copy)]
pub enum AroundView {
    /// One cluster.
    Cluster,
    /// All cluster groups.
    Groups,
    /// One cluster group.
    Group,
    /// A cluster joins.
    Join,
    /// The event log.
    Events,
    /// A revision of a workload.
    Revision,
    /// Settings.
    Settings,
}

// One function for each part: what it waits for is its own, so a part that is fetched is at hand at once only for the
// function that fetched it. Hydration would find a page that is not there yet, and show it twice.

/// What belongs to the wizard as a whole.
#[wasm_split(wizard, fallible, preload(fetch_wizard))]
pub fn wizard(view: WizardView) -> Shown {
    Ok(match view {
        WizardView::Frame => view! { <WizardFramed /> }.into_any(),
        WizardView::New => view! { <NewPage /> }.into_any(),
        WizardView::Policies => view! { <PoliciesPage /> }.into_any(),
    })
}

/// The files: the tab of the workload of this name, or the wizard's step.
#[wasm_split(source, fallible, preload(fetch_source))]
pub fn source(tab: Option<Memo<String>>) -> Shown {
    Ok(match tab {
        Some(name) => view! { <ConfigTab name=name /> }.into_any(),
        None => view! { <SourcePage /> }.into_any(),
    })
}

/// What decides over the fleet in the browser: the placement, and the rollout's waves.
#[wasm_split(placement, fallible, preload(fetch_placement))]
pub fn placement(view: PlacementView) -> Shown {
    Ok(match view {
        PlacementView::Tab(name) => view! { <PlacementTab name=name /> }.into_any(),
        PlacementView::Step => view! { <PlacementPage /> }.into_any(),
        PlacementView::Rollout => view! { <RolloutPage /> }.into_any(),
    })
}

/// The overrides: the tab of the workload of this name, or the wizard's step.
#[wasm_split(overrides, fallible, preload(fetch_overrides))]
pub fn overrides(tab: Option<Memo<String>>) -> Shown {
    Ok(match tab {
        Some(name) => view! { <OverridesTab name=name /> }.into_any(),
        None => view! { <OverridesPage /> }.into_any(),
    })
}

/// The review before a publish.
#[wasm_split(review, fallible, preload(fetch_review))]
pub fn review() -> Shown {
    Ok(view! { <PublishPage /> }.into_any())
}

/// What is opened now and then.
#[wasm_split(around, fallible, preload(fetch_around))]
pub fn around(view: AroundView) -> Shown {
    Ok(match view {
        AroundView::Cluster => view! { <ClusterPage /> }.into_any(),
        AroundView::Groups => view! { <GroupsPage /> }.into_any(),
        AroundView::Group => view! { <GroupPage /> }.into_any(),
        AroundView::Join => view! { <JoinPage /> }.into_any(),
        AroundView::Events => view! { <EventsPage /> }.into_any(),
        AroundView::Revision => view! { <RevisionPage /> }.into_any(),
        AroundView::Settings => view! { <SettingsPage /> }.into_any(),
    })
}
