//! The console's root: which address shows which page.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::SsrMode;
use leptos_router::components::{ParentRoute, Route, Router, Routes};
use leptos_router::path;

use crate::clusters::ClustersPage;
use crate::fleet::FleetPage;
use crate::frame::Framed;
use crate::late::{self, AroundView, Late, Part, PlacementView, WizardView};
use crate::live;
use crate::not_found::NotFoundPage;
use crate::sign_in::{SetupPage, SignInPage};
use crate::workloads::{WorkloadPage, WorkloadsPage};

/// The console. Pages are rendered whole before the first byte (`SsrMode::Async`): their status codes are right, and they
/// are complete without script.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    view! {
        <Title formatter=|title: String| if title.is_empty() { "Flotilla".to_owned() } else { format!("{title} · Flotilla") } />
        <Router>
            <Browser />
            <Routes fallback=NotFoundPage>
                // Before the rooms: `new` is no workload's name.
                <ParentRoute path=path!("") view=Late(Part::Wizard, || late::wizard(WizardView::Frame)) ssr=SsrMode::Async>
                    <Route path=path!("workloads/new") view=Late(Part::Wizard, || late::wizard(WizardView::New)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit") view=Late(Part::Source, || late::source(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/source") view=Late(Part::Source, || late::source(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/placement") view=Late(Part::Placement, || late::placement(PlacementView::Step)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/overrides") view=Late(Part::Overrides, || late::overrides(None)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/rollout") view=Late(Part::Placement, || late::placement(PlacementView::Rollout)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/edit/policies") view=Late(Part::Wizard, || late::wizard(WizardView::Policies)) ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/publish") view=Late(Part::Review, late::review) ssr=SsrMode::Async />
                </ParentRoute>
                <ParentRoute path=path!("") view=Framed ssr=SsrMode::Async>
                    <Route path=path!("") view=FleetPage ssr=SsrMode::Async />
                    <Route path=path!("workloads") view=WorkloadsPage ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name") view=WorkloadPage ssr=SsrMode::Async />
                    <Route path=path!("workloads/:name/revisions/:number") view=Late(Part::Around, || late::around(AroundView::Revision)) ssr=SsrMode::Async />
                    <Route path=path!("clusters") view=ClustersPage ssr=SsrMode::Async />
                    <Route path=path!("clusters/:name") view=Late(Part::Around, || late::around(AroundView::Cluster)) ssr=SsrMode::Async />
                    <Route path=path!("groups") view=Late(Part::Around, || late::around(AroundView::Groups)) ssr=SsrMode::Async />
                    <Route path=path!("groups/:name") view=Late(Part::Around, || late::around(AroundView::Group)) ssr=SsrMode::Async />
                    <Route path=path!("join") view=Late(Part::Around, || late::around(AroundView::Join)) ssr=SsrMode::Async />
                    <Route path=path!("events") view=Late(Part::Around, || late::around(AroundView::Events)) ssr=SsrMode::Async />
                    <Route path=path!("settings") view=Late(Part::Around, || late::around(AroundView::Settings)) ssr=SsrMode::Async />
                </ParentRoute>
                <Route path=path!("sign-in") view=SignInPage ssr=SsrMode::Async />
                <Route path=path!("setup") view=SetupPage ssr=SsrMode::Async />
            </Routes>
        </Router>
    }
    .into_any()
}

/// The live stream, the clock and the keys; inside the router, because keys go to rooms.
#[component]
fn Browser() -> impl IntoView {
    live::provide();
}
