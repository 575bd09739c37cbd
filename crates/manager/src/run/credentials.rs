//! The client of a controller, once its credentials are available.

use super::process::Process;
use crate::controllers_flag::Controller;
use kube::Client;
use runtime::{
    client::{Clients, explain},
    fence::Fence,
    health::Scope,
};
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::warn;

/// How long to wait before a retry.
const AGAIN: Duration = Duration::from_secs(2);

/// A client for this controller. If its service account is not available, this is reported and retried; `None` if the process
/// stops before.
///
/// # Errors
/// If the lock is lost before.
pub(super) async fn client(
    process: &Process,
    (clients, fence): (&Clients, &Fence),
    controller: &Controller,
    stop: &CancellationToken,
) -> Result<Option<Client>, String> {
    let problem = watch::Sender::new(None);
    loop {
        let error = match clients.for_controller(controller.client).await {
            Ok(client) => {
                problem.send_replace(None);
                return Ok(Some(client));
            }
            Err(error) => error,
        };
        let reason = format!("{error}: {}", explain(&error));
        report(process, controller, &problem, &reason);
        fence.check().map_err(|_| reason)?;
        if stop.run_until_cancelled(tokio::time::sleep(AGAIN)).await.is_none() {
            return Ok(None);
        }
    }
}

/// Logs a reason that is new, and shows it in `/readyz`.
fn report(process: &Process, controller: &Controller, problem: &watch::Sender<Option<String>>, reason: &str) {
    let before = problem.send_replace(Some(reason.to_owned()));
    if before.as_deref() != Some(reason) {
        warn!(
            controller = controller.name,
            reason, "cannot start controller; retrying"
        );
    }
    if before.is_none() {
        let problem = problem.subscribe();
        let check = move || problem.borrow().clone().map_or(Ok(()), Err);
        process
            .checks
            .add(&format!("{}-credentials", controller.name), Scope::Ready, check);
    }
}
