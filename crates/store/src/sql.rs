//! A statement being put together: text with `$n` places and the values for them.
//!
//! Values never become text of the statement. What is pushed is written in this crate.

use std::borrow::Cow;
use std::fmt::Display;

use sqlx::any::{AnyArguments, AnyRow};
use sqlx::{Any, Arguments, AssertSqlSafe, Encode, Type};

use crate::{Error, Tx};

/// A statement and its values.
pub(crate) struct Sql {
    text: Cow<'static, str>,
    args: AnyArguments,
    places: usize,
    failed: Option<sqlx::error::BoxDynError>,
}

/// A statement whose text already has its `$n`; values follow with [`Sql::bind`].
pub(crate) fn sql(text: &'static str) -> Sql {
    Sql { text: Cow::Borrowed(text), args: AnyArguments::default(), places: 0, failed: None }
}

impl Sql {
    /// Adds text.
    pub(crate) fn push(mut self, text: &str) -> Self {
        self.text.to_mut().push_str(text);
        self
    }

    /// Adds a value for the next place, which the text has or gets.
    pub(crate) fn bind<T>(mut self, value: T) -> Self
    where
        T: for<'q> Encode<'q, Any> + Type<Any>,
    {
        self.places += 1;
        if let Err(error) = self.args.add(value) {
            self.failed = self.failed.or(Some(error));
        }
        self
    }

    /// Adds something that is kept as its text.
    pub(crate) fn text(self, value: impl Display) -> Self {
        self.bind(value.to_string())
    }

    /// Adds something that is kept as its text, or NULL.
    pub(crate) fn opt_text(self, value: Option<impl Display>) -> Self {
        self.bind(value.map(|value| value.to_string()))
    }

    /// Adds a place to the text and the value for it.
    pub(crate) fn put<T>(self, value: T) -> Self
    where
        T: for<'q> Encode<'q, Any> + Type<Any>,
    {
        let place = format!("${}", self.places + 1);
        self.push(&place).bind(value)
    }

    /// Adds `($n, $n+1, …)` with these values; of nothing, a list that matches nothing.
    pub(crate) fn list<T: Display>(self, values: impl IntoIterator<Item = T>) -> Self {
        let mut values = values.into_iter();
        let Some(first) = values.next() else {
            return self.push("(NULL)");
        };
        let start = self.push("(").put(first.to_string());
        values.fold(start, |sql, value| sql.push(", ").put(value.to_string())).push(")")
    }

    /// Adds the clause that keeps the rows for this transaction, where the engine needs one.
    pub(crate) fn locking(self, tx: &Tx) -> Self {
        let clause = tx.locking_clause();
        if clause.is_empty() { self } else { self.push(clause) }
    }

    /// All rows.
    pub(crate) async fn rows(self, tx: &mut Tx) -> Result<Vec<AnyRow>, Error> {
        Ok(self.query()?.fetch_all(tx.connection()).await?)
    }

    /// The first row, if any.
    pub(crate) async fn row(self, tx: &mut Tx) -> Result<Option<AnyRow>, Error> {
        Ok(self.query()?.fetch_optional(tx.connection()).await?)
    }

    /// The number in the first column of the first row; 0 of no row.
    pub(crate) async fn number(self, tx: &mut Tx) -> Result<i64, Error> {
        use sqlx::Row as _;
        let row = self.row(tx).await?;
        row.map_or(Ok(0), |row| row.try_get::<Option<i64>, _>(0).map(Option::unwrap_or_default))
            .map_err(Error::from)
    }

    /// Runs it; the number of rows it changed.
    pub(crate) async fn run(self, tx: &mut Tx) -> Result<u64, Error> {
        Ok(self.query()?.execute(tx.connection()).await?.rows_affected())
    }

    fn query(self) -> Result<sqlx::query::Query<'static, Any, AnyArguments>, Error> {
        if let Some(error) = self.failed {
            return Err(Error::Database(sqlx::Error::Encode(error)));
        }
        Ok(match self.text {
            Cow::Borrowed(text) => sqlx::query_with(text, self.args),
            Cow::Owned(text) => sqlx::query_with(AssertSqlSafe(text), self.args),
        })
    }
}

/// `value` as JSON text.
pub(crate) fn json<T: serde::Serialize>(value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(Error::Encode)
}

/// A pattern for `LIKE … ESCAPE '\'` that finds names which contain `part`.
pub(crate) fn containing(part: &str) -> String {
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
