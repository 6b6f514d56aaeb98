//! Ingresses (`health.md` C.1).

use domain::health::Health;

use super::service::has_address;
use super::view::View;
use super::{healthy, progressing};

pub(super) fn assess(view: &View<'_>) -> Health {
    if has_address(view) {
        return healthy("");
    }
    progressing("NoIngressAddress", "waiting for an address of its ingress controller")
}
