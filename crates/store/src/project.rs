//! Projects. There is one so far; its id is part of every workload so that there can be more.

use domain::{ProjectId, Timestamp};

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

/// Name of the project that is always there.
pub const DEFAULT: &str = "default";

/// The id of the default project; made with `id` if it is missing.
pub async fn ensure_default(tx: &mut Tx, id: ProjectId, at: Timestamp) -> Result<ProjectId, Error> {
    let insert =
        "INSERT INTO project (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
    sql(insert).text(id).text(DEFAULT).bind(at.millis()).run(tx).await?;
    let row = sql("SELECT id FROM project WHERE name = $1").text(DEFAULT).row(tx).await?;
    Ok(one(row, "project", |row| row.parse("id"))?.unwrap_or(id))
}
