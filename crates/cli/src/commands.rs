//! The commands, one file each.

use crate::args::{Cli, Command};
use crate::exit::Exit;
use crate::failure::{Failure, Told};
use crate::nearest::nearest;
use crate::output::Out;
use crate::remote::Remote;

pub mod apply;
pub mod cluster;
pub mod completion;
pub mod context;
pub mod delete;
pub mod diagnose;
pub mod events;
pub mod explain;
pub mod get;
pub mod group;
pub mod history;
pub mod keep;
pub mod login;
pub mod plan;
pub mod publish;
pub mod rollback;
pub mod rollout;
pub mod status;
pub mod sync;
pub mod unpublish;
pub mod validate;
pub mod version;

/// What a command is about: for "did you mean".
pub enum Subject {
    Workload(String),
    Cluster(String),
    Nothing,
}

/// Runs the command and says how it ended.
pub async fn run(cli: Cli, out: &mut Out) -> Exit {
    let Cli { globals, command } = cli;
    let (failure, remote, subject) = match command {
        Command::Validate(command) => (command.run(out), None, Subject::Nothing),
        Command::Completion(command) => (command.run(), None, Subject::Nothing),
        Command::Login(command) => (command.run(&globals, out).await, None, Subject::Nothing),
        Command::Context(command) => (command.run(&globals, out), None, Subject::Nothing),
        Command::Version(command) => (command.run(&globals, out).await, None, Subject::Nothing),
        command => match Remote::connect(&globals, out) {
            Ok(remote) => {
                let subject = subject(&command);
                (remotely(command, &remote, out).await, Some(remote), subject)
            }
            Err(failure) => (Err(failure), None, Subject::Nothing),
        },
    };
    match failure {
        Ok(exit) => exit,
        Err(failure) => tell(failure, remote.as_ref(), subject, out).await,
    }
}

/// The names after `--clusters`. An unset variable in a script must not mean every cluster: a flag without a name is an
/// error with this hint.
fn named(clusters: &[String], hint: &str) -> Result<Vec<String>, Failure> {
    if clusters.iter().any(|name| name.trim().is_empty()) {
        return Err(Failure::usage("--clusters holds an empty name.", hint));
    }
    Ok(clusters.iter().map(|name| name.trim().to_owned()).collect())
}

async fn remotely(command: Command, remote: &Remote, out: &mut Out) -> Result<Exit, Failure> {
    match command {
        Command::Apply(command) => command.run(remote, out).await,
        Command::Plan(command) => command.run(remote, out).await,
        Command::Diff(command) => command.run(remote, out).await,
        Command::Publish(command) => command.run(remote, out).await,
        Command::Status(command) => command.run(remote, out).await,
        Command::Get(command) => command.run(remote, out).await,
        Command::Sync(command) => command.run(remote, out).await,
        Command::Keep(command) => command.run(remote, out).await,
        Command::Unpublish(command) => command.run(remote, out).await,
        Command::Delete(command) => command.run(remote, out).await,
        Command::History(command) => command.run(remote, out).await,
        Command::Rollback(command) => command.run(remote, out).await,
        Command::Rollout(command) => command.run(remote, out).await,
        Command::Events(command) => command.run(remote, out).await,
        Command::Cluster(command) => command.run(remote, out).await,
        Command::Group(command) => command.run(remote, out).await,
        Command::Explain(command) => command.run(remote, out).await,
        Command::Diagnose(command) => command.run(remote, out).await,
        Command::Validate(_)
        | Command::Completion(_)
        | Command::Login(_)
        | Command::Context(_)
        | Command::Version(_) => Ok(Exit::Done),
    }
}

fn subject(command: &Command) -> Subject {
    let workload = |name: &str| Subject::Workload(name.to_owned());
    match command {
        Command::Plan(command) => workload(&command.workload),
        Command::Diff(command) => workload(&command.workload),
        Command::Publish(command) => workload(&command.workload),
        Command::Status(status::Status { workload: Some(name), .. }) => workload(name),
        Command::Sync(command) => workload(&command.workload),
        Command::Keep(command) => workload(&command.workload),
        Command::Unpublish(command) => workload(&command.workload),
        Command::Delete(command) => workload(&command.workload),
        Command::History(command) => workload(&command.workload),
        Command::Rollback(command) => workload(command.workload()),
        Command::Rollout(command) => workload(command.workload()),
        Command::Explain(explain::Explain::Placement(command)) => workload(&command.workload),
        Command::Get(command) => command.subject(),
        Command::Diagnose(command) => command.subject(),
        Command::Cluster(command) => command.subject(),
        _ => Subject::Nothing,
    }
}

async fn tell(failure: Failure, remote: Option<&Remote>, subject: Subject, out: &Out) -> Exit {
    let not_found = matches!(&failure, Failure::Wire(error) if error.is_not_found());
    let Some(mut told) = failure.told(remote) else { return Exit::Done };
    if let (true, Some(remote)) = (not_found, remote) {
        suggest(&mut told, remote, &subject).await;
    }
    out.failure(&told);
    told.exit
}

/// Adds the nearest name to "there is no such thing", as far as that can be found out.
async fn suggest(told: &mut Told, remote: &Remote, subject: &Subject) {
    let (name, names, list) = match subject {
        Subject::Workload(name) => (name, get::workload_names(remote).await, "flotilla get workloads"),
        Subject::Cluster(name) => (name, cluster::names(remote).await, "flotilla get clusters"),
        Subject::Nothing => return,
    };
    let names = names.unwrap_or_default();
    told.hint = match nearest(name, names.iter().map(String::as_str)) {
        Some(near) => format!("Did you mean {near:?}?"),
        None => format!("\"{list}\" lists what there is."),
    };
}
