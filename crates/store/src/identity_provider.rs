//! Providers of OpenID Connect.

use domain::Timestamp;
use domain::identity_provider::IdentityProviderSettings;

use crate::decode::{decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "identity_provider";

/// A provider with its secret. It is never shown as a whole.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentityProviderRow {
    /// Its name, in its addresses.
    pub name: String,
    /// Its name on the button.
    pub display_name: String,
    /// Its issuer, which only one provider has.
    pub issuer: String,
    /// The id of this client.
    pub client_id: String,
    /// Its secret; `None` for a public client.
    pub client_secret: Option<String>,
    /// What is requested and how roles follow from it.
    pub settings: IdentityProviderSettings,
    /// Whether users can sign in with it.
    pub enabled: bool,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision.
    pub revision: i64,
}

table_row! {
    IdentityProviderRow as row in "identity_provider" => IdentityProviderRow;
    Key name = &row.name => name: text;
    Mutable display_name = &row.display_name => display_name: text;
    Fixed issuer = &row.issuer => issuer: text;
    Mutable client_id = &row.client_id => client_id: text;
    Mutable client_secret = row.client_secret.clone() => client_secret: opt_text;
    Mutable settings = to_json(&row.settings)? => settings: json;
    Mutable enabled = row.enabled => enabled: flag;
    Fixed created_by = &row.created_by => created_by: text;
    Fixed created_at = row.created_at => created_at: timestamp;
    Mutable resource_version = row.revision => revision: int;
}

/// Adds a provider. [`Error::AlreadyExists`] if its name or its issuer is taken.
pub async fn insert(tx: &mut Tx, row: &IdentityProviderRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// Writes what can change of a provider, if it still has `expected_version`; returns whether it had.
pub async fn update(tx: &mut Tx, row: &IdentityProviderRow, expected_version: i64) -> Result<bool, Error> {
    let changed = table::update(tx, row)?
        .push(" WHERE name = ")
        .push_bind(row.name.clone())
        .push(" AND resource_version = ")
        .push_bind(expected_version)
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// The provider with this name.
pub async fn get(tx: &mut Tx, name: &str) -> Result<Option<IdentityProviderRow>, Error> {
    let row = table::select_from::<IdentityProviderRow>().push(" WHERE name = $1");
    decode_row(row.bind_text(name).fetch_optional(tx).await?, TABLE, read_row)
}

/// The provider with this issuer.
pub async fn get_by_issuer(tx: &mut Tx, issuer: &str) -> Result<Option<IdentityProviderRow>, Error> {
    let row = table::select_from::<IdentityProviderRow>().push(" WHERE issuer = $1");
    decode_row(row.bind_text(issuer).fetch_optional(tx).await?, TABLE, read_row)
}

/// All providers, by name.
pub async fn list(tx: &mut Tx) -> Result<Vec<IdentityProviderRow>, Error> {
    let rows = table::select_from::<IdentityProviderRow>().push(" ORDER BY name").fetch_all(tx).await?;
    decode_rows(&rows, TABLE, read_row)
}

/// Deletes a provider with its sessions; returns whether it existed.
pub async fn delete(tx: &mut Tx, name: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM identity_provider WHERE name = $1");
    Ok(delete.bind_text(name).execute(tx).await? == 1)
}
