//! Deletion.

use crate::{
    Case, Fixture, Stop,
    case::case,
    load_balancers::{gone, matches_spec},
};
use cloud::Spec;

pub(crate) fn cases() -> Vec<Case> {
    vec![
        case!("load balancers: delete leaves nothing", delete),
        case!("load balancers: delete again is a success", delete_twice),
        case!(
            "load balancers: delete of one that never was is a success",
            delete_never
        ),
        case!(
            "load balancers: delete needs nothing but the Service's identity",
            delete_with_old_spec
        ),
        case!("load balancers: one can be made again after it was deleted", recreated),
    ]
}

async fn delete(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    fixture.delete(&spec).await?;
    gone(fixture, &spec).await
}

async fn delete_twice(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    fixture.delete(&spec).await?;
    fixture.delete(&spec).await?;
    gone(fixture, &spec).await
}

async fn delete_never(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.delete(&spec).await?;
    gone(fixture, &spec).await
}

async fn delete_with_old_spec(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    fixture.ensure(&spec).await?;
    let bare = Spec {
        cluster: spec.cluster.clone(),
        service: spec.service.clone(),
        ..Spec::default()
    };
    fixture.delete(&bare).await?;
    gone(fixture, &spec).await
}

async fn recreated(fixture: &Fixture) -> Result<(), Stop> {
    let spec = fixture.spec(2).await?;
    for _ in 0..2 {
        fixture.ensure(&spec).await?;
        matches_spec(fixture, &spec).await?;
        fixture.delete(&spec).await?;
    }
    gone(fixture, &spec).await
}
