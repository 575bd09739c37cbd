//! Control planes, which take longer to start than most tests: each is used by one world at a time, and then by another.

use lab::ControlPlane;
use std::sync::{Condvar, Mutex};

/// How many control planes there are at most.
const PLANES: usize = 2;

/// Where a control plane comes from, and goes to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// It is used again.
    Pool,
    /// It is for one world, which waits more than it works.
    Own,
}

static IDLE: Mutex<(usize, Vec<ControlPlane>)> = Mutex::new((0, Vec::new()));
static RETURNED: Condvar = Condvar::new();

/// A control plane that nobody uses, or a new one; waits as long as there are enough.
pub fn take() -> ControlPlane {
    let mut idle = IDLE.lock().unwrap();
    loop {
        if let Some(plane) = idle.1.pop() {
            return plane;
        }
        if idle.0 < PLANES {
            idle.0 += 1;
            drop(idle);
            return ControlPlane::start().unwrap();
        }
        idle = RETURNED.wait(idle).unwrap();
    }
}

/// Gives back what was taken.
pub fn give_back(plane: Option<ControlPlane>) {
    let mut idle = IDLE.lock().unwrap();
    // What a failed test leaves behind may be anything.
    if std::thread::panicking() {
        idle.0 -= 1;
        drop(plane);
    } else {
        idle.1.extend(plane);
    }
    RETURNED.notify_one();
}
