//! One account: everything that a test creates is in it, and no other test sees it.

use super::{Aws, REGION, SECRET};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

const TIMEOUT: Duration = Duration::from_mins(1);

/// An account of its own for each test.
#[derive(Debug, Clone)]
pub struct Account<'a> {
    pub(super) server: &'a Aws,
    number: String,
}

/// What the next calls of a program under test meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The call is refused with this HTTP status and error code, and changes nothing.
    Refuse(u16, &'static str),
    /// The call is done, and its answer gets lost.
    LoseAnswer,
    /// The call is done, and half of its answer arrives.
    Truncate,
}

impl<'a> Account<'a> {
    pub(super) fn new(server: &'a Aws) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = 200_000_000_000 + NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            server,
            number: number.to_string(),
        }
    }

    /// Its twelve digits.
    pub fn number(&self) -> &str {
        &self.number
    }

    /// The server that it is on.
    pub fn server(&self) -> &'a Aws {
        self.server
    }

    /// The access key ID; its secret is [`SECRET`].
    pub fn access_key(&self) -> String {
        format!("LAB{}", self.number)
    }

    /// The environment variables that give a program these credentials and this region.
    pub fn environment(&self) -> [(&'static str, String); 4] {
        [
            ("AWS_ACCESS_KEY_ID", self.access_key()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", REGION.to_owned()),
            ("AWS_EC2_METADATA_DISABLED", "true".to_owned()),
        ]
    }

    /// Calls an operation as the owner of the account: names and arguments are those of boto3, for example `ec2`, `DescribeInstances`. Not
    /// among the recorded calls.
    ///
    /// # Errors
    /// If AWS refuses it; the message has the code.
    pub async fn call(&self, service: &str, operation: &str, arguments: Value) -> Result<Value> {
        let request =
            json!({"account": self.number, "service": service, "operation": operation, "arguments": arguments});
        self.ask("call", &request)
            .await
            .with_context(|| format!("{service} {operation} {arguments}"))
    }

    /// The next calls of this action, or of any action that changes something if it is `writes`, go wrong.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn inject(&self, fault: &Fault, action: &str, times: u32) -> Result<()> {
        let mut request = match fault {
            Fault::Refuse(status, code) => {
                json!({"kind": "refuse", "status": format!("{status} Refused"), "code": code})
            }
            Fault::LoseAnswer => json!({"kind": "lose"}),
            Fault::Truncate => json!({"kind": "truncate"}),
        };
        request["account"] = json!(self.number);
        request["action"] = json!(action);
        request["times"] = json!(times);
        self.ask("fault", &request).await.map(drop)
    }

    pub(super) async fn forget(&self, instance: &str) -> Result<()> {
        let request = json!({"account": self.number, "instance": instance});
        self.ask("forget", &request).await.map(drop)
    }

    /// What is wrong with the recorded calls of this account and their answers, by the service models of botocore.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn problems(&self) -> Result<Vec<String>> {
        let found = self.ask("check", &json!({"account": self.number})).await?;
        Ok(serde_json::from_value(found)?)
    }

    async fn ask(&self, what: &str, request: &Value) -> Result<Value> {
        let url = format!("{}/lab/{what}", self.server.url());
        let answer = http()?.post(url).json(request).send().await?;
        let status = answer.status();
        let value: Value = answer.json().await?;
        if !status.is_success() {
            bail!("{}", value["error"]);
        }
        Ok(value)
    }
}

/// A new one for each call: connections belong to the runtime they were created in, and every test has its own.
pub(super) fn http() -> Result<reqwest::Client> {
    let client = reqwest::Client::builder().no_proxy().timeout(TIMEOUT);
    Ok(client.tls_certs_only(std::iter::empty()).build()?)
}
