//! Which action does what.

use crate::{
    Account, ec2, elb, elb_v2,
    wire::{self, Answer, Dialect, Params, Refusal},
};
use fakecloud::{Access, Api, Exchange, Now, Outcome, Request, Response};

type Act = fn(&mut Account, &Params, Now) -> Answer;

/// The version of the API, the name of the service in `Fault::service`, and its actions.
type Service = (&'static str, &'static str, Dialect, &'static [(&'static str, Act)]);

const SERVICES: [Service; 3] = [
    ("2016-11-15", "ec2", Dialect::Ec2, ec2::ACTIONS),
    ("2012-06-01", "elb", Dialect::Query, elb::ACTIONS),
    ("2015-12-01", "elbv2", Dialect::Query, elb_v2::ACTIONS),
];

struct Found {
    service: &'static str,
    dialect: Dialect,
    action: &'static str,
    act: Act,
}

fn find(request: &Request) -> Option<Found> {
    let form = request.form();
    let (version, action) = (form.get("Version")?, form.get("Action")?);
    let (_, service, dialect, actions) = SERVICES.iter().find(|service| service.0 == version)?;
    let (action, act) = actions.iter().find(|known| known.0 == action)?;
    Some(Found {
        service,
        dialect: *dialect,
        action,
        act: *act,
    })
}

impl Api for Account {
    fn answer(&mut self, request: &Request, now: Now) -> Outcome {
        let Some(found) = find(request) else {
            let form = request.form();
            let what = format!(
                "{} {}",
                form.get("Version").unwrap_or("?"),
                form.get("Action").unwrap_or("?")
            );
            return Err(Response::text(501, format!("not simulated: {what}")).for_unknown(what));
        };
        let limit = self.settings.limits.get(found.action).copied();
        let params = Params::of(&request.form());
        let answer = self.buckets.take(found.action, limit.as_ref(), now);
        match answer.and_then(|()| (found.act)(self, &params, now)) {
            Ok(value) => Ok(wire::answer(found.dialect, found.action, &value)),
            Err(refusal) => Err(wire::refuse(found.dialect, &refusal)),
        }
    }

    fn label(&self, request: &Request, _: Now) -> Exchange {
        let Some(found) = find(request) else {
            return Exchange::of(request);
        };
        let access = if found.action.starts_with("Describe") {
            Access::Read
        } else {
            Access::Write
        };
        Exchange {
            service: found.service,
            operation: found.action,
            access,
            ..Exchange::of(request)
        }
    }

    fn error(&self, request: &Request, status: u16) -> Response {
        let code = match status {
            403 => "UnauthorizedOperation",
            429 | 503 => "RequestLimitExceeded",
            400 => "InvalidParameterValue",
            _ => "InternalError",
        };
        let refusal = Refusal {
            status,
            ..Refusal::new(code, "a fault that a test asked for")
        };
        wire::refuse(find(request).map_or(Dialect::Query, |found| found.dialect), &refusal)
    }
}
