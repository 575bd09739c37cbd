//! Whole stories, from a Service to what the cloud then has: on the simulation, and on the real services.

mod bad_luck;
mod broken;
mod creating;
mod deleting;
mod exposing;
mod frugality;
mod ground;
mod hosts;
mod moving;
mod sharing;
mod stage;
mod taken_over;
mod unanswered;
