//! Labels as rows beside the JSON that is read, so that selectors are answered by the database.

use domain::labels::{Labels, Selector, Term};

use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Tables with labels.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    Cluster,
    Workload,
}

impl Owner {
    const fn table(self) -> &'static str {
        match self {
            Self::Cluster => "cluster_label",
            Self::Workload => "workload_label",
        }
    }
}

/// Replaces the labels of one owner.
pub(crate) async fn save(tx: &mut Tx, owner: Owner, id: &str, labels: &Labels) -> Result<(), Error> {
    sql("DELETE FROM ").push(owner.table()).push(" WHERE owner_id = ").put(id.to_owned()).run(tx).await?;
    if labels.is_empty() {
        return Ok(());
    }
    let mut insert = sql("INSERT INTO ").push(owner.table()).push(" (owner_id, name, value) VALUES ");
    for (n, (name, value)) in labels.iter().enumerate() {
        insert = insert.push(if n == 0 { "(" } else { ", (" }).put(id.to_owned());
        insert = insert.push(", ").put(name.clone()).push(", ").put(value.clone()).push(")");
    }
    insert.run(tx).await.map(drop)
}

/// Reads a selector as a list takes it.
pub(crate) fn selector(text: &str) -> Result<Selector, Error> {
    text.parse().map_err(|error| Error::Query(format!("{error}")))
}

/// Adds `AND …` for every term of the selector; `id` is the owner's column.
pub(crate) fn matching(statement: Sql, owner: Owner, id: &str, selector: &Selector) -> Sql {
    selector.terms.iter().fold(statement, |statement, term| {
        let not = match term {
            Term::In(..) | Term::Exists(_) => "",
            Term::NotIn(..) | Term::Absent(_) => "NOT ",
        };
        let head = format!(
            " AND {not}EXISTS (SELECT 1 FROM {} l WHERE l.owner_id = {id} AND l.name = ",
            owner.table()
        );
        let statement = statement.push(&head).put(term.key().to_owned());
        match term {
            Term::In(_, values) | Term::NotIn(_, values) => {
                statement.push(" AND l.value IN ").list(values).push(")")
            }
            Term::Exists(_) | Term::Absent(_) => statement.push(")"),
        }
    })
}
