//! Rules of policies as rows of a form: ignored fields, update strategies and orphaned objects. Pure; the same in browser and server.

use domain::Finding;
use domain::overrides::ObjectSelector;
use domain::policy::{IgnoreRule, IgnoreWhen, Policies, UpdateRule, UpdateStrategy};
use serde::{Deserialize, Serialize};

/// Code of the findings about rules.
const CODE: &str = "G517";

/// A list of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleList {
    /// Ignored fields.
    Ignore,
    /// Update strategies.
    Update,
    /// Orphaned objects.
    Orphan,
}

impl RuleList {
    /// Its name in the policies and in the form.
    pub const fn slug(self) -> &'static str {
        match self {
            Self::Ignore => "ignore",
            Self::Update => "update",
            Self::Orphan => "orphan",
        }
    }
}

/// A rule as it is sent. A row without input is no rule.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RuleRow {
    /// Kind of its objects; empty for all.
    pub kind: String,
    /// Name of its objects; empty for all.
    pub name: String,
    /// Namespace of its objects; empty for all.
    pub namespace: String,
    /// The ignored fields, separated by spaces.
    pub paths: String,
    /// When fields are ignored, or the update strategy; as in the policies.
    pub option: String,
}

impl RuleRow {
    fn new(object: &ObjectSelector) -> Self {
        let ObjectSelector { kind, name, namespace } = object.clone();
        Self { kind, name, namespace, ..Self::default() }
    }

    fn object(&self) -> ObjectSelector {
        ObjectSelector {
            kind: self.kind.trim().to_owned(),
            name: self.name.trim().to_owned(),
            namespace: self.namespace.trim().to_owned(),
        }
    }

    /// Whether it has no input, apart from a select that always has a value.
    pub fn is_blank(&self, list: RuleList) -> bool {
        let has_option = list == RuleList::Update && !self.option.is_empty();
        let texts = [&self.kind, &self.name, &self.namespace, &self.paths];
        !has_option && texts.iter().all(|text| text.trim().is_empty())
    }
}

/// The rules of the policies that rows show.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleRows {
    /// Ignored fields.
    pub ignore: Vec<RuleRow>,
    /// Update strategies.
    pub update: Vec<RuleRow>,
    /// Orphaned objects.
    pub orphan: Vec<RuleRow>,
}

impl RuleRows {
    /// The rows of stored policies: of each list the last rules, as far as a row can show them as they are. The rules before them are
    /// written as YAML, because the order counts: of several strategies for an object the last one applies.
    pub fn from_policies(policies: &Policies) -> Self {
        let ignore = |row: RuleRow| {
            let rows = Self { ignore: vec![row], ..Self::default() };
            rows.parse_ignore().ok()?.pop()
        };
        let update = |row: RuleRow| {
            let rows = Self { update: vec![row], ..Self::default() };
            rows.parse_update().ok()?.pop()
        };
        let orphan = |row: RuleRow| Self { orphan: vec![row], ..Self::default() }.parse_orphan().pop();
        Self {
            ignore: list_last_rows(&policies.ignore, ignore_row, ignore),
            update: list_last_rows(&policies.update, update_row, update),
            orphan: list_last_rows(&policies.orphan, RuleRow::new, orphan),
        }
    }

    /// The rows of a list.
    pub fn rows(&self, list: RuleList) -> &[RuleRow] {
        match list {
            RuleList::Ignore => &self.ignore,
            RuleList::Update => &self.update,
            RuleList::Orphan => &self.orphan,
        }
    }

    /// How many rules of a policy are rows.
    pub fn count(&self, policy: &str) -> usize {
        let lists = [RuleList::Ignore, RuleList::Update, RuleList::Orphan];
        lists.into_iter().find(|list| list.slug() == policy).map_or(0, |list| self.rows(list).len())
    }

    /// Appends the rules of the rows, which come after those of the YAML.
    #[cfg(feature = "ssr")]
    pub fn append_to(&self, policies: &mut Policies, wrong: &mut Vec<Finding>) {
        match self.parse_ignore() {
            Ok(rules) => policies.ignore.extend(rules),
            Err(finding) => wrong.push(finding),
        }
        match self.parse_update() {
            Ok(rules) => policies.update.extend(rules),
            Err(finding) => wrong.push(finding),
        }
        policies.orphan.extend(self.parse_orphan());
    }

    fn parse_ignore(&self) -> Result<Vec<IgnoreRule>, Finding> {
        let parse = |(at, row): (usize, &RuleRow)| {
            let paths: Vec<String> = row.paths.split_whitespace().map(str::to_owned).collect();
            if paths.is_empty() {
                let message = format!("The ignored field {} has no path.", at + 1);
                let hint = "Write a path such as /spec/replicas, or clear the row.";
                return Err(row_error(RuleList::Ignore, at, message, hint));
            }
            let when = match &*row.option {
                "" | "onPresence" => IgnoreWhen::OnPresence,
                "onChange" => IgnoreWhen::OnChange,
                other => {
                    let message = format!("The ignored field {} has the unknown time {other:?}.", at + 1);
                    return Err(row_error(RuleList::Ignore, at, message, "Use onPresence or onChange."));
                }
            };
            Ok(IgnoreRule { object: row.object(), when, paths })
        };
        self.written(RuleList::Ignore).map(parse).collect()
    }

    fn parse_update(&self) -> Result<Vec<UpdateRule>, Finding> {
        let parse = |(at, row): (usize, &RuleRow)| {
            let strategy = match &*row.option {
                "serverSideApply" => UpdateStrategy::ServerSideApply,
                "createOnly" => UpdateStrategy::CreateOnly,
                "readOnly" => UpdateStrategy::ReadOnly,
                _ => {
                    let message = format!("The update strategy {} is not selected.", at + 1);
                    return Err(row_error(
                        RuleList::Update,
                        at,
                        message,
                        "Select a strategy, or clear the row.",
                    ));
                }
            };
            Ok(UpdateRule { object: row.object(), strategy })
        };
        self.written(RuleList::Update).map(parse).collect()
    }

    fn parse_orphan(&self) -> Vec<ObjectSelector> {
        self.written(RuleList::Orphan).map(|(_, row)| row.object()).collect()
    }

    /// The rows with input, with their positions.
    fn written(&self, list: RuleList) -> impl Iterator<Item = (usize, &RuleRow)> {
        self.rows(list).iter().enumerate().filter(move |(_, row)| !row.is_blank(list))
    }
}

/// The rows of the last rules that are parsed back as they are.
fn list_last_rows<T: PartialEq>(
    rules: &[T],
    row: impl Fn(&T) -> RuleRow,
    parse: impl Fn(RuleRow) -> Option<T>,
) -> Vec<RuleRow> {
    let is_shown = |rule: &&T| {
        let rule: &T = rule;
        parse(row(rule)).is_some_and(|parsed| parsed == *rule)
    };
    let count = rules.iter().rev().take_while(is_shown).count();
    rules.iter().skip(rules.len() - count).map(row).collect()
}

fn ignore_row(rule: &IgnoreRule) -> RuleRow {
    let option = match rule.when {
        IgnoreWhen::OnPresence => "onPresence",
        IgnoreWhen::OnChange => "onChange",
    };
    RuleRow { paths: rule.paths.join(" "), option: option.to_owned(), ..RuleRow::new(&rule.object) }
}

fn update_row(rule: &UpdateRule) -> RuleRow {
    let option = match rule.strategy {
        UpdateStrategy::ServerSideApply => "serverSideApply",
        UpdateStrategy::CreateOnly => "createOnly",
        UpdateStrategy::ReadOnly => "readOnly",
    };
    RuleRow { option: option.to_owned(), ..RuleRow::new(&rule.object) }
}

fn row_error(list: RuleList, at: usize, message: String, hint: &'static str) -> Finding {
    Finding::error(CODE, message, hint).with_path(format!("/policies/{}/{at}", list.slug()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(kind: &str, name: &str) -> ObjectSelector {
        ObjectSelector { kind: kind.into(), name: name.into(), namespace: String::new() }
    }

    fn ignored(paths: &[&str], when: IgnoreWhen) -> IgnoreRule {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        IgnoreRule { object: object("Deployment", "web"), when, paths }
    }

    #[test]
    fn rules_are_shown_as_rows_and_parsed_back() {
        let policies = Policies {
            ignore: vec![
                ignored(&["/spec/replicas", "$.spec.paused"], IgnoreWhen::OnPresence),
                ignored(&["/metadata/annotations/a"], IgnoreWhen::OnChange),
            ],
            update: vec![
                UpdateRule { object: ObjectSelector::default(), strategy: UpdateStrategy::CreateOnly },
                UpdateRule { object: object("Secret", ""), strategy: UpdateStrategy::ServerSideApply },
            ],
            orphan: vec![object("PersistentVolumeClaim", "")],
            ..Policies::default()
        };
        let rows = RuleRows::from_policies(&policies);
        assert_eq!((rows.ignore.len(), rows.update.len(), rows.orphan.len()), (2, 2, 1));
        assert_eq!(rows.parse_ignore().unwrap(), policies.ignore);
        assert_eq!(rows.parse_update().unwrap(), policies.update);
        assert_eq!(rows.parse_orphan(), policies.orphan);
        assert_eq!((rows.count("ignore"), rows.count("feedback")), (2, 0));
    }

    #[test]
    fn rules_up_to_the_last_one_that_rows_cannot_show_have_no_rows() {
        let spaced = "$.spec.template.spec.containers[?(@.name == \"web\")].image";
        let policies = Policies {
            ignore: vec![ignored(&["/a"], IgnoreWhen::OnChange), ignored(&[spaced], IgnoreWhen::OnChange)],
            orphan: vec![ObjectSelector::default()],
            ..Policies::default()
        };
        assert_eq!(RuleRows::from_policies(&policies), RuleRows::default());
        let mut longer = policies;
        longer.ignore.push(ignored(&["/b"], IgnoreWhen::OnPresence));
        longer.orphan.push(object("Secret", ""));
        let rows = RuleRows::from_policies(&longer);
        assert_eq!((rows.count("ignore"), rows.count("orphan")), (1, 1));
        assert_eq!((rows.ignore[0].paths.as_str(), rows.orphan[0].kind.as_str()), ("/b", "Secret"));
    }

    #[test]
    fn a_row_without_input_is_no_rule_and_an_incomplete_one_is_reported() {
        let blank = RuleRow { option: "onPresence".into(), ..RuleRow::default() };
        let rows = RuleRows {
            ignore: vec![blank.clone(), RuleRow { kind: "Deployment".into(), ..blank.clone() }],
            update: vec![RuleRow::default(), RuleRow { name: "web".into(), ..RuleRow::default() }],
            orphan: vec![RuleRow::default()],
        };
        assert_eq!(rows.parse_ignore().unwrap_err().path, "/policies/ignore/1");
        assert_eq!(rows.parse_update().unwrap_err().path, "/policies/update/1");
        assert!(rows.parse_orphan().is_empty());
        let only_blank = RuleRows { ignore: vec![blank], ..RuleRows::default() };
        assert!(only_blank.parse_ignore().unwrap().is_empty());
    }
}
