//! Findings in the format of compiler messages: location, severity, code, message, hint (S0-15).

use domain::{Finding, Severity};

use super::colour::{self, ColourMode};
use super::sanitize;

/// The findings as text; `shown` returns the path of a source file as the user gave it.
pub fn render_findings(findings: &[Finding], shown: &dyn Fn(&str) -> String, paint: ColourMode) -> String {
    findings.iter().map(|finding| render_finding(finding, shown, paint)).collect()
}

fn render_finding(finding: &Finding, shown: &dyn Fn(&str) -> String, paint: ColourMode) -> String {
    let place = match &finding.location {
        Some(place) => format!("{}:{}:{}: ", sanitize(&shown(&place.file)), place.line, place.column),
        None => String::new(),
    };
    let severity = paint.apply(colour::severity_colour(finding.severity), finding.severity.as_str());
    // Many messages contain the name of the object.
    let message = finding.message_beside_object();
    let object = match finding.is_object_named() {
        true => String::new(),
        false => format!(" {}:", sanitize(&finding.object)),
    };
    let mut text = format!("{place}{severity}[{}]{object} {}\n", sanitize(&finding.code), sanitize(message));
    if !finding.clusters.is_empty() {
        text.push_str(&format!("    on {}\n", sanitize(&join_names(&finding.clusters))));
    }
    if !finding.hint.is_empty() {
        text.push_str(&format!("    fix: {}\n", sanitize(&finding.hint)));
    }
    text
}

/// The first eight names, and the number of the others.
pub fn join_names<N: AsRef<str>>(names: &[N]) -> String {
    domain::name_list::join_first(names, 8)
}

/// "2 errors, 1 warning", or "no findings".
pub fn count_findings(findings: &[Finding]) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter_map(|severity| {
            let count = findings.iter().filter(|finding| finding.severity == severity).count();
            let plural = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} {}{plural}", severity.as_str()))
        })
        .collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use domain::finding::SourceLocation;

    use super::*;

    #[test]
    fn a_finding_shows_location_message_and_hint() {
        let place = SourceLocation { file: "web.yaml".into(), line: 12, column: 9 };
        let finding = Finding::error("G214", "The selector matches nothing.", "Use app: web.")
            .with_object("Deployment web")
            .with_location(Some(place))
            .with_clusters(vec!["eu-1".into()]);
        let text = render_findings(&[finding], &|file| format!("shop/{file}"), ColourMode::new(false));
        assert_eq!(
            text,
            "shop/web.yaml:12:9: error[G214] Deployment web: The selector matches nothing.\n    on eu-1\n    fix: Use app: web.\n"
        );
    }

    #[test]
    fn a_message_does_not_repeat_its_object() {
        let finding =
            Finding::error("G403", "Deployment \"web\": spec.selector is missing.", "Add selector.");
        let findings = [finding.with_object("Deployment shop/web")];
        let text = render_findings(&findings, &str::to_owned, ColourMode::new(false));
        assert_eq!(
            text,
            "error[G403] Deployment shop/web: spec.selector is missing.\n    fix: Add selector.\n"
        );
    }

    #[test]
    fn a_message_about_an_object_of_a_longer_name_has_its_object() {
        let finding = Finding::warning("G214", "Deployment web-2 selects the same pods.", "");
        let text =
            render_findings(&[finding.with_object("Deployment web")], &str::to_owned, ColourMode::new(false));
        assert_eq!(text, "warning[G214] Deployment web: Deployment web-2 selects the same pods.\n");
    }

    #[test]
    fn findings_are_counted_by_severity() {
        let findings =
            [Finding::error("a", "", ""), Finding::warning("b", "", ""), Finding::warning("c", "", "")];
        assert_eq!(count_findings(&findings), "1 error, 2 warnings");
        assert_eq!(count_findings(&[]), "no findings");
    }
}
