//! Arguments of a command that are only made when it is called: the whole command tree is built at each start, and few calls are about the rarer ones.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// The same arguments, later. Who wants to see them without a call has to have the tree built.
#[derive(Debug)]
pub(crate) struct Deferred<A>(pub(crate) A);

impl<A: Args> Args for Deferred<A> {
    fn augment_args(command: Command) -> Command {
        command.defer(A::augment_args)
    }

    fn augment_args_for_update(command: Command) -> Command {
        command.defer(A::augment_args_for_update)
    }
}

impl<A: FromArgMatches> FromArgMatches for Deferred<A> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        A::from_arg_matches(matches).map(Self)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
