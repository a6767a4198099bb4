//! Where policy files are looked for.

use std::{
    io,
    path::{Path, PathBuf},
};

use git_agentlock::{
    git::Repository,
    policy::{LayerKind, LayerSource},
};

use super::environment::variable;

/// The policy files that exist, from the weakest to the strongest.
pub(super) fn layers(repository: Option<&Repository>) -> Vec<LayerSource> {
    let config_home = variable("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let config_home = config_home.or_else(|| Some(PathBuf::from(variable("HOME")?).join(".config")));
    let work_tree = repository.and_then(|repository| repository.work_tree.as_deref());
    let optional = [
        (LayerKind::User, config_home.map(|dir| dir.join("git-agentlock/policy.toml"))),
        (LayerKind::Committed, work_tree.map(|top| top.join(".agentlock.toml"))),
        (LayerKind::Local, repository.map(|repository| repository.common_dir.join("agentlock.toml"))),
    ];
    let mut layers: Vec<LayerSource> = optional
        .into_iter()
        .filter_map(|(kind, path)| Some((kind, path?)))
        .filter_map(|(kind, path)| match read_file(&path) {
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => None,
            text => Some(LayerSource { kind, path, text }),
        })
        .collect();
    if let Some(path) = variable("AGENTLOCK_POLICY").map(PathBuf::from) {
        layers.push(LayerSource { kind: LayerKind::Explicit, text: read_file(&path), path });
    }
    layers
}

/// Only a regular file is read: a FIFO would wait for ever.
fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let meta = std::fs::metadata(path)?;
    if meta.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !meta.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    let limit = git_agentlock::policy::MAX_BYTES.saturating_add(1) as u64;
    std::fs::File::open(path)?.take(limit).read_to_end(&mut bytes)?;
    Ok(bytes)
}
