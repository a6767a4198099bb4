//! What is remembered of owners between two calls of a hook: one file each, beside the records and never among them.
//!
//! One mutex for all of them, held for the reading and writing of one small file. It is none of those that a change of records takes, so nothing here
//! can hold up a lease.

use std::{fs, io, time::Duration};

use super::{
    FileStore, Root,
    dir::{Dir, Open},
    disk::{Mutex, Share, io_error, read_up_to, write_new},
    layout::{MUTEX, SESSIONS, is_temp, session_file, temp_of_session},
    not_a_directory,
};
use crate::{
    owner::Owner,
    store::{Session, StoreError},
};

impl FileStore {
    /// What is remembered of an owner. What cannot be read is forgotten.
    #[must_use]
    pub fn session(&self, owner: &Owner) -> Session {
        let known = || {
            let dir = self.open().ok()??.dir.sub(SESSIONS).ok()?;
            read(&dir, &session_file(owner)).filter(|session| session.owner() == owner)
        };
        known().unwrap_or_else(|| Session::new(owner.clone()))
    }

    /// Changes what is remembered of an owner, once, and makes what is missing for that. Returns all that is remembered then. Nothing is written when nothing
    /// changes. With the first that is remembered of
    /// an owner, that of others goes which has not been touched for `keep_ms` milliseconds.
    ///
    /// # Errors
    /// [`StoreError`]: then it is as it was.
    pub fn remember(
        &self,
        owner: &Owner,
        keep_ms: u64,
        change: &mut dyn FnMut(&mut Session),
    ) -> Result<Session, StoreError> {
        let (root, modes) = self.open_or_create()?;
        let path = root.dir.path_of(SESSIONS);
        let (dir, _) = root.dir.ensure_sub(SESSIONS, modes).map_err(|error| not_a_directory(&path, error))?;
        let _mutex = Mutex::lock(&dir, MUTEX, Share::Exclusive, modes, self.patience)?;
        let (name, temp) = (session_file(owner), temp_of_session(owner));
        let known = read(&dir, &name).filter(|session| session.owner() == owner);
        if known.is_none() {
            clear(&dir, &|name| is_temp(name) || is_old(&dir, name, keep_ms));
        }
        let mut session = known.clone().unwrap_or_else(|| Session::new(owner.clone()));
        change(&mut session);
        if known.as_ref().unwrap_or(&Session::new(owner.clone())) == &session {
            return Ok(session);
        }
        if session.is_empty() {
            dir.unlink(&name).map_err(io_error("remove", &dir.path_of(&name)))?;
            return Ok(session);
        }
        let written = write_new(&dir, &temp, &session.to_bytes(), modes, false);
        let written = written.and_then(|_| dir.rename(&temp, &name).inspect_err(|_| drop(dir.unlink(&temp))));
        written.map_err(io_error("write", &dir.path_of(&name)))?;
        Ok(session)
    }

    /// Forgets owners. Where nothing is remembered, nothing is made.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be done; what is left ends by its age.
    pub fn forget(&self, is_over: &dyn Fn(&Owner) -> bool) -> Result<(), StoreError> {
        self.clear_sessions(&|dir, name| read(dir, name).is_some_and(|session| is_over(session.owner())))
    }

    /// Forgets what has not been touched for `keep_ms` milliseconds.
    ///
    /// # Errors
    /// [`StoreError`] when it cannot be done.
    pub fn forget_the_old(&self, keep_ms: u64) -> Result<(), StoreError> {
        self.clear_sessions(&|dir, name| is_temp(name) || is_old(dir, name, keep_ms))
    }

    fn clear_sessions(&self, is_over: &dyn Fn(&Dir, &str) -> bool) -> Result<(), StoreError> {
        let Some(Root { dir, .. }) = self.open()? else { return Ok(()) };
        let sessions = match dir.sub(SESSIONS) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(|error| not_a_directory(&dir.path_of(SESSIONS), error))?,
        };
        let _mutex = Mutex::lock(&sessions, MUTEX, Share::Exclusive, self.modes()?, self.patience)?;
        clear(&sessions, &|name| is_over(&sessions, name));
        Ok(())
    }
}

/// Removes what is over, as far as that can be done. Called with the mutex held.
fn clear(dir: &Dir, is_over: &dyn Fn(&str) -> bool) {
    for name in dir.names().unwrap_or_default().into_iter().filter(|name| name != MUTEX && is_over(name)) {
        let _ = dir.unlink(&name);
    }
}

fn read(dir: &Dir, name: &str) -> Option<Session> {
    let file = dir.open_file(name, Open::Read).ok()?;
    super::dir::stat_file(&file).ok().filter(|stat| stat.is_file)?;
    Session::from_bytes(&read_up_to(&file, Session::MAX_BYTES).ok()?).ok()
}

/// By the age of the file, which every change of it makes anew.
fn is_old(dir: &Dir, name: &str, keep_ms: u64) -> bool {
    let age = || fs::symlink_metadata(dir.path_of(name)).ok()?.modified().ok()?.elapsed().ok();
    super::layout::is_session(name) && age().is_some_and(|age| age > Duration::from_millis(keep_ms))
}
