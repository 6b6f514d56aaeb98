//! A rollout as a report: Markdown for people, CSV for spreadsheets.

use serde::{Deserialize, Serialize};

use super::{Rollout, RolloutCluster};
use crate::kubernetes::time::Timestamp;

/// Most clusters of a report; the others are counted in [`RolloutReport::omitted`].
pub const MAX_REPORT_CLUSTERS: usize = 20_000;

/// A rollout with its clusters, as of one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RolloutReport {
    /// Name of the workload.
    pub workload: String,
    /// When it was made.
    pub generated_at: Timestamp,
    /// The state of the rollout, as a sentence.
    pub summary: String,
    /// The rollout, with its waves.
    pub rollout: Rollout,
    /// Its clusters, by wave and name. None if another revision has replaced this one there: then the waves have the last numbers.
    pub clusters: Vec<RolloutCluster>,
    /// Number of clusters that are left out.
    #[serde(default)]
    pub omitted: u32,
}

impl RolloutReport {
    /// The whole report as Markdown. Texts of users and clusters are escaped: none of them is a link, an image or HTML.
    pub fn to_markdown(&self) -> String {
        let mut text = String::new();
        let rollout = &self.rollout;
        push_line(
            &mut text,
            &format!("# Rollout of {} revision {}", escape(&self.workload), rollout.revision),
        );
        let by = if rollout.published_by.is_empty() { "an unknown user" } else { &rollout.published_by };
        let from = rollout.from.map_or_else(|| "nothing".to_owned(), |from| format!("revision {from}"));
        for (label, value) in [
            ("State", rollout.state.label().to_owned()),
            ("Summary", self.summary.clone()),
            ("Published", format!("{} by {by}, from {from}", rollout.started_at)),
            ("State since", rollout.since.to_string()),
            ("On failure", rollout.strategy.on_failure.as_str().to_owned()),
            ("Report made", self.generated_at.to_string()),
        ] {
            push_line(&mut text, &format!("- {label}: {}", escape(&value)));
        }
        push_line(&mut text, "\n## Waves\n");
        self.push_waves(&mut text);
        push_line(&mut text, "\n## Clusters\n");
        self.push_clusters(&mut text);
        text
    }

    fn push_waves(&self, text: &mut String) {
        push_row(
            text,
            &[
                "Wave",
                "State",
                "Clusters",
                "Operational",
                "Failing",
                "In progress",
                "Deferred",
                "Waiting",
                "Rolled back",
                "Opened",
                "Done",
                "Approved by",
                "Result approved by",
            ],
        );
        push_line(text, &format!("|{}", " --- |".repeat(13)));
        let time = |at: Option<Timestamp>| at.map(|at| at.to_string()).unwrap_or_default();
        for (at, wave) in self.rollout.waves.iter().enumerate() {
            let counts = [
                wave.clusters,
                wave.operational,
                wave.failing,
                wave.in_transition,
                wave.deferred,
                wave.gated,
                wave.rolled_back,
            ];
            let mut cells = vec![wave.name.clone(), self.rollout.wave_label(at).to_owned()];
            cells.extend(counts.map(|count| count.to_string()));
            cells.extend([time(wave.opened_at), time(wave.done_at)]);
            for (by, at) in
                [(&wave.approved_by, wave.approved_at), (&wave.result_approved_by, wave.result_approved_at)]
            {
                let by = by.as_deref().unwrap_or_default();
                cells.push(at.map_or_else(|| by.to_owned(), |at| format!("{by} at {at}")));
            }
            push_row(text, &cells);
        }
    }

    fn push_clusters(&self, text: &mut String) {
        if self.clusters.is_empty() {
            push_line(text, "No cluster is to have this revision any more: the waves have the last numbers.");
            return;
        }
        push_row(text, &["Wave", "Cluster", "Status", "State", "Released", "Applied", "Since", "Message"]);
        push_line(text, &format!("|{}", " --- |".repeat(8)));
        for one in &self.clusters {
            let cells = [
                one.wave_name.clone(),
                one.name.clone(),
                one.status.label().to_owned(),
                one.state.label().to_owned(),
                format_revision(one.released_revision),
                format_revision(one.applied_revision),
                one.since.to_string(),
                one.message.clone(),
            ];
            push_row(text, &cells);
        }
        if self.omitted > 0 {
            push_line(text, &format!("\n{} more clusters are left out.", self.omitted));
        }
    }

    /// The clusters as CSV (RFC 4180) with a head. No cell begins with a character that makes a spreadsheet read it as a formula: such a
    /// text has an apostrophe before it. If clusters are left out, the last row says how many.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let head =
            ["wave", "waveName", "cluster", "status", "state", "released", "applied", "since", "message"];
        push_csv_row(&mut text, &head);
        for one in &self.clusters {
            let number =
                |revision: Option<u32>| revision.map(|number| number.to_string()).unwrap_or_default();
            let cells = [
                (one.wave + 1).to_string(),
                one.wave_name.clone(),
                one.name.clone(),
                one.status.as_str().to_owned(),
                one.state.as_str().to_owned(),
                number(one.released_revision),
                number(one.applied_revision),
                one.since.to_string(),
                one.message.clone(),
            ];
            push_csv_row(&mut text, &cells);
        }
        if self.omitted > 0 {
            let message = format!("{} more clusters are left out.", self.omitted);
            push_csv_row(&mut text, &["", "", "", "", "", "", "", "", message.as_str()]);
        }
        text
    }
}

fn format_revision(revision: Option<u32>) -> String {
    revision.map_or_else(|| "none".to_owned(), |number| format!("r{number}"))
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// A row of a table in Markdown.
fn push_row(text: &mut String, cells: &[impl AsRef<str>]) {
    text.push('|');
    for cell in cells {
        text.push(' ');
        text.push_str(&escape(cell.as_ref()));
        text.push_str(" |");
    }
    text.push('\n');
}

/// A text in Markdown, in one line.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in in_one_line(text).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '&' | '~' | '!') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A text without line breaks and other control characters, also those that change the direction of what follows.
fn in_one_line(text: &str) -> String {
    let is_hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().map(|c| if is_hidden(c) { ' ' } else { c }).collect()
}

/// A row of CSV. Every cell is quoted.
fn push_csv_row(text: &mut String, cells: &[impl AsRef<str>]) {
    for (at, cell) in cells.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        let cell = in_one_line(cell.as_ref());
        // Spreadsheets ignore blanks before a formula, and read the full-width forms of these characters as well.
        let first = cell.trim_start().chars().next();
        let is_formula =
            first.is_some_and(|c| matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠'));
        text.push('"');
        if is_formula {
            text.push('\'');
        }
        text.push_str(&cell.replace('"', "\"\""));
        text.push('"');
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kubernetes::id::WorkloadId;
    use crate::model::release::ReleaseState;
    use crate::model::rollout::{RolloutClusterStatus, RolloutStrategy};

    fn report(message: &str) -> RolloutReport {
        let at = Timestamp::from_millis(0);
        let strategy: RolloutStrategy = serde_json::from_value(
            json!({ "waves": [{ "name": "canary", "approval": true }, { "name": "rest" }] }),
        )
        .unwrap();
        let rollout = Rollout::new(WorkloadId::from_parts(1, 1), (Some(1), 2), strategy, at);
        let rollout = Rollout { published_by: "ann".into(), ..rollout };
        let cluster = RolloutCluster {
            name: "eu-1".into(),
            wave: 0,
            wave_name: "canary".into(),
            status: RolloutClusterStatus::Failing,
            state: ReleaseState::Degraded,
            released_revision: Some(2),
            applied_revision: None,
            since: at,
            message: message.into(),
        };
        let summary = rollout.message(at);
        let (workload, clusters) = ("web".to_owned(), vec![cluster]);
        RolloutReport { workload, generated_at: at, summary, rollout, clusters, omitted: 0 }
    }

    #[test]
    fn f4b_a_cell_of_the_csv_report_is_never_a_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r\n=1", "＝1"] {
            let csv = report(text).to_csv();
            let row = csv.lines().nth(1).unwrap();
            let cell = row.rsplit(",\"").next().unwrap();
            assert!(cell.starts_with('\''), "{text:?}: {row}");
            assert_eq!(csv.lines().count(), 2, "{csv}");
        }
        let csv = report("it said \"no\", twice").to_csv();
        assert_eq!(
            csv,
            "\"wave\",\"waveName\",\"cluster\",\"status\",\"state\",\"released\",\"applied\",\"since\",\"message\"\r\n\
             \"1\",\"canary\",\"eu-1\",\"failing\",\"Degraded\",\"2\",\"\",\"1970-01-01T00:00:00.000Z\",\
             \"it said \"\"no\"\", twice\"\r\n"
        );
    }

    #[test]
    fn f4b_the_report_in_markdown_escapes_what_users_and_clusters_wrote() {
        let mut report = report("![x](https://evil.example) | <b>\nnext");
        let text = report.to_markdown();
        assert!(text.starts_with("# Rollout of web revision 2\n- State: Awaiting approval\n"), "{text}");
        assert!(text.contains("- Summary: Wave 1 of 2 (canary) waits for approval.\n"), "{text}");
        assert!(text.contains("| canary | eu-1 | Failing | Degraded | r2 | none |"), "{text}");
        assert!(text.contains(r"\!\[x\](https://evil.example) \| \<b\> next |"), "{text}");
        report.omitted = 3;
        assert!(report.to_markdown().contains("3 more clusters are left out."));
        assert!(report.to_csv().contains("\"3 more clusters are left out.\""));
        report.clusters.clear();
        assert!(report.to_markdown().contains("the waves have the last numbers"));
    }
}
