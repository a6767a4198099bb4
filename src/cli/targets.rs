//! From the arguments to the resources that are meant.

use std::{
    collections::BTreeSet,
    ffi::{OsStr, OsString},
    io::{self, Read as _},
    path::Path,
};

use bstr::{BString, ByteSlice as _};
use git_agentlock::{
    git::{self, locate::Taken},
    owner::Owner,
    resource::{NamedId, ResourceKey},
};

use super::{
    args::Targets,
    context::{Context, Located},
    exit::Kind,
    failure::Failure,
    owner,
};

/// A file with more bytes of paths than this is a mistake.
const MAX_PATHSPEC_BYTES: u64 = 256 * 1024 * 1024;

/// What the arguments name, each resource once, and the notes about how they were understood.
pub(crate) struct Named {
    pub(crate) located: Vec<Located>,
    pub(crate) notes: Vec<String>,
}

/// Resolves all that was named. Nothing only when a file of paths is empty: then there is nothing to do, as for git.
pub(crate) fn resolve(context: &Context, targets: &Targets) -> Result<Named, Failure> {
    let mut paths: Vec<BString> = Vec::with_capacity(targets.paths.len());
    for path in &targets.paths {
        paths.push(argument_bytes(path)?);
    }
    if let Some(file) = &targets.pathspec_from_file {
        paths.extend(read_pathspecs(&context.cwd, file, targets.pathspec_file_nul)?);
    }
    let mut named = Named { located: Vec::new(), notes: Vec::new() };
    let mut seen: BTreeSet<(ResourceKey, bool, std::path::PathBuf)> = BTreeSet::new();
    let mut add = |located: Located, all: &mut Vec<Located>| {
        let resource = &located.resource;
        if seen.insert((resource.key(), resource.is_area(), located.store_dir.clone())) {
            all.push(located);
        }
    };
    for path in &paths {
        for (located, taken) in context.locate(path, targets.area)? {
            named.notes.extend(note(&located, taken, path));
            add(located, &mut named.located);
        }
    }
    for name in &targets.resources {
        let text = name.to_str().ok_or_else(|| Failure::invalid("--resource is not UTF-8").hint("name it TYPE:ID"))?;
        let name: NamedId = text.parse().map_err(|error: git_agentlock::resource::ResourceError| {
            Failure::invalid(error.to_string()).hint("name it TYPE:ID, such as plan:42, project:web or git:index")
        })?;
        add(context.named(name)?, &mut named.located);
    }
    if named.located.is_empty() && targets.pathspec_from_file.is_none() {
        return Err(nothing_named());
    }
    Ok(named)
}

/// What to say about how a path was understood.
fn note(located: &Located, taken: Taken, given: &BString) -> Option<String> {
    let resource = &located.resource;
    let as_file = format!("{resource} is taken as a file; add `/` for a directory and all below");
    match taken {
        Taken::AsNamed => None,
        Taken::NewFile if resource.path().is_some_and(|path| looks_like_a_name(path.as_bytes())) => {
            Some(format!("{resource} is taken as a file; for a named thing say --resource {resource}"))
        }
        Taken::NewFile => Some(as_file),
        Taken::NewFileInNewDirectory => match Context::from_the_top(located, given) {
            Some(meant) => Some(format!(
                "there is no {resource} here, but there is {}: paths are relative to the current directory",
                git_agentlock::text::escape_path(&meant)
            )),
            None => Some(as_file),
        },
        Taken::LinkToElsewhere => {
            Some(format!("{resource} leads out of this repository; what it leads to is not locked with it"))
        }
        Taken::EntryOfRepository => Some(format!(
            "{resource} is taken as the entry for another repository; add `/` for all that is in that one"
        )),
    }
}

/// `plan:42`.
fn looks_like_a_name(path: &[u8]) -> bool {
    std::str::from_utf8(path).is_ok_and(|path| !path.contains('/') && path.parse::<NamedId>().is_ok())
}

pub(crate) fn nothing_named() -> Failure {
    Failure::invalid("nothing was named")
        .hint("name a PATH, or --resource TYPE:ID; for all that you hold, `renew` and `release` take --all")
        .hint("usage: git agentlock acquire|renew|release|check PATH... [--owner ID]; `-h` shows all")
}

fn argument_bytes(argument: &OsStr) -> Result<BString, Failure> {
    #[cfg(unix)]
    {
        Ok(std::os::unix::ffi::OsStrExt::as_bytes(argument).into())
    }
    #[cfg(not(unix))]
    {
        argument.to_str().map(Into::into).ok_or_else(|| Failure::invalid("a path is not Unicode").hint("name another"))
    }
}

fn read_pathspecs(cwd: &Path, file: &Path, nul: bool) -> Result<Vec<BString>, Failure> {
    let shown = git_agentlock::text::escape_path(file);
    let mut bytes = Vec::new();
    let read = if file == Path::new("-") {
        io::stdin().lock().take(MAX_PATHSPEC_BYTES.saturating_add(1)).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(cwd.join(file))
            .and_then(|file| file.take(MAX_PATHSPEC_BYTES.saturating_add(1)).read_to_end(&mut bytes))
    };
    read.map_err(|error| {
        Failure::new(Kind::Invalid, format!("cannot read the paths from {shown}: {error}"))
            .hint("give a file with one path a line, or `-` for stdin")
    })?;
    if bytes.len() as u64 > MAX_PATHSPEC_BYTES {
        return Err(Failure::invalid(format!("{shown} has more than 256 MiB")).hint("name fewer paths at once"));
    }
    git::paths_in(bytes.as_bstr(), nul).map_err(|line| {
        Failure::invalid(format!("{shown}:{line}: the quoting is broken"))
            .hint("quote as `git ls-files` does, or use --pathspec-file-nul")
    })
}

/// Who asks. The Python lock manager took a session as the second word.
pub(crate) fn owner(context: &Context, given: Option<&OsStr>, paths: &[OsString]) -> Result<Owner, Failure> {
    owner::required(given).map_err(|failure| match looks_like_path_and_session(context, paths, given.is_some()) {
        true => failure.hint("if the second path is meant as the session, give it as --owner"),
        false => failure,
    })
}

/// `acquire PATH SESSION`, as the Python lock manager took it, would lock a second path here.
pub(crate) fn looks_like_path_and_session(context: &Context, paths: &[OsString], owner_given: bool) -> bool {
    let [_, second] = paths else { return false };
    let text = second.to_string_lossy();
    !owner_given && !text.contains(['/', '.', '\\']) && std::fs::symlink_metadata(context.cwd.join(second)).is_err()
}
