//! Parsing of texts of users: expensive in the worst case, and therefore never on a thread for async tasks.

/// Runs `parse`. On the server, the other tasks of this thread continue on another one meanwhile.
#[cfg(feature = "ssr")]
pub fn parse_text<T>(parse: impl FnOnce() -> T) -> T {
    hub::run_blocking_in_place(parse)
}

/// Runs `parse`.
#[cfg(not(feature = "ssr"))]
pub fn parse_text<T>(parse: impl FnOnce() -> T) -> T {
    parse()
}
