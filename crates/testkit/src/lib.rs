//! Builders, recorders and waiting on conditions, for tests.
