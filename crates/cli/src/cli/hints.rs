//! Tests that commands and flags which messages name exist, in the command line and in what the server answers.

use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory};

use super::Cli;

/// Folders of the crates whose messages name commands.
const FOLDERS: [&str; 4] = ["crates/cli/src", "crates/domain/src", "crates/hub/src", "server/src"];

fn list_sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            list_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The commands that a line of source names in a message: after a quote or a colon, up to the end of the command.
fn named_commands(line: &str) -> Vec<String> {
    let mut commands = Vec::new();
    for start in ["\"flotilla ", ": flotilla "] {
        for rest in line.split(start).skip(1) {
            let end = rest.find(['"', ';', '(', ')', '\\']).unwrap_or(rest.len());
            commands.push(rest[..end].to_owned());
        }
    }
    commands
}

/// What does not exist of a command with its flags; `None` if all of it does.
fn find_unknown(root: &Command, text: &str) -> Option<String> {
    let mut command = root;
    let mut globals = root.get_arguments().filter(|one| one.is_global_set());
    let mut is_path = true;
    for word in text.split_whitespace() {
        let word = word.trim_end_matches(['.', ',', ':']);
        if let Some(flag) = word.strip_prefix("--") {
            let flag = flag.split('=').next().unwrap_or(flag);
            let has_flag = |one: &clap::Arg| one.get_long() == Some(flag);
            if !command.get_arguments().any(has_flag) && !globals.any(has_flag) {
                return Some(format!("--{flag} of {:?}", command.get_name()));
            }
            continue;
        }
        match command.find_subcommand(word).filter(|_| is_path) {
            Some(next) => command = next,
            None if is_path && command.is_subcommand_required_set() => {
                return Some(format!("{word:?} of {:?}", command.get_name()));
            }
            None => is_path = false,
        }
    }
    (command.is_subcommand_required_set()).then(|| format!("a subcommand of {:?}", command.get_name()))
}

#[test]
fn s0_15_every_command_and_flag_in_a_message_exists() {
    let mut root = Cli::command();
    root.build();
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    FOLDERS.iter().for_each(|folder| list_sources(&workspace.join(folder), &mut sources));
    let (mut checked, mut unknown) = (0, Vec::new());
    for path in sources.iter().filter(|path| !path.ends_with("cli/hints.rs")) {
        let text = std::fs::read_to_string(path).unwrap();
        for (number, line) in
            text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            for command in named_commands(line) {
                checked += 1;
                if let Some(what) = find_unknown(&root, &command) {
                    unknown.push(format!("{}:{}: {what} in {command:?}", path.display(), number + 1));
                }
            }
        }
    }
    assert!(checked > 40, "only {checked} commands are found in messages");
    assert_eq!(unknown, Vec::<String>::new());
}

#[test]
fn an_unknown_command_or_flag_in_a_message_is_found() {
    let mut root = Cli::command();
    root.build();
    let lines = |line: &str| named_commands(line).iter().filter_map(|text| find_unknown(&root, text)).count();
    assert_eq!(lines(r#""Run \"flotilla publish {name} --wait\"""#), 0);
    assert_eq!(lines(r#""Run it: flotilla publish {name} --await""#), 1);
    assert_eq!(lines(r#""\"flotilla promote web\" continues""#), 1);
    assert_eq!(lines(r#""\"flotilla cluster\" lists them""#), 1);
}
