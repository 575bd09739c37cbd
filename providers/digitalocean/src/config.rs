//! The configuration: environment variables, as the Go program reads them. `--cloud-config` is ignored.

use cloud_http::Url;
pub use provider_kit::variables::Variables;
use provider_kit::{
    keys::{
        Key,
        Kind::{Secret, Text, Uint},
    },
    variables,
};
use secrecy::SecretString;

#[rustfmt::skip]
const VARIABLES: &[Key] = &[
    Key::new("DO_ACCESS_TOKEN", Secret, "", "the API token; required"),
    Key::new("DO_OVERRIDE_URL", Text, "https://api.digitalocean.com", "the URL of the API"),
    Key::new("DO_CLUSTER_ID", Text, "", "load balancers get the tag `k8s:<id>`"),
    Key::new("DO_CLUSTER_VPC_ID", Text, "", "the VPC of new load balancers"),
    Key::new("DEBUG_ADDR", Text, "", "the address of a plain HTTP server with `/healthz`"),
    Key::new("METRICS_ADDR", Text, "", "the address of a plain HTTP server with `/metrics`"),
    Key::new("PUBLIC_ACCESS_FIREWALL_NAME", Text, "", "the cloud firewall that `do-firewall` manages; needs the tags, too"),
    Key::new("PUBLIC_ACCESS_FIREWALL_TAGS", Text, "", "comma-separated tags of the Droplets behind that firewall"),
    Key::new("REGION", Text, "", "the region; by default that of the Droplet that the manager runs on"),
    Key::new("DO_API_RATE_LIMIT_QPS", Uint, "", "requests per second at most, also a fraction; by default there is no limit"),
    Key::new("DEFAULT_LB_TYPE", Text, "REGIONAL_NETWORK", "the type of load balancers that name none; or `REGIONAL`"),
];

/// The page of the reference about the variables.
#[must_use]
pub fn reference_page() -> String {
    variables::page("Environment variables for DigitalOcean", VARIABLES)
}

/// The configuration.
#[derive(Debug, Clone)]
pub struct Config {
    /// The token.
    pub token: SecretString,
    /// Where the API is.
    pub url: Url,
    /// The metadata service of Droplets.
    pub metadata: String,
    /// The tag of everything that belongs to this cluster.
    pub tag: Option<String>,
    /// The VPC of load balancers.
    pub vpc_id: Option<String>,
    /// The firewall in front of the nodes.
    pub firewall: Option<PublicFirewall>,
    /// The region.
    pub region: Option<String>,
    /// Requests per second.
    pub rate: Option<f64>,
    /// The type of load balancers that do not name one.
    pub default_type: &'static str,
}

/// The firewall in front of the nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicFirewall {
    /// Its name.
    pub name: String,
    /// The tags of the Droplets behind it.
    pub tags: Vec<String>,
}

impl Config {
    /// The configuration in these variables.
    ///
    /// # Errors
    /// One sentence: which variable is wrong, and what to write instead.
    pub fn new(variables: &Variables) -> Result<Self, String> {
        let url = variables.parsed(VARIABLES, "DO_OVERRIDE_URL")?;
        Ok(Self {
            token: variables.required("DO_ACCESS_TOKEN")?.into(),
            url: url.ok_or("DO_OVERRIDE_URL has no default")?,
            metadata: "http://169.254.169.254".to_owned(),
            tag: variables.text("DO_CLUSTER_ID").map(|id| format!("k8s:{id}")),
            vpc_id: variables.text("DO_CLUSTER_VPC_ID"),
            firewall: firewall(variables)?,
            region: variables.text("REGION"),
            rate: variables.positive("DO_API_RATE_LIMIT_QPS")?,
            default_type: variables.word("DEFAULT_LB_TYPE", &["REGIONAL_NETWORK", "REGIONAL"])?,
        })
    }
}

fn firewall(variables: &Variables) -> Result<Option<PublicFirewall>, String> {
    let (name, tags) = ("PUBLIC_ACCESS_FIREWALL_NAME", "PUBLIC_ACCESS_FIREWALL_TAGS");
    match (variables.text(name), variables.list(tags)) {
        (None, None) => Ok(None),
        (Some(name), Some(tags)) => Ok(Some(PublicFirewall { name, tags })),
        _ => Err(format!("{name} and {tags} must be set together")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn config(variables: &str) -> Result<Config, String> {
        let pairs = variables.split_whitespace().filter_map(|pair| pair.split_once('='));
        Config::new(&pairs.collect())
    }

    #[test]
    fn the_token_is_enough() {
        let config = config("DO_ACCESS_TOKEN=s3cr3t DO_CLUSTER_ID=").unwrap();
        assert_eq!(config.url.as_str(), "https://api.digitalocean.com/");
        assert_eq!(
            (config.default_type, &config.tag, &config.firewall),
            ("REGIONAL_NETWORK", &None, &None)
        );
        assert!(!format!("{config:?}").contains("s3cr3t"));
    }

    #[test]
    fn everything_is_read() {
        let config = config(
            "DO_ACCESS_TOKEN=t DO_OVERRIDE_URL=http://127.0.0.1:1 DO_CLUSTER_ID=c DO_CLUSTER_VPC_ID=v DEBUG_ADDR=:1 METRICS_ADDR=:2 \
             PUBLIC_ACCESS_FIREWALL_NAME=f PUBLIC_ACCESS_FIREWALL_TAGS=a,b REGION=fra1 DO_API_RATE_LIMIT_QPS=2.5 DEFAULT_LB_TYPE=REGIONAL",
        )
        .unwrap();
        let firewall = PublicFirewall {
            name: "f".into(),
            tags: vec!["a".into(), "b".into()],
        };
        assert_eq!(
            (config.url.as_str(), config.firewall.as_ref()),
            ("http://127.0.0.1:1/", Some(&firewall))
        );
        assert_eq!(
            (
                config.tag.as_deref(),
                config.vpc_id.as_deref(),
                config.region.as_deref()
            ),
            (Some("k8s:c"), Some("v"), Some("fra1"))
        );
        assert_eq!((config.rate, config.default_type), (Some(2.5), "REGIONAL"));
    }

    #[rstest]
    #[case::no_token("", "DO_ACCESS_TOKEN is required")]
    #[case::half_a_firewall("DO_ACCESS_TOKEN=t PUBLIC_ACCESS_FIREWALL_NAME=f", "must be set together")]
    #[case::other_half("DO_ACCESS_TOKEN=t PUBLIC_ACCESS_FIREWALL_TAGS=f", "must be set together")]
    #[case::rate(
        "DO_ACCESS_TOKEN=t DO_API_RATE_LIMIT_QPS=fast",
        "DO_API_RATE_LIMIT_QPS: invalid float"
    )]
    #[case::no_rate("DO_ACCESS_TOKEN=t DO_API_RATE_LIMIT_QPS=0", "must be more than 0")]
    #[case::lb_type("DO_ACCESS_TOKEN=t DEFAULT_LB_TYPE=GLOBAL", "\"GLOBAL\" is not one of")]
    #[case::url("DO_ACCESS_TOKEN=t DO_OVERRIDE_URL=nowhere", "DO_OVERRIDE_URL: relative URL")]
    fn refuses(#[case] variables: &str, #[case] why: &str) {
        let error = config(variables).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
}
