//! `flotilla identity-provider`: providers of OpenID Connect that users sign in with.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::identity_provider::{GroupRole, IdentityProvider, IdentityProviderPut, ProviderTest};
use domain::role::Role;

use crate::confirm::ConfirmArgs;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};
use crate::secret::read_secret;

/// The subcommands for identity providers.
#[derive(Subcommand)]
pub enum IdentityProviderCommand {
    /// List the identity providers, without their secrets
    List {
        #[command(flatten)]
        output: OutputArgs,
    },
    Set(Box<SetIdentityProviderArgs>),
    /// Test the connection to an identity provider: discovery document, keys, scopes, and whether it accepts the client
    ///
    /// The exit code is 1 unless every check passed.
    Test {
        /// Name of the provider
        provider: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Remove an identity provider, and end its sessions; its users stay and can't sign in
    Remove {
        /// Name of the provider
        provider: String,
        #[command(flatten)]
        confirm: ConfirmArgs,
    },
}

/// Add an identity provider, or change it: what is not named gets its default, except the secret, which stays as it is
#[derive(Args)]
pub struct SetIdentityProviderArgs {
    /// Its name, in its addresses
    name: String,
    /// Its issuer, exactly as its discovery document names it
    #[arg(long, value_name = "URL")]
    issuer: String,
    /// The id of Flotilla at the provider
    #[arg(long, value_name = "ID")]
    client_id: String,
    /// File with the secret of Flotilla at the provider, or - for stdin [default: unchanged]
    #[arg(long, value_name = "FILE|-")]
    client_secret_file: Option<PathBuf>,
    /// Its name on the button of the sign-in page [default: its name]
    #[arg(long, value_name = "TEXT")]
    display_name: Option<String>,
    /// A scope to request; may be repeated [default: openid profile email offline_access]
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// The claim with the groups, a name or a JSON pointer such as /realm_access/roles [default: groups]
    #[arg(long, value_name = "CLAIM")]
    groups_claim: Option<String>,
    /// The claim from which the name of a new user is made [default: preferred_username]
    #[arg(long, value_name = "CLAIM")]
    name_claim: Option<String>,
    /// The role of the members of a group: viewer, editor, publisher, approver or admin; may be repeated
    #[arg(long = "group-role", value_name = "GROUP=ROLE", value_parser = parse_group_role)]
    group_roles: Vec<GroupRole>,
    /// Nobody can sign in with it, and its sessions end
    #[arg(long)]
    disabled: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The name of a group may contain an equals sign.
fn parse_group_role(text: &str) -> Result<GroupRole, String> {
    let (group, role) = text.rsplit_once('=').ok_or("write it as GROUP=ROLE, such as ops=publisher")?;
    let role = role.parse::<Role>().map_err(|error| error.to_string())?;
    Ok(GroupRole { group: group.to_owned(), role })
}

impl IdentityProviderCommand {
    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { output } => {
                print_list(&remote.client.list_identity_providers().await?, output.format, out)?;
            }
            Self::Set(set) => set.run(remote, out).await?,
            Self::Test { provider, output } => {
                let test = remote.client.test_identity_provider(&provider).await?;
                print_test(&test, output.format, out)?;
                if !test.succeeded {
                    return Ok(ExitStatus::Failed);
                }
            }
            Self::Remove { provider, confirm } => {
                confirm.confirm(&format!(
                    "The identity provider {provider} will be removed. Its users are signed out and can't sign in any more."
                ))?;
                remote.client.remove_identity_provider(&provider).await?;
                out.print_line(&format!("identity provider/{provider} removed"))?;
            }
        }
        Ok(ExitStatus::Success)
    }
}

impl SetIdentityProviderArgs {
    async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<(), Failure> {
        let put = IdentityProviderPut {
            display_name: self.display_name,
            issuer: self.issuer,
            client_id: self.client_id,
            client_secret: self.client_secret_file.as_deref().map(read_secret).transpose()?,
            scopes: Some(self.scopes).filter(|scopes| !scopes.is_empty()),
            groups_claim: self.groups_claim,
            name_claim: self.name_claim,
            roles: self.group_roles,
            enabled: Some(!self.disabled),
        };
        let saved = remote.client.put_identity_provider(&self.name, &put).await?;
        if self.output.format.is_machine() {
            return out.print_value(&saved, self.output.format);
        }
        out.print_line(&format!("identity provider/{} saved", saved.name))?;
        out.print_note(&format!("Redirect URI: {}", saved.redirect_uri));
        out.print_note(&format!("Back-channel logout URI: {}", saved.logout_uri));
        out.print_note(&format!("Test it: flotilla identity-provider test {}", saved.name));
        Ok(())
    }
}

fn print_test(test: &ProviderTest, format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(test, format);
    }
    let mut table = Table::new(&["CHECK", "RESULT", "MESSAGE"]);
    for check in &test.checks {
        let row = table.add_row().text(check.check.label()).text(check.outcome.as_str());
        row.text(&check.message);
    }
    out.print_table(&table, "Nothing was checked.")
}

fn print_list(providers: &[IdentityProvider], format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(&providers, format);
    }
    let mut table = Table::new(&["NAME", "ISSUER", "CLIENT", "STATE", "ROLES"]);
    for provider in providers {
        let roles = provider.roles.iter().map(|binding| format!("{}={}", binding.group, binding.role));
        let state = if provider.enabled { "enabled" } else { "disabled" };
        let row = table.add_row().text(&provider.name).text(&provider.issuer).text(&provider.client_id);
        row.text(state).text(roles.collect::<Vec<_>>().join(", "));
    }
    out.print_table(
        &table,
        "There are no identity providers: flotilla identity-provider set NAME --issuer URL --client-id ID",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_of_a_group_stands_behind_the_last_equals_sign() {
        let parsed = parse_group_role("cn=ops,dc=example=publisher").unwrap();
        assert_eq!((parsed.group.as_str(), parsed.role), ("cn=ops,dc=example", Role::Publisher));
        assert!(parse_group_role("ops").unwrap_err().contains("GROUP=ROLE"));
        assert!(parse_group_role("ops=king").unwrap_err().contains("viewer"));
    }
}
