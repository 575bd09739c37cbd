//! Gone without a trace.

use crate::{
    Case, Scene, Stop,
    balancers::{as_asked, gone},
    case::case,
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
        case!("load balancers: one can be made again after it was deleted", made_again),
    ]
}

async fn delete(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.ensure(&spec).await?;
    scene.delete(&spec).await?;
    gone(scene, &spec).await
}

async fn delete_twice(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.ensure(&spec).await?;
    scene.delete(&spec).await?;
    scene.delete(&spec).await?;
    gone(scene, &spec).await
}

async fn delete_never(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.delete(&spec).await?;
    gone(scene, &spec).await
}

async fn delete_with_old_spec(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    scene.ensure(&spec).await?;
    let bare = Spec {
        cluster: spec.cluster.clone(),
        service: spec.service.clone(),
        ..Spec::default()
    };
    scene.delete(&bare).await?;
    gone(scene, &spec).await
}

async fn made_again(scene: &Scene) -> Result<(), Stop> {
    let spec = scene.spec(2).await?;
    for _ in 0..2 {
        scene.ensure(&spec).await?;
        as_asked(scene, &spec).await?;
        scene.delete(&spec).await?;
    }
    gone(scene, &spec).await
}
