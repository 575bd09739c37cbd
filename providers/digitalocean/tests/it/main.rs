//! DigitalOcean on the fake: the behaviour suite, what is DigitalOcean's own, faults, and the vendor's clients.

mod conformance;
mod everything;
mod fixture;
mod scenarios;
mod vendor;
