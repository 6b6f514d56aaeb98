//! Projects. There is one so far; every workload references it, so that there can be more.

use domain::{ProjectId, Timestamp};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// Name of the project that always exists.
pub const DEFAULT: &str = "default";

/// The id of the default project; it is created with `id` if it is missing.
pub async fn ensure_default(tx: &mut Tx, id: ProjectId, at: Timestamp) -> Result<ProjectId, Error> {
    let insert =
        "INSERT INTO project (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
    sql(insert).bind_text(id).bind_text(DEFAULT).bind(at.millis()).execute(tx).await?;
    let row = sql("SELECT id FROM project WHERE name = $1").bind_text(DEFAULT).fetch_optional(tx).await?;
    Ok(decode_row(row, "project", |row| row.parse("id"))?.unwrap_or(id))
}
