//! A builder of statements: text with `$n` placeholders, and their values.
//!
//! Values never become part of the text. Pushed text is written in this crate.

use std::borrow::Cow;
use std::fmt::Display;
use std::sync::Arc;

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::{Any, Arguments, AssertSqlSafe, Encode, Type};

use crate::sealed::Keyring;
use crate::{Error, Tx};

/// A statement and its values.
pub(crate) struct Sql {
    text: Cow<'static, str>,
    args: AnyArguments,
    placeholder_count: usize,
    encode_error: Option<sqlx::error::BoxDynError>,
    has_null_character: bool,
}

/// A type whose values can be bound.
pub(crate) trait BindValue: for<'q> Encode<'q, Any> + Type<Any> {
    /// Whether it is a text with the character U+0000: PostgreSQL rejects the statement with it, and functions of SQLite cut the text
    /// there, so it is left to neither.
    fn has_null_character(&self) -> bool {
        false
    }
}

impl BindValue for i64 {}
impl BindValue for Option<i64> {}
impl BindValue for Vec<u8> {}
impl BindValue for Option<Vec<u8>> {}

impl BindValue for String {
    fn has_null_character(&self) -> bool {
        self.contains('\0')
    }
}

impl BindValue for Option<String> {
    fn has_null_character(&self) -> bool {
        self.as_ref().is_some_and(BindValue::has_null_character)
    }
}

/// A row as it is stored, with the keys for its encrypted columns.
pub(crate) struct StoredRow {
    pub(crate) row: AnyRow,
    pub(crate) keyring: Arc<Keyring>,
}

/// A statement whose text may contain `$n` placeholders; values follow with [`Sql::bind`].
pub(crate) fn sql(text: &'static str) -> Sql {
    Sql {
        text: Cow::Borrowed(text),
        args: AnyArguments::default(),
        placeholder_count: 0,
        encode_error: None,
        has_null_character: false,
    }
}

impl Sql {
    /// Adds text.
    pub(crate) fn push(mut self, text: &str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Binds a value to the next placeholder.
    pub(crate) fn bind<T: BindValue>(mut self, value: T) -> Self {
        self.placeholder_count += 1;
        self.has_null_character |= value.has_null_character();
        if let Err(error) = self.args.add(value) {
            self.encode_error = self.encode_error.or(Some(error));
        }
        self
    }

    /// Binds a value that is stored as its text.
    pub(crate) fn bind_text(self, value: impl Display) -> Self {
        self.bind(value.to_string())
    }

    /// Binds a value that is stored as its text, or NULL.
    pub(crate) fn bind_opt_text(self, value: Option<impl Display>) -> Self {
        self.bind(value.map(|value| value.to_string()))
    }

    /// Adds a placeholder to the text and binds its value.
    pub(crate) fn push_bind<T: BindValue>(self, value: T) -> Self {
        let place = format!("${}", self.placeholder_count + 1);
        self.push(&place).bind(value)
    }

    /// Adds `($n, $n+1, …)` with these values; without values `(NULL)`, which matches nothing.
    pub(crate) fn push_list<T: Display>(self, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else {
            return self.push("(NULL)");
        };
        let start = self.push("(").push_bind(first.to_string());
        values.fold(start, |sql, value| sql.push(", ").push_bind(value.to_string())).push(")")
    }

    /// Adds the clause that locks the rows until the transaction ends, if the engine needs one.
    pub(crate) fn push_locking_clause(self, tx: &Tx) -> Self {
        let clause = tx.locking_clause();
        if clause.is_empty() { self } else { self.push(clause) }
    }

    /// Runs the query; returns all rows.
    pub(crate) async fn fetch_all(self, tx: &mut Tx) -> Result<Vec<StoredRow>, Error> {
        let (query, keyring) = (self.into_query()?, tx.keyring().clone());
        let rows = tx.runner().run(query.fetch_all(tx.connection())).await?;
        Ok(rows.into_iter().map(|row| StoredRow { row, keyring: keyring.clone() }).collect())
    }

    /// Runs the query; returns the first row, if any.
    pub(crate) async fn fetch_optional(self, tx: &mut Tx) -> Result<Option<StoredRow>, Error> {
        let (query, keyring) = (self.into_query()?, tx.keyring().clone());
        let row = tx.runner().run(query.fetch_optional(tx.connection())).await?;
        Ok(row.map(|row| StoredRow { row, keyring }))
    }

    /// Runs the query; returns the number in the first column of the first row, 0 if there is none or it is NULL.
    pub(crate) async fn fetch_number(self, tx: &mut Tx) -> Result<i64, Error> {
        use sqlx::Row as _;
        let row = self.fetch_optional(tx).await?;
        row.map_or(Ok(0), |row| row.row.try_get::<Option<i64>, _>(0).map(Option::unwrap_or_default))
            .map_err(Error::from)
    }

    /// Executes the statement; returns the number of changed rows.
    pub(crate) async fn execute(self, tx: &mut Tx) -> Result<u64, Error> {
        let query = self.into_query()?;
        Ok(tx.runner().run(query.execute(tx.connection())).await?.rows_affected())
    }

    fn into_query(self) -> Result<sqlx::query::Query<'static, Any, AnyArguments>, Error> {
        if let Some(error) = self.encode_error {
            return Err(Error::Database(sqlx::Error::Encode(error)));
        }
        if self.has_null_character {
            return Err(Error::NullCharacter);
        }
        Ok(match self.text {
            Cow::Borrowed(text) => sqlx::query_with(text, self.args),
            Cow::Owned(text) => sqlx::query_with(AssertSqlSafe(text), self.args),
        })
    }
}

/// The most maps and lists around a value that `decode_json` reads: the recursion limit of `serde_json` (128) less one.
pub(crate) const MAX_JSON_DEPTH: usize = 127;

/// The most bytes of each of up to two texts of one index entry, of which PostgreSQL stores 2 704 bytes.
const MAX_KEY_BYTES: usize = 1_024;

/// [`Error::TooLong`] for a text that is too long for an index.
pub(crate) fn check_key_length(what: &'static str, text: &str) -> Result<(), Error> {
    match text.len() {
        bytes if bytes > MAX_KEY_BYTES => Err(Error::TooLong { what, bytes, max: MAX_KEY_BYTES }),
        _ => Ok(()),
    }
}

/// `value` as JSON text: the only way into a JSON column. Errors: [`Error::TooDeep`] for text that `RowReader` could not read.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    let text = serde_json::to_string(value).map_err(Error::Encode)?;
    match json_depth(text.as_bytes()) {
        depth if depth > MAX_JSON_DEPTH => Err(Error::TooDeep { depth, max: MAX_JSON_DEPTH }),
        _ => Ok(text),
    }
}

/// The deepest nesting of maps and lists in valid JSON.
fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A pattern for `LIKE … ESCAPE '\'` that matches names containing `part`, in lower case and cut at 128 characters.
pub(crate) fn like_pattern(part: &str) -> String {
    let mut pattern = String::from("%");
    for c in part.trim().to_lowercase().chars().take(128) {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}
