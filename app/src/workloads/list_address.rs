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

    /// A head of a column by which the list can be sorted, in this direction.
    pub fn column(
        &self,
        title: &'static str,
        order: WorkloadOrder,
        (direction, class): (&'static str, &'static str),
    ) -> impl IntoView + use<> {
        let is_current = self.parse_order() == order;
        let arrow = is_current.then(|| if direction == "ascending" { " ↑" } else { " ↓" });
        view! {
            <th scope="col" class=class aria-sort=is_current.then_some(direction)>
                <a href=self.page_address(order, "")>
                    {title}
                    <span aria-hidden="true">{arrow}</span>
                </a>
            </th>
        }
    }
}
