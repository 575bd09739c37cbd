//! What is counted about calls, under the names of the Go program.

use super::fixture::{ELSEWHERE, Fixture, KEYS, id, node};
use crate::config::Untagged;
use cloud::{Detail, Provider as _};
use fakecloud::Fault;
use prometheus::proto::MetricType;

/// The value of a metric with these labels; of a histogram the number of observations.
fn value(registry: &prometheus::Registry, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let families = registry.gather();
    let family = families.iter().find(|family| family.name() == name)?;
    let metric = family.get_metric().iter().find(|metric| {
        let has = |(name, value): &(&str, &str)| {
            let mut all = metric.get_label().iter();
            all.any(|label| label.name() == *name && label.value() == *value)
        };
        labels.iter().all(has)
    })?;
    Some(match family.get_field_type() {
        #[expect(clippy::cast_precision_loss, reason = "there are few calls")]
        MetricType::HISTOGRAM => metric.get_histogram().get_sample_count() as f64,
        _ => metric.get_counter().get_value(),
    })
}

#[tokio::test]
async fn calls_are_counted_by_how_they_end() {
    let fixture = Fixture::start(1).await;
    let registry = prometheus::Registry::new();
    let aws = fixture.aws_on(ELSEWHERE, &KEYS, Untagged::Refused, &registry);
    let describe = async || aws.instances().describe(&[node(&id(1))], Detail::Liveness).await;
    let measured = |name: &str| {
        let name = format!("cloudprovider_aws_api_request_{name}");
        value(&registry, &name, &[("request", "describe_instance")])
    };
    assert!(describe().await[0].is_ok());
    assert_eq!((measured("duration_seconds"), measured("errors")), (Some(1.0), None));
    fixture.refuse("DescribeInstances", 403, "UnauthorizedOperation", "no");
    assert!(describe().await[0].is_err());
    assert_eq!(
        (measured("duration_seconds"), measured("errors")),
        (Some(1.0), Some(1.0))
    );
    let status = |operation: &str, code: &str| {
        let labels = [("service", "EC2"), ("operation", operation), ("status_code", code)];
        value(&registry, "cloudprovider_aws_api_response_status_total", &labels)
    };
    assert_eq!(status("DescribeInstances", "403"), Some(1.0));
    assert_eq!(status("DescribeInstances", "200"), None, "only errors are counted");

    let throttled = || {
        let labels = [("operation_name", "DescribeAvailabilityZones")];
        value(&registry, "cloudprovider_aws_api_throttled_requests_total", &labels)
    };
    assert_eq!(throttled(), None);
    fixture.refuse("DescribeAvailabilityZones", 503, "RequestLimitExceeded", "slow down");
    assert!(aws.api.list_zones().await.is_err());
    assert_eq!(
        (throttled(), status("DescribeAvailabilityZones", "503")),
        (Some(1.0), Some(1.0))
    );
    // What is sent again and succeeds has not failed.
    let busy = "<Response><Errors><Error><Code>InternalError</Code><Message>m</Message></Error></Errors></Response>";
    fixture.cloud.inject(Fault::answer(500, busy).times(1));
    assert!(describe().await[0].is_ok());
    assert_eq!(status("DescribeInstances", "500"), None);
    // What does not exist is an error response, although it is an answer to us.
    fixture.refuse("DeleteRoute", 400, "InvalidRoute.NotFound", "no route");
    let route = "10.1.1.0/24".parse().unwrap();
    assert!(aws.api.delete_route("rtb-1", &route).await.is_ok());
    assert_eq!(status("DeleteRoute", "400"), Some(1.0));
    // A call that the Go program does not measure.
    assert_eq!(measured("errors"), Some(1.0));
}
