//! Classic load balancers.

mod desired;
mod engine;
mod guard;
mod plan;
mod step;

use super::Shared;
use crate::api::elb::ClassicLoadBalancer;
use plan::Observed;
use provider_kit::{list_cache::ListCache, load_balancer::State};
use std::sync::Arc;
use step::Step;

/// Classic load balancers.
pub struct Classic {
    pub(super) shared: Arc<Shared>,
    state: State<Observed, Step>,
    list: ListCache<Vec<ClassicLoadBalancer>>,
}

impl Classic {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            state: State::default(),
            list: ListCache::default(),
        }
    }
}
