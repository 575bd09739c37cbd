use super::*;
use futures::future::join_all;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// Gives numbered tokens, each of which lasts ten minutes.
#[derive(Default)]
struct Cloud {
    logins: AtomicUsize,
    fails: Mutex<Option<fn() -> Error>>,
}

#[async_trait::async_trait]
impl LogIn for Cloud {
    type Credential = usize;

    async fn log_in(&self) -> Result<Grant<usize>> {
        let credential = self.logins.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        if let Some(error) = *self.fails.lock().unwrap() {
            return Err(error());
        }
        Ok(Grant {
            credential,
            lifetime: Some(Duration::from_mins(10)),
        })
    }

    fn authorize(&self, credential: &usize, request: &mut http::Request<Bytes>) -> Result<()> {
        request.headers_mut().insert("token", (*credential).into());
        Ok(())
    }
}

fn login() -> Arc<Login<Cloud>> {
    Arc::new(Login::new(Cloud::default(), Arc::default()))
}

fn denied() -> Error {
    Error::Denied {
        call: "authentication".to_owned(),
        source: "wrong password".into(),
    }
}

async fn token(login: &Arc<Login<Cloud>>) -> Option<usize> {
    let mut request = http::Request::new(Bytes::new());
    match login.authorize(&mut request).await.unwrap() {
        Authorized::Ready => request.headers()["token"].to_str().unwrap().parse().ok(),
        Authorized::Stale => None,
    }
}

#[tokio::test(start_paused = true)]
async fn all_callers_share_one_login() {
    let login = login();
    let credentials = join_all((0..50).map(|_| login.current())).await;
    assert!(credentials.into_iter().all(|credential| *credential.unwrap() == 0));
    assert_eq!(login.cloud().logins.load(Ordering::SeqCst), 1);
    join_all((0..50).map(|_| login.renew())).await;
    assert_eq!(*login.current().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_credential_is_renewed_before_it_expires() {
    let login = login();
    assert_eq!(token(&login).await, None);
    login.refresh().await.unwrap();
    assert_eq!(token(&login).await, Some(0));
    tokio::time::advance(Duration::from_mins(9) - Duration::from_millis(1)).await;
    assert_eq!(token(&login).await, Some(0));
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(token(&login).await, None);
    assert_eq!(*login.current().await.unwrap(), 0, "it is still accepted");
    login.refresh().await.unwrap();
    assert_eq!(token(&login).await, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_refused_credential_is_not_used_any_more() {
    let login = login();
    login.refresh().await.unwrap();
    *login.cloud().fails.lock().unwrap() = Some(|| Error::unavailable("token create", "down"));
    login.refresh().await.unwrap_err();
    assert_eq!(token(&login).await, Some(0), "the cloud did not refuse");
    *login.cloud().fails.lock().unwrap() = Some(denied);
    login.refresh().await.unwrap_err();
    assert_eq!(token(&login).await, None);
    login.refused().await;
    let again = tokio::time::timeout(Duration::from_secs(9), login.refused()).await;
    assert!(again.is_err(), "it was reported once");
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_remembered() {
    let login = login();
    *login.cloud().fails.lock().unwrap() = Some(denied);
    for _ in 0..50 {
        let error = login.current().await.unwrap_err();
        assert_eq!(error.report(), "authentication was denied: wrong password");
    }
    assert_eq!(login.cloud().logins.load(Ordering::SeqCst), 1);
}
