//! Control planes, which take longer to start than most tests: each is used by one world at a time, and then by another one.

use lab::ControlPlane;
use std::{
    ops::Deref,
    sync::{Condvar, Mutex, MutexGuard},
};

/// Control planes with the same definitions.
pub struct Pool {
    state: Mutex<State>,
    returned: Condvar,
}

struct State {
    /// How many may still be started.
    left: usize,
    idle: Vec<ControlPlane>,
}

/// A control plane for one world.
pub struct Plane {
    /// Exists until it is dropped.
    running: Option<ControlPlane>,
    /// The pool that it is returned to.
    pool: Option<&'static Pool>,
    /// Whether a world has used it before.
    pub used: bool,
}

impl Pool {
    /// So many at most.
    pub const fn of(count: usize) -> Self {
        let state = State {
            left: count,
            idle: Vec::new(),
        };
        Self {
            state: Mutex::new(state),
            returned: Condvar::new(),
        }
    }

    /// An idle control plane, or a new one; waits while the maximum is in use.
    pub async fn take(&'static self) -> Plane {
        tokio::task::spawn_blocking(|| self.wait()).await.unwrap()
    }

    fn wait(&'static self) -> Plane {
        let mut state = self.state();
        loop {
            if let Some(plane) = state.idle.pop() {
                return Plane::new(plane, Some(self), true);
            }
            if state.left > 0 {
                state.left -= 1;
                drop(state);
                return Plane::new(ControlPlane::start().unwrap(), Some(self), false);
            }
            state = self.returned.wait(state).unwrap();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

impl Plane {
    /// A control plane for a single world, because the world changes it permanently, or waits most of the time.
    pub async fn own() -> Self {
        let started = tokio::task::spawn_blocking(ControlPlane::start).await;
        Self::new(started.unwrap().unwrap(), None, false)
    }

    fn new(plane: ControlPlane, pool: Option<&'static Pool>, used: bool) -> Self {
        Self {
            running: Some(plane),
            pool,
            used,
        }
    }
}

impl Deref for Plane {
    type Target = ControlPlane;

    fn deref(&self) -> &ControlPlane {
        self.running.as_ref().unwrap()
    }
}

impl Drop for Plane {
    fn drop(&mut self) {
        let Some(pool) = self.pool else { return };
        let plane = self.running.take();
        // A failed test may leave anything behind.
        if std::thread::panicking() {
            drop(plane);
            pool.state().left += 1;
        } else {
            pool.state().idle.extend(plane);
        }
        pool.returned.notify_one();
    }
}
