//! The errors of server functions that no handler returned: a form that can't be read, a server that does not respond.

use domain::Finding;
use leptos::server_fn::codec::JsonEncoding;
use leptos::server_fn::error::{FromServerFnError, ServerFnErrorErr};

use crate::errors::AppError;
#[cfg(feature = "ssr")]
use crate::host;

impl FromServerFnError for AppError {
    type Encoder = JsonEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        match error {
            ServerFnErrorErr::Args(_) | ServerFnErrorErr::MissingArg(_) => unreadable_form(),
            // On the server, the text of a form is no UTF-8; in the browser, the response can't be decoded.
            #[cfg(feature = "ssr")]
            ServerFnErrorErr::Deserialization(_) => unreadable_form(),
            _ => Self::Unreachable,
        }
    }
}

/// A form that can't be read is an error of its sender: the status is set here, because no handler runs.
fn unreadable_form() -> AppError {
    let error =
        AppError::from_finding(Finding::error("G100", "The form could not be read.", "Load the page again."));
    #[cfg(feature = "ssr")]
    let error = host::with_status(error);
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_survives_the_wire() {
        let error = AppError::NotFound { what: "workload".into(), name: "web".into() };
        assert_eq!(AppError::de(error.ser()), error);
        assert_eq!(error.to_string(), "There is no workload \"web\".");
    }

    #[test]
    fn g100_a_form_that_cannot_be_read_is_a_finding_and_no_lost_connection() {
        let error = AppError::from_server_fn_error(ServerFnErrorErr::MissingArg("name".into()));
        assert_eq!(error.findings()[0].code, "G100");
        assert_eq!(
            AppError::from_server_fn_error(ServerFnErrorErr::Request("reset".into())),
            AppError::Unreachable
        );
    }
}
