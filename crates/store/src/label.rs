//! Labels as rows, in addition to the JSON of their owner, so that the database evaluates selectors.

use std::collections::{BTreeMap, BTreeSet};

use domain::labels::{LabelSelector, LabelTerm, Labels};

use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// The kinds of rows that have labels.
#[derive(Clone, Copy)]
pub(crate) enum LabelOwner {
    Cluster,
    Workload,
}

impl LabelOwner {
    const fn table(self) -> &'static str {
        match self {
            Self::Cluster => "cluster_label",
            Self::Workload => "workload_label",
        }
    }
}

/// Replaces the labels of one owner.
pub(crate) async fn replace_labels(
    tx: &mut Tx,
    owner: LabelOwner,
    id: &str,
    labels: &Labels,
) -> Result<(), Error> {
    sql("DELETE FROM ")
        .push(owner.table())
        .push(" WHERE owner_id = ")
        .push_bind(id.to_owned())
        .execute(tx)
        .await?;
    if labels.is_empty() {
        return Ok(());
    }
    let mut insert = sql("INSERT INTO ").push(owner.table()).push(" (owner_id, name, value) VALUES ");
    for (n, (name, value)) in labels.iter().enumerate() {
        insert = insert.push(if n == 0 { "(" } else { ", (" }).push_bind(id.to_owned());
        insert = insert.push(", ").push_bind(name.clone()).push(", ").push_bind(value.clone()).push(")");
    }
    insert.execute(tx).await.map(drop)
}

/// Parses the label selector of a list query.
pub(crate) fn parse_selector(text: &str) -> Result<LabelSelector, Error> {
    text.parse().map_err(|error| Error::InvalidQuery(format!("{error}")))
}

/// Adds `AND …` for the selector; `id` is the column with the owner's id. Two subqueries for any number of terms: a database
/// limits the depth of an expression, and plans every subquery.
pub(crate) fn push_selector(statement: Sql, owner: LabelOwner, id: &str, selector: &LabelSelector) -> Sql {
    // Per key, the values of which the label must have one; `None` allows every value.
    let mut required: BTreeMap<&str, Option<BTreeSet<&str>>> = BTreeMap::new();
    let mut excluded = Vec::new();
    for term in &selector.terms {
        match term {
            LabelTerm::Exists(key) => drop(required.entry(key).or_default()),
            LabelTerm::In(key, values) => {
                let values: BTreeSet<&str> = values.iter().map(String::as_str).collect();
                let allowed = required.entry(key).or_default();
                *allowed = Some(match allowed.take() {
                    Some(before) => &before & &values,
                    None => values,
                });
            }
            LabelTerm::NotIn(key, values) => {
                excluded.push((key.as_str(), Some(values.iter().map(String::as_str).collect())));
            }
            LabelTerm::DoesNotExist(key) => excluded.push((key.as_str(), None)),
        }
    }
    let labels = format!("FROM {} l WHERE l.owner_id = {id} AND (", owner.table());
    let mut statement = statement;
    if !required.is_empty() {
        // A label has one row, so the owner has all required labels if as many rows match.
        let count = required.len();
        statement = push_alternatives(statement.push(" AND (SELECT COUNT(*) ").push(&labels), required);
        statement = statement.push(&format!(")) = {count}"));
    }
    if !excluded.is_empty() {
        statement = push_alternatives(statement.push(" AND NOT EXISTS (SELECT 1 ").push(&labels), excluded);
        statement = statement.push("))");
    }
    statement
}

/// Adds the condition for a row that is one of these labels: `l.name IN ($1, …) OR (l.name, l.value) IN (VALUES ($2, $3), …)`.
/// Its depth does not grow with the labels, because a database limits it.
fn push_alternatives<'a>(
    mut statement: Sql,
    labels: impl IntoIterator<Item = (&'a str, Option<BTreeSet<&'a str>>)>,
) -> Sql {
    let (mut names, mut pairs) = (Vec::new(), Vec::new());
    for (key, values) in labels {
        match values {
            Some(values) => pairs.extend(values.into_iter().map(|value| (key, value))),
            None => names.push(key),
        }
    }
    statement = statement.push("l.name IN ").push_list(names);
    for (n, (key, value)) in pairs.iter().enumerate() {
        let head = if n == 0 { " OR (l.name, l.value) IN (VALUES (" } else { ", (" };
        statement = statement.push(head).push_bind((*key).to_owned()).push(", ");
        statement = statement.push_bind((*value).to_owned()).push(")");
    }
    if pairs.is_empty() { statement } else { statement.push(")") }
}
