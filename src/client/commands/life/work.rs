//! The work of a service that a stop would end.

use std::fmt;

use harness_protocol::ServiceInfo;

/// The runs that are going and the jobs in the background. At least one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoppedWork {
    runs: usize,
    jobs: usize,
}

impl StoppedWork {
    /// The work of a service. `None` if a stop ends nothing.
    pub(crate) fn from_info(info: &ServiceInfo) -> Option<Self> {
        let ServiceInfo { runs, jobs, .. } = *info;
        (runs > 0 || jobs > 0).then_some(Self { runs, jobs })
    }

    /// The question before a stop.
    pub(crate) fn question(self) -> String {
        let lost = [
            (self.runs > 0).then(|| format!("{} going, and would be interrupted", runs(self.runs))),
            (self.jobs > 0).then(|| format!("{}, and would end", jobs(self.jobs))),
        ];
        let lost: Vec<String> = lost.into_iter().flatten().collect();
        format!("{}. Stop the service?", lost.join("; "))
    }
}

impl fmt::Display for StoppedWork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.runs, self.jobs) {
            (count, 0) => write!(f, "{} going", runs(count)),
            (0, count) => f.write_str(&jobs(count)),
            (going, count) => write!(f, "{} going, and {}", runs(going), jobs(count)),
        }
    }
}

/// The number of runs, with the verb.
pub(crate) fn runs(count: usize) -> String {
    match count {
        1 => "1 run is".to_owned(),
        count => format!("{count} runs are"),
    }
}

/// The number of jobs, with the verb.
fn jobs(count: usize) -> String {
    match count {
        1 => "1 job runs in the background".to_owned(),
        count => format!("{count} jobs run in the background"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::testing::Server;

    /// Spec: [CLI-95] [CLI-636]
    #[actix::test]
    async fn runs_and_jobs_are_counted_in_words() {
        let info = Server::start().await.info();
        let of = |runs: usize, jobs: usize| {
            let mut info: ServiceInfo = serde_json::from_value(info.clone()).unwrap();
            (info.runs, info.jobs) = (runs, jobs);
            StoppedWork::from_info(&info)
        };
        assert_eq!(of(0, 0), None);
        for (runs, jobs, question, refusal) in [
            (
                1,
                0,
                "1 run is going, and would be interrupted. Stop the service?",
                "1 run is going",
            ),
            (
                0,
                1,
                "1 job runs in the background, and would end. Stop the service?",
                "1 job runs in the background",
            ),
            (
                2,
                3,
                "2 runs are going, and would be interrupted; 3 jobs run in the background, and \
                 would end. Stop the service?",
                "2 runs are going, and 3 jobs run in the background",
            ),
        ] {
            let work = of(runs, jobs).unwrap();
            assert_eq!(work.question(), question);
            assert_eq!(work.to_string(), refusal);
        }
    }
}
