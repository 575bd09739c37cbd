//! Regions, partitions, and where the services of a region are.

use crate::{api::Service, config::Config};
use cloud_http::Url;

/// Where a service is, and how requests to it are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it is.
    pub url: Url,
    /// The service in signatures.
    pub signing_name: String,
    /// The region in signatures.
    pub signing_region: String,
}

/// The region that a zone is in: `us-west-2` of `us-west-2a` and of `us-west-2-lax-1a`.
pub fn of_zone(zone: &str) -> Option<&str> {
    let mut end = 0;
    for part in zone.split('-') {
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            return (end > 0).then(|| &zone[..end + digits]);
        }
        if part.is_empty() || !part.chars().all(|c| c.is_ascii_alphabetic()) {
            return None;
        }
        end += part.len() + 1;
    }
    None
}

/// Where a service is: as `[ServiceOverride]` says, or a variable of AWS's SDKs, or where AWS has it.
///
/// # Errors
/// One sentence, if a variable is no URL.
pub fn endpoint(service: Service, region: &str, config: &Config) -> Result<Endpoint, String> {
    let mut overrides = config.overrides.iter();
    if let Some(found) = overrides.find(|one| one.service == service.id() && one.region == region) {
        let signing_name = found.signing_name.clone();
        return Ok(Endpoint {
            url: found.url.clone(),
            signing_name: signing_name.unwrap_or_else(|| service.prefix().to_owned()),
            signing_region: found.signing_region.clone(),
        });
    }
    let url = if let Some(url) = configured(service.id(), config)? {
        url
    } else {
        let url = format!("https://{}", host(service, region, config));
        url.parse().map_err(|_| format!("there is no region {region:?}"))?
    };
    Ok(Endpoint {
        url,
        signing_name: service.prefix().to_owned(),
        signing_region: region.to_owned(),
    })
}

/// The URL in a variable of AWS's SDKs, for a service by its ID in these.
pub fn configured(id: &str, config: &Config) -> Result<Option<Url>, String> {
    let variables = &config.variables;
    if is_on(config, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") {
        return Ok(None);
    }
    let own = format!("AWS_ENDPOINT_URL_{}", id.to_uppercase().replace(' ', "_"));
    match variables.parsed(&[], &own)? {
        None => variables.parsed(&[], "AWS_ENDPOINT_URL"),
        found => Ok(found),
    }
}

fn host(service: Service, region: &str, config: &Config) -> String {
    let (suffix, dual_stack_suffix) = partition(region);
    let dual_stack = is_on(config, "AWS_USE_DUALSTACK_ENDPOINT");
    let suffix = if dual_stack { dual_stack_suffix } else { suffix };
    // In GovCloud the ordinary endpoints are the FIPS ones.
    let is_fips = is_on(config, "AWS_USE_FIPS_ENDPOINT") && (dual_stack || !region.starts_with("us-gov-"));
    let fips = if is_fips { "-fips" } else { "" };
    format!("{}{fips}.{region}.{suffix}", service.prefix())
}

/// Whether a variable of AWS's SDKs is `true`.
pub fn is_on(config: &Config, variable: &str) -> bool {
    let value = config.variables.text(variable);
    value.is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The DNS suffixes of the partition that a region is in: the ordinary one, and that of endpoints with IPv6.
pub fn partition(region: &str) -> (&'static str, &'static str) {
    const PARTITIONS: [(&str, &str, &str); 6] = [
        ("cn-", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
        ("eusc-", "amazonaws.eu", "api.amazonwebservices.eu"),
        ("us-iso-", "c2s.ic.gov", "api.aws.ic.gov"),
        ("us-isob-", "sc2s.sgov.gov", "api.aws.scloud"),
        ("eu-isoe-", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
        ("us-isof-", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    ];
    let region = if region.starts_with("eu-isof") {
        "us-isof-"
    } else {
        region
    };
    let found = PARTITIONS.iter().find(|(prefix, ..)| region.starts_with(prefix));
    found.map_or(("amazonaws.com", "api.aws"), |(_, suffix, dual)| (suffix, dual))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Variables;
    use rstest::rstest;

    #[rstest]
    #[case("us-west-2a", Some("us-west-2"))]
    #[case("us-gov-east-1b", Some("us-gov-east-1"))]
    #[case("us-west-2-lax-1a", Some("us-west-2"))]
    #[case("us-isof-south-1a", Some("us-isof-south-1"))]
    #[case("eu-central-1", Some("eu-central-1"))]
    #[case("ap-southeast-12c", Some("ap-southeast-12"))]
    #[case("", None)]
    #[case("europe", None)]
    #[case("1a", None)]
    #[case("us-", None)]
    #[case("us-west-", None)]
    fn zones(#[case] zone: &str, #[case] region: Option<&str>) {
        assert_eq!(of_zone(zone), region);
    }

    fn config(file: &str, variables: &str) -> Config {
        let variables: Variables = variables
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .collect();
        Config::new(Some(("cloud.conf", file.as_bytes())), variables, &mut Vec::new()).unwrap()
    }

    #[rstest]
    #[case::plain(Service::Ec2, "us-east-1", "", "https://ec2.us-east-1.amazonaws.com/")]
    #[case::both_load_balancing_apis(
        Service::ElbV2,
        "us-east-1",
        "",
        "https://elasticloadbalancing.us-east-1.amazonaws.com/"
    )]
    #[case::sts(Service::Sts, "eu-west-1", "", "https://sts.eu-west-1.amazonaws.com/")]
    #[case::china(Service::Ec2, "cn-north-1", "", "https://ec2.cn-north-1.amazonaws.com.cn/")]
    #[case::sovereign(Service::Ec2, "eusc-de-east-1", "", "https://ec2.eusc-de-east-1.amazonaws.eu/")]
    #[case::iso(Service::Ec2, "us-iso-east-1", "", "https://ec2.us-iso-east-1.c2s.ic.gov/")]
    #[case::isob(Service::Ec2, "us-isob-east-1", "", "https://ec2.us-isob-east-1.sc2s.sgov.gov/")]
    #[case::isoe(Service::Ec2, "eu-isoe-west-1", "", "https://ec2.eu-isoe-west-1.cloud.adc-e.uk/")]
    #[case::isof(Service::Ec2, "eu-isof-west-1", "", "https://ec2.eu-isof-west-1.csp.hci.ic.gov/")]
    #[case::fips(
        Service::Ec2,
        "us-east-1",
        "AWS_USE_FIPS_ENDPOINT=true",
        "https://ec2-fips.us-east-1.amazonaws.com/"
    )]
    #[case::fips_in_govcloud(
        Service::Sts,
        "us-gov-west-1",
        "AWS_USE_FIPS_ENDPOINT=true",
        "https://sts.us-gov-west-1.amazonaws.com/"
    )]
    #[case::dual_stack(
        Service::Elb,
        "us-east-1",
        "AWS_USE_DUALSTACK_ENDPOINT=TRUE",
        "https://elasticloadbalancing.us-east-1.api.aws/"
    )]
    #[case::url_of_all(Service::Elb, "us-east-1", "AWS_ENDPOINT_URL=http://x:1", "http://x:1/")]
    #[case::url_of_one(
        Service::ElbV2,
        "r",
        "AWS_ENDPOINT_URL=http://x AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2=http://y",
        "http://y/"
    )]
    #[case::url_ignored(
        Service::Ec2,
        "us-east-1",
        "AWS_ENDPOINT_URL=http://x AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true",
        "https://ec2.us-east-1.amazonaws.com/"
    )]
    fn endpoints(#[case] service: Service, #[case] region: &str, #[case] variables: &str, #[case] expected: &str) {
        let endpoint = endpoint(service, region, &config("", variables)).unwrap();
        assert_eq!(endpoint.url.as_str(), expected);
        assert_eq!(
            (endpoint.signing_name.as_str(), endpoint.signing_region.as_str()),
            (service.prefix(), region)
        );
    }

    #[test]
    fn an_override_holds_for_its_region() {
        let file = "[ServiceOverride \"1\"]\nService=EC2\nRegion=us-east-1\nURL=http://x\nSigningRegion=local\nSigningName=compute\n";
        let config = config(file, "");
        let of = |region| endpoint(Service::Ec2, region, &config).unwrap();
        let found = of("us-east-1");
        assert_eq!(
            (found.url.as_str(), &*found.signing_name, &*found.signing_region),
            ("http://x/", "compute", "local")
        );
        assert_eq!(of("us-east-2").url.as_str(), "https://ec2.us-east-2.amazonaws.com/");
    }

    #[test]
    fn a_variable_that_is_no_url_is_refused() {
        let error = endpoint(Service::Ec2, "r", &config("", "AWS_ENDPOINT_URL=x")).unwrap_err();
        assert!(error.starts_with("AWS_ENDPOINT_URL: "), "{error}");
    }
}
