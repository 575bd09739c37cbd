//! Who may write, and who has to wait.

use super::*;

#[tokio::test]
async fn only_controllers_stand_behind_the_fence() {
    let plane = ControlPlane::shared();
    let fence = Fence::closed();
    let clients = admin(plane).fence(fence.clone()).build().unwrap();
    let write = async |client: Client| {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(lab::unique("fence"));
        Api::<ConfigMap>::namespaced(client, "default")
            .create(&PostParams::default(), &object)
            .await
    };
    let controller = clients.for_controller("node-controller").await.unwrap();
    assert!(is_fenced(&write(controller.clone()).await.unwrap_err()));
    Api::<Node>::all(controller.clone())
        .list(&ListParams::default().limit(1))
        .await
        .unwrap();
    write(clients.plain("events")).await.unwrap();
    write(clients.for_leases(Duration::from_secs(5)).unwrap())
        .await
        .unwrap();
    fence.allow_until(std::time::Instant::now() + Duration::from_mins(1));
    write(controller).await.unwrap();
}

#[tokio::test]
async fn a_write_is_not_sent_if_the_fence_closes_while_connecting() {
    let plane = ControlPlane::shared();
    let proxy = Proxy::start().await;
    let blocked = proxy.gate.lock().await;
    let cluster = json!({"proxy-url": format!("http://me:p%40ss@{}", proxy.address)});
    let config = Folder::new().config(plane, &cluster, &admin_user(plane));
    let fence = Fence::open();
    let client = Builder::new(config)
        .fence(fence.clone())
        .build()
        .unwrap()
        .for_controller("test")
        .await
        .unwrap();
    let mut object = ConfigMap::default();
    object.metadata.name = Some(lab::unique("late"));
    let name = object.name_any();
    let write = tokio::spawn(async move {
        Api::<ConfigMap>::namespaced(client, "default")
            .create(&PostParams::default(), &object)
            .await
    });
    proxy.asked.notified().await;
    fence.close();
    drop(blocked);
    assert!(is_fenced(&write.await.unwrap().unwrap_err()));
    assert_eq!(proxy.tunnels.load(Ordering::Relaxed), 1, "the connection came up");
    let found = Api::<ConfigMap>::namespaced(plane.client(), "default")
        .get_opt(&name)
        .await
        .unwrap();
    assert_eq!(found, None);
}

#[tokio::test]
async fn a_token_needs_no_place_among_the_requests_under_way() {
    let plane = ControlPlane::shared();
    let identity = Identity::ServiceAccounts {
        namespace: lab::unique("accounts"),
    };
    let clients = admin(plane)
        .identity(identity)
        .limit(Limit::InFlight(1))
        .build()
        .unwrap();
    let client = clients.for_controller("service-controller").await.unwrap();
    let name = timeout(Duration::from_secs(10), whoami(&client))
        .await
        .unwrap()
        .unwrap();
    assert!(name.ends_with(":service-controller"), "{name}");
}

#[tokio::test]
async fn a_lease_is_not_kept_waiting() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let clients = Builder::new(Config::new(url.parse().unwrap()))
        .limit(Limit::InFlight(1))
        .build()
        .unwrap();
    let stuck = tokio::spawn({
        let client = clients.plain("stuck");
        async move { Api::<Node>::all(client).list(&ListParams::default()).await }
    });
    let _connection = silent.accept().await.unwrap();
    let started = Instant::now();
    let lease = Api::<Node>::all(clients.for_leases(Duration::from_millis(300)).unwrap());
    let error = lease.get("a").await.unwrap_err();
    assert_eq!(explain(&error), format!("{url} did not answer within 0.3 s"));
    assert!(started.elapsed() < Duration::from_secs(25));
    stuck.abort();
}
