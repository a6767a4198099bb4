//! The few things that are done in a hooks directory. The door to the operating system: nothing here replaces what it has not seen.

use std::{
    fs::{self, File},
    io::{self, Read as _, Write as _},
    path::{Path, PathBuf},
};

use super::{
    InstallError,
    stub::{self, Stub, Text},
};

/// No hook of ours is longer.
const MOST_BYTES: u64 = 64 * 1024;

/// What is at a path; links are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Nothing,
    Ours { stub: Stub, text: Vec<u8> },
    Edited,
    Foreign,
    Directory,
}

impl Entry {
    /// Whether it is the user's: their own hook, or ours with something of theirs in it.
    pub(super) fn is_of_user(&self) -> bool {
        matches!(self, Self::Foreign | Self::Edited)
    }
}

pub(super) fn failed<'p>(what: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> InstallError + use<'p> {
    move |source| InstallError::Io { what, path: path.to_owned(), source }
}

/// What was tried when something could not be looked at.
pub(super) const LOOK: &str = "look at";
/// What was tried when something could not be read.
pub(super) const READ: &str = "read";

pub(super) fn entry(path: &Path) -> Result<Entry, InstallError> {
    let meta = match fs::symlink_metadata(path) {
        // `core.hooksPath = /dev/null` is how people have no hooks at all.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Entry::Nothing);
        }
        meta => meta.map_err(failed(LOOK, path))?,
    };
    if meta.is_dir() {
        return Ok(Entry::Directory);
    }
    // A link is the user's, also when it leads to one of ours.
    if !meta.is_file() || meta.len() > MOST_BYTES {
        return Ok(Entry::Foreign);
    }
    match read(path) {
        Ok(text) => Ok(match stub::recognise(&text) {
            Text::Ours(stub) => Entry::Ours { stub, text },
            Text::Edited => Entry::Edited,
            Text::Foreign => Entry::Foreign,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Entry::Nothing),
        // What cannot be read was not written by us; it can still be run and renamed.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Entry::Foreign),
        Err(error) => Err(failed(READ, path)(error)),
    }
}

/// The beginning of a file, as far as anybody wants to know; links are followed, and only a regular file is read.
pub(super) fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    if fs::metadata(path)?.is_file() {
        File::open(path)?.take(MOST_BYTES).read_to_end(&mut text)?;
    }
    Ok(text)
}

/// A complete file under a name of its own, to be given its real name by a rename.
pub(super) fn prepare(dir: &Path, text: &[u8], umask: u32) -> Result<PathBuf, InstallError> {
    prepare_with_mode(dir, text, mode_of_hook(dir, umask))
}

fn prepare_with_mode(dir: &Path, text: &[u8], mode: u32) -> Result<PathBuf, InstallError> {
    let (path, mut file) = loop {
        let path = unused_name(dir);
        match system::create_new(&path, mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => break (path.clone(), made.map_err(failed("create", &path))?),
        }
    };
    let written = file.write_all(text).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(&path);
        failed("write", &path)(error)
    })?;
    Ok(path)
}

/// The whole of a settings file; `None` when nothing is there.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, InstallError> {
    const MOST_BYTES: u64 = 16 * 1024 * 1024;
    let unusable = |reason| InstallError::NoText { path: path.to_owned(), reason };
    let meta = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && fs::symlink_metadata(path).is_err() => {
            return Ok(None);
        }
        meta => meta.map_err(failed(LOOK, path))?,
    };
    if !meta.is_file() {
        return Err(unusable("it is not a regular file"));
    }
    if meta.len() > MOST_BYTES {
        return Err(unusable("it has more than 16 MiB"));
    }
    let bytes = fs::read(path).map_err(failed(READ, path))?;
    String::from_utf8(bytes).map(Some).map_err(|_| unusable("it is not UTF-8"))
}

/// Replaces a settings file, if it still is what it was. A link stays, and what it leads to is replaced.
pub(super) fn replace_text(
    path: &Path,
    before: Option<&str>,
    after: Option<&str>,
    umask: u32,
) -> Result<(), InstallError> {
    let is_link = is_link(path);
    let real = if before.is_some() { fs::canonicalize(path).map_err(failed(LOOK, path))? } else { path.to_owned() };
    let dir = real.parent().unwrap_or(Path::new("."));
    ensure(dir, umask)?;
    let _turn = Turn::take(dir);
    if read_text(path)?.as_deref() != before {
        return Err(InstallError::Unsettled { path: path.to_owned() });
    }
    let Some(after) = after.or(is_link.then_some("{}\n")) else {
        return remove(&real);
    };
    let known = before.and_then(|_| system::mode_of(&real)).map(|mode| mode & 0o7777);
    let temporary = prepare_with_mode(dir, after.as_bytes(), known.unwrap_or(0o666 & !umask))?;
    let renamed = match before {
        Some(_) => fs::rename(&temporary, &real),
        None => rename_new(&temporary, &real),
    };
    renamed.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        failed("replace", path)(error)
    })?;
    sync(dir);
    Ok(())
}

const TEMPORARY: &str = ".agentlock-hook-";

/// A name that nothing has: only this process makes names with its number.
pub(super) fn unused_name(dir: &Path) -> PathBuf {
    let names = (0_u64..).map(|n| dir.join(format!("{TEMPORARY}{}-{n}", std::process::id())));
    let mut unused = names.filter(|path| fs::symlink_metadata(path).is_err());
    unused.next().unwrap_or_else(|| dir.join(TEMPORARY))
}

/// Removes what processes have left that were ended in the midst of this. Only for who has the directory's [`Turn`].
pub(super) fn clear_left_overs(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().as_encoded_bytes().starts_with(TEMPORARY.as_bytes());
        if is_temporary && read(&entry.path()).is_ok_and(|text| stub::is_beginning(&text)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

pub(super) fn remove(path: &Path) -> Result<(), InstallError> {
    fs::remove_file(path).map_err(failed("remove", path))
}

/// Whether a name is a link, wherever it leads.
pub(super) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Removes directories, each in the next, as long as nothing is in them.
pub(super) fn remove_empty<'d>(dirs: impl Iterator<Item = &'d Path>) {
    for dir in dirs {
        if fs::remove_dir(dir).is_err() {
            break;
        }
    }
}

/// Whether there is a directory of hooks. That it cannot be looked at does not mean that there is none.
pub(super) fn is_there(dir: &Path) -> Result<bool, InstallError> {
    match fs::metadata(dir) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(false),
        meta => meta.map(|meta| meta.is_dir()).map_err(failed(LOOK, dir)),
    }
}

/// Makes the hooks directory when it is not there, with the permissions of the directory around it where that is shared.
pub(super) fn ensure(dir: &Path, umask: u32) -> Result<(), InstallError> {
    if dir.is_dir() {
        return Ok(());
    }
    let around = dir.ancestors().skip(1).find(|above| above.is_dir()).unwrap_or(dir);
    let mode = system::mode_of(around).filter(|mode| mode & SHARED != 0);
    system::create_dirs(dir, mode.map_or(0o777 & !umask, |mode| mode & 0o2777)).map_err(failed("create", dir))
}

/// The bit of a directory by which `core.sharedRepository` lets the group write.
const SHARED: u32 = 0o020;

/// As the user's umask wants it; whoever shares the repository runs it too.
fn mode_of_hook(dir: &Path, umask: u32) -> u32 {
    let shared = system::mode_of(dir).filter(|mode| mode & SHARED != 0).unwrap_or(0);
    (0o755 & !umask) | 0o700 | (shared & 0o077)
}

/// Makes renames durable, as far as the file system lets us.
pub(super) fn sync(dir: &Path) {
    if cfg!(unix) {
        let _ = File::open(dir).and_then(|dir| dir.sync_all());
    }
}

/// Whether git could run it.
pub(super) fn is_executable(path: &Path) -> bool {
    path.is_file() && system::may_execute(path)
}

pub(super) use system::{Turn, rename_new, swap};

#[cfg(unix)]
mod system {
    use std::{
        fs::{self, File},
        io,
        os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _},
        path::Path,
        time::Duration,
    };

    use rustix::fs::{Access, FlockOperation};

    /// Fails when the new name exists.
    pub(in crate::install) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from) {
                Err(error) if is_unknown(&error) => {}
                renamed => return renamed,
            }
        }
        // A second name can only be given when it is free.
        fs::hard_link(from, to)?;
        fs::remove_file(from)
    }

    /// Gives `new` the name `old` in one step; what was there is called `new` then, or is gone where the system cannot exchange names.
    pub(in crate::install) fn swap(new: &Path, old: &Path) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            match renameat_with(CWD, new, CWD, old, RenameFlags::EXCHANGE).map_err(io::Error::from) {
                Err(error) if is_unknown(&error) => {}
                swapped => return swapped,
            }
        }
        fs::rename(new, old)
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn is_unknown(error: &io::Error) -> bool {
        matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported)
    }

    pub(super) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.set_permissions(fs::Permissions::from_mode(mode)).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })?;
        Ok(file)
    }

    pub(super) fn create_dirs(dir: &Path, mode: u32) -> io::Result<()> {
        fs::DirBuilder::new().recursive(true).mode(mode).create(dir)?;
        fs::set_permissions(dir, fs::Permissions::from_mode(mode))
    }

    pub(super) fn mode_of(dir: &Path) -> Option<u32> {
        Some(fs::metadata(dir).ok()?.permissions().mode())
    }

    pub(super) fn may_execute(path: &Path) -> bool {
        rustix::fs::access(path, Access::EXEC_OK).is_ok()
    }

    /// Keeps other installers out of a directory while it lives, also when this process is killed. Nothing is lost without it: it spares them
    /// each other's half-way states.
    pub(in crate::install) struct Turn {
        _dir: File,
    }

    impl Turn {
        /// Waits a while for the others; `None` where directories cannot be locked, or somebody keeps it for too long.
        pub(in crate::install) fn take(dir: &Path) -> Option<Self> {
            const PAUSE: Duration = Duration::from_millis(5);
            let dir = File::open(dir).ok()?;
            for _ in 0..1000 {
                match rustix::fs::flock(&dir, FlockOperation::NonBlockingLockExclusive) {
                    Ok(()) => return Some(Self { _dir: dir }),
                    Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => std::thread::sleep(PAUSE),
                    Err(_) => return None,
                }
            }
            None
        }
    }
}

#[cfg(not(unix))]
mod system {
    use std::{fs::File, io, path::Path};

    pub(in crate::install) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
        std::fs::hard_link(from, to)?;
        std::fs::remove_file(from)
    }

    pub(in crate::install) fn swap(new: &Path, old: &Path) -> io::Result<()> {
        std::fs::rename(new, old)
    }

    pub(super) fn create_new(path: &Path, _mode: u32) -> io::Result<File> {
        File::create_new(path)
    }

    pub(super) fn create_dirs(dir: &Path, _mode: u32) -> io::Result<()> {
        std::fs::create_dir_all(dir)
    }

    pub(super) fn mode_of(_dir: &Path) -> Option<u32> {
        None
    }

    pub(super) fn may_execute(_path: &Path) -> bool {
        true
    }

    /// Directories cannot be locked here.
    pub(in crate::install) struct Turn;

    impl Turn {
        pub(in crate::install) fn take(_dir: &Path) -> Option<Self> {
            None
        }
    }
}
