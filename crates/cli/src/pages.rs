//! Lists that are read page by page.

use domain::page::{ListQuery, MAX_LIMIT, Page};

/// The items of all pages.
pub async fn list_all_pages<T>(
    fetch_page: impl AsyncFn(ListQuery) -> Result<Page<T>, wire::Error>,
) -> Result<Vec<T>, wire::Error> {
    list_pages(ListQuery::default(), fetch_page).await
}

/// The items of all pages with the filters of `query`.
pub async fn list_pages<T>(
    query: ListQuery,
    fetch_page: impl AsyncFn(ListQuery) -> Result<Page<T>, wire::Error>,
) -> Result<Vec<T>, wire::Error> {
    let mut query = ListQuery { limit: Some(MAX_LIMIT), ..query };
    let mut items = Vec::new();
    loop {
        let page = fetch_page(query.clone()).await?;
        items.extend(page.items);
        query.cursor = page.next;
        if query.cursor.is_none() {
            return Ok(items);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_page_is_read() {
        let pages = async |query: ListQuery| {
            let number: u32 = query.cursor.as_deref().unwrap_or("1").parse().unwrap();
            Ok(Page { items: vec![number], next: (number < 3).then(|| (number + 1).to_string()), total: 3 })
        };
        assert_eq!(list_all_pages(pages).await.unwrap(), [1, 2, 3]);
    }
}
