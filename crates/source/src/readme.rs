//! The README of a chart as HTML.
//!
//! The text is untrusted. The HTML is safe by construction: it has only the elements that the Markdown writer creates, with
//! escaped text. HTML inside the Markdown is left out, links lead to `http`, `https` and `mailto` only, and images, which
//! would be requested from other servers, are replaced by their descriptions.

use pulldown_cmark::{Alignment, CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// Longest README that is shown, in bytes; a longer one is cut.
pub const MAX_README_BYTES: usize = 256 << 10;

/// Renders Markdown. Headings are two levels lower, below those of the page.
pub fn render_html(markdown: &str) -> String {
    let end = markdown.floor_char_boundary(MAX_README_BYTES);
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let events = Parser::new_ext(&markdown[..end], options);
    let mut filter = MarkdownFilter { has_link: Vec::new() };
    let safe = events.filter_map(|event| filter.convert(event));
    let mut text = String::with_capacity(end + end / 4);
    html::push_html(&mut text, safe);
    if end < markdown.len() {
        text.push_str("<p>The README is longer; the rest is not shown.</p>\n");
    }
    text
}

/// Replaces what is not safe among the events of the Markdown parser.
struct MarkdownFilter {
    /// Whether each open link is written.
    has_link: Vec<bool>,
}

impl MarkdownFilter {
    /// The event as it is written; `None` to leave it out. The text inside it follows as events of its own.
    fn convert<'a>(&mut self, event: Event<'a>) -> Option<Event<'a>> {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => None,
            Event::Start(Tag::HtmlBlock | Tag::Image { .. })
            | Event::End(TagEnd::HtmlBlock | TagEnd::Image) => None,
            Event::Start(Tag::Link { link_type, dest_url, id, .. }) => {
                let is_safe = is_safe_address(&dest_url);
                self.has_link.push(is_safe);
                let title = CowStr::Borrowed("");
                is_safe.then_some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
            }
            Event::End(TagEnd::Link) => self.has_link.pop().unwrap_or(false).then_some(event),
            Event::Start(Tag::Heading { level, .. }) => {
                let (level, id) = (lower(level), None);
                Some(Event::Start(Tag::Heading { level, id, classes: Vec::new(), attrs: Vec::new() }))
            }
            Event::End(TagEnd::Heading(level)) => Some(Event::End(TagEnd::Heading(lower(level)))),
            // An alignment would be a style attribute.
            Event::Start(Tag::Table(columns)) => {
                Some(Event::Start(Tag::Table(vec![Alignment::None; columns.len()])))
            }
            event => Some(event),
        }
    }
}

const fn lower(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        HeadingLevel::H2 => HeadingLevel::H4,
        HeadingLevel::H3 => HeadingLevel::H5,
        _ => HeadingLevel::H6,
    }
}

/// Whether a link may lead there: no `javascript:`, and no address relative to a repository that is not known here.
fn is_safe_address(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    matches!(scheme.as_deref(), Some("http" | "https" | "mailto"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_keeps_its_structure() {
        let text = "# Web\n\nA **chart**, see [docs](https://example.com/a?b=1&c).\n\n| a | b |\n|--|:-:|\n| `1` | 2 |\n\n- x\n";
        assert_eq!(
            render_html(text),
            "<h3>Web</h3>\n<p>A <strong>chart</strong>, see <a href=\"https://example.com/a?b=1&amp;c\">docs</a>.</p>\n<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>\n<tr><td><code>1</code></td><td>2</td></tr>\n</tbody></table>\n<ul>\n<li>x</li>\n</ul>\n"
        );
    }

    #[test]
    fn nothing_of_a_readme_runs_or_is_requested() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "[a](javascript:alert(1)) [b](JaVaScRiPt:x) [c](data:text/html,x) [d](//evil.example) [e](./file)",
            "![logo](https://evil.example/pixel.png)",
            "# a {#id .class onclick=alert(1)}",
            "```\"><script>\nx\n```",
            "[a][b]\n\n[b]: javascript:alert(1) \"title\"",
            "| a |\n|:-|\n| <b onclick=x>y</b> |",
        ];
        for text in hostile {
            let html = render_html(text);
            for part in [
                "<script",
                "<img",
                "<b",
                "javascript:",
                "JaVaScRiPt:",
                "data:",
                "evil.example/pixel",
                "style=",
                " id=",
            ] {
                let is_expected = part == "<b" && html.contains("<blockquote");
                assert!(is_expected || !html.contains(part), "{text:?} becomes {html:?}");
            }
        }
        assert_eq!(
            render_html("<https://example.com/\"onmouseover=alert(1)>"),
            "<p><a href=\"https://example.com/%22onmouseover=alert(1)\">https://example.com/\"onmouseover=alert(1)</a></p>\n"
        );
        assert_eq!(render_html("![logo](https://evil.example/pixel.png)"), "<p>logo</p>\n");
        assert_eq!(render_html("[a](javascript:alert(1))"), "<p>a</p>\n");
    }

    #[test]
    fn a_long_readme_is_cut_and_says_so() {
        let html = render_html(&"ä ".repeat(MAX_README_BYTES));
        assert!(html.len() < 2 * MAX_README_BYTES && html.ends_with("the rest is not shown.</p>\n"));
    }
}
