//! The signer of AWS's own Python SDK signs the same requests.

use crate::auth::{
    Keys,
    sign::{Scope, sign},
};
use anyhow::{Context, Result, ensure};
use cloud_http::{bytes::Bytes, http::Request};
use serde_json::json;
use std::{
    io::Write,
    process::{Command, Stdio},
};

const REQUIREMENTS: &str =
    "botocore==1.44.3\njmespath==1.0.1\npython-dateutil==2.9.0.post0\nsix==1.17.0\nurllib3==2.5.0\n";

/// Reads requests, a line of JSON each, and writes the value of their header `Authorization`.
const SIGNER: &str = r#"
import json, sys
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

for line in sys.stdin:
    asked = json.loads(line)
    auth = SigV4Auth(Credentials("AKID", "s3cr3t/+=", asked["token"]), asked["service"], asked["region"])
    request = AWSRequest(method=asked["method"], url=asked["url"], headers=asked["headers"], data=asked["body"].encode())
    request.context["timestamp"] = asked["time"]
    auth._modify_request_before_signing(request)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    auth._inject_signature_to_request(request, auth.signature(text, request))
    print(request.headers["Authorization"])
"#;

struct Case {
    method: &'static str,
    url: &'static str,
    service: &'static str,
    token: Option<&'static str>,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
}

const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

const CASES: &[Case] = &[
    Case {
        method: "POST",
        url: "https://ec2.us-east-1.amazonaws.com/",
        service: "ec2",
        token: None,
        headers: &[FORM],
        body: "Action=DescribeInstances&Version=2016-11-15&Filter.1.Name=private-dns-name&Filter.1.Value.1=a+b%2Fc",
    },
    Case {
        method: "POST",
        url: "http://127.0.0.1:5000/",
        service: "elasticloadbalancing",
        token: Some("t0k3n"),
        headers: &[FORM],
        body: "Action=DescribeLoadBalancers&Version=2015-12-01",
    },
    Case {
        method: "POST",
        url: "https://sts.eu-west-1.amazonaws.com/",
        service: "sts",
        token: None,
        headers: &[
            FORM,
            ("x-amz-source-account", "123456789012"),
            ("x-amz-source-arn", "arn:aws:eks:eu-west-1:1:cluster/c"),
        ],
        body: "Action=AssumeRole",
    },
    Case {
        method: "POST",
        url: "https://api.ecr.us-east-1.amazonaws.com/",
        service: "ecr",
        token: Some("t"),
        headers: &[
            ("content-type", "application/x-amz-json-1.1"),
            (
                "x-amz-target",
                "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken",
            ),
        ],
        body: "{}",
    },
    Case {
        method: "GET",
        url: "https://proxy.example:8443/a%20b/c~d?b=2&a=1",
        service: "ec2",
        token: None,
        headers: &[],
        body: "",
    },
];

fn ours(case: &Case) -> Result<String> {
    let mut request = Request::builder().method(case.method).uri(case.url);
    for (name, value) in case.headers {
        request = request.header(*name, *value);
    }
    let mut request = request.body(Bytes::from_static(case.body.as_bytes()))?;
    let keys = Keys {
        access_key_id: "AKID".into(),
        secret_access_key: "s3cr3t/+=".into(),
        session_token: case.token.map(Into::into),
        expiration: None,
    };
    let scope = Scope {
        service: case.service.into(),
        region: "us-east-1".into(),
    };
    sign(&mut request, &keys, &scope, "2026-11-18T16:00:01Z".parse()?)?;
    Ok(request.headers()["authorization"].to_str()?.to_owned())
}

#[test]
fn botocore_signs_the_same() -> Result<()> {
    let python = lab::python::with("botocore", REQUIREMENTS)?;
    let mut signer = Command::new(python)
        .args(["-c", SIGNER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = signer.stdin.take().context("it has an input")?;
    for case in CASES {
        let headers: serde_json::Map<String, serde_json::Value> = case
            .headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), json!(value)))
            .collect();
        let asked = json!({
            "method": case.method, "url": case.url, "service": case.service, "region": "us-east-1", "token": case.token,
            "headers": headers, "body": case.body, "time": "20261118T160001Z",
        });
        writeln!(input, "{asked}")?;
    }
    drop(input);
    let output = signer.wait_with_output()?;
    ensure!(output.status.success(), "botocore failed");
    let theirs: Vec<String> = String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect();
    let ours: Result<Vec<String>> = CASES.iter().map(ours).collect();
    assert_eq!(ours?, theirs);
    Ok(())
}
