//! The behaviour suite that every provider must pass.
