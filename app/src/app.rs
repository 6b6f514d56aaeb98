//! The console's root: the routes.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::SsrMode;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::path;

use crate::clusters::ClustersPage;
use crate::fleet::FleetPage;
use crate::frame::FramedRoutes;
use crate::lazy::{self, LazyPart, LazyRoute, PlacementView, SearchView, SecondaryView, WizardView};
use crate::live;
use crate::not_found::NotFoundPage;
use crate::palette_host::PaletteHost;
use crate::permission;
use crate::search::provide_palette;
use crate::set_password::SetPasswordPage;
use crate::sign_in::{SetupPage, SignInPage};
use crate::workloads::left_forms::provide_left_forms;
use crate::workloads::{WorkloadPage, WorkloadsPage};

/// The console. Pages are rendered completely before the first byte is sent (`SsrMode::Async`), so that their status codes
/// are right and they work without script.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    permission::provide_role();
    view! {
        <Title formatter=|title: String| if title.is_empty() { "Flotilla".to_owned() } else { format!("{title} · Flotilla") } />
        <Router>
            <BrowserServices />
            <Routes fallback=NotFoundPage>
                // Before the pages of a workload: `new` is not a valid workload name.
                <ParentRoute path=path!("") view=LazyRoute(LazyPart::Wizard, || lazy::wizard(WizardView::Frame)) ssr=SsrMode::Async>
                    <Route path=path!("workloads/new") view=LazyRoute(LazyPart::Wizard, || lazy::wizard(WizardView::New)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit") view=LazyRoute(LazyPart::Source, || lazy::source(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/source") view=LazyRoute(LazyPart::Source, || lazy::source(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/placement") view=LazyRoute(LazyPart::Placement, || lazy::placement(PlacementView::Step)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/overrides") view=LazyRoute(LazyPart::Overrides, || lazy::overrides(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/rollout") view=LazyRoute(LazyPart::Placement, || lazy::placement(PlacementView::Rollout)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/policies") view=LazyRoute(LazyPart::Wizard, || lazy::wizard(WizardView::Policies)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/publish") view=LazyRoute(LazyPart::Review, lazy::review) ssr=SsrMode::Async />
                </ParentRoute>
                <ParentRoute path=path!("") view=FramedRoutes ssr=SsrMode::Async>
                    <Route path=path!("") view=FleetPage ssr=SsrMode::Async />
                    <Route path=path!("workloads") view=|| view! { <WorkloadsPage panel=lazy::bulk_panel /> } ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name") view=|| view! { <WorkloadPage editor=lazy::workload_editor /> } ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/revisions/:number") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Revision)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/rollout") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Rollout)) ssr=SsrMode::Async />
                    <Route path=path!("clusters") view=ClustersPage ssr=SsrMode::Async />
                    <Route path=path!("clusters/:name") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Cluster)) ssr=SsrMode::Async />
                    <Route path=path!("groups") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Groups)) ssr=SsrMode::Async />
                    <Route path=path!("new-group") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::NewGroup)) ssr=SsrMode::Async />
                    <Route path=path!("groups/:name") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Group)) ssr=SsrMode::Async />
                    <Route path=path!("join") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Join)) ssr=SsrMode::Async />
                    <Route path=path!("charts") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Charts)) ssr=SsrMode::Async />
                    <Route path=path!("charts/:repository/:chart") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Chart)) ssr=SsrMode::Async />
                    <Route path=path!("events") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Events)) ssr=SsrMode::Async />
                    <Route path=path!("audit") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Audit)) ssr=SsrMode::Async />
                    <Route path=path!("incidents") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Incidents)) ssr=SsrMode::Async />
                    <Route path=path!("incidents/:id") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Incident)) ssr=SsrMode::Async />
                    <Route path=path!("drift") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Drift)) ssr=SsrMode::Async />
                    <Route path=path!("people") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::People)) ssr=SsrMode::Async />
                    <Route path=path!("search") view=LazyRoute(LazyPart::Search, || lazy::search(SearchView::Page)) ssr=SsrMode::Async />
                    <Route path=path!("settings") view=LazyRoute(LazyPart::Secondary, || lazy::secondary(SecondaryView::Settings)) ssr=SsrMode::Async />
                </ParentRoute>
                <Route path=path!("sign-in") view=SignInPage ssr=SsrMode::Async />
                <Route path=path!("setup") view=SetupPage ssr=SsrMode::Async />
                <Route path=path!("set-password") view=SetPasswordPage ssr=SsrMode::Async />
            </Routes>
            <PaletteHost />
        </Router>
    }
    .into_any()
}

/// The live stream, the clock, the palette, forms that were left unsaved, and the keyboard shortcuts; inside the router, because shortcuts navigate.
#[component]
fn BrowserServices() -> impl IntoView {
    provide_palette();
    provide_left_forms();
    live::provide_live_updates();
}
