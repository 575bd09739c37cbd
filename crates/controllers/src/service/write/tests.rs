use super::*;
use cloud::Ingress;
use rstest::rstest;
use testkit::service::{Builder, load_balancer};

fn lb() -> Builder {
    load_balancer("a")
}

// upstream: TestAddFinalizer
#[rstest]
#[case("already has", lb().finalizer(FINALIZER), false)]
#[case("missing", lb(), true)]
fn adds_the_finalizer(#[case] name: &str, #[case] service: Builder, #[case] patched: bool) {
    let service = service.build();
    let new = with_finalizer(&service);
    assert_eq!(
        new.is_some_and(|new| patch::between(&service, &new).is_some()),
        patched,
        "{name}"
    );
}

// upstream: TestRemoveFinalizer
#[rstest]
#[case("missing", lb(), false)]
#[case("present", lb().finalizer(FINALIZER), true)]
fn removes_the_finalizer(#[case] name: &str, #[case] service: Builder, #[case] patched: bool) {
    let service = service.build();
    let new = without_finalizer(&service);
    assert_eq!(
        new.is_some_and(|new| patch::between(&service, &new).is_some()),
        patched,
        "{name}"
    );
}

fn status(ips: &[&str]) -> Status {
    Status {
        ingress: ips
            .iter()
            .map(|ip| Ingress {
                ip: Some((*ip).into()),
                ..Ingress::default()
            })
            .collect(),
    }
}

// upstream: TestPatchStatus
#[rstest]
#[case("same ingress", lb().ingress_ip("10.0.0.1"), status(&["10.0.0.1"]), false)]
#[case("add", lb(), status(&["10.0.0.1"]), true)]
#[case("empty→empty", lb(), status(&[]), false)]
#[case("clear", lb().ingress_ip("10.0.0.1"), status(&[]), true)]
fn patches_the_status(#[case] name: &str, #[case] service: Builder, #[case] status: Status, #[case] patched: bool) {
    let service = service.build();
    let new = with_status(&service, &status, &Readiness::ready(), Timestamp::UNIX_EPOCH);
    assert_eq!(
        new.is_some_and(|new| patch::between(&service, &new).is_some()),
        patched,
        "{name}"
    );
}

#[rstest]
#[case::empty(lb(), false)]
#[case::ingress(lb().ingress_ip("10.0.0.1"), true)]
fn clears_the_status(#[case] service: Builder, #[case] patched: bool) {
    assert_eq!(
        without_status(&service.build(), Timestamp::UNIX_EPOCH).is_some(),
        patched
    );
}
