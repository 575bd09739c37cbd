//! The cases of the suite.

use crate::{Fixture, Stop, gate, instances, load_balancers, routes};
use futures::future::BoxFuture;
use std::fmt;

/// One requirement for every provider.
#[derive(Clone, Copy)]
pub struct Case {
    /// The requirement, as a sentence after its area: `instances: a machine is found by its name`.
    pub name: &'static str,
    /// Tests it.
    pub run: for<'s> fn(&'s Fixture) -> BoxFuture<'s, Result<(), Stop>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

/// Every case.
pub fn cases() -> Vec<Case> {
    [
        instances::cases(),
        load_balancers::cases(),
        routes::cases(),
        gate::cases(),
    ]
    .concat()
}

/// A case that runs an async function of the fixture.
macro_rules! case {
    ($name:literal, $run:path) => {
        $crate::Case {
            name: $name,
            run: |fixture| Box::pin($run(fixture)),
        }
    };
}

/// Ends the case with a sentence unless this holds.
macro_rules! check {
    ($holds:expr, $($words:tt)+) => {
        if !$holds {
            return Err($crate::Stop::Failed(format!($($words)+)));
        }
    };
}

/// Ends the case unless both are equal; the words name them.
macro_rules! same {
    ($is:expr, $should:expr, $($words:tt)+) => {{
        let (is, should) = (&$is, &$should);
        if is != should {
            let words = format!($($words)+);
            return Err($crate::Stop::Failed(format!("{words}: should be {should:?}, is {is:?}")));
        }
    }};
}

pub(crate) use {case, check, same};
