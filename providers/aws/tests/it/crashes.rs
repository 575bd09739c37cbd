//! The process is killed before each write: another one completes what it began, and nothing is left behind.

use crate::fixture::{Lab, delete, dies_after, ensure, open};
use cloud::{Error, Spec};
use rstest::rstest;

const MANAGED: &str = "NLBSecurityGroupMode=Managed";

fn changed(spec: &Spec) -> Spec {
    let mut spec = spec.clone();
    // One port stays with another node port, one is removed, one is new.
    spec.ports.pop();
    spec.ports[0].node_port = Some(31000);
    spec.ports.push(cloud::Port {
        port: 8443,
        node_port: Some(31443),
        ..spec.ports[0].clone()
    });
    spec.source_ranges = vec!["192.0.2.0/24".parse().unwrap()];
    spec
}

#[rstest]
#[case::network("nlb", "")]
#[case::managed_groups("nlb", MANAGED)]
#[case::classic("", "")]
#[tokio::test]
async fn before_every_write(#[case] kind: &str, #[case] more: &str) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    let service = lab.service("web", kind, &[80, 443]);
    let undisturbed = lab.provider_with(more, &open());
    let mut spec = service.clone();
    ensure(&undisturbed, &mut spec).await.unwrap();
    let created = lab.snapshot().await;
    let mut spec = Spec {
        annotations: spec.annotations,
        ..changed(&service)
    };
    ensure(&undisturbed, &mut spec).await.unwrap();
    let updated = lab.snapshot().await;
    delete(&undisturbed, &mut spec).await.unwrap();
    assert_eq!(lab.snapshot().await, nothing);

    let mut deaths = [0; 3];
    let mut writes = 0;
    loop {
        let before: usize = deaths.iter().sum();
        let mut spec = service.clone();
        deaths[0] += usize::from(ends(
            ensure(&lab.provider_with(more, &dies_after(writes)), &mut spec)
                .await
                .map(drop),
        ));
        let next = lab.provider_with(more, &open());
        ensure(&next, &mut spec).await.unwrap();
        assert_eq!(
            lab.snapshot().await,
            created,
            "killed after {writes} writes of the creation"
        );

        let mut spec = Spec {
            annotations: spec.annotations,
            ..changed(&service)
        };
        deaths[1] += usize::from(ends(
            ensure(&lab.provider_with(more, &dies_after(writes)), &mut spec)
                .await
                .map(drop),
        ));
        ensure(&lab.provider_with(more, &open()), &mut spec).await.unwrap();
        assert_eq!(
            lab.snapshot().await,
            updated,
            "killed after {writes} writes of the update"
        );

        deaths[2] += usize::from(ends(
            delete(&lab.provider_with(more, &dies_after(writes)), &mut spec).await,
        ));
        delete(&lab.provider_with(more, &open()), &mut spec).await.unwrap();
        assert_eq!(
            lab.snapshot().await,
            nothing,
            "killed after {writes} writes of the deletion"
        );
        writes += 1;
        if deaths.iter().sum::<usize>() == before {
            break;
        }
    }
    assert!(deaths.iter().all(|deaths| *deaths > 2), "{deaths:?}");
    lab.check_calls().await;
}

/// Whether a call ended because the process was killed.
fn ends(result: cloud::Result<()>) -> bool {
    match result {
        Ok(()) => false,
        Err(Error::NotLeader) => true,
        Err(error) => panic!("{}", error.report()),
    }
}

/// A Service that is deleted after a crash, and never completed.
#[rstest]
#[case::network("nlb", MANAGED)]
#[case::classic("", "")]
#[tokio::test]
async fn and_then_deleted(#[case] kind: &str, #[case] more: &str) {
    let lab = Lab::start().await;
    let nothing = lab.snapshot().await;
    for writes in 0.. {
        let mut spec = lab.service("web", kind, &[80]);
        let died = ends(
            ensure(&lab.provider_with(more, &dies_after(writes)), &mut spec)
                .await
                .map(drop),
        );
        delete(&lab.provider_with(more, &open()), &mut spec).await.unwrap();
        assert_eq!(lab.snapshot().await, nothing, "killed after {writes} writes");
        if !died {
            assert!(writes > 3, "{writes}");
            break;
        }
    }
}
