//! A request that waits its turn, as it is written down beside the records.
//!
//! A ticket is a hint for fairness, never a lock: losing one costs a place in the queue, nothing else.

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use crate::{
    clock::{BootTime, Now, Timestamp},
    owner::Owner,
    record::wire::WireResource,
    resource::Resource,
};

/// A waiting request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Its name in the queue: lower-case letters, digits and `-`, at most [`Ticket::MAX_NAME`] bytes.
    pub name: String,
    /// Who waits.
    pub owner: Owner,
    /// Since when.
    pub arrived: Now,
    /// When it was seen alive last.
    pub polled: Now,
    /// The whole request.
    pub wants: Vec<Resource>,
}

/// Bytes that are no ticket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is no ticket: {0}")]
pub struct TicketError(String);

#[derive(Serialize, Deserialize)]
struct Wire {
    v: u64,
    owner: String,
    arrived: Moment,
    polled: Moment,
    wants: Vec<WireResource>,
}

#[derive(Serialize, Deserialize)]
struct Moment {
    unix_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    boot: Option<String>,
    #[serde(default)]
    boot_ms: u64,
}

impl From<&Now> for Moment {
    fn from(now: &Now) -> Self {
        let boot = now.boot.as_ref();
        Self {
            unix_ms: now.wall.millis(),
            boot: boot.map(|boot| boot.id.clone()),
            boot_ms: boot.map_or(0, |boot| boot.millis),
        }
    }
}

impl From<Moment> for Now {
    fn from(moment: Moment) -> Self {
        let millis = moment.boot_ms;
        Self { wall: Timestamp::from_millis(moment.unix_ms), boot: moment.boot.map(|id| BootTime { id, millis }) }
    }
}

impl Ticket {
    /// The longest name, in bytes.
    pub const MAX_NAME: usize = 64;
    /// No more than this is read of a ticket; a request that needs more waits without one.
    pub const MAX_BYTES: usize = 1024 * 1024;

    /// Whether a text can be a ticket's name.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        (1..=Self::MAX_NAME).contains(&name.len()) && name.bytes().all(is_plain)
    }

    /// The bytes of the ticket, one line of JSON.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let wire = Wire {
            v: 1,
            owner: self.owner.as_str().to_owned(),
            arrived: (&self.arrived).into(),
            polled: (&self.polled).into(),
            wants: self.wants.iter().map(WireResource::from).collect(),
        };
        let mut bytes = serde_json::to_vec(&wire).unwrap_or_default();
        bytes.push(b'\n');
        bytes
    }

    /// Reads what [`Ticket::to_bytes`] wrote.
    ///
    /// # Errors
    /// [`TicketError`] for everything else.
    pub fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self, TicketError> {
        let error = |cause: &dyn ToString| TicketError(crate::text::escape(cause.to_string().as_bytes()));
        if bytes.len() > Self::MAX_BYTES {
            return Err(TicketError("it is too large".to_owned()));
        }
        let wire: Wire = serde_json::from_slice(bytes.trim_end()).map_err(|cause| error(&cause))?;
        if wire.v != 1 {
            return Err(TicketError(format!("it has format version {}", wire.v)));
        }
        let wants = wire.wants.into_iter().map(Resource::try_from).collect::<Result<_, _>>();
        Ok(Self {
            name: name.to_owned(),
            owner: Owner::new(wire.owner).map_err(|cause| error(&cause))?,
            arrived: wire.arrived.into(),
            polled: wire.polled.into(),
            wants: wants.map_err(|cause| error(&cause))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::{Clock as _, ManualClock},
        resource::{RepoPath, Scope, Target},
    };

    #[test]
    fn a_ticket_is_read_back_whole() {
        let clock = ManualClock::new(Timestamp::from_millis(1_000));
        let path = RepoPath::new(&b"latin\xe9\n"[..]).expect("a path");
        let wants = vec![Resource { scope: Scope::implicit(), target: Target::Area(path) }];
        let owner = Owner::new("A").expect("an owner");
        let ticket = Ticket { name: "t-1".to_owned(), owner, arrived: clock.now(), polled: clock.now(), wants };
        assert_eq!(Ticket::from_bytes("t-1", &ticket.to_bytes()), Ok(ticket));
        assert!(Ticket::from_bytes("t-1", b"{}").is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(bytes: Vec<u8>) {
            let _ = Ticket::from_bytes("x", &bytes);
        }
    }
}
