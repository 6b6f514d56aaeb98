//! Archives as `helm package` writes them, and archives that nothing should read.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;
use crate::requester::run_for_requester;

mod subcharts;

const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: \"9\"\nkubeVersion: \">=1.25\"\n";

/// An entry of a hostile archive: its name is written as it is.
struct Entry<'a> {
    name: &'a [u8],
    kind: EntryType,
    link: &'a str,
    body: &'a [u8],
    /// The size that the header states, if it is not that of the body.
    stated_size: Option<u64>,
}

fn file<'a>(name: &'a str, body: &'a str) -> Entry<'a> {
    Entry {
        name: name.as_bytes(),
        kind: EntryType::Regular,
        link: "",
        body: body.as_bytes(),
        stated_size: None,
    }
}

fn pack(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut builder = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for entry in entries {
        let mut header = Header::new_ustar();
        header.set_entry_type(entry.kind);
        header.set_size(entry.stated_size.unwrap_or(entry.body.len() as u64));
        header.set_mode(0o644);
        // Written directly: the library refuses the names that are tested here.
        let raw = header.as_old_mut();
        raw.name[..entry.name.len()].copy_from_slice(entry.name);
        raw.linkname[..entry.link.len()].copy_from_slice(entry.link.as_bytes());
        header.set_cksum();
        builder.append(&header, entry.body).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

/// The message about a chart with this additional entry.
fn rejected(entry: Entry<'_>) -> String {
    let archive = pack(&[file("web/Chart.yaml", CHART), entry]);
    ChartArchive::read(&archive).unwrap_err().to_string()
}

#[test]
fn a_chart_is_read_with_its_metadata_values_and_readme() {
    let archive = pack(&[
        Entry { kind: EntryType::Directory, ..file("web/", "") },
        file("web/Chart.yaml", CHART),
        file("web/values.yaml", "replicas: 1 # how many\n"),
        file("web/README.md", "# Web"),
        file("web/templates/a.yaml", "x: {{ .Capabilities.KubeVersion }}"),
        file("web/charts/sub/templates/b.yaml", "y: {{ randAlphaNum 5 }}"),
    ]);
    let chart = ChartArchive::read(&archive).unwrap();
    let metadata = chart.metadata();
    assert_eq!((&*metadata.name, &*metadata.version, &*metadata.app_version), ("web", "1.2.3", "9"));
    assert_eq!(metadata.kubernetes_range, ">=1.25");
    assert_eq!(chart.default_values(), "replicas: 1 # how many\n");
    assert_eq!((chart.readme(), chart.values_schema()), (Some("# Web"), None));
    assert!(chart.contains_text("Capabilities") && chart.may_be_random(""));
    assert_eq!(
        ChartArchive::read(&chart.pack().unwrap()).unwrap(),
        chart,
        "packed again, it is the same chart"
    );
}

#[test]
fn a_word_is_random_only_as_a_function_in_an_expression() {
    let chart = |template: &str| {
        let archive = pack(&[file("web/Chart.yaml", CHART), file("web/templates/a.yaml", template)]);
        ChartArchive::read(&archive).unwrap().may_be_random("")
    };
    assert!(chart("a: {{ now | date \"2006\" }}"));
    assert!(!chart("a: {{ .Values.knownHosts }} # now"));
    assert!(!chart("a: {{ .Values.now_or_never }}"));
    assert!(
        chart("a: {{ printf \"{{ %s }}\" .Values.a | default now }}"),
        "braces in a text of an expression"
    );
}

#[test]
fn a_template_calls_a_function_only_in_an_expression() {
    let found = |template: &str| {
        let archive = pack(&[
            file("web/Chart.yaml", CHART),
            file("web/templates/a.yaml", template),
            file("web/values.yaml", "a: \"{{ lookup }}\"\n"),
        ]);
        ChartArchive::read(&archive).unwrap().templates_with_function("lookup")
    };
    assert_eq!(found("a: {{ (lookup \"v1\" \"Secret\" \"shop\" \"web\").data }}"), ["templates/a.yaml"]);
    assert_eq!(found("a: {{ .Values.lookups }} # lookup"), [""; 0]);
}

#[test]
fn entries_that_leave_the_folder_are_rejected_with_their_name() {
    for name in
        ["../evil", "web/../../evil", "/etc/passwd", "web//a", "web/./a", "other/a", "web\\..\\evil", "C:/a"]
    {
        let message = rejected(file(name, "x"));
        assert!(message.starts_with("The archive is rejected: its entry "), "{name}: {message}");
    }
    assert!(rejected(file("web/a\u{1b}[31m", "x")).contains("not allowed"));
}

#[test]
fn links_devices_and_pipes_are_rejected_with_their_name() {
    for (kind, word) in [
        (EntryType::Symlink, "a symbolic link"),
        (EntryType::Link, "a hard link"),
        (EntryType::Char, "a device"),
        (EntryType::Block, "a device"),
        (EntryType::Fifo, "a pipe"),
        (EntryType::Continuous, "of an unusual type"),
    ] {
        let entry = Entry { kind, link: "/etc/passwd", ..file("web/Chart.lock", "") };
        assert_eq!(
            rejected(entry),
            format!("The archive is rejected: its entry \"web/Chart.lock\" is {word}, not a plain file.")
        );
    }
}

#[test]
fn names_that_file_systems_read_differently_are_rejected() {
    let twice = rejected(file("web/Chart.yaml", CHART));
    assert!(twice.contains("stands there twice"), "{twice}");
    let case = pack(&[file("web/Chart.yaml", CHART), file("web/A.yaml", ""), file("web/a.yaml", "")]);
    assert!(ChartArchive::read(&case).unwrap_err().to_string().contains("only by case"));
    let encoded = pack(&[file("web/Chart.yaml", CHART), file("web/\u{e9}", ""), file("web/e\u{301}", "")]);
    assert!(ChartArchive::read(&encoded).unwrap_err().to_string().contains("encoding"));
    let latin = Entry { name: b"web/caf\xe9", ..file("", "") };
    assert!(rejected(latin).contains("not UTF-8"));
}

#[test]
fn sizes_out_of_proportion_are_rejected_before_they_are_read() {
    let bomb = pack(&[file("web/Chart.yaml", CHART), file("web/a", &"0".repeat(9 << 20))]);
    let message = ChartArchive::read(&bomb).unwrap_err().to_string();
    assert!(message.contains("\"web/a\" exceeds the limit of"), "{message}");
    let large = Entry { stated_size: Some(1 << 33), ..file("web/a", "x") };
    assert!(rejected(large).contains("has 8589934592 bytes; at most 10485760 are allowed in one file"));
    let many: Vec<String> = (0..=MAX_FILES).map(|n| format!("web/{n}")).collect();
    let entries: Vec<Entry<'_>> = many.iter().map(|name| file(name, "")).collect();
    let message = ChartArchive::read(&pack(&entries)).unwrap_err().to_string();
    assert!(message.contains("one more than the 10000 files"), "{message}");
    assert!(
        ChartArchive::read(&vec![0; MAX_ARCHIVE_BYTES + 1])
            .unwrap_err()
            .to_string()
            .contains("at most 12582912")
    );
}

#[test]
fn what_is_no_chart_is_rejected() {
    let only =
        |chart: &str| ChartArchive::read(&pack(&[file("web/Chart.yaml", chart)])).unwrap_err().to_string();
    assert_eq!(
        ChartArchive::read(&pack(&[file("web/a", "")])).unwrap_err().to_string(),
        "The archive has no Chart.yaml."
    );
    assert!(ChartArchive::read(b"PK\x03\x04").unwrap_err().to_string().contains("is no readable .tgz file"));
    assert!(ChartArchive::read(&pack(&[])).unwrap_err().to_string().contains("is empty"));
    assert!(only("apiVersion: v2\nname: ..\nversion: 1.0.0\n").contains("\"..\" as the name"));
    assert!(only("apiVersion: v2\nname: web\nversion: one\n").contains("no semantic version"));
    assert!(only("apiVersion: v2\nname: shop\nversion: 1.0.0\n").contains("names the chart \"shop\""));
    assert!(only("apiVersion: v2\nname: web\nversion: 1.0.0\ntype: library\n").contains("library chart"));
    assert!(only("name: web\nname: web\n").contains("is not valid"));
}

#[test]
fn a_truncated_archive_is_rejected() {
    let whole = pack(&[file("web/Chart.yaml", CHART), file("web/values.yaml", &"a: 1\n".repeat(500))]);
    for length in [10, whole.len() / 2, whole.len() - 20] {
        assert!(ChartArchive::read(&whole[..length]).is_err(), "{length} bytes");
    }
    let mut trailing = whole.clone();
    trailing.write_all(b"more").unwrap();
    assert!(ChartArchive::read(&trailing).is_ok_and(|chart| chart.metadata().name == "web"));
}

#[test]
fn addresses_in_a_values_schema_are_listed() {
    let schema = r##"{"$ref": "https://example.com/a.json", "properties": {"b": {"$ref": "#/definitions/b"}, "c": {"$ref": "file:///etc/passwd"}}}"##;
    let archive = pack(&[file("web/Chart.yaml", CHART), file("web/values.schema.json", schema)]);
    let refs = ChartArchive::read(&archive).unwrap().remote_schema_refs();
    assert_eq!(refs, ["file:///etc/passwd", "https://example.com/a.json"]);

    let schema = r##"{"$schema": "http://127.0.0.1/meta.json", "$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#", "$dynamicRef": "http://127.0.0.1/b.json", "$ref": "#/a"}}}"##;
    let archive = pack(&[file("web/Chart.yaml", CHART), file("web/values.schema.json", schema)]);
    let refs = ChartArchive::read(&archive).unwrap().remote_schema_refs();
    assert_eq!(refs, ["http://127.0.0.1/b.json", "http://127.0.0.1/meta.json"]);
}

#[test]
fn p19_addresses_in_a_schema_of_millions_of_values_are_listed_up_to_a_bound() {
    let nested = "[[[]]],".repeat(200_000);
    let refs: String =
        (0..1_000).map(|number| format!("{{\"$ref\":\"https://a.test/{number}\"}},")).collect();
    let schema = format!("{{\"x\":[{nested}{refs}{{\"$ref\":\"https://b.test/{}\"}}]}}", "b".repeat(10_000));
    let chart = |schema: String| {
        let files = [("Chart.yaml", CHART.to_owned()), ("values.schema.json", schema)];
        let files = files.map(|(name, text)| (name.to_owned(), text.into_bytes()));
        ChartArchive::from_files(files.into_iter().collect()).unwrap()
    };
    let found = chart(schema).remote_schema_refs();
    assert_eq!(found.len(), 100);
    assert!(found.iter().all(|one| one.starts_with("https://a.test/")), "{found:?}");
    let long = format!("{{\"$ref\":\"https://b.test/{}\"}}", "b".repeat(10_000));
    assert_eq!(chart(long).remote_schema_refs()[0].len(), 500);
    assert_eq!(chart("{\"$ref\": \"https://a.test\"".to_owned()).remote_schema_refs(), Vec::<String>::new());
}

#[test]
fn p19_a_chart_file_with_too_many_values_is_refused_with_its_name() {
    let read = |annotations: usize| {
        let annotations: String = (0..annotations).map(|number| format!("  k{number}: v\n")).collect();
        let text = format!("{CHART}annotations:\n{annotations}");
        ChartArchive::read(&pack(&[file("web/Chart.yaml", &text)]))
    };
    assert!(read(1_000).is_ok());
    let refused = read(5_000).unwrap_err().to_string();
    assert!(refused.contains("\"Chart.yaml\"") && refused.contains("more than 4000 values"), "{refused}");
}

#[tokio::test]
async fn p20_a_user_who_reads_large_charts_waits_for_them_and_others_do_not() {
    let reserve = async |user: &str, bytes: usize| {
        let reserved = run_for_requester(user.to_owned(), reserve_memory(bytes));
        tokio::time::timeout(Duration::ZERO, reserved).await.map(|reserved| reserved.unwrap())
    };
    let first = reserve("eve", MAX_ARCHIVE_BYTES).await.unwrap();
    // The half of the memory of one user has room for one large chart; two do not exceed the memory of all.
    assert!(reserve("eve", MAX_ARCHIVE_BYTES).await.is_err());
    let of_others = reserve("ada", 1 << 10).await.unwrap();
    drop((first, of_others));
    reserve("eve", MAX_ARCHIVE_BYTES).await.unwrap();
}
