//! The capacity of a cluster: what its nodes offer, and how much of its quotas is used. What is not reported is unknown, never zero.

use std::cmp::Reverse;

use domain::cluster::{Allocatable, ClusterFacts, NamespaceFacts};
use domain::quantity::Quantity;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use super::cluster_resources::format_amount;
use crate::paths::{self, ClusterTab};

/// Maximum number of quotas that are sent to the page; the REST API returns all.
const SHOWN: usize = 20;

/// Number of quotas on the first tab.
const SHOWN_FIRST: usize = 3;

/// The use of one resource of a quota.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// The namespace.
    pub namespace: String,
    /// The resource, such as `requests.cpu`.
    pub resource: String,
    /// How much is used; `None` if the cluster has not computed it.
    pub used: Option<Quantity>,
    /// The limit.
    pub hard: Quantity,
}

impl QuotaUse {
    /// The share that is used; `None` if that is not known.
    fn percent(&self) -> Option<u32> {
        self.used.map(|used| used.percent_of(self.hard))
    }

    fn to_row(&self) -> UsageRow {
        let hard = format_amount(&self.resource, self.hard);
        let text = match self.used {
            Some(used) => format!("{} of {hard}", format_amount(&self.resource, used)),
            None => format!("use of {hard} not reported"),
        };
        let name = format!("{} {}", self.namespace, self.resource);
        UsageRow { name, is_name: true, percent: self.percent(), text }
    }
}

/// The quotas of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUses {
    /// Number of limits in all quotas.
    pub total: u32,
    /// The first of them: those that are used most, and those whose use is unknown after them.
    pub shown: Vec<QuotaUse>,
}

impl QuotaUses {
    /// Selects from the facts of all namespaces.
    #[cfg_attr(not(feature = "ssr"), expect(dead_code, reason = "only the server has the facts of all"))]
    pub fn from_facts(namespaces: &[NamespaceFacts]) -> Self {
        let mut shown: Vec<QuotaUse> = Vec::new();
        for namespace in namespaces {
            for quota in &namespace.quotas {
                shown.extend(quota.hard.iter().map(|(resource, hard)| QuotaUse {
                    namespace: namespace.name.clone(),
                    resource: resource.clone(),
                    used: quota.used.get(resource).copied(),
                    hard: *hard,
                }));
            }
        }
        let total = u32::try_from(shown.len()).unwrap_or(u32::MAX);
        shown.sort_by_key(|one| Reverse(one.percent()));
        shown.truncate(SHOWN);
        Self { total, shown }
    }
}

/// One amount with its share of a whole, if that is known.
struct UsageRow {
    name: String,
    /// Whether the name is one of the cluster, and not a word of the page.
    is_name: bool,
    percent: Option<u32>,
    text: String,
}

fn usage_list(rows: Vec<UsageRow>) -> AnyView {
    let row = |UsageRow { name, is_name, percent, text }: UsageRow| {
        let class = if is_name { "usage-name mono break-all" } else { "usage-name" };
        let bar = percent.map(|percent| {
            view! {
                <span class="usage-bar" aria-hidden="true">
                    <i style=format!("width:{percent}%")></i>
                </span>
            }
        });
        view! {
            <li class="usage-row">
                <span class=class>{name}</span>
                " "
                <span class="usage-text">{text}</span>
                {bar}
            </li>
        }
    };
    view! { <ul class="usage">{rows.into_iter().map(row).collect_view()}</ul> }.into_any()
}

/// What the nodes offer.
fn node_rows(facts: &ClusterFacts) -> Vec<UsageRow> {
    // Without a bar: one that is full because every node is schedulable would read as exhausted.
    let row =
        |name: &str, text: String| UsageRow { name: name.to_owned(), is_name: false, percent: None, text };
    let unknown = |why: &str| vec![row("Nodes", why.to_owned())];
    if !facts.is_reported() {
        return unknown("unknown: its agent has not reported yet");
    }
    let Some((nodes, Allocatable { schedulable, cpu, memory })) = facts.nodes.zip(facts.allocatable()) else {
        return unknown("unknown: its agent may not list them");
    };
    vec![
        row("Nodes", format!("{schedulable} of {nodes} schedulable")),
        row("CPU", format!("{cpu} cores, use not reported")),
        row("Memory", format!("{}, use not reported", memory.format_bytes())),
    ]
}

/// What the nodes offer, and the quotas that are used most.
#[component]
pub fn Capacity(
    /// The name of the cluster.
    name: String,
    /// Its facts.
    facts: ClusterFacts,
    /// Its quotas.
    quotas: QuotaUses,
) -> impl IntoView {
    let mut rows = node_rows(&facts);
    rows.extend(quotas.shown.iter().take(SHOWN_FIRST).map(QuotaUse::to_row));
    let more = (quotas.total as usize > SHOWN_FIRST).then(|| {
        view! {
            <p class="meta">
                <a class="link" href=paths::cluster_tab(&name, ClusterTab::Resources)>
                    {format!("All {} limits of quotas", quotas.total)}
                </a>
            </p>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="capacity">
            <h2 class="section" id="capacity">
                "Capacity"
            </h2>
            {usage_list(rows)}
            {more}
        </section>
    }
    .into_any()
}

/// What the nodes offer; and the quotas, those that are used most first.
#[component]
pub fn CapacityDetails(
    /// The facts of the cluster.
    facts: ClusterFacts,
    /// Its quotas.
    quotas: QuotaUses,
) -> impl IntoView {
    let QuotaUses { total, shown } = quotas;
    let note = format!("{} of {total}, those used most first", shown.len());
    let rows: Vec<UsageRow> = shown.iter().map(QuotaUse::to_row).collect();
    let quotas = (!rows.is_empty()).then(|| {
        view! {
            <section class="stack-sm" aria-labelledby="quotas">
                <h2 class="section" id="quotas">
                    "Quotas " <span class="meta font-normal">{note}</span>
                </h2>
                {usage_list(rows)}
            </section>
        }
    });
    view! {
        <section class="stack-sm" aria-labelledby="capacity">
            <h2 class="section" id="capacity">
                "Capacity"
            </h2>
            {usage_list(node_rows(&facts))}
        </section>
        {quotas}
    }
    .into_any()
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::cluster::{NodePool, Quota};

    use super::*;
    use crate::render_tests::render_html;

    fn quantity(text: &str) -> Quantity {
        Quantity::parse(text).unwrap()
    }

    fn namespace(name: &str, used: &[(&str, &str)]) -> NamespaceFacts {
        let quota = Quota {
            name: "all".to_owned(),
            hard: [("pods", "10"), ("requests.memory", "2Gi")]
                .map(|(key, text)| (key.to_owned(), quantity(text)))
                .into(),
            used: used.iter().map(|(key, text)| ((*key).to_owned(), quantity(text))).collect(),
        };
        NamespaceFacts { name: name.to_owned(), quotas: vec![quota], ..NamespaceFacts::default() }
    }

    #[test]
    fn quotas_are_listed_by_use_and_an_unknown_use_is_not_zero() {
        let used = namespace("shop", &[("pods", "9"), ("requests.memory", "512Mi")]);
        let unknown = namespace("blog", &[("requests.memory", "1Gi")]);
        let quotas = QuotaUses::from_facts(&[used, unknown]);
        let rows: Vec<UsageRow> = quotas.shown.iter().map(QuotaUse::to_row).collect();
        let texts: Vec<(&str, Option<u32>, &str)> =
            rows.iter().map(|row| (&*row.name, row.percent, &*row.text)).collect();
        assert_eq!(
            texts,
            [
                ("shop pods", Some(90), "9 of 10"),
                ("blog requests.memory", Some(50), "1 GiB of 2 GiB"),
                ("shop requests.memory", Some(25), "512 MiB of 2 GiB"),
                ("blog pods", None, "use of 10 not reported"),
            ]
        );
        assert_eq!(quotas.total, 4);
    }

    #[test]
    fn a_quota_that_is_used_up_is_among_the_first_beside_quotas_whose_use_is_unknown() {
        let full = namespace("shop", &[("pods", "10")]);
        let unknown = ["a", "b", "c"].map(|name| namespace(name, &[]));
        let quotas = QuotaUses::from_facts(&[unknown.as_slice(), &[full]].concat());
        let page = render_html(move || {
            view! { <Capacity name="eu-1".to_owned() facts=ClusterFacts::default() quotas=quotas /> }
        });
        assert!(page.contains("10 of 10") && page.contains("width:100%"), "{page}");
    }

    #[test]
    fn capacity_that_is_not_reported_is_unknown_and_has_no_bar() {
        let render = |facts: ClusterFacts| {
            let quotas = QuotaUses::default();
            render_html(move || view! { <Capacity name="eu-1".to_owned() facts=facts quotas=quotas /> })
        };
        let mut facts = ClusterFacts::default();
        assert!(render(facts.clone()).contains("unknown: its agent has not reported yet"));
        "v1.36.3".clone_into(&mut facts.kubernetes_version);
        let page = render(facts.clone());
        assert!(
            page.contains("unknown: its agent may not list them") && !page.contains("usage-bar"),
            "{page}"
        );
        facts.nodes = Some(4);
        facts.node_pools = vec![NodePool { nodes: 4, ready: 3, cpu: quantity("12"), ..NodePool::default() }];
        let page = render(facts);
        for part in ["3 of 4 schedulable", "12 cores, use not reported"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("usage-bar"), "nodes are not a use: {page}");
    }
}
