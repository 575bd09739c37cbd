//! What was read a short while ago, and need not be read again.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// A value that counts as up to date for a while after it was read.
#[derive(Debug)]
pub struct Fresh<T> {
    lasts: Duration,
    /// With the moment until which it is up to date.
    value: Mutex<Option<(Instant, T)>>,
}

impl<T: Clone> Fresh<T> {
    /// No value yet; each lasts this long.
    #[must_use]
    pub const fn new(lasts: Duration) -> Self {
        Self {
            lasts,
            value: Mutex::new(None),
        }
    }

    /// The value, if it is up to date.
    #[must_use]
    pub fn get(&self) -> Option<T> {
        let value = self.lock().clone();
        value
            .filter(|(until, _)| Instant::now() < *until)
            .map(|(_, value)| value)
    }

    /// The last value, up to date or not.
    #[must_use]
    pub fn last(&self) -> Option<T> {
        self.lock().clone().map(|(_, value)| value)
    }

    /// Replaces the value by what was read now.
    pub fn set(&self, value: Option<T>) {
        *self.lock() = value.map(|value| (Instant::now() + self.lasts, value));
    }

    /// The value is out of date from now on.
    pub fn expire(&self) {
        if let Some((until, _)) = self.lock().as_mut() {
            *until = Instant::now();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Instant, T)>> {
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_value_is_up_to_date_for_a_while() {
        let fresh = Fresh::new(Duration::from_mins(1));
        assert_eq!((fresh.get(), fresh.last()), (None, None));
        fresh.set(Some(1));
        assert_eq!(fresh.get(), Some(1));
        tokio::time::advance(Duration::from_secs(61)).await;
        assert_eq!((fresh.get(), fresh.last()), (None, Some(1)));
        fresh.set(Some(2));
        fresh.expire();
        assert_eq!((fresh.get(), fresh.last()), (None, Some(2)));
        fresh.set(None);
        fresh.expire();
        assert_eq!(fresh.last(), None);
    }
}
