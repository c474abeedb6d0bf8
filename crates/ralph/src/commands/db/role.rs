//! `ralph db role`: the roles that machines log in as.

use std::{
    fs::{File, Permissions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use super::{Keeper, ServerArg};
use crate::{cli::Global, error::CommandError, output, project::block_on};

subcommands! {
    RoleCommand {
        /// Add a role that machines log in as
        Add(self::RoleArgs => add; writes),
    }
}

/// The role may read and write rows of tenants, and can't change or delete what is only added to. Its password is made
/// up: 32 random letters and digits.
#[derive(Debug, clap::Args)]
pub(crate) struct RoleArgs {
    /// Name of the role
    name: String,

    /// Let it see this tenant alone; without it, the role may choose any tenant
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,

    /// File with its password; one that is not there is made, with a random password, and yours alone to read
    #[arg(long, value_name = "FILE")]
    password_file: Option<PathBuf>,

    #[command(flatten)]
    server: ServerArg,
}

/// The longest password that is read.
const MOST_BYTES: u64 = 1024;

fn add(args: &RoleArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let file = args.password_file.as_ref();
    let file = file.map(|file| keeper.project.surroundings.start.join(file));
    let given = file.as_deref().map(read_password).transpose()?.flatten();
    // Made first: a password that can't be written down would be lost.
    let new_file = match &file {
        Some(path) if given.is_none() => Some((path, make_private(path)?)),
        Some(_) | None => None,
    };
    let (name, tenant) = (&args.name, args.tenant.as_deref());
    let added = block_on(async {
        let added = keeper.admin.add_role(name, tenant, given.as_deref());
        Ok(added.await?)
    });
    let password = match (added, &new_file) {
        (Ok(password), _) => password,
        (Err(error), Some((path, _))) => {
            let _ = std::fs::remove_file(path);
            return Err(error);
        }
        (Err(error), None) => return Err(error),
    };
    let of = tenant.map_or_else(
        || "for any tenant".to_owned(),
        |tenant| format!("for tenant {tenant}"),
    );
    output::print(&format!("role {name} is added, {of}\n"));
    match (new_file, &file) {
        (Some((path, mut made)), _) => {
            let written = writeln!(made, "{password}").and_then(|()| made.sync_all());
            written.map_err(|error| cant("write", path, &error))?;
            output::print(&format!("  its password is in {}\n", path.display()));
        }
        (None, Some(path)) => {
            output::print(&format!("  with the password in {}\n", path.display()));
        }
        (None, None) => output::print(&format!(
            "  its password, which is shown this once: {password}\n"
        )),
    }
    Ok(ExitCode::SUCCESS)
}

/// The first line of a file; `None` where there is no such file.
fn read_password(path: &Path) -> Result<Option<String>, CommandError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(|error| cant("read", path, &error))?,
    };
    let mode = file.metadata().map(|data| data.permissions().mode());
    let mode = mode.map_err(|error| cant("read", path, &error))?;
    if mode & 0o077 != 0 {
        let said = format!("others can read {}, which holds a password", path.display());
        return Err(CommandError::user(said).hint("chmod 600 makes it yours alone"));
    }
    let mut text = String::new();
    let read = file.take(MOST_BYTES).read_to_string(&mut text);
    read.map_err(|error| cant("read", path, &error))?;
    let password = text.lines().next().unwrap_or_default().trim();
    if password.is_empty() {
        let said = format!("{} holds no password", path.display());
        return Err(CommandError::user(said).hint("delete it, and one is made up"));
    }
    Ok(Some(password.to_owned()))
}

fn make_private(path: &Path) -> Result<File, CommandError> {
    let made = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path);
    let made = made.map_err(|error| cant("make", path, &error))?;
    // Whatever the process takes out of modes.
    let set = made.set_permissions(Permissions::from_mode(0o600));
    set.map_err(|error| cant("make", path, &error))?;
    Ok(made)
}

fn cant(what: &str, path: &Path, error: &io::Error) -> CommandError {
    CommandError::user(format!("can't {what} {}: {error}", path.display()))
}
