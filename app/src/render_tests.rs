//! Tests of components: views are rendered with plain data, as on the server.

use domain::cluster::Connectivity;
use domain::fleet::{FleetCell, FleetColumn, FleetRow};
use domain::release::ReleaseState;
use domain::{ClusterId, Finding, ReleaseId, Timestamp, WorkloadId};
use leptos::prelude::*;
use leptos_router::location::RequestUrl;
use leptos_router::params::ParamsMap;

use crate::components::{Editor, Empty, FindingList, StateCounts, StateLabel, StateStrip};

/// The HTML of a view, rendered inside a router at `/`.
pub fn render_html<V: IntoView + 'static>(view: impl FnOnce() -> V) -> String {
    let owner = Owner::new();
    owner.with(|| {
        provide_context(RequestUrl::new("/"));
        view().to_html()
    })
}

/// The query of an address with these pairs.
pub fn query(pairs: &[(&'static str, &str)]) -> ParamsMap {
    let mut map = ParamsMap::new();
    for (name, value) in pairs {
        map.insert(*name, (*value).to_owned());
    }
    map
}

const AT: Timestamp = Timestamp::from_millis(1_763_665_200_000);

#[test]
fn a_state_has_a_shape_a_word_and_a_hue() {
    let page = render_html(
        || view! { <StateLabel state=ReleaseState::Failed last_known=None reported_at=None at=AT /> },
    );
    for part in ["/icons.svg#failed", "Failed", "hue-degraded", "state-broken", "aria-hidden"] {
        assert!(page.contains(part), "{part} is missing in {page}");
    }
}

#[test]
fn a_last_known_state_is_outlined_and_shows_its_age() {
    let reported_at = Some(AT.plus_millis(-26 * 60_000));
    let page = render_html(
        move || view! { <StateLabel state=ReleaseState::Unknown last_known=Some(ReleaseState::Healthy) reported_at=reported_at at=AT /> },
    );
    assert!(page.contains("healthy-last") && page.contains("Healthy, 26 min ago"), "{page}");
}

#[test]
fn each_count_is_a_filter_and_the_active_one_clears_it() {
    let counts: domain::rollup::ReleaseCounts =
        [ReleaseState::Healthy, ReleaseState::Failed].into_iter().collect();
    let strip = counts.clone();
    let page = render_html(
        move || view! { <StateCounts counts=counts base="/workloads".to_owned() active="failing" /> },
    );
    assert!(page.contains("href=\"/workloads?state=healthy\""), "{page}");
    assert!(page.contains("href=\"/workloads\" aria-current=\"true\""), "{page}");
    let strip = render_html(move || view! { <StateStrip counts=strip /> });
    assert!(strip.contains("aria-label=\"1 failing, 1 healthy\""), "{strip}");
}

#[test]
fn s0_15_a_finding_shows_code_message_hint_and_a_link_to_its_line() {
    let place = domain::finding::SourceLocation { file: "deploy.yaml".into(), line: 25, column: 3 };
    let finding = Finding::warning("G210", "512m is half a byte.", "Write 512Mi.").with_location(Some(place));
    let page = render_html(move || view! { <FindingList findings=vec![finding] /> });
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
fn s0_15_a_fixable_finding_has_a_button_only_on_the_page_with_the_editors() {
    let edit = domain::fix::TextEdit {
        file: "deploy.yaml".into(),
        start: 9,
        old: "512mb".into(),
        new: "512Mi".into(),
    };
    let fix = domain::fix::Fix { description: "Write 512Mi.".into(), edits: vec![edit] };
    let finding = Finding::error("G209", "512mb is no quantity.", "Write 512Mi.").with_fix(Some(fix));
    let elsewhere = vec![finding.clone()];
    let page =
        render_html(move || view! { <FindingList findings=elsewhere editors="/workloads/web/config" /> });
    assert!(!page.contains("Fix it"), "{page}");
    let unfixable = Finding::error("G214", "m", "h");
    let page = render_html(
        move || view! { <FindingList findings=vec![finding, unfixable] on_fix=Callback::new(|_| ()) /> },
    );
    assert_eq!(page.matches("Fix it").count(), 1, "{page}");
}

#[test]
fn a_finding_leads_to_the_page_that_corrects_it_unless_it_is_about_a_cluster_alone() {
    let place = domain::finding::SourceLocation { file: "deploy.yaml".into(), line: 25, column: 3 };
    let findings = vec![
        Finding::warning("G210", "512m is half a byte.", "Write 512Mi.").with_location(Some(place)),
        Finding::warning("G411", "eu-1 is offline.", "Restore its connection."),
    ];
    let page = render_html(move || {
        let open = Callback::new(|_: Finding| "/workloads/web/edit/source".to_owned());
        view! { <FindingList findings=findings open=open /> }
    });
    assert!(page.contains("href=\"/workloads/web/edit/source#file-deploy-yaml\""), "{page}");
    assert_eq!(page.matches("Show").count(), 1, "{page}");
}

#[test]
fn the_text_of_an_editor_is_in_the_page_without_script_and_is_escaped() {
    let text = "a: \"</textarea><script>alert(1)</script>\"\n";
    let page = render_html(move || {
        let nothing = Signal::stored(Vec::new());
        let file = Signal::stored("deploy.yaml".to_owned());
        view! { <Editor field="form[files][0][text]" file=file text=text.to_owned() findings=nothing on_text=Callback::new(|_| ()) /> }
    });
    assert!(page.contains("name=\"form[files][0][text]\""), "{page}");
    assert!(page.contains("&lt;/textarea&gt;") && !page.contains("<script>"), "{page}");
    let empty = render_html(|| {
        let nothing = Signal::stored(Vec::new());
        let file = Signal::stored("deploy.yaml".to_owned());
        view! { <Editor field="text" file=file text=String::new() findings=nothing on_text=Callback::new(|_| ()) /> }
    });
    assert!(empty.contains("></textarea>"), "{empty}");
}

#[test]
fn an_empty_list_shows_the_next_step_and_its_command() {
    let page = render_html(|| {
        view! {
            <Empty title="No workloads yet" text="Describe one." command="flotilla apply -f deploy.yaml">
                <a href="/workloads/new">"New workload"</a>
            </Empty>
        }
    });
    assert!(page.contains("flotilla apply -f deploy.yaml") && page.contains("New workload"), "{page}");
}

#[test]
fn the_matrix_labels_every_cell_and_marks_cells_without_a_release() {
    let column = |n: u128, name: &str, reach| FleetColumn {
        id: ClusterId::from_parts(1, n),
        name: name.into(),
        region: "eu".into(),
        connectivity: reach,
        last_seen: Some(AT.plus_millis(-60_000)),
    };
    let columns = vec![
        column(1, "edge-1", Connectivity::Online),
        column(2, "edge-2", Connectivity::Offline),
        column(3, "edge-3", Connectivity::Online),
    ];
    let cell = |n: u128, state| FleetCell {
        release: ReleaseId::from_parts(1, n),
        state,
        last_known: ReleaseState::Healthy,
        since: AT,
        message: String::new(),
    };
    let cells = vec![Some(cell(1, ReleaseState::Failed)), Some(cell(2, ReleaseState::Unknown)), None];
    let row = FleetRow {
        id: WorkloadId::from_parts(1, 1),
        name: "storefront".into(),
        counts: [ReleaseState::Failed, ReleaseState::Unknown].into_iter().collect(),
        cells,
    };
    let page = render_html(
        move || view! { <crate::fleet::Matrix columns=columns rows=vec![row] total=1 active=String::new() at=AT state=crate::fleet::MatrixState::new() /> },
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
