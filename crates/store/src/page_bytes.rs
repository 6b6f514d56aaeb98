//! Pages of rows with long texts: a page ends early where its rows have many bytes, whoever wrote them and however long ago (P19).
//!
//! The sizes are read first, and then only the rows that fit. The next page begins after them, so that nothing is left out.

use crate::decode::{DecodeError, RowReader, decode_rows};
use crate::sql::Sql;
use crate::{Error, Tx};

/// The most bytes of a page of rows with values of any structure, which need up to 32 times as much when they are parsed. 500 usual events have
/// less.
pub(crate) const VALUES_PAGE_BYTES: u64 = 256 << 10;
/// The most bytes of a page of other rows, which need two to three times as much. 500 usual releases have less.
pub(crate) const TEXTS_PAGE_BYTES: u64 = 2 << 20;

/// The limits of a page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageLimit {
    /// The most rows.
    pub(crate) rows: u32,
    /// The most bytes of their long columns.
    pub(crate) bytes: u64,
}

/// The expression for the number of bytes in these columns of a row, as they are stored.
pub(crate) fn byte_length(columns: &[&str]) -> String {
    let lengths = columns.iter().map(|column| format!("COALESCE(OCTET_LENGTH({column}), 0)"));
    lengths.collect::<Vec<_>>().join(" + ")
}

/// The first rows of a list that fit into a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FittingRows<K> {
    /// The keys of the first and the last one; `None` without rows.
    pub(crate) ends: Option<(K, K)>,
    /// How many.
    pub(crate) count: u32,
    /// Whether the list has more rows.
    pub(crate) has_more: bool,
}

/// Finds how many of the first rows fit into a page, and one in any case. The statement selects the key of each row and its `bytes`, of one
/// row more than the limit.
pub(crate) async fn find_fitting_rows<K: Clone>(
    tx: &mut Tx,
    statement: Sql,
    limit: PageLimit,
    key: impl Fn(&RowReader<'_>) -> Result<K, DecodeError>,
) -> Result<FittingRows<K>, Error> {
    let rows = statement.fetch_all(tx).await?;
    let sizes = decode_rows(&rows, "size", |row| Ok((key(row)?, row.int("bytes")?)))?;
    Ok(fit_rows(&sizes, limit))
}

fn fit_rows<K: Clone>(sizes: &[(K, i64)], limit: PageLimit) -> FittingRows<K> {
    let mut bytes = 0_u64;
    let fits = |(at, (_, size)): &(usize, &(K, i64))| {
        bytes = bytes.saturating_add(u64::try_from(*size).unwrap_or(0));
        *at == 0 || bytes <= limit.bytes
    };
    let count = sizes.iter().enumerate().take(limit.rows as usize).take_while(fits).count();
    let ends = sizes[..count].first().zip(sizes[..count].last());
    FittingRows {
        ends: ends.map(|((first, _), (last, _))| (first.clone(), last.clone())),
        count: u32::try_from(count).unwrap_or(u32::MAX),
        has_more: sizes.len() > count,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_a_page_ends_where_its_rows_have_too_many_bytes_and_has_at_least_one() {
        let fit = |sizes: &[i64], rows: u32| {
            let keyed: Vec<(usize, i64)> = sizes.iter().copied().enumerate().collect();
            let FittingRows { ends, count, has_more } = fit_rows(&keyed, PageLimit { rows, bytes: 1_000 });
            (ends, count, has_more)
        };
        assert_eq!(fit(&[], 5), (None, 0, false));
        assert_eq!(fit(&[1, 2, 3], 5), (Some((0, 2)), 3, false));
        assert_eq!(fit(&[1, 2, 3], 2), (Some((0, 1)), 2, true));
        assert_eq!(fit(&[500, 500, 1], 5), (Some((0, 1)), 2, true));
        assert_eq!(fit(&[10_000, 1], 5), (Some((0, 0)), 1, true));
    }
}
