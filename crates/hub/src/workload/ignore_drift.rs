//! Lets the policies of the draft ignore a drifted field: once the object exists, the field belongs to other clients. A rule that
//! ignores only changes would not do: the next revision writes the field again, and the cluster rejects that as a conflict.

use domain::Finding;
use domain::actions;
use domain::authorization::UserAction;
use domain::overrides::ObjectSelector;
use domain::policy::{self, IgnoreRule, IgnoreWhen};
use domain::workload::Workload;

use super::edit::edited_event;
use crate::{Actor, Error, Hub};

impl Hub {
    /// Adds a rule to the policies of the draft: this field is written when the object is created, and never again. It takes effect
    /// with the next publish. A rule that exists is not added again.
    ///
    /// # Errors
    /// The path names no field, or there are too many rules (G517); the draft can't be edited.
    pub async fn ignore_drift(
        &self,
        actor: &Actor,
        name: &str,
        object: ObjectSelector,
        path: &str,
    ) -> Result<Workload, Error> {
        actor.authorize(UserAction::Edit)?;
        let mut tx = self.write_as(actor, UserAction::Edit).await?;
        let mut workload = self.load_workload(&mut tx, name).await?;
        actions::check_edit(&workload)?;
        if !add_rule(&mut workload.draft.policies.ignore, object, path) {
            return Ok(workload);
        }
        let is_about_rules = |finding: &Finding| finding.path.starts_with("/policies/ignore");
        let findings: Vec<Finding> =
            policy::check(&workload.draft.policies).into_iter().filter(is_about_rules).collect();
        if !findings.is_empty() {
            return Err(Error::Invalid(findings));
        }
        let event = edited_event(actor, &workload);
        self.store_edit(tx, actor, workload, event).await
    }
}

/// Adds the path to the rule of this object; returns whether the rules changed.
fn add_rule(rules: &mut Vec<IgnoreRule>, object: ObjectSelector, path: &str) -> bool {
    let path = path.to_owned();
    let of_object =
        rules.iter_mut().find(|rule| rule.object == object && rule.when == IgnoreWhen::OnPresence);
    match of_object {
        Some(rule) if rule.paths.contains(&path) => return false,
        Some(rule) => rule.paths.push(path),
        None => rules.push(IgnoreRule { object, when: IgnoreWhen::OnPresence, paths: vec![path] }),
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_one_object_are_in_one_rule_and_once() {
        let web =
            || ObjectSelector { kind: "Deployment".into(), name: "web".into(), namespace: "shop".into() };
        let mut rules = Vec::new();
        assert!(add_rule(&mut rules, web(), "/spec/replicas"));
        assert!(!add_rule(&mut rules, web(), "/spec/replicas"));
        assert!(add_rule(&mut rules, web(), "/spec/paused"));
        assert!(add_rule(&mut rules, ObjectSelector::default(), "/spec/paused"));
        assert_eq!((rules.len(), rules[0].paths.len()), (2, 2));
    }
}
