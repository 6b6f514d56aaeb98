//! The address that selects the rows of the list of workloads, and their order.

use domain::workload::WorkloadOrder;
use leptos::prelude::*;
use leptos_router::params::ParamsMap;
use serde::{Deserialize, Serialize};

use crate::paths;

/// The order without one in the address: what needs attention is first.
pub const DEFAULT_ORDER: WorkloadOrder = WorkloadOrder::WorstFirst;

/// What the address selects of the list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListAddress {
    /// The text that names contain.
    pub q: String,
    /// A label selector, or empty.
    pub labels: String,
    /// The slug of a state group, or empty.
    pub state: String,
    /// The name of an order; empty for the default.
    pub order: String,
    /// Where the page begins; empty for the first one.
    pub cursor: String,
}

impl ListAddress {
    /// The part of the query that selects of the list.
    pub fn from_query(query: &ParamsMap) -> Self {
        let part = |name: &str| query.get(name).unwrap_or_default();
        Self {
            q: part("q"),
            labels: part("labels"),
            state: part("state"),
            order: part("order"),
            cursor: part("cursor"),
        }
    }

    /// The order of the rows.
    pub fn parse_order(&self) -> WorkloadOrder {
        WorkloadOrder::parse(&self.order).unwrap_or(DEFAULT_ORDER)
    }

    /// The names and values of the query.
    pub fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("q", &self.q),
            ("labels", &self.labels),
            ("state", &self.state),
            ("order", &self.order),
            ("cursor", &self.cursor),
        ]
    }

    /// The address of the list with more in its query.
    pub fn address(&self, more: &[(&str, &str)]) -> String {
        paths::query(&paths::query(paths::WORKLOADS, &self.parts()), more)
    }

    /// The address of the list in this order, from the beginning or from a cursor.
    pub fn page_address(&self, order: WorkloadOrder, cursor: &str) -> String {
        let order = if order == DEFAULT_ORDER { "" } else { order.as_str() };
        Self { order: order.to_owned(), cursor: cursor.to_owned(), ..self.clone() }.address(&[])
    }

    /// A head of a column by which the list can be sorted, with the classes of the column.
    pub fn column(
        &self,
        title: &'static str,
        order: WorkloadOrder,
        direction: &'static str,
        class: &'static str,
    ) -> impl IntoView + use<> {
        let is_current = self.parse_order() == order;
        let arrow = is_current.then(|| if direction == "ascending" { " ↑" } else { " ↓" });
        view! {
            <th scope="col" class=(!class.is_empty()).then_some(class) aria-sort=is_current.then_some(direction)>
                <a href=self.page_address(order, "")>
                    {title}
                    <span aria-hidden="true">{arrow}</span>
                </a>
            </th>
        }
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use super::*;
    use crate::render_tests::render_html;

    #[test]
    fn the_head_of_a_column_sorts_by_it_from_the_first_page_and_marks_the_current_order() {
        let address = ListAddress {
            state: "failing".to_owned(),
            order: "leastHealthy".to_owned(),
            cursor: "7a".to_owned(),
            ..ListAddress::default()
        };
        let other = address.clone();
        let current =
            render_html(move || address.column("Healthy", WorkloadOrder::LeastHealthy, "ascending", "right"));
        assert!(
            current.contains("aria-sort=\"ascending\"") && current.contains("class=\"right\""),
            "{current}"
        );
        let revision =
            render_html(move || other.column("Revision", WorkloadOrder::Revision, "descending", ""));
        assert!(revision.contains("state=failing") && revision.contains("order=revision"), "{revision}");
        assert!(!revision.contains("cursor=") && !revision.contains("aria-sort"), "{revision}");
    }

    #[test]
    fn every_order_of_a_column_is_read_back_from_its_address() {
        for order in [
            WorkloadOrder::Name,
            WorkloadOrder::Newest,
            WorkloadOrder::LeastHealthy,
            WorkloadOrder::Revision,
            WorkloadOrder::Namespace,
        ] {
            let address = ListAddress { order: order.as_str().to_owned(), ..ListAddress::default() };
            assert_eq!(address.parse_order(), order);
        }
    }
}
