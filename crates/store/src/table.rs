//! Tables whose rows are written and read as a whole: the columns of a table are listed once, by [`table_row`], and its
//! statements derive from that list.

use domain::Timestamp;

use crate::sealed::columns;
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// When a column is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColumnKind {
    /// By an insert; identifies the row.
    Key,
    /// By an insert only.
    Fixed,
    /// By inserts and updates.
    Mutable,
}

/// A column of a table.
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) kind: ColumnKind,
}

/// The value of a column.
pub(crate) enum SqlValue {
    /// A text, or NULL.
    Text(Option<String>),
    /// A number, or NULL.
    Number(Option<i64>),
    /// The name in the row of another table with this id.
    NameOf {
        /// The table.
        table: &'static str,
        /// The id.
        id: String,
    },
}

macro_rules! value_from {
    ($($from:ty => $variant:ident, |$value:ident| $convert:expr;)*) => {$(
        impl From<$from> for SqlValue {
            fn from($value: $from) -> Self {
                Self::$variant($convert)
            }
        }
    )*};
}

value_from! {
    &str => Text, |value| Some(value.to_owned());
    &String => Text, |value| Some(value.clone());
    String => Text, |value| Some(value);
    Option<String> => Text, |value| value;
    bool => Number, |value| Some(i64::from(value));
    u32 => Number, |value| Some(i64::from(value));
    i64 => Number, |value| Some(value);
    Timestamp => Number, |value| Some(value.millis());
    Option<u32> => Number, |value| value.map(i64::from);
    Option<Timestamp> => Number, |value| value.map(Timestamp::millis);
}

/// A type that is written as a row; implemented by [`table_row`].
pub(crate) trait TableRow {
    /// The name of the table.
    const TABLE: &'static str;
    /// Its columns, the key first.
    const COLUMNS: &'static [Column];

    /// The value of each column.
    fn values(&self) -> Result<Vec<SqlValue>, Error>;
}

/// Lists the columns of a table: `Kind column = value => field: reader;`. The value is an expression of the written type, the
/// reader is a method of `RowReader` for the field of the type that is read; a derived column has none. `+ column => field:
/// reader;` reads a column of a joined table. Implements [`TableRow`] and defines `read_row`.
macro_rules! table_row {
    (
        $written:ty as $row:ident in $table:literal => $read:ident;
        $($kind:ident $column:ident = $value:expr $(=> $field:ident: $reader:ident)?;)*
        $(+ $joined:ident => $joined_field:ident: $joined_reader:ident;)*
    ) => {
        impl $crate::table::TableRow for $written {
            const TABLE: &'static str = $table;
            const COLUMNS: &'static [$crate::table::Column] = &[$(
                $crate::table::Column { name: stringify!($column), kind: $crate::table::ColumnKind::$kind },
            )*];

            fn values(&self) -> Result<Vec<$crate::table::SqlValue>, $crate::Error> {
                let $row = self;
                Ok(vec![$($crate::table::SqlValue::from($value)),*])
            }
        }

        fn read_row(
            row: &$crate::decode::RowReader<'_>,
        ) -> Result<$read, $crate::decode::DecodeError> {
            Ok($read {
                $($($field: row.$reader(stringify!($column))?,)?)*
                $($joined_field: row.$joined_reader(stringify!($joined))?,)*
            })
        }
    };
}
pub(crate) use table_row;

/// `SELECT` and every column of the table, which has this alias.
pub(crate) fn select<T: TableRow>(alias: &str) -> Sql {
    let columns: Vec<String> = T::COLUMNS.iter().map(|column| format!("{alias}.{}", column.name)).collect();
    sql("SELECT ").push(&columns.join(", "))
}

/// `SELECT`, every column of the table, and `FROM` it.
pub(crate) fn select_from<T: TableRow>() -> Sql {
    select::<T>(T::TABLE).push(" FROM ").push(T::TABLE)
}

/// The values of a row as they are stored: those of encrypted columns are encrypted.
fn stored_values<T: TableRow>(tx: &Tx, row: &T) -> Result<Vec<SqlValue>, Error> {
    let mut values = row.values()?;
    for at in 0..values.len() {
        let Some(sealed) = columns::find(T::TABLE, T::COLUMNS[at].name) else { continue };
        let key: Vec<String> = sealed.key.iter().filter_map(|name| key_text::<T>(&values, name)).collect();
        if let SqlValue::Text(text) = &mut values[at] {
            *text = text.take().map(|text| tx.seal_text(sealed, &key, text));
        }
    }
    Ok(values)
}

/// The value of a key column as text.
fn key_text<T: TableRow>(values: &[SqlValue], name: &str) -> Option<String> {
    let at = T::COLUMNS.iter().position(|column| column.name == name)?;
    match &values[at] {
        SqlValue::Text(text) => text.clone(),
        SqlValue::Number(number) => number.map(|number| number.to_string()),
        SqlValue::NameOf { .. } => None,
    }
}

/// `INSERT` of these rows.
pub(crate) fn insert<T: TableRow>(tx: &Tx, rows: &[T]) -> Result<Sql, Error> {
    let columns: Vec<&str> = T::COLUMNS.iter().map(|column| column.name).collect();
    let start = sql("INSERT INTO ").push(T::TABLE).push(" (").push(&columns.join(", ")).push(") VALUES ");
    rows.iter().enumerate().try_fold(start, |mut statement, (n, row)| {
        statement = statement.push(if n == 0 { "(" } else { ", (" });
        for (n, value) in stored_values(tx, row)?.into_iter().enumerate() {
            statement = push_value(if n == 0 { statement } else { statement.push(", ") }, value);
        }
        Ok(statement.push(")"))
    })
}

/// `INSERT` of these rows, which updates the mutable columns of rows that exist.
pub(crate) fn insert_or_update<T: TableRow>(tx: &Tx, rows: &[T]) -> Result<Sql, Error> {
    let key: Vec<&str> = column_names::<T>(ColumnKind::Key).collect();
    let set: Vec<String> =
        column_names::<T>(ColumnKind::Mutable).map(|name| format!("{name} = excluded.{name}")).collect();
    let conflict = format!(" ON CONFLICT ({}) DO UPDATE SET {}", key.join(", "), set.join(", "));
    Ok(insert(tx, rows)?.push(&conflict))
}

/// `UPDATE` of the mutable columns, without a condition.
pub(crate) fn update<T: TableRow>(tx: &Tx, row: &T) -> Result<Sql, Error> {
    let columns = T::COLUMNS.iter().zip(stored_values(tx, row)?);
    let set = columns.filter(|(column, _)| column.kind == ColumnKind::Mutable);
    let start = sql("UPDATE ").push(T::TABLE).push(" SET ");
    Ok(set.enumerate().fold(start, |statement, (n, (column, value))| {
        let statement = if n == 0 { statement } else { statement.push(", ") };
        push_value(statement.push(column.name).push(" = "), value)
    }))
}

fn column_names<T: TableRow>(kind: ColumnKind) -> impl Iterator<Item = &'static str> {
    T::COLUMNS.iter().filter(move |column| column.kind == kind).map(|column| column.name)
}

fn push_value(statement: Sql, value: SqlValue) -> Sql {
    match value {
        SqlValue::Text(text) => statement.push_bind(text),
        SqlValue::Number(number) => statement.push_bind(number),
        SqlValue::NameOf { table, id } => {
            let statement = statement.push("(SELECT name FROM ").push(table).push(" WHERE id = ");
            statement.push_bind(id).push(")")
        }
    }
}
