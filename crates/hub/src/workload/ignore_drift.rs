//! Lets the policies of the draft ignore a drifted field: once the object exists, the field belongs to other clients. A rule that
//! ignores only changes would not do: the next revision writes the field again, and the cluster rejects that as a conflict.

use domain::Finding;
use domain::actions;
use domain::authorization::UserAction;
use domain::event::NewEvent;
use domain::overrides::ObjectSelector;
use domain::policy::{self, IgnoreRule, IgnoreWhen};
use domain::workload::Workload;

use super::check_if_match;
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
        let paths = [path.to_owned()];
        Box::pin(self.add_ignore_rules(actor, name, (&object, &paths[..]), None)).await
    }

    /// Adds a rule for each of these fields of an object. `if_match` is the resource version that this is based on.
    pub(crate) async fn add_ignore_rules(
        &self,
        actor: &Actor,
        name: &str,
        (object, paths): (&ObjectSelector, &[String]),
        if_match: Option<i64>,
    ) -> Result<Workload, Error> {
        let change = |before: &Workload, workload: &mut Workload| -> Result<Option<NewEvent>, Error> {
            check_if_match(before.revision, if_match)?;
            actions::check_edit(before)?;
            let mut is_changed = false;
            for path in paths {
                is_changed |= add_rule(&mut workload.draft.policies.ignore, object.clone(), path);
            }
            if !is_changed {
                return Ok(None);
            }
            let is_about_rules = |finding: &Finding| finding.path.starts_with("/policies/ignore");
            let findings: Vec<Finding> =
                policy::check(&workload.draft.policies).into_iter().filter(is_about_rules).collect();
            if findings.is_empty() { Ok(None) } else { Err(Error::Invalid(findings)) }
        };
        Box::pin(self.edit_read_workload(actor, name, change)).await
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
