//! Ingresses.

use domain::health::Health;

use super::object_view::ObjectView;
use super::service::has_address;
use super::{healthy, progressing};

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if has_address(view) {
        return healthy("");
    }
    progressing("NoIngressAddress", "waiting for an address of its ingress controller")
}
