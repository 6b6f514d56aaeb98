//! Components that several pages share. They depend on types of `domain`, not on server functions.

pub mod age;
pub mod copy;
pub mod counts;
pub mod create_form;
pub mod deadline;
pub mod dialog;
pub mod editor;
pub mod empty;
pub mod error;
pub mod field;
pub mod filter_form;
pub mod findings;
pub mod icon;
pub mod pager;
pub mod resource_view;
pub mod status;
pub mod tabs;
pub mod text;
pub mod timeline;

pub use age::Age;
pub use copy::{CopyBlock, CopyButton, CopyLine, CopySecretLine};
pub use counts::{StateCounts, StateGroup, StateStrip};
pub use create_form::clear_after_success;
pub use deadline::MissedDeadline;
pub use dialog::ConfirmDialog;
pub use editor::Editor;
pub use empty::{Empty, EmptyPage};
pub use error::ErrorBanner;
pub use field::{Banner, DisabledButton, DisabledReason, labels_field, search_field};
pub use filter_form::FilterForm;
pub use findings::FindingList;
pub use icon::{icon, icon_sized};
pub use pager::Pager;
pub use resource_view::{
    render_by_key, render_resource, render_resource_again, render_resource_part, render_selected,
    render_value,
};
pub use status::{
    ClusterReachability, StateLabel, StatusStyle, cell_status, cluster_label, health_label, sync_label,
};
pub use tabs::{PageTabs, UnknownTab};
pub use text::{
    escape_html, join_names, pluralize, split_words, textarea_html, unbroken, unbroken_durations,
};
pub use timeline::Timeline;
