//! The actions of a workload in the head of its page: the menu, and at most one main action beside it.

use domain::actions::ActionUnavailable;
use domain::authorization::UserAction;
use domain::workload::Intent;
use leptos::prelude::*;

use super::{UnavailableActions, WorkloadPageHead};
use crate::components::{DisabledButton, icon, render_selected};
use crate::paths;
use crate::permission::PermittedLink;
use crate::resource::PageResource;
use crate::workloads::wizard::WizardStep;

/// The menu and the buttons.
pub(super) fn show_actions(data: PageResource<WorkloadPageHead>) -> AnyView {
    view! {
        <div class="head-actions">
            <button class="btn btn-icon" type="button" popovertarget="workload-menu" aria-label="More actions">
                {icon("more")}
            </button>
            <div class="popover" id="workload-menu" popover="auto">
                {render_selected(
                    data,
                    |head| (head.has_changes(), head.name, head.actions),
                    |(has_changes, name, actions)| show_menu(&name, has_changes, actions),
                )}
            </div>
            {render_selected(data, |head| head, |head| show_buttons(&head))}
        </div>
    }
    .into_any()
}

fn show_menu(name: &str, has_changes: bool, actions: UnavailableActions) -> AnyView {
    let dialog = |question| paths::workload_dialog(name, question);
    // With changes, the publish is the button beside the menu.
    let publish = (!has_changes).then(|| menu_link(paths::publish(name), "Publish again…", actions.publish));
    view! {
        {menu_link(dialog("sync"), "Sync…", actions.sync)}
        {publish}
        {menu_link(dialog("unpublish"), "Unpublish…", actions.unpublish)}
        {menu_link(dialog("delete"), "Delete…", actions.delete)}
    }
    .into_any()
}

/// The actions beside the menu, with at most one main action: the rollback of a failing workload, else the review of changes.
fn show_buttons(head: &WorkloadPageHead) -> AnyView {
    let can_edit = head.actions.edit.is_none();
    let roll_back = head.roll_back_revision();
    let review = head.has_changes().then(|| review_button(head, roll_back.is_none()));
    view! {
        {can_edit.then(|| view! { <a class="btn" href=WizardStep::Source.path(&head.name)>"Edit"</a> })}
        {review}
        {roll_back.map(|number| roll_back_button(&head.name, number))}
    }
    .into_any()
}

/// The link to the review of the changes; disabled with the reason if the draft cannot be published.
fn review_button(head: &WorkloadPageHead, is_main: bool) -> AnyView {
    if let Some(why) = &head.actions.publish {
        return view! { <DisabledButton verb="Publish".to_owned() why=why.to_string() id="why-publish" /> }
            .into_any();
    }
    let next = head.published.as_ref().map_or(1, |revision| revision.number + 1);
    let verb =
        if head.intent == Intent::Unpublished { "Review".to_owned() } else { format!("Review r{next}") };
    view! {
        <a class="btn" class:btn-primary=is_main href=paths::publish(&head.name)>
            {verb}
        </a>
    }
    .into_any()
}

fn roll_back_button(name: &str, number: u32) -> AnyView {
    view! {
        <PermittedLink
            action=UserAction::Publish
            class="btn btn-primary"
            href=paths::roll_back(name, number)
            label=format!("Roll back to r{number}…")
        />
    }
    .into_any()
}

/// The link to an action; disabled with the reason if the action is unavailable.
fn menu_link(href: String, label: &'static str, unavailable: Option<ActionUnavailable>) -> AnyView {
    match unavailable {
        None => view! { <a class="menu-item" href=href>{label}</a> }.into_any(),
        Some(why) => view! {
            <button class="menu-item" type="button" aria-disabled="true">
                {label}
                <span class="meta">{why.to_string()}</span>
            </button>
        }
        .into_any(),
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use domain::workload::WorkloadPhase;

    use super::super::tests::{available, head};
    use super::*;
    use crate::render_tests::render_html;

    fn render_buttons(head: WorkloadPageHead) -> String {
        render_html(move || show_buttons(&head))
    }

    #[test]
    fn a_draft_without_changes_is_published_again_from_the_menu() {
        let buttons = render_buttons(head(WorkloadPhase::Published, false));
        assert!(buttons.contains("Edit") && !buttons.contains("Review"), "{buttons}");
        assert!(!buttons.contains("btn-primary"), "{buttons}");
        let menu = |has_changes| render_html(move || show_menu("shop", has_changes, available()));
        assert!(menu(false).contains("Publish again…") && !menu(true).contains("Publish again…"));
    }

    #[test]
    fn the_review_of_changes_is_the_main_action() {
        let buttons = render_buttons(head(WorkloadPhase::Published, true));
        assert!(buttons.contains("Review r3") && buttons.contains("btn-primary"), "{buttons}");
    }

    #[test]
    fn the_rollback_is_the_one_main_action_of_a_failing_workload() {
        let buttons = render_buttons(head(WorkloadPhase::PartiallyPublished, true));
        assert!(buttons.contains("Roll back to r1…") && buttons.contains("Review r3"), "{buttons}");
        assert_eq!(buttons.matches("btn-primary").count(), 1, "{buttons}");
        let unchanged = render_buttons(head(WorkloadPhase::PartiallyPublished, false));
        assert!(unchanged.contains("btn-primary") && !unchanged.contains("Review"), "{unchanged}");
    }
}
