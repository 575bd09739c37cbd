//! What the suite consists of.

use crate::{Scene, Stop, balancers, gate, instances, routes};
use futures::future::BoxFuture;
use std::fmt;

/// One thing that every provider must do.
#[derive(Clone, Copy)]
pub struct Case {
    /// What it must do, as a sentence after its area: `instances: a machine is found by its name`.
    pub name: &'static str,
    /// Tries it.
    pub run: for<'s> fn(&'s Scene) -> BoxFuture<'s, Result<(), Stop>>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Case({})", self.name)
    }
}

/// Every case, in the order in which a reader would ask.
pub fn cases() -> Vec<Case> {
    [instances::cases(), balancers::cases(), routes::cases(), gate::cases()].concat()
}

/// A case that runs an async function of the scene.
macro_rules! case {
    ($name:literal, $run:path) => {
        $crate::Case {
            name: $name,
            run: |scene| Box::pin($run(scene)),
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

/// Ends the case unless both are equal; the words say what they are.
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
