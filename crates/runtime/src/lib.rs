//! A Kubernetes process, any process: flags, client, informers, work queues, events, lease, secure port, health,
//! metrics, logs, shutdown. Knows no cloud.
//!
//! Read [`informer`], [`queue`] and [`events`] first: they are what a controller is made of.

pub mod events;
pub mod informer;
pub mod queue;
