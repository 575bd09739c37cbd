mod controller;
mod fan_out;
mod fixture;
mod lifecycle;
mod nodes;
mod notes;
mod orphans;
mod patches;
mod reconcile;

pub(super) use nodes::node;
