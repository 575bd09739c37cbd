//! When our certificates expire, as Prometheus reads it.

use crate::{
    objects::token,
    rig::{Credentials, Manager, Port, free_port},
    world::{World, images, kind},
};
use serde_json::json;

/// A token of somebody who may do everything.
pub async fn reader(world: &World) -> String {
    let (name, namespace) = ("prometheus", &world.namespace);
    let accounts = kind("", "v1", "ServiceAccount", "serviceaccounts");
    world.apply(&accounts, namespace, name, json!({})).await;
    let bindings = kind(
        "rbac.authorization.k8s.io",
        "v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
    );
    let binding = json!({
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": namespace}],
    });
    world.apply(&bindings, "", namespace, binding).await;
    token(&world.client, namespace, name).await
}

/// Waits until so many certificates are about to expire some time.
async fn reads(operator: &Manager, port: &Port, certificates: usize) {
    let look = async || {
        let reply = port.try_get("/metrics").await?;
        let expires = |line: &&str| line.starts_with("outrigger_operator_certificate_expiration_timestamp_seconds{");
        let found = reply.body.lines().filter(expires).count();
        if reply.status == 200 && found == certificates {
            Ok(())
        } else {
            Err(format!("{} {found}", reply.status))
        }
    };
    operator.until(&format!("{certificates} certificates"), look).await;
}

/// A certificate that is nobody's any more, because the manager is another's or there is none, wakes nobody up.
#[tokio::test]
async fn nobodys_certificate() {
    let world = World::new("OpenStack").await;
    let own = || {
        let mut images = images();
        images
            .as_object_mut()
            .unwrap()
            .remove("cloudControllerManagerOpenStack");
        world.folder.write("images.json", &images.to_string());
    };
    own();
    let token = reader(&world).await;
    let address = free_port();
    let launch = world.common(world.operator());
    let operator = launch.flag(&format!("--metrics-bind-address={address}")).start();
    let port = Port::new(address, &Credentials::Token(token));
    reads(&operator, &port, 2).await;
    world.folder.write("images.json", &images().to_string());
    reads(&operator, &port, 0).await;
    own();
    reads(&operator, &port, 2).await;
    world.set_platform("None").await;
    reads(&operator, &port, 0).await;
}
