//! The rules of `.helmignore`: which files of a folder do not belong to its chart. Helm applies them when it loads or packs a
//! folder, not when it loads an archive: <https://helm.sh/docs/chart_template_guide/helm_ignore_file/>.

/// The file with the rules, in the folder of the chart. Those of subcharts are not read, as by Helm.
pub const HELM_IGNORE: &str = ".helmignore";
/// The rule that Helm adds to every file of rules: hidden files among the templates.
const BUILT_IN: &str = "templates/.?*";

/// The rules of a chart.
#[derive(Debug, PartialEq, Eq)]
pub struct HelmIgnoreRules(Vec<HelmIgnoreRule>);

#[derive(Debug, PartialEq, Eq)]
struct HelmIgnoreRule {
    pattern: Vec<char>,
    is_negated: bool,
    is_for_folders: bool,
    /// Whether the pattern is compared with the whole path, and not with its last part.
    is_path: bool,
}

impl HelmIgnoreRules {
    /// The rules in this text, and Helm's own; an empty text has only these.
    ///
    /// # Errors
    /// What Helm refuses: `**`, and patterns that are not well-formed. The message has the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim_start_matches('\u{feff}');
        let mut rules = Vec::new();
        for (line, number) in text.lines().chain([BUILT_IN]).zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.contains("**") {
                return Err(format!("line {number}: Helm does not support \"**\""));
            }
            let rule = HelmIgnoreRule::parse(line);
            if !is_well_formed(&rule.pattern) {
                return Err(format!("line {number}: {line:?} is no valid pattern"));
            }
            rules.push(rule);
        }
        Ok(Self(rules))
    }

    /// Whether Helm leaves this file out, or this folder with all its files. `path` is relative to the folder of the chart.
    ///
    /// The rules are evaluated in order. The first that matches leaves the path out, and a negated rule everything that it
    /// does *not* match: Helm's reading, which is not that of Git.
    pub fn is_ignored(&self, path: &str, is_folder: bool) -> bool {
        let whole: Vec<char> = path.chars().collect();
        let last = whole.rsplit(|c| *c == '/').next().unwrap_or_default();
        for rule in &self.0 {
            let is_matching = (!rule.is_for_folders || is_folder)
                && matches(&rule.pattern, if rule.is_path { &whole } else { last });
            if is_matching != rule.is_negated {
                return true;
            }
        }
        false
    }
}

impl HelmIgnoreRule {
    fn parse(line: &str) -> Self {
        let (line, is_negated) = line.strip_prefix('!').map_or((line, false), |rest| (rest, true));
        let (line, is_for_folders) = line.strip_suffix('/').map_or((line, false), |rest| (rest, true));
        let (pattern, is_path) = match line.strip_prefix('/') {
            Some(rooted) => (rooted, true),
            None => (line, line.contains('/')),
        };
        Self { pattern: pattern.chars().collect(), is_negated, is_for_folders, is_path }
    }
}

/// Whether every class is closed and every escape has its character.
fn is_well_formed(mut pattern: &[char]) -> bool {
    while !pattern.is_empty() {
        match take_element(pattern) {
            Some((_, rest)) => pattern = rest,
            None => return false,
        }
    }
    true
}

/// One element of a pattern, as in Go's `path.Match`.
enum Element<'a> {
    /// `*`: any characters but "/".
    Star,
    /// `?`: one character but "/".
    Any,
    /// `[a-z]` or `[^a-z]`: the text between the brackets.
    Class(&'a [char]),
    Literal(char),
}

impl Element<'_> {
    fn accepts(&self, c: char) -> bool {
        match self {
            Self::Star | Self::Any => c != '/',
            Self::Class(class) => c != '/' && class_accepts(class, c),
            Self::Literal(literal) => c == *literal,
        }
    }
}

/// The first element, and what follows it; `None` if it is not well-formed.
fn take_element(pattern: &[char]) -> Option<(Element<'_>, &[char])> {
    let (first, rest) = pattern.split_first()?;
    match first {
        '*' => Some((Element::Star, rest)),
        '?' => Some((Element::Any, rest)),
        '\\' => rest.split_first().map(|(c, rest)| (Element::Literal(*c), rest)),
        '[' => {
            let end = find_class_end(rest)?;
            Some((Element::Class(&rest[..end]), &rest[end + 1..]))
        }
        c => Some((Element::Literal(*c), rest)),
    }
}

/// The position of the bracket that closes a class, if its ranges are complete.
fn find_class_end(class: &[char]) -> Option<usize> {
    let mut at = usize::from(class.first() == Some(&'^'));
    let start = at;
    loop {
        if class.get(at)? == &']' && at > start {
            return Some(at);
        }
        at = skip_class_char(class, at)?;
        if class.get(at) == Some(&'-') {
            at = skip_class_char(class, at + 1)?;
        }
    }
}

/// The position after one character of a class; `None` where Go expects another one.
fn skip_class_char(class: &[char], at: usize) -> Option<usize> {
    match class.get(at)? {
        '-' | ']' => None,
        '\\' => class.get(at + 1).map(|_| at + 2),
        _ => Some(at + 1),
    }
}

fn class_accepts(class: &[char], c: char) -> bool {
    let is_negated = class.first() == Some(&'^');
    let mut at = usize::from(is_negated);
    let mut is_found = false;
    let read = |at: usize| {
        if class.get(at) == Some(&'\\') { (class.get(at + 1), at + 2) } else { (class.get(at), at + 1) }
    };
    while at < class.len() {
        let (low, next) = read(at);
        let (high, next) = if class.get(next) == Some(&'-') { read(next + 1) } else { (low, next) };
        is_found |= low.zip(high).is_some_and(|(low, high)| (*low..=*high).contains(&c));
        at = next;
    }
    is_found != is_negated
}

/// Whether the whole text matches. It takes at most `pattern.len() * text.len()` steps: only the last star is tried again,
/// because an earlier one could not accept a "/" that the last one does not.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut rest, mut at) = (pattern, 0);
    let mut retry: Option<(&[char], usize)> = None;
    loop {
        let step = match take_element(rest) {
            Some((Element::Star, after)) => {
                retry = Some((after, at));
                rest = after;
                continue;
            }
            Some((element, after)) if at < text.len() && element.accepts(text[at]) => Some(after),
            None if at == text.len() => return true,
            _ => None,
        };
        match (step, retry) {
            (Some(after), _) => {
                rest = after;
                at += 1;
            }
            (None, Some((after, from))) if from < text.len() && text[from] != '/' => {
                retry = Some((after, from + 1));
                rest = after;
                at = from + 1;
            }
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_ignored(rules: &str, path: &str, is_folder: bool) -> bool {
        HelmIgnoreRules::parse(rules).unwrap().is_ignored(path, is_folder)
    }

    #[test]
    fn a_rule_without_a_slash_is_for_names_at_every_depth_and_one_with_a_slash_for_paths() {
        for (rule, path, expected) in [
            ("*.orig", "templates/a.yaml.orig", true),
            ("*.orig", "a.orig/b.yaml", false),
            ("debug.yaml", "templates/debug.yaml", true),
            ("/debug.yaml", "templates/debug.yaml", false),
            ("/debug.yaml", "debug.yaml", true),
            ("templates/*.bak", "templates/a.bak", true),
            ("templates/*.bak", "templates/sub/a.bak", false),
            ("*~", "README.md~", true),
            ("[a-c]?.txt", "b1.txt", true),
            ("[^a-c]?.txt", "b1.txt", false),
            (r"\*.txt", "a.txt", false),
            (r"\*.txt", "*.txt", true),
            ("a*b*c", "aXbYbZc", true),
            ("# a comment", "# a comment", false),
        ] {
            assert_eq!(is_ignored(rule, path, false), expected, "{rule} {path}");
        }
    }

    #[test]
    fn a_rule_that_ends_with_a_slash_is_for_folders_only() {
        assert!(is_ignored("ci/", "ci", true));
        assert!(!is_ignored("ci/", "ci", false));
    }

    #[test]
    fn a_negated_rule_leaves_out_what_it_does_not_match() {
        assert!(is_ignored("!*.yaml", "notes.md", false));
        assert!(!is_ignored("!*.yaml", "values.yaml", false));
        assert!(is_ignored("!*.yaml\n*.yaml", "values.yaml", false));
    }

    #[test]
    fn hidden_templates_are_left_out_without_a_file_of_rules() {
        assert!(is_ignored("", "templates/.debug.yaml", false));
        assert!(!is_ignored("", "templates/debug.yaml", false));
        assert!(!is_ignored("", ".env", false));
    }

    #[test]
    fn patterns_that_helm_refuses_are_errors_with_their_line() {
        for text in ["\n**/a", "\n[a", "\n[]a]", "\n[a-]", "\na\\"] {
            let error = HelmIgnoreRules::parse(text).unwrap_err();
            assert!(error.starts_with("line 2: "), "{text:?}: {error}");
        }
    }

    #[test]
    fn many_stars_take_no_exponential_time() {
        let rule = "a*".repeat(2_000) + "b";
        assert!(!is_ignored(&rule, &"a".repeat(4_000), false));
    }
}
