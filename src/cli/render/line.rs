//! JSON on one line, of which nothing that a terminal must not get is left as it is; and very many leases as such.

use std::io::{self, Write};

use git_agentlock::locks::Lease;
use serde::Serialize;

use super::json::LeaseDoc;

/// Writes JSON on one line, with everything in it that a terminal must not get as `\uNNNN`.
pub(crate) fn write(document: &impl Serialize, to: &mut impl Write) -> io::Result<()> {
    document.serialize(&mut serde_json::Serializer::with_formatter(&mut *to, SpeltOut))?;
    to.write_all(b"\n")
}

/// JSON leaves DEL, the C1 controls and what turns the reading direction as they are; outside of strings there are none.
struct SpeltOut;

impl serde_json::ser::Formatter for SpeltOut {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, fragment: &str) -> io::Result<()> {
        // Nearly every one, and to find that out takes no decoding.
        if fragment.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return to.write_all(fragment.as_bytes());
        }
        let mut rest = fragment;
        while let Some(at) = rest.find(git_agentlock::text::is_deceptive) {
            let (before, from) = rest.split_at(at);
            to.write_all(before.as_bytes())?;
            let mut chars = from.chars();
            for unit in chars.next().into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(to, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        to.write_all(rest.as_bytes())
    }
}

/// Leases as JSON. All those of a store are made into it one by one as they are written: there may be very many.
#[derive(Debug)]
pub(crate) enum Leases {
    Made(Vec<LeaseDoc>),
    All(Vec<Lease>),
}

impl Default for Leases {
    fn default() -> Self {
        Self::Made(Vec::new())
    }
}

impl Leases {
    pub(crate) fn push(&mut self, lease: LeaseDoc) {
        match self {
            Self::Made(leases) => leases.push(lease),
            Self::All(_) => *self = Self::Made(vec![lease]),
        }
    }
}

impl Serialize for Leases {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Made(leases) => to.collect_seq(leases),
            Self::All(leases) => to.collect_seq(leases.iter().map(LeaseDoc::from)),
        }
    }
}
