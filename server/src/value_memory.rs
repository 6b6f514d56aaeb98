//! Memory for the values of a body: reserved when it has arrived, before it is parsed, and released with the response.
//!
//! [`crate::body_memory`] reserves a multiple of the size of a body, within the share of its user. Many short values need more than that:
//! what they need beyond it is reserved here. A body that needs more than both shares is refused: it would be parsed in memory that others
//! have reserved.

use std::sync::Arc;

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;
use domain::bounded_json::JsonSize;
use hub::Actor;
use parking_lot::Mutex;
use source::memory_budget::{AGENT_MESSAGES, MemoryExhausted};
use source::requester::current_turn;
use source::retained_memory::run_with_memory;

use crate::body_memory::PARSED_FACTOR;
use crate::problem::ApiError;
use source::client_shares::{BODIES_OF_USERS, ClientReservation, VALUES_OF_USERS};

/// What a field of a form needs at most while it is parsed, and each level of its name, which is a map.
const FORM_PART_BYTES: u64 = 512;
/// Most values of a message of an agent. An agent sends at most 8 MiB, in which no value has less than some ten bytes.
const MAX_MESSAGE_VALUES: u64 = 1_000_000;
/// How often the text of a form is in memory: as it was sent, and in the values.
const TEXT_COPIES: u64 = 2;

/// The memory for the values of the body of one request, in its extensions; it is released when the response is there, and no thread works for it.
#[derive(Clone, Default)]
pub struct ValueMemory {
    reserved: Arc<Mutex<Option<ClientReservation>>>,
}

/// Why a body is not parsed.
#[derive(Debug)]
pub enum ValueRefusal {
    /// It needs more memory than one request may use.
    TooLarge {
        /// What it needs, in bytes.
        needed: u64,
        /// What it may use, in bytes.
        allowed: u64,
    },
    /// The memory is in use.
    Busy(MemoryExhausted),
}

impl From<ValueRefusal> for ApiError {
    fn from(refusal: ValueRefusal) -> Self {
        match refusal {
            ValueRefusal::Busy(exhausted) => Self::from(hub::Error::from(exhausted)),
            ValueRefusal::TooLarge { needed, allowed } => Self::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "TooLarge",
                format!(
                    "The body has so many values that they need about {} MiB of memory, and those of one request may need {} MiB on this server. Nothing was stored. Send fewer values, or split the request; a server with more memory accepts more.",
                    needed.div_ceil(1 << 20),
                    allowed >> 20
                ),
            ),
        }
    }
}

impl ValueMemory {
    /// That of a request of a signed-in user or a program.
    pub fn of(request: &Request) -> Option<Self> {
        request.extensions().get::<Self>().cloned()
    }

    /// Reserves what a body of this size needs beyond what is reserved for its size, in the share of the user whose request this task works
    /// on, as everything that is reserved for the user in the same budget.
    ///
    /// # Errors
    /// It needs more than one request may use, or the memory is in use by others.
    pub async fn reserve(&self, needed: u64, body_bytes: usize) -> Result<(), ValueRefusal> {
        let by_size = PARSED_FACTOR.saturating_mul(body_bytes as u64).min(BODIES_OF_USERS.share_bytes());
        let excess = find_excess(needed, by_size, VALUES_OF_USERS.share_bytes())?;
        if excess > 0 {
            let reserved = VALUES_OF_USERS.reserve(current_turn(), excess).await;
            let reserved = reserved.map_err(ValueRefusal::Busy)?;
            *self.reserved.lock() = Some(reserved);
        }
        Ok(())
    }
}

/// Middleware: retains the memory for the values of a body until the response.
pub async fn retain_value_memory(mut request: Request, next: Next) -> Response {
    if request.extensions().get::<Actor>().is_none() {
        return next.run(request).await;
    }
    let memory = ValueMemory::default();
    request.extensions_mut().insert(memory.clone());
    run_with_memory(memory, next.run(request)).await
}

/// What is needed beyond the reservation by size.
fn find_excess(needed: u64, by_size: u64, share: u64) -> Result<u64, ValueRefusal> {
    let excess = needed.saturating_sub(by_size);
    if excess > share {
        return Err(ValueRefusal::TooLarge { needed, allowed: by_size + share });
    }
    Ok(excess)
}

/// What the values of a JSON text need at most, in bytes.
pub fn estimate_json(body: &[u8]) -> u64 {
    JsonSize::of_text(body).decoded_bytes()
}

/// What the values of a message of an agent need at most, in bytes. Each needs far more memory than the few bytes of its text, so that they
/// are counted before the message is parsed.
///
/// # Errors
/// It has too many, or they need more than all messages of agents may have at once.
pub fn estimate_message(body: &[u8]) -> Result<u64, ApiError> {
    check_message(JsonSize::of_text(body), AGENT_MESSAGES.bytes())
}

/// The same where all messages may have this many bytes: a larger one would be alone, and parsed in memory that others have reserved.
fn check_message(size: JsonSize, most_bytes: u64) -> Result<u64, ApiError> {
    let refuse = |detail: String| Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "TooLarge", detail));
    let values = size.values;
    if values > MAX_MESSAGE_VALUES {
        return refuse(format!(
            "The message has {values} values, and at most {MAX_MESSAGE_VALUES} are read. Nothing was stored. Send it in several parts."
        ));
    }
    let needed = size.decoded_bytes();
    if needed > most_bytes {
        return refuse(format!(
            "The message has {values} values, which need about {} MiB of memory, and messages of agents may need {} MiB on this server. Nothing was stored. Send it in several parts; a server with more memory accepts more.",
            needed.div_ceil(1 << 20),
            most_bytes >> 20
        ));
    }
    Ok(needed)
}

/// What a form with so many fields and levels of their names needs at most, in bytes.
pub fn estimate_form(parts: usize, body_bytes: usize) -> u64 {
    FORM_PART_BYTES * parts as u64 + TEXT_COPIES * body_bytes as u64
}

/// The same for the text of a form; a bracket in a value counts as one in a name.
pub fn estimate_form_text(body: &[u8]) -> u64 {
    let plain = body.iter().filter(|byte| matches!(byte, b'&' | b'[')).count();
    let encoded = body.windows(3).filter(|text| text.eq_ignore_ascii_case(b"%5b")).count();
    estimate_form(1 + plain + encoded, body.len())
}

#[cfg(test)]
mod tests {
    use hub::run_for_requester;

    use super::*;

    #[test]
    fn p19_the_memory_of_a_body_in_json_follows_from_its_values_and_not_from_its_texts() {
        let numbers = format!("[{}1]", "1,".repeat(1_000));
        assert!(estimate_json(numbers.as_bytes()) > 100 * numbers.len() as u64);
        let maps = format!("{}1{}", r#"{"":"#.repeat(1_000), "}".repeat(1_000));
        assert!(estimate_json(maps.as_bytes()) > 100 * maps.len() as u64);
        let text = format!("\"{}\"", "a,{[".repeat(1_000));
        assert!(estimate_json(text.as_bytes()) < 3 * text.len() as u64);
    }

    #[test]
    fn p19_a_body_whose_values_need_more_than_the_share_of_its_user_is_refused_with_the_limit() {
        let mib = 1 << 20;
        assert_eq!(find_excess(3 * mib, 4 * mib, 16 * mib).unwrap(), 0);
        assert_eq!(find_excess(20 * mib, 4 * mib, 16 * mib).unwrap(), 16 * mib);
        let refusal = ApiError::from(find_excess(21 * mib, 4 * mib, 16 * mib).unwrap_err());
        assert_eq!(refusal.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(refusal.detail().contains("need about 21 MiB"), "{}", refusal.detail());
        assert!(refusal.detail().contains("may need 20 MiB"), "{}", refusal.detail());
    }

    #[tokio::test]
    async fn p19_the_memory_of_values_is_reserved_until_the_response() {
        let memory = ValueMemory::default();
        memory.reserve(100, 100).await.unwrap();
        assert!(memory.reserved.lock().is_none(), "the reservation by size is enough");
        memory.reserve((PARSED_FACTOR * 100) + 1, 100).await.unwrap();
        assert!(memory.reserved.lock().is_some());
    }

    #[tokio::test]
    async fn p19_the_values_of_a_body_are_in_the_share_that_its_user_has_for_all_values() {
        // The wait for memory passes at once.
        tokio::time::pause();
        let of_comparison = VALUES_OF_USERS.reserve("user greta".to_owned(), u64::MAX).await.unwrap();
        let reserve = async |user: &str| {
            let memory = ValueMemory::default();
            run_for_requester(user.to_owned(), memory.reserve(PARSED_FACTOR * 100 + 1, 100)).await
        };
        let refused = reserve("greta").await.unwrap_err();
        assert!(matches!(refused, ValueRefusal::Busy(_)), "{refused:?}");
        reserve("ingrid").await.unwrap();
        drop(of_comparison);
        reserve("greta").await.unwrap();
    }

    #[test]
    fn p19_a_message_of_an_agent_with_too_many_values_is_refused_before_it_is_parsed() {
        let message = |count: usize| {
            let text = format!(r#"{{"leftovers":[{}""]}}"#, r#""","#.repeat(count));
            JsonSize::of_text(text.as_bytes())
        };
        let most = usize::try_from(MAX_MESSAGE_VALUES).unwrap() - 3;
        let size = message(most);
        assert_eq!(size.values, MAX_MESSAGE_VALUES);
        assert_eq!(check_message(size, 512 << 20).unwrap(), size.decoded_bytes());
        let refused = check_message(message(most + 1), u64::MAX).unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(refused.detail().starts_with("The message has 1000001 values"), "{}", refused.detail());
        estimate_message(format!("\"{}\"", ",".repeat(2_000_000)).as_bytes()).unwrap();
    }

    #[test]
    fn p19_a_message_that_needs_more_than_all_messages_may_have_is_refused_with_the_limit() {
        let text = format!("[{}0]", r#"{"":{"":{"":0}}},"#.repeat(40_000));
        let size = JsonSize::of_text(text.as_bytes());
        assert!(text.len() < 1 << 20 && size.values < MAX_MESSAGE_VALUES);
        let refused = check_message(size, 64 << 20).unwrap_err();
        assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(refused.detail().contains("may need 64 MiB on this server"), "{}", refused.detail());
        assert_eq!(check_message(size, 256 << 20).unwrap(), size.decoded_bytes());
    }
}
