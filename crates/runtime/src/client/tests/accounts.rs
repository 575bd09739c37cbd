//! Controllers with service accounts of their own.

use super::*;

#[tokio::test]
async fn controllers_have_service_accounts_of_their_own() {
    let plane = ControlPlane::shared();
    let namespace = lab::unique("accounts");
    let identity = Identity::ServiceAccounts {
        namespace: namespace.clone(),
    };
    let clients = admin(plane).identity(identity).build().unwrap();
    let first = clients.for_controller("node-controller").await.unwrap();
    let second = clients.for_controller("node-controller").await.unwrap();
    let expected = format!("system:serviceaccount:{namespace}:node-controller");
    assert_eq!(whoami(&first).await, Ok(expected.clone()));
    assert_eq!(whoami(&second).await, Ok(expected.clone()));
    assert_ne!(
        whoami(&clients.plain("informers")).await,
        Ok(expected.clone()),
        "others act as the process"
    );

    let in_namespace = |entry: &Value| entry["objectRef"]["namespace"] == namespace.as_str();
    let tokens = audited(plane, |entry| {
        in_namespace(entry) && entry["objectRef"]["subresource"] == "token"
    });
    assert_eq!(tokens.len(), 1, "both share the token");
    let reviews = audited(plane, |entry| entry["user"]["username"] == expected.as_str());
    assert!(
        reviews[0]["userAgent"]
            .as_str()
            .unwrap()
            .ends_with(&format!("/{expected}"))
    );
}

#[tokio::test]
async fn a_service_account_that_is_deleted_comes_back_without_an_error() {
    let plane = ControlPlane::shared();
    let namespace = lab::unique("accounts");
    let identity = Identity::ServiceAccounts {
        namespace: namespace.clone(),
    };
    let client = admin(plane)
        .identity(identity)
        .build()
        .unwrap()
        .for_controller("route-controller")
        .await
        .unwrap();
    let accounts = Api::<ServiceAccount>::namespaced(plane.client(), &namespace);
    whoami(&client).await.unwrap();
    let before = accounts.get("route-controller").await.unwrap();
    accounts
        .delete("route-controller", &DeleteParams::default())
        .await
        .unwrap();
    // The API server remembers for ten seconds that a token was good.
    let back = timeout(Duration::from_secs(30), async {
        loop {
            whoami(&client).await.unwrap();
            if let Some(account) = accounts.get_opt("route-controller").await.unwrap() {
                return account;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    assert_ne!(back.await.unwrap().uid(), before.uid());
    assert!(whoami(&client).await.unwrap().ends_with(":route-controller"));
}

#[tokio::test]
async fn a_service_account_that_cannot_be_created_is_explained() {
    let plane = ControlPlane::shared();
    let source = Source {
        kubeconfig: Some(plane.kubeconfig_for("alice", &[])),
        master: None,
    };
    let identity = Identity::ServiceAccounts {
        namespace: "kube-system".into(),
    };
    let clients = Builder::new(source.load().unwrap()).identity(identity).build().unwrap();
    let error = clients.for_controller("service-controller").await.err().unwrap();
    assert_eq!(
        error.to_string(),
        "cannot read service account kube-system/service-controller"
    );
    let message = explain(&error);
    assert!(
        message.starts_with(
            "missing permission: serviceaccounts \"service-controller\" is forbidden: User \"alice\" cannot get"
        ),
        "{message}"
    );
}
