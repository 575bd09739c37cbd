//! The text format of Prometheus, byte by byte as Go's library writes it.
//!
//! The bound of a bucket is a label and so part of the identity of a series: in another notation it would be another series.

use super::level::Level;
use prometheus::proto::{Bucket, LabelPair, Metric, MetricFamily, MetricType};
use std::fmt::Write;

/// The label that holds the upper bound of a bucket.
const BOUND: &str = "le";

/// All families with their help, which starts with the level if there is one.
pub(super) fn encode(families: &[MetricFamily], level: impl Fn(&str) -> Option<Level>) -> String {
    let mut text = String::new();
    for family in families {
        let level = level(family.name());
        let written = header(&mut text, family, level).and_then(|()| samples(&mut text, family));
        debug_assert!(written.is_ok(), "writing to a string cannot fail");
    }
    text
}

fn header(text: &mut String, family: &MetricFamily, level: Option<Level>) -> std::fmt::Result {
    let name = family.name();
    let level = level.map_or_else(String::new, |level| format!("[{level}] "));
    let kind = match family.get_field_type() {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE => "gauge",
        MetricType::HISTOGRAM => "histogram",
        MetricType::SUMMARY => "summary",
        MetricType::UNTYPED => "untyped",
    };
    let help = family.help().replace('\\', "\\\\").replace('\n', "\\n");
    writeln!(text, "# HELP {name} {level}{help}\n# TYPE {name} {kind}")
}

fn samples(text: &mut String, family: &MetricFamily) -> std::fmt::Result {
    let name = family.name();
    for metric in family.get_metric() {
        let labels = labels(metric.get_label(), None);
        match family.get_field_type() {
            MetricType::COUNTER => writeln!(text, "{name}{labels} {}", number(metric.get_counter().get_value()))?,
            MetricType::HISTOGRAM => histogram(text, name, metric)?,
            // There are no other types.
            _ => writeln!(text, "{name}{labels} {}", number(metric.get_gauge().get_value()))?,
        }
    }
    Ok(())
}

fn histogram(text: &mut String, name: &str, metric: &Metric) -> std::fmt::Result {
    let (of, histogram) = (metric.get_label(), metric.get_histogram());
    let total = histogram.get_sample_count();
    let bucket = |bucket: &Bucket| (bucket.upper_bound(), bucket.cumulative_count());
    let finite = histogram
        .get_bucket()
        .iter()
        .map(bucket)
        .filter(|(bound, _)| bound.is_finite());
    for (bound, count) in finite.chain([(f64::INFINITY, total)]) {
        writeln!(text, "{name}_bucket{} {count}", labels(of, Some(&number(bound))))?;
    }
    let labels = labels(of, None);
    writeln!(
        text,
        "{name}_sum{labels} {}\n{name}_count{labels} {total}",
        number(histogram.get_sample_sum())
    )
}

fn labels(pairs: &[LabelPair], bound: Option<&str>) -> String {
    let pairs = pairs.iter().map(|pair| (pair.name(), pair.value()));
    let pairs: Vec<_> = pairs
        .chain(bound.map(|bound| (BOUND, bound)))
        .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", pairs.join(","))
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

/// The shortest representation that identifies the number, with an exponent if it is very small or has more than six digits
/// before the point.
fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus::{Gauge, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry, core::Collector};
    use rstest::rstest;

    #[rstest]
    #[case::none(0.0, "0")]
    #[case::one(1.0, "1")]
    #[case::negative(-1.5, "-1.5")]
    #[case::part(0.005, "0.005")]
    #[case::small(0.0001, "0.0001")]
    #[case::smaller(0.00001, "1e-05")]
    #[case::smallest_bucket(1e-8, "1e-08")]
    #[case::six_digits(262_144.0, "262144")]
    #[case::seven_digits(1_048_576.0, "1.048576e+06")]
    #[case::million(1e6, "1e+06")]
    #[case::seconds(1_763_324_211.25, "1.76332421125e+09")]
    #[case::huge(1e100, "1e+100")]
    #[case::infinite(f64::INFINITY, "+Inf")]
    #[case::negative_infinite(f64::NEG_INFINITY, "-Inf")]
    #[case::none_at_all(f64::NAN, "NaN")]
    fn numbers_are_written_as_go_writes_them(#[case] value: f64, #[case] expected: &str) {
        assert_eq!(number(value), expected);
    }

    fn text_of(metric: impl Collector + 'static) -> String {
        let registry = Registry::new();
        registry.register(Box::new(metric)).unwrap();
        encode(&registry.gather(), |_| Some(Level::Beta))
    }

    #[test]
    fn a_counter_has_its_level_and_its_labels_in_order() {
        let counter = IntCounterVec::new(Opts::new("a_total", "Line\nand \\ slash."), &["z", "b"]).unwrap();
        counter.with_label_values(&["say \"x\"\n", "\\"]).inc_by(2_000_000);
        assert_eq!(
            text_of(counter),
            "# HELP a_total [BETA] Line\\nand \\\\ slash.\n# TYPE a_total counter\n\
             a_total{b=\"\\\\\",z=\"say \\\"x\\\"\\n\"} 2e+06\n"
        );
    }

    #[test]
    fn a_histogram_counts_in_whole_numbers_and_ends_with_infinity() {
        let opts = HistogramOpts::new("a_seconds", "Time.").buckets(vec![1e-8, 1.0, 1_048_576.0]);
        let histogram = HistogramVec::new(opts, &["name"]).unwrap();
        histogram.with_label_values(&["x"]).observe(0.5);
        histogram.with_label_values(&["x"]).observe(2e9);
        let expected = "\
# HELP a_seconds [BETA] Time.
# TYPE a_seconds histogram
a_seconds_bucket{name=\"x\",le=\"1e-08\"} 0
a_seconds_bucket{name=\"x\",le=\"1\"} 1
a_seconds_bucket{name=\"x\",le=\"1.048576e+06\"} 1
a_seconds_bucket{name=\"x\",le=\"+Inf\"} 2
a_seconds_sum{name=\"x\"} 2.0000000005e+09
a_seconds_count{name=\"x\"} 2
";
        assert_eq!(text_of(histogram), expected);
    }

    #[test]
    fn help_without_a_level_is_unchanged() {
        let registry = Registry::new();
        let gauge = Gauge::new("a", "Help.").unwrap();
        gauge.set(f64::INFINITY);
        registry.register(Box::new(gauge)).unwrap();
        let text = encode(&registry.gather(), |_| None);
        assert_eq!(text, "# HELP a Help.\n# TYPE a gauge\na +Inf\n");
    }
}
