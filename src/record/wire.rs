//! The shape of a record on disk. Bytes that are not UTF-8 are kept as base64, so nothing is lost.

use std::{borrow::Cow, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bstr::BString;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};

use super::{BootDeadline, End, Ended, Reason, RecordError, Replaced, Token};
use crate::{
    clock::Timestamp,
    duration::Ttl,
    owner::{Owner, OwnerError},
    resource::{NamedId, Project, RepoPath, Resource, ResourceError, Scope, Target},
};

#[derive(Deserialize)]
pub(super) struct Version {
    pub(super) v: u64,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Record<'a> {
    pub(super) v: u64,
    resource: WireResource,
    owner: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    token: u64,
    #[serde(borrow)]
    acquired_at: Cow<'a, str>,
    #[serde(borrow)]
    renewed_at: Cow<'a, str>,
    #[serde(borrow)]
    expires_at: Cow<'a, str>,
    ttl_ms: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<BootDeadline>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replaced: Option<WireReplaced>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ended: Option<WireEnded>,
    #[serde(default)]
    host: String,
    #[serde(default)]
    pid: u32,
}

#[derive(Serialize, Deserialize)]
struct WireReplaced {
    owner: String,
    token: u64,
    ended_at: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    before: Vec<WireReplaced>,
}

impl From<&Replaced> for WireReplaced {
    fn from(replaced: &Replaced) -> Self {
        Self {
            owner: replaced.owner.as_str().to_owned(),
            token: replaced.token.get(),
            ended_at: replaced.ended_at.to_string(),
            before: replaced.before.iter().map(Self::from).collect(),
        }
    }
}

impl TryFrom<WireReplaced> for Replaced {
    type Error = RecordError;

    fn try_from(wire: WireReplaced) -> Result<Self, RecordError> {
        Ok(Self {
            owner: owner(wire.owner)?,
            token: token(wire.token)?,
            ended_at: time("replaced.ended_at", &wire.ended_at)?,
            before: wire.before.into_iter().map(Self::try_from).collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
struct WireEnded {
    at: String,
    how: How,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum How {
    Expired,
    Released,
    Broken,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Bytes {
    Text(String),
    Base64 { base64: String },
}

/// What serde derives for an untagged enum keeps a copy of everything first.
impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Either;
        #[derive(Deserialize)]
        struct Encoded {
            base64: String,
        }
        impl<'de> Visitor<'de> for Either {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or an object with `base64`")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                Ok(Bytes::Text(text.to_owned()))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Bytes, E> {
                Ok(Bytes::Text(text))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Bytes, A::Error> {
                let Encoded { base64 } = Encoded::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(Bytes::Base64 { base64 })
            }
        }
        from.deserialize_any(Either)
    }
}

impl Bytes {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Text(text) if text.is_empty())
    }
}

impl Default for Bytes {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WireProject {
    GitDir(Bytes),
    Label(String),
    Outside,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    File,
    Area,
    Named,
}

/// Flat, with `kind` first, so that a person reading the file sees at once what it is about.
#[derive(Serialize, Deserialize)]
pub(crate) struct WireResource {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<Bytes>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    type_: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    project: Option<WireProject>,
    #[serde(default, skip_serializing_if = "Bytes::is_empty")]
    work_tree: Bytes,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    ignore_case: bool,
}

fn field<E: fmt::Display>(field: &'static str) -> impl Fn(E) -> RecordError {
    move |cause| RecordError::Field { field, cause: crate::text::escape(cause.to_string().as_bytes()) }
}

fn owner(name: String) -> Result<Owner, RecordError> {
    Owner::new(name).map_err(field::<OwnerError>("owner"))
}

fn token(number: u64) -> Result<Token, RecordError> {
    Token::new(number).ok_or_else(|| field("token")(number))
}

fn time(name: &'static str, text: &str) -> Result<Timestamp, RecordError> {
    text.parse().map_err(field::<jiff::Error>(name))
}

fn reason(text: String) -> Result<Reason, RecordError> {
    Reason::new(text).map_err(field("reason"))
}

fn to_wire(bytes: &[u8]) -> Bytes {
    match std::str::from_utf8(bytes) {
        Ok(text) => Bytes::Text(text.to_owned()),
        Err(_) => Bytes::Base64 { base64: STANDARD.encode(bytes) },
    }
}

fn from_wire(name: &'static str, bytes: Bytes) -> Result<BString, RecordError> {
    match bytes {
        Bytes::Text(text) => Ok(text.into()),
        Bytes::Base64 { base64 } => STANDARD.decode(base64).map(Into::into).map_err(field(name)),
    }
}

impl From<&Resource> for WireResource {
    fn from(resource: &Resource) -> Self {
        let (kind, path, name) = match &resource.target {
            Target::File(path) => (Kind::File, Some(path), None),
            Target::Area(path) => (Kind::Area, Some(path), None),
            Target::Named(name) => (Kind::Named, None, Some(name)),
        };
        Self {
            kind,
            path: path.map(|path| to_wire(path.as_bytes())),
            type_: name.map(|name| name.kind().to_owned()),
            id: name.map(|name| name.id().to_owned()),
            project: match &resource.scope.project {
                Project::Implicit => None,
                Project::GitDir(path) => Some(WireProject::GitDir(to_wire(path))),
                Project::Label(label) => Some(WireProject::Label(label.clone())),
                Project::Outside => Some(WireProject::Outside),
            },
            work_tree: to_wire(&resource.scope.work_tree),
            ignore_case: resource.scope.ignore_case,
        }
    }
}

impl TryFrom<WireResource> for Resource {
    type Error = RecordError;

    fn try_from(wire: WireResource) -> Result<Self, RecordError> {
        let path = |path: Option<Bytes>| {
            let bytes = from_wire("path", path.ok_or_else(|| field("path")("missing"))?)?;
            RepoPath::new(bytes).map_err(field::<ResourceError>("path"))
        };
        let target = match wire.kind {
            Kind::File => Target::File(path(wire.path)?),
            Kind::Area => Target::Area(path(wire.path)?),
            Kind::Named => {
                let name = NamedId::new(wire.type_.unwrap_or_default(), wire.id.unwrap_or_default());
                Target::Named(name.map_err(field::<ResourceError>("id"))?)
            }
        };
        let project = match wire.project {
            None => Project::Implicit,
            Some(WireProject::GitDir(path)) => Project::GitDir(from_wire("git_dir", path)?),
            Some(WireProject::Label(label)) => Project::Label(label),
            Some(WireProject::Outside) => Project::Outside,
        };
        let work_tree = from_wire("work_tree", wire.work_tree)?;
        Ok(Self { scope: Scope { project, work_tree, ignore_case: wire.ignore_case }, target })
    }
}

impl From<&super::Record> for Record<'_> {
    fn from(record: &super::Record) -> Self {
        Self {
            v: super::Record::VERSION,
            resource: (&record.resource).into(),
            owner: record.owner.as_str().to_owned(),
            reason: record.reason.as_ref().map(|reason| reason.as_str().to_owned()),
            token: record.token.get(),
            acquired_at: record.acquired_at.to_string().into(),
            renewed_at: record.renewed_at.to_string().into(),
            expires_at: record.expires_at.to_string().into(),
            ttl_ms: record.ttl.millis(),
            boot: record.boot.clone(),
            replaced: record.replaced.as_ref().map(WireReplaced::from),
            ended: record.ended.as_ref().map(WireEnded::from),
            host: record.host.clone(),
            pid: record.pid,
        }
    }
}

impl From<&Ended> for WireEnded {
    fn from(ended: &Ended) -> Self {
        let (how, by, reason) = match &ended.how {
            End::Expired => (How::Expired, None, None),
            End::Released => (How::Released, None, None),
            End::Broken { by, reason } => (How::Broken, by.as_ref(), Some(reason)),
        };
        Self {
            at: ended.at.to_string(),
            how,
            by: by.map(|owner| owner.as_str().to_owned()),
            reason: reason.map(|reason| reason.as_str().to_owned()),
        }
    }
}

impl TryFrom<WireEnded> for Ended {
    type Error = RecordError;

    fn try_from(wire: WireEnded) -> Result<Self, RecordError> {
        let how = match wire.how {
            How::Expired => End::Expired,
            How::Released => End::Released,
            How::Broken => {
                End::Broken { by: wire.by.map(owner).transpose()?, reason: reason(wire.reason.unwrap_or_default())? }
            }
        };
        Ok(Self { at: time("ended.at", &wire.at)?, how })
    }
}

impl TryFrom<Record<'_>> for super::Record {
    type Error = RecordError;

    fn try_from(wire: Record<'_>) -> Result<Self, RecordError> {
        Ok(Self {
            resource: wire.resource.try_into()?,
            owner: owner(wire.owner)?,
            reason: wire.reason.map(reason).transpose()?,
            token: token(wire.token)?,
            acquired_at: time("acquired_at", &wire.acquired_at)?,
            renewed_at: time("renewed_at", &wire.renewed_at)?,
            expires_at: time("expires_at", &wire.expires_at)?,
            ttl: Ttl::from_millis(wire.ttl_ms).ok_or_else(|| field("ttl_ms")(wire.ttl_ms))?,
            boot: wire.boot,
            replaced: wire.replaced.map(Replaced::try_from).transpose()?,
            ended: wire.ended.map(Ended::try_from).transpose()?,
            host: wire.host,
            pid: wire.pid,
        })
    }
}
