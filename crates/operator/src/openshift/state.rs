//! The state of the parts of the operator: from a decision, the results of applying it, and how long they fail.

use super::{
    Duties, Problem,
    decide::{Blocked, Decision},
};
use crate::{
    cloud_config,
    control::{Next, Retry},
    operands::{Failure, Report},
    status::{CLOUD_CONFIG, Operands, PartState, TRUSTED_CA, Verdict, Window},
    trusted_ca,
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

/// How long the operands and the two parts may fail before that is reported.
const OPERANDS_FAIL: Duration = Duration::from_secs(150);
const PARTS_FAIL: Duration = Duration::from_mins(2);
/// After this time without a failure of the trusted certificates, the next failure starts a new window.
const CA_FORGETS: Duration = Duration::from_secs(150);
/// The next pass while objects are being deleted.
const SOON: Duration = Duration::from_secs(2);

/// Since when each part fails.
pub(super) struct Windows {
    cloud_config: Window,
    trusted_ca: Window,
    operands: Window,
}

/// The state of the parts.
#[derive(Default)]
pub(super) struct PassState {
    pub(super) cloud_config: Option<PartState>,
    pub(super) trusted_ca: Option<PartState>,
    pub(super) operands: Option<Operands>,
    /// Informational messages.
    pub(super) remarks: Vec<String>,
    /// What could not be read or decided, each one sentence.
    pub(super) undecided: Vec<String>,
    /// What prevents the roll-out of the operands.
    pub(super) obstacles: Vec<String>,
    /// When the next pass is due.
    pub(super) next: Next,
}

impl Default for Windows {
    fn default() -> Self {
        Self {
            cloud_config: Window::new(PARTS_FAIL),
            trusted_ca: Window::new(PARTS_FAIL).forgetting(CA_FORGETS),
            operands: Window::new(OPERANDS_FAIL),
        }
    }
}

impl Windows {
    /// A part works once its objects were written; a part that waits for another one does not fail.
    pub(super) fn close(&mut self, state: &PassState) {
        if matches!(
            state.operands,
            None | Some(Operands::Progressing(_) | Operands::Waiting)
        ) {
            self.operands.worked();
        }
        for (part, window) in [
            (&state.cloud_config, &mut self.cloud_config),
            (&state.trusted_ca, &mut self.trusted_ca),
        ] {
            if let Some(PartState::Fine | PartState::Warning(_)) = part {
                window.worked();
            }
        }
    }
}

impl PassState {
    /// The state after a decision.
    pub(super) fn of(decision: &Decision, windows: &mut Windows, now: Instant) -> Self {
        let mut state = Self {
            remarks: decision.remarks.clone(),
            ..Self::default()
        };
        state.cloud_config = state.part(decision.cloud_config.as_ref(), &mut windows.cloud_config, now);
        state.trusted_ca = state.part(decision.trusted_ca.as_ref(), &mut windows.trusted_ca, now);
        state.operands = match &decision.blocked {
            None => None,
            Some(Blocked::By(Problem::Terminal(cause))) => Some(Operands::Failed(cause.clone())),
            Some(Blocked::By(Problem::Transient(cause))) => Some(state.operands_failed(cause, windows, now)),
            Some(Blocked::ByOtherProcess(left)) => {
                let (again, retry) = (*left, Retry::No);
                state.next = state.next.or(Next { again, retry });
                Some(Operands::Waiting)
            }
            Some(Blocked::ByConfig) => Some(match state.failed_parts() {
                None => Operands::Waiting,
                Some(cause) => state.operands_failed(&cause, windows, now),
            }),
        };
        state
    }

    fn part(
        &mut self,
        decided: Option<&Result<Vec<String>, Problem>>,
        window: &mut Window,
        now: Instant,
    ) -> Option<PartState> {
        Some(match decided? {
            Ok(warnings) if warnings.is_empty() => PartState::Fine,
            Ok(warnings) => PartState::Warning(warnings.join("; ")),
            Err(Problem::Terminal(cause)) => PartState::Failed(cause.clone()),
            Err(Problem::Transient(cause)) => {
                self.undecided.push(cause.clone());
                self.part_failed(cause, window, now)
            }
        })
    }

    fn part_failed(&mut self, cause: &str, window: &mut Window, now: Instant) -> PartState {
        match self.verdict(window, now) {
            Verdict::Report => PartState::Failed(cause.to_owned()),
            Verdict::Wait(_) => PartState::Failing,
        }
    }

    fn operands_failed(&mut self, cause: &str, windows: &mut Windows, now: Instant) -> Operands {
        self.undecided.push(cause.to_owned());
        self.obstacles.push(cause.to_owned());
        self.operands_verdict(cause, windows, now)
    }

    fn operands_verdict(&mut self, cause: &str, windows: &mut Windows, now: Instant) -> Operands {
        match self.verdict(&mut windows.operands, now) {
            Verdict::Report => Operands::Failed(cause.to_owned()),
            Verdict::Wait(_) => Operands::Failing,
        }
    }

    /// Records a failure: it is retried with back-off, and again at the moment when it has to be reported.
    fn verdict(&mut self, window: &mut Window, now: Instant) -> Verdict {
        let verdict = window.failed(now);
        let again = match verdict {
            Verdict::Report => None,
            Verdict::Wait(left) => Some(left),
        };
        let retry = Retry::WithBackOff;
        self.next = self.next.or(Next { again, retry });
        verdict
    }

    /// The parts whose failure is reported, as a message.
    fn failed_parts(&self) -> Option<String> {
        let parts = [(CLOUD_CONFIG, &self.cloud_config), (TRUSTED_CA, &self.trusted_ca)];
        let failed = parts.iter().filter_map(|(part, state)| match state {
            Some(PartState::Failed(cause)) => Some(format!("{}: {cause}", part.degraded)),
            _ => None,
        });
        let failed: Vec<_> = failed.collect();
        (!failed.is_empty()).then(|| failed.join("; "))
    }

    /// Adds the results of a run.
    pub(super) fn applied(&mut self, report: &Report, duties: Duties, windows: &mut Windows, now: Instant) {
        let (kept, failures): (Vec<_>, Vec<_>) = report.failures().partition(|failure| failure.is_left_behind());
        self.remarks.extend(sentences(&kept));
        let pending = report.waiting();
        self.obstacles
            .extend(sentences(&failures).into_iter().chain(pending.iter().cloned()));
        if !failures.is_empty() {
            self.not_written(&failures, duties, windows, now);
        } else if !pending.is_empty() {
            let again = Some(SOON);
            let retry = Retry::No;
            self.next = self.next.or(Next { again, retry });
            if self.operands.is_none() && duties.has_operands() {
                self.operands = Some(Operands::Progressing(pending));
            }
        }
    }

    fn not_written(&mut self, failures: &[&Failure], duties: Duties, windows: &mut Windows, now: Instant) {
        self.next.retry = Retry::WithBackOff;
        let (of_config, of_operands): (Vec<&Failure>, Vec<_>) = failures.iter().partition(|failure| is_config(failure));
        for failure in of_config {
            let cause = failure.to_string();
            if failure.key.name == trusted_ca::NAME {
                self.trusted_ca = Some(self.part_failed(&cause, &mut windows.trusted_ca, now));
            } else {
                self.cloud_config = Some(self.part_failed(&cause, &mut windows.cloud_config, now));
            }
        }
        if !duties.has_operands() || self.operands.is_some() {
            return;
        }
        self.operands = Some(match (of_operands.is_empty(), self.failed_parts()) {
            // They wait for a part as long as its failure is not reported.
            (true, None) => Operands::Waiting,
            (true, Some(cause)) => self.operands_verdict(&cause, windows, now),
            (false, _) => self.operands_verdict(&sentences(failures).join("; "), windows, now),
        });
    }
}

fn is_config(failure: &Failure) -> bool {
    let maps = [cloud_config::NAME, cloud_config::MANAGED_NAME, trusted_ca::NAME];
    failure.key.kind == "ConfigMap" && maps.contains(&failure.key.name.as_str())
}

/// The messages, each once.
fn sentences(failures: &[&Failure]) -> Vec<String> {
    let all: BTreeSet<_> = failures.iter().map(ToString::to_string).collect();
    all.into_iter().collect()
}

/// The objects that are kept because they may not be deleted.
pub(super) fn kept(report: &Report) -> Vec<String> {
    let kept: Vec<_> = report.failures().filter(|failure| failure.is_left_behind()).collect();
    sentences(&kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    // A run without an error ends a failure, and a terminal error neither begins nor ends one.
    #[rstest]
    #[case::as_it_should_be(None, Verdict::Wait(OPERANDS_FAIL))]
    #[case::progressing(Some(Operands::Progressing(Vec::new())), Verdict::Wait(OPERANDS_FAIL))]
    #[case::waits_for_another(Some(Operands::Waiting), Verdict::Wait(OPERANDS_FAIL))]
    #[case::fails(Some(Operands::Failing), Verdict::Report)]
    #[case::terminal(Some(Operands::Failed("x".to_owned())), Verdict::Report)]
    fn waiting_is_not_failing(#[case] operands: Option<Operands>, #[case] later: Verdict) {
        let (mut windows, start) = (Windows::default(), Instant::now());
        windows.operands.failed(start);
        windows.close(&PassState {
            operands,
            ..PassState::default()
        });
        assert_eq!(windows.operands.failed(start + OPERANDS_FAIL), later);
    }

    #[rstest]
    #[case::decided_but_not_written(PartState::Failing, Verdict::Report)]
    #[case::written(PartState::Fine, Verdict::Wait(PARTS_FAIL))]
    fn a_written_part_starts_its_time_again(#[case] part: PartState, #[case] later: Verdict) {
        let (mut windows, start) = (Windows::default(), Instant::now());
        windows.cloud_config.failed(start);
        windows.close(&PassState {
            cloud_config: Some(part),
            ..PassState::default()
        });
        assert_eq!(windows.cloud_config.failed(start + PARTS_FAIL), later);
    }

    fn transient() -> Problem {
        Problem::Transient("cannot read Proxy cluster: 403".to_owned())
    }

    /// A failure is reported when its window ends, and not with the next retry after that.
    #[test]
    fn the_next_pass_is_due_when_a_failure_has_to_be_reported() {
        let (mut windows, start) = (Windows::default(), Instant::now());
        let decision = Decision {
            blocked: Some(Blocked::By(transient())),
            ..Decision::default()
        };
        let at = |second| start + Duration::from_secs(second);
        let mut due = |second| {
            let state = PassState::of(&decision, &mut windows, at(second));
            (state.operands, state.next.again)
        };
        assert_eq!(due(0), (Some(Operands::Failing), Some(OPERANDS_FAIL)));
        assert_eq!(due(130), (Some(Operands::Failing), Some(Duration::from_secs(20))));
        assert_eq!(due(150), (Some(Operands::Failed(transient().to_string())), None));
    }

    /// Another process may never write the content that this one would: the wait ends without a change in the cluster.
    #[test]
    fn the_next_pass_is_due_when_the_wait_for_another_process_ends() {
        let left = Some(Duration::from_secs(20));
        let decision = Decision {
            blocked: Some(Blocked::ByOtherProcess(left)),
            ..Decision::default()
        };
        let state = PassState::of(&decision, &mut Windows::default(), Instant::now());
        assert_eq!((state.operands, state.next.again), (Some(Operands::Waiting), left));
    }

    /// Operands wait for a part, and fail when it fails.
    #[rstest]
    #[case::terminal(Problem::Terminal("no key".to_owned()), Operands::Failing)]
    #[case::transient(transient(), Operands::Waiting)]
    fn operands_depend_on_the_parts(#[case] problem: Problem, #[case] expected: Operands) {
        let decision = Decision {
            cloud_config: Some(Err(problem)),
            trusted_ca: Some(Ok(Vec::new())),
            blocked: Some(Blocked::ByConfig),
            ..Decision::default()
        };
        let state = PassState::of(&decision, &mut Windows::default(), Instant::now());
        assert_eq!(state.operands, Some(expected));
        assert_eq!(state.next.retry, Retry::WithBackOff);
    }
}
