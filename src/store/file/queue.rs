//! The queue: one file per waiting request, written by its waiter only, so it needs no mutex and no sync.

use std::{io, time::Duration};

use super::{
    FileStore, Root,
    dir::{Dir, Modes, Open},
    disk::{io_error, read_up_to, write_new},
    layout::{QUEUE, is_temp, temp_of_ticket, ticket_file, ticket_name},
    not_a_directory,
};
use crate::store::{StoreError, Ticket};

/// What nobody has touched for so long was left by a waiter that is gone.
const LEFT_OVER_AFTER: Duration = Duration::from_secs(60);

impl Root {
    /// Every ticket that can be read. What cannot be is left out: a ticket is only a hint.
    pub(super) fn queue(&self) -> Result<Vec<Ticket>, StoreError> {
        let dir = match self.dir.sub(QUEUE) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened.map_err(|error| not_a_directory(&self.dir.path_of(QUEUE), error))?,
        };
        let names = dir.names().map_err(io_error("list", dir.path()))?;
        Ok(names.iter().filter_map(|file| read(&dir, file)).collect())
    }
}

fn read(dir: &Dir, file_name: &str) -> Option<Ticket> {
    let name = ticket_name(file_name)?;
    let file = dir.open_file(file_name, Open::Read).ok()?;
    super::dir::stat_file(&file).ok().filter(|stat| stat.is_file)?;
    Ticket::from_bytes(name, &read_up_to(&file, Ticket::MAX_BYTES).ok()?).ok()
}

pub(super) fn enqueue(store: &FileStore, ticket: &Ticket) -> Result<(), StoreError> {
    let (root, modes) = store.open_or_create()?;
    let path = root.dir.path_of(QUEUE);
    let (dir, _) = root.dir.ensure_sub(QUEUE, modes).map_err(|error| not_a_directory(&path, error))?;
    clear_left_overs(&dir);
    write(&dir, ticket, modes).map_err(io_error("write the ticket in", &path))
}

fn write(dir: &Dir, ticket: &Ticket, modes: Modes) -> io::Result<()> {
    let bytes = ticket.to_bytes();
    if bytes.len() > Ticket::MAX_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let temp = temp_of_ticket(&ticket.name);
    write_new(dir, &temp, &bytes, modes, false)?;
    dir.rename(&temp, &ticket_file(&ticket.name))
}

pub(super) fn dequeue(store: &FileStore, name: &str) {
    if let Ok(Some(root)) = store.open()
        && let Ok(dir) = root.dir.sub(QUEUE)
    {
        let _ = dir.unlink(&ticket_file(name));
        let _ = dir.unlink(&temp_of_ticket(name));
    }
}

/// By the age of the files. A waiter whose ticket was taken for left over, say after a step of the clock, writes it anew.
fn clear_left_overs(dir: &Dir) {
    for name in dir.names().unwrap_or_default() {
        if (ticket_name(&name).is_some() || is_temp(&name)) && is_left_over(dir, &name) == Some(true) {
            let _ = dir.unlink(&name);
        }
    }
}

pub(super) fn is_left_over(dir: &Dir, name: &str) -> Option<bool> {
    let age = std::fs::symlink_metadata(dir.path_of(name)).ok()?.modified().ok()?.elapsed().ok()?;
    Some(age > LEFT_OVER_AFTER)
}
