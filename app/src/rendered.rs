//! Renders views with plain data, as the server would: what tests of components look at.

use domain::cluster::Reach;
use domain::fleet::{FleetCell, FleetColumn, FleetRow};
use domain::release::State;
use domain::{ClusterId, Finding, ReleaseId, Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_router::location::RequestUrl;

use crate::components::{CountLine, Editor, Empty, FindingList, StateWord, Strip};

/// The HTML of a view, made inside a router at `/`.
pub fn html<V: IntoView + 'static>(view: impl FnOnce() -> V) -> String {
    let owner = Owner::new();
    owner.with(|| {
        provide_context(RequestUrl::new("/"));
        view().to_html()
    })
}

const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);

#[test]
fn a_state_is_told_by_shape_word_and_hue() {
    let page = html(|| view! { <StateWord state=State::Failed last_known=None reported_at=None at=AT /> });
    for part in ["/icons.svg#failed", "Failed", "hue-degraded", "state-broken", "aria-hidden"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
}

#[test]
fn what_is_last_known_is_hollow_and_tells_its_age() {
    let reported_at = Some(AT.plus_millis(-26 * 60_000));
    let page = html(
        move || view! { <StateWord state=State::Unknown last_known=Some(State::Healthy) reported_at=reported_at at=AT /> },
    );
    assert!(page.contains("healthy-last") && page.contains("Healthy, 26 min ago"), "{page}");
}

#[test]
fn each_count_is_a_filter_and_the_active_one_leads_back() {
    let counts: domain::rollup::Counts = [State::Healthy, State::Failed].into_iter().collect();
    let strip = counts.clone();
    let page =
        html(move || view! { <CountLine counts=counts base="/workloads".to_owned() active="failing" /> });
    assert!(page.contains("href=\"/workloads?state=healthy\""), "{page}");
    assert!(page.contains("href=\"/workloads\" aria-current=\"true\""), "{page}");
    let strip = html(move || view! { <Strip counts=strip /> });
    assert!(strip.contains("aria-label=\"1 failing, 1 healthy\""), "{strip}");
}

#[test]
fn s0_15_a_finding_shows_code_message_hint_and_a_link_to_its_line() {
    let place = domain::finding::Place { file: "deploy.yaml".into(), line: 25, column: 3 };
    let finding = Finding::warning("G210", "512m is half a byte.", "Write 512Mi.").placed(Some(place));
    let page = html(move || view! { <FindingList findings=vec![finding] /> });
    for part in [
        "G210",
        "512m is half a byte.",
        "Write 512Mi.",
        "deploy.yaml:25",
        "href=\"#file-deploy-yaml\"",
        "warning",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
}

#[test]
fn s0_15_what_can_be_fixed_has_a_button_where_the_editors_are_and_nowhere_else() {
    let edit =
        domain::fix::Edit { file: "deploy.yaml".into(), start: 9, old: "512mb".into(), new: "512Mi".into() };
    let fix = domain::fix::Fix { does: "Write 512Mi.".into(), edits: vec![edit] };
    let finding = Finding::error("G209", "512mb is no quantity.", "Write 512Mi.").mended(Some(fix));
    let elsewhere = vec![finding.clone()];
    let page = html(move || view! { <FindingList findings=elsewhere editors="/workloads/web/config" /> });
    assert!(!page.contains("Fix it"), "{page}");
    let unfixable = Finding::error("G214", "m", "h");
    let page =
        html(move || view! { <FindingList findings=vec![finding, unfixable] mend=Callback::new(|_| ()) /> });
    assert_eq!(page.matches("Fix it").count(), 1, "{page}");
}

#[test]
fn the_text_of_an_editor_is_in_the_page_without_script_and_cannot_leave_it() {
    let text = "a: \"</textarea><script>alert(1)</script>\"\n";
    let page = html(move || {
        let nothing = Signal::stored(Vec::new());
        let file = Signal::stored("deploy.yaml".to_owned());
        view! { <Editor field="form[files][0][text]" file=file text=text.to_owned() findings=nothing on_text=Callback::new(|_| ()) /> }
    });
    assert!(page.contains("name=\"form[files][0][text]\""), "{page}");
    assert!(page.contains("&lt;/textarea&gt;") && !page.contains("<script>"), "{page}");
    let empty = html(|| {
        let nothing = Signal::stored(Vec::new());
        let file = Signal::stored("deploy.yaml".to_owned());
        view! { <Editor field="text" file=file text=String::new() findings=nothing on_text=Callback::new(|_| ()) /> }
    });
    assert!(empty.contains("></textarea>"), "{empty}");
}

#[test]
fn an_empty_list_says_the_next_step_and_its_command() {
    let page = html(|| {
        view! {
            <Empty title="No workloads yet" text="Describe one." command="flotilla apply -f deploy.yaml">
                <a href="/workloads/new">"New workload"</a>
            </Empty>
        }
    });
    assert!(page.contains("flotilla apply -f deploy.yaml") && page.contains("New workload"), "{page}");
}

#[test]
fn the_matrix_names_every_cell_and_marks_where_a_workload_is_not() {
    let column = |n: u128, name: &str, reach| FleetColumn {
        id: ClusterId::from_parts(1, n),
        name: name.into(),
        region: "eu".into(),
        reach,
        last_seen: Some(AT.plus_millis(-60_000)),
    };
    let columns = vec![
        column(1, "edge-1", Reach::Online),
        column(2, "edge-2", Reach::Offline),
        column(3, "edge-3", Reach::Online),
    ];
    let cell = |n: u128, state| FleetCell {
        release: ReleaseId::from_parts(1, n),
        state,
        last_known: State::Healthy,
        since: AT,
        message: String::new(),
    };
    let cells = vec![Some(cell(1, State::Failed)), Some(cell(2, State::Unknown)), None];
    let row = FleetRow {
        id: WorkloadId::from_parts(1, 1),
        name: "storefront".into(),
        counts: [State::Failed, State::Unknown].into_iter().collect(),
        cells,
    };
    let page = html(
        move || view! { <crate::fleet::Matrix columns=columns rows=vec![row] total=1 active=String::new() at=AT /> },
    );
    for part in [
        "aria-label=\"storefront on edge-1: Failed\"",
        "aria-label=\"storefront on edge-2: Healthy, last known\"",
        "matrix-none",
        "healthy-last",
        "Last seen",
        "href=\"/workloads/storefront?open=edge-1\"",
    ] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
}
