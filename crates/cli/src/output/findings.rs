//! Findings as compilers print them: place, weight, code, what is wrong, what to do (S0-15).

use domain::{Finding, Severity};

use super::clean;
use super::paint::{self, Paint};

/// The findings as text; `shown` gives the path of a source file as the person knows it.
pub fn render(findings: &[Finding], shown: &dyn Fn(&str) -> String, paint: Paint) -> String {
    findings.iter().map(|finding| one(finding, shown, paint)).collect()
}

fn one(finding: &Finding, shown: &dyn Fn(&str) -> String, paint: Paint) -> String {
    let place = match &finding.place {
        Some(place) => format!("{}:{}:{}: ", clean(&shown(&place.file)), place.line, place.column),
        None => String::new(),
    };
    let weight = paint.colour(paint::of_severity(finding.severity), finding.severity.word());
    // Many messages name their object themselves.
    let object = match &*finding.object {
        object if finding.message.contains(object) => String::new(),
        object => format!(" {}:", clean(object)),
    };
    let mut text = format!("{place}{weight}[{}]{object} {}\n", clean(&finding.code), clean(&finding.message));
    if !finding.clusters.is_empty() {
        text.push_str(&format!("    on {}\n", clean(&few(&finding.clusters))));
    }
    if !finding.hint.is_empty() {
        text.push_str(&format!("    fix: {}\n", clean(&finding.hint)));
    }
    text
}

/// A handful of names, and how many more there are.
pub fn few(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// "2 errors, 1 warning", or "no findings".
pub fn summary(findings: &[Finding]) -> String {
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .filter_map(|severity| {
            let count = findings.iter().filter(|finding| finding.severity == severity).count();
            let plural = if count == 1 { "" } else { "s" };
            (count > 0).then(|| format!("{count} {}{plural}", severity.word()))
        })
        .collect();
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use domain::finding::Place;

    use super::*;

    #[test]
    fn a_finding_says_where_what_and_how_to_mend_it() {
        let place = Place { file: "web.yaml".into(), line: 12, column: 9 };
        let finding = Finding::error("G214", "The selector matches nothing.", "Use app: web.")
            .about("Deployment web")
            .placed(Some(place))
            .on(vec!["eu-1".into()]);
        let text = render(&[finding], &|file| format!("shop/{file}"), Paint::new(false));
        assert_eq!(
            text,
            "shop/web.yaml:12:9: error[G214] Deployment web: The selector matches nothing.\n    on eu-1\n    fix: Use app: web.\n"
        );
    }

    #[test]
    fn findings_are_counted_by_weight() {
        let findings =
            [Finding::error("a", "", ""), Finding::warning("b", "", ""), Finding::warning("c", "", "")];
        assert_eq!(summary(&findings), "1 error, 2 warnings");
        assert_eq!(summary(&[]), "no findings");
    }
}
