//! The fleet: is anything wrong? The answer in a sentence, then counts, then what needs a person, then the matrix.

use domain::fleet::Fleet;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::use_query_map;

use crate::components::{CountLine, Empty, Strip, count_of, loaded};
use crate::errors::Answer;
use crate::live::{self, Topic};
use crate::paths;

mod attention;
mod matrix;
mod sentence;
mod side;

use attention::NeedsAPerson;
pub use matrix::Matrix;
use sentence::Sentence;
use side::{NotReporting, RecentChanges};

/// The page's one query. `group` is a group's slug and filters the rows.
#[server(prefix = "/api/fn", endpoint = "fleet_read", input = leptos::server_fn::codec::GetUrl)]
pub async fn fleet_read(group: String) -> Answer<Fleet> {
    use crate::components::Group;
    use crate::host;
    use domain::page::ListQuery;
    let query = ListQuery { state: Group::states_of(&group), ..ListQuery::default() };
    host::answer(host::hub_for_reader()?.fleet(&query).await)
}

/// The page.
#[component]
pub fn FleetPage() -> impl IntoView {
    let version = live::version(|| Some(Topic::Fleet));
    let query = use_query_map();
    let active = Memo::new(move |_| query.read().get("state").unwrap_or_default());
    let data = Resource::new(move || (active.get(), version.get()), |(group, _)| fleet_read(group));
    view! {
        <Title text="Fleet" />
        {loaded(data, move |fleet| show(fleet, &active.get()))}
    }
    .into_any()
}

fn show(fleet: Fleet, active: &str) -> AnyView {
    if fleet.clusters_total == 0 {
        return no_clusters().into_any();
    }
    let note = format!(
        "{} · {} · {}",
        count_of(fleet.counts.total(), "release"),
        count_of(fleet.workloads_total, "workload"),
        count_of(fleet.clusters_total, "cluster")
    );
    let counts = fleet.counts.clone();
    let line = fleet.counts.clone();
    let at = fleet.at;
    let total = if active.is_empty() {
        fleet.workloads_total
    } else {
        u32::try_from(fleet.rows.len()).unwrap_or(u32::MAX)
    };
    view! {
        <div class="stack">
            <div class="stack-md">
                <Sentence fleet=fleet.clone() />
                {(counts.total() > 0).then(|| view! { <Strip counts=counts /> })}
                <CountLine counts=line base=paths::FLEET.to_owned() active=active note=note />
            </div>
            <div class="split">
                <div class="stack">
                    {(!fleet.attention.is_empty())
                        .then(|| view! { <NeedsAPerson attention=fleet.attention at=at /> })}
                    {if fleet.workloads_total == 0 && active.is_empty() {
                        no_workloads().into_any()
                    } else {
                        view! {
                            <Matrix columns=fleet.columns.clone() rows=fleet.rows total=total active=active.to_owned() at=at />
                        }
                            .into_any()
                    }}
                </div>
                <aside class="stack" aria-label="Lately">
                    <RecentChanges events=fleet.recent at=at />
                    <NotReporting columns=fleet.columns at=at />
                </aside>
            </div>
        </div>
    }
    .into_any()
}

fn no_clusters() -> impl IntoView {
    view! {
        <Empty
            title="No cluster has joined yet"
            text="Flotilla never dials a cluster: an agent in the cluster pulls what belongs there. Or let the server use a kubeconfig it can reach."
            command="flotilla-server serve --kubeconfig ~/.kube/config"
        >
            <a class="btn btn-primary" href=paths::CLUSTERS>
                "How a cluster joins"
            </a>
        </Empty>
    }
}

fn no_workloads() -> impl IntoView {
    view! {
        <Empty
            title="Nothing is published yet"
            text="Describe a workload once, say where it belongs, look at what would change, publish. Nothing touches a cluster before that."
            command="flotilla apply -f deploy.yaml"
        >
            <a class="btn btn-primary" href=paths::WORKLOAD_NEW>
                "New workload"
            </a>
        </Empty>
    }
}
