//! The actions of the page of a cluster, which its dialogs share.

use leptos::prelude::*;

use super::annotations::ClusterAnnotate;
use super::confirmed_facts::ClusterConfirmFacts;
use super::deletion::{ClusterDelete, ClusterRevoke};
use super::demo::InjectDemoFault;
use super::labels::ClusterLabel;
use super::owners::ClusterSetOwners;
use super::scheduling::{ClusterCordon, ClusterTaint};
use crate::resource::count_successes;

/// The actions of the page.
#[derive(Clone, Copy)]
pub struct ClusterActions {
    /// Sets or removes a label.
    pub label: ServerAction<ClusterLabel>,
    /// Sets or removes a taint.
    pub taint: ServerAction<ClusterTaint>,
    /// Revokes the certificates.
    pub revoke: ServerAction<ClusterRevoke>,
    /// Deletes the cluster.
    pub delete: ServerAction<ClusterDelete>,
    /// Sets or removes an annotation.
    pub annotate: ServerAction<ClusterAnnotate>,
    /// Cordons the cluster, or ends the cordon.
    pub cordon: ServerAction<ClusterCordon>,
    /// Replaces its owners.
    pub owners: ServerAction<ClusterSetOwners>,
    /// Confirms the reported facts.
    pub confirm: ServerAction<ClusterConfirmFacts>,
    /// Injects a fault into a simulated cluster.
    pub broken: ServerAction<InjectDemoFault>,
    /// Successful changes.
    changes: [RwSignal<u32>; 7],
}

impl ClusterActions {
    /// Creates all of them.
    pub fn new() -> Self {
        let (label, taint) = (ServerAction::<ClusterLabel>::new(), ServerAction::<ClusterTaint>::new());
        let (annotate, cordon) =
            (ServerAction::<ClusterAnnotate>::new(), ServerAction::<ClusterCordon>::new());
        let (confirm, revoke) =
            (ServerAction::<ClusterConfirmFacts>::new(), ServerAction::<ClusterRevoke>::new());
        let owners = ServerAction::<ClusterSetOwners>::new();
        let changes = [
            count_successes(owners.value()),
            count_successes(label.value()),
            count_successes(taint.value()),
            count_successes(annotate.value()),
            count_successes(cordon.value()),
            count_successes(confirm.value()),
            count_successes(revoke.value()),
        ];
        let (delete, broken) = (ServerAction::new(), ServerAction::new());
        Self { label, taint, revoke, delete, annotate, cordon, owners, confirm, broken, changes }
    }

    /// Grows with every change, so that the page is read again. A rejected one leaves the page and its forms as they are.
    pub fn version(self) -> u32 {
        self.changes.iter().map(|changes| changes.get()).sum()
    }
}
