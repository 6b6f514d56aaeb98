//! `flotilla user`: users and their roles.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::identity_provider::UserIdentity;
use domain::role::Role;
use domain::user::NewElevation;
use wire::{NewUser, PasswordChange, PasswordLink};

use crate::clock;
use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, Table};
use crate::secret::read_secret;

/// The subcommands for users.
#[derive(Subcommand)]
pub enum UserCommand {
    /// List all users with their roles
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    Invite(InviteArgs),
    /// Change the role of a user
    SetRole {
        /// Name of the user
        user: String,
        /// The role: viewer, editor, publisher, approver or admin
        role: Role,
    },
    Elevate(ElevateArgs),
    /// End the higher role of a user before its time
    EndElevation {
        /// Name of the user
        user: String,
    },
    /// Create a link with which a user sets a new password; it is printed only once
    ResetPassword {
        /// Name of the user
        user: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    ChangePassword(ChangePasswordArgs),
    /// Disable a user: no session and no API token of the user is accepted
    Disable {
        /// Name of the user
        user: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
    /// Show why a user who signs in with an identity provider has the role: groups, and the roles that applied
    Explain {
        /// Name of the user
        user: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Enable a user again
    Enable {
        /// Name of the user
        user: String,
    },
}

/// Create a user and a link with which the user sets a password; it is printed only once
#[derive(Args)]
pub struct InviteArgs {
    /// The name to sign in with
    user: String,
    /// The role: viewer, editor, publisher, approver or admin
    #[arg(long, default_value_t = Role::Viewer, value_name = "ROLE")]
    role: Role,
    #[command(flatten)]
    output: OutputArgs,
}

/// Give a user a higher role until a time; it ends by itself
#[derive(Args)]
pub struct ElevateArgs {
    /// Name of the user
    user: String,
    /// The role, above that of the user and below admin
    #[arg(long, value_name = "ROLE")]
    role: Role,
    /// For how long, in minutes, at most 1440
    #[arg(long, default_value_t = 60, value_name = "N")]
    minutes: u32,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Change your own password; your other sessions in the console end
#[derive(Args)]
pub struct ChangePasswordArgs {
    /// File with your current password, - for standard input
    #[arg(long, value_name = "FILE")]
    current: PathBuf,
    /// File with your new password, at least 12 characters; - for standard input
    #[arg(long, value_name = "FILE")]
    new: PathBuf,
    /// Leave your sessions in the console as they are
    #[arg(long)]
    keep_sessions: bool,
}

impl ChangePasswordArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        if self.current.as_os_str() == "-" && self.new.as_os_str() == "-" {
            let hint = "Name a file for one of them.";
            return Err(Failure::usage("Standard input has one password, not both.", hint));
        }
        let change = PasswordChange {
            current_password: read_secret(&self.current)?,
            new_password: read_secret(&self.new)?,
            end_other_sessions: !self.keep_sessions,
        };
        remote.client.change_password(&change).await?;
        out.print_line("password changed")
    }
}

impl UserCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => print_list(remote, output, out).await?,
            Self::Invite(InviteArgs { user, role, output }) => {
                let link = remote.client.invite_user(&NewUser { name: user, role }).await?;
                print_link(remote, &link, output, out)?;
            }
            Self::SetRole { user, role } => {
                let user = remote.client.set_user_role(&user, role).await?;
                out.print_line(&format!("user/{} is {}", user.name, user.role))?;
            }
            Self::Elevate(ElevateArgs { user, role, minutes, reason }) => {
                let new = NewElevation { role, minutes, reason };
                let user = remote.client.elevate_user(&user, &new).await?;
                let until =
                    user.elevation.map(|one| format!(" until {}", one.expires_at)).unwrap_or_default();
                out.print_line(&format!("user/{} is {role}{until}", user.name))?;
            }
            Self::EndElevation { user } => {
                remote.client.end_elevation(&user).await?;
                out.print_line(&format!("user/{user} is no longer elevated"))?;
            }
            Self::ResetPassword { user, output } => {
                let link = remote.client.reset_password(&user).await?;
                print_link(remote, &link, output, out)?;
            }
            Self::ChangePassword(change) => change.run(remote, out).await?,
            Self::Disable { user, confirm } => {
                if !confirm.is_given() {
                    confirm.confirm(&describe_disabling(remote, &user).await?)?;
                }
                let user = remote.client.disable_user(&user).await?;
                out.print_line(&format!("user/{} disabled", user.name))?;
            }
            Self::Explain { user, output } => {
                let identity = remote.client.get_user_identity(&user).await?;
                print_identity(&identity, output, out)?;
            }
            Self::Enable { user } => {
                let user = remote.client.enable_user(&user).await?;
                out.print_line(&format!("user/{} enabled", user.name))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

/// Who the user is at the provider, what it said, and which roles followed from that.
fn print_identity(identity: &UserIdentity, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    if output.format.is_machine() {
        return out.print_value(identity, output.format);
    }
    let reading = &identity.reading;
    let matched = reading.matched.iter().map(|binding| format!("{}={}", binding.group, binding.role));
    let mut table = Table::new(&["FIELD", "VALUE"]);
    let mut add = |field: &str, value: String| {
        table.add_row().text(field).text(value);
    };
    add("provider", identity.provider.clone().unwrap_or_else(|| "(removed)".to_owned()));
    add("issuer", identity.issuer.clone());
    add("subject", identity.subject.clone());
    add("read", identity.checked_at.to_string());
    add("groups", format!("{}: {}", reading.group_count, reading.groups.join(", ")));
    add("roles of groups", matched.collect::<Vec<_>>().join(", "));
    add("role", reading.role.map_or("none", Role::as_str).to_owned());
    for claim in &reading.claims {
        add(&format!("claim {}", claim.name), claim.value.clone());
    }
    out.print_table(&table, "")
}

/// Who is disabled, and what that ends.
async fn describe_disabling(remote: &ServerConnection, name: &str) -> Result<String, Failure> {
    let users = remote.client.list_users().await?;
    let about = match users.iter().find(|user| user.name == name) {
        Some(user) => match user.last_sign_in_at {
            Some(at) => {
                format!(" ({}, last sign-in {} ago)", user.role, clock::format_age(at, clock::now()))
            }
            None => format!(" ({}, never signed in with a password)", user.role),
        },
        None => String::new(),
    };
    Ok(format!(
        "The sessions and API tokens of {name}{about} will be rejected. What {name} published stays published."
    ))
}

fn print_link(
    remote: &ServerConnection,
    link: &PasswordLink,
    output: OutputArgs,
    out: &Printer,
) -> Result<(), Failure> {
    if output.format.is_machine() {
        return out.print_value(link, output.format);
    }
    let name = &link.user.name;
    let Some(path) = &link.link else {
        return Err(Failure::new(
            format!(
                "An earlier attempt of this request did it. {}",
                link.omitted.as_deref().unwrap_or_default()
            ),
            format!("flotilla user reset-password {name}"),
        ));
    };
    out.print_note(&format!(
        "user/{name} is {}. Send this link to the user; it is shown only once, works once, and until {}:",
        link.user.role, link.expires_at
    ));
    out.print_line(&format!("{}{path}", remote.client.server_url()))
}

async fn print_list(remote: &ServerConnection, output: OutputArgs, out: &Printer) -> Result<(), Failure> {
    let users = remote.client.list_users().await?;
    if output.format.is_machine() {
        return out.print_value(&users, output.format);
    }
    let mut table = Table::new(&["NAME", "ROLE", "STATE", "LAST SIGN-IN"]);
    for user in &users {
        let last = user.last_sign_in_at.map_or_else(|| "never".to_owned(), |at| at.to_string());
        let role = match &user.elevation {
            Some(one) => format!("{} ({} until {})", user.role, one.role, one.expires_at),
            None => user.role.to_string(),
        };
        table.add_row().text(&user.name).text(role).text(user.state.label()).text(last);
    }
    out.print_table(&table, "There are no users.")
}
