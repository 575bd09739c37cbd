//! `process_*`. The library counts whole seconds of processor time, which is too coarse for a program that is mostly idle.

use prometheus::{
    core::{Collector, Desc},
    process_collector::ProcessCollector,
    proto::{Counter, MetricFamily},
};

/// Clock ticks per second in `/proc`, on every supported platform.
const TICKS: f64 = 100.0;

pub(super) struct Process(ProcessCollector);

impl Process {
    pub(super) fn own() -> Self {
        Self(ProcessCollector::for_self())
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families = self.0.collect();
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let cpu = families
            .iter_mut()
            .find(|family| family.name() == "process_cpu_seconds_total")
            .zip(processor_seconds(&stat));
        if let Some((family, seconds)) = cpu {
            for metric in family.mut_metric().iter_mut() {
                let mut counter = Counter::default();
                counter.set_value(seconds);
                metric.set_counter(counter);
            }
        }
        families
    }
}

/// The processor time in `/proc/PID/stat`, of user and kernel mode. The program's name, in parentheses, may contain anything.
fn processor_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11).map(str::parse::<u32>);
    let ticks = [fields.next()?.ok()?, fields.next()?.ok()?];
    Some(ticks.into_iter().map(f64::from).sum::<f64>() / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::usual("7 (ccm) S 1 7 7 0 -1 4194560 1 0 0 0 123 45 9 9 20 0 5 0", Some(1.68))]
    #[case::odd_name("7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 100 0 9 9", Some(1.0))]
    #[case::cut_off("7 (ccm) S 1 7", None)]
    #[case::empty("", None)]
    fn reads_the_processor_time(#[case] stat: &str, #[case] expected: Option<f64>) {
        assert_eq!(processor_seconds(stat), expected);
    }

    #[test]
    fn parts_of_seconds_are_shown() {
        let own = Process::own();
        let cpu = || {
            let families = own.collect();
            let family = families.iter().find(|it| it.name() == "process_cpu_seconds_total");
            family.unwrap().get_metric()[0].get_counter().get_value()
        };
        // So many reads take many hundredths of a second.
        assert!((0..20_000).any(|_| cpu().fract() != 0.0), "it counts whole seconds");
    }
}
