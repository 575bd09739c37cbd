mod fan_out;
mod flow;
mod nodes;
mod notes;
mod rig;
mod stories;
mod sweep;
mod sync;
mod wire;

pub(super) use nodes::node;
