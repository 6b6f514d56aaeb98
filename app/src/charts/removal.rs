//! The question before a repository is removed.

use leptos::prelude::*;
use leptos_router::hooks::use_query_map;

/// The name of the repository in the address, if it asks for the dialog `kind`.
pub fn use_removal(kind: &'static str) -> Memo<Option<String>> {
    let query = use_query_map();
    Memo::new(move |_| {
        let query = query.read();
        let is_requested = query.get("dialog").is_some_and(|dialog| dialog == kind);
        is_requested.then(|| query.get("name")).flatten()
    })
}
