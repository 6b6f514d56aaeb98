//! Labels as rows, in addition to the JSON of their owner, so that the database evaluates selectors.

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

/// Adds `AND …` for every term of the selector; `id` is the column with the owner's id.
pub(crate) fn push_selector(statement: Sql, owner: LabelOwner, id: &str, selector: &LabelSelector) -> Sql {
    selector.terms.iter().fold(statement, |statement, term| {
        let not = match term {
            LabelTerm::In(..) | LabelTerm::Exists(_) => "",
            LabelTerm::NotIn(..) | LabelTerm::DoesNotExist(_) => "NOT ",
        };
        let head = format!(
            " AND {not}EXISTS (SELECT 1 FROM {} l WHERE l.owner_id = {id} AND l.name = ",
            owner.table()
        );
        let statement = statement.push(&head).push_bind(term.key().to_owned());
        match term {
            LabelTerm::In(_, values) | LabelTerm::NotIn(_, values) => {
                statement.push(" AND l.value IN ").push_list(values).push(")")
            }
            LabelTerm::Exists(_) | LabelTerm::DoesNotExist(_) => statement.push(")"),
        }
    })
}
