//! From a prompt to the request that it makes: beside one flush of a file in the same folder, and
//! beside a bare server that keeps nothing.

use std::fs::File;
use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use harness_standin::{MessagesRequest, Reply, Standin};

use crate::baseline;
use crate::process::{Service, prompt};

const ROUNDS: usize = 200;
const WARM_UP: usize = 20;
/// The rest that a service has at the end of a run; a prompt right behind that would be refused.
const REST: Duration = Duration::from_millis(15);

/// The time when the last request came to the API.
type Asked = Arc<Mutex<Option<Instant>>>;

pub(crate) fn run() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let asked = Asked::default();
    let upstream = upstream(&asked);
    let service = Service::start(&upstream.base_url());
    let beside = File::create(service.journal().with_file_name("flushed")).unwrap();
    let ours = runtime.block_on(measure(service.address, &asked, Some(&beside)));
    drop(service);
    let bare = runtime.block_on(measure(baseline::start(&upstream), &asked, None));
    println!(
        "prompt to API: p50 {:?}, p90 {:?}; one flush p50 {:?}, p90 {:?}; bare server without a journal p50 {:?}, p90 {:?}",
        ours.asked.0, ours.asked.1, ours.flushed.0, ours.flushed.1, bare.asked.0, bare.asked.1
    );
}

/// An API that notes when it is asked.
fn upstream(asked: &Asked) -> Standin {
    let asked = Arc::clone(asked);
    let reply = move |_: &MessagesRequest| -> Reply {
        *asked.lock().unwrap() = Some(Instant::now());
        Reply::text("x")
    };
    Standin::start(reply).unwrap()
}

/// The median and the ninth tenth.
type Spread = (Duration, Duration);

struct Times {
    asked: Spread,
    flushed: Spread,
}

async fn measure(address: SocketAddr, asked: &Asked, beside: Option<&File>) -> Times {
    let (mut times, mut flushes) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        tokio::time::sleep(REST).await;
        let began = Instant::now();
        prompt(address, "x").await;
        let at = loop {
            if let Some(at) = asked.lock().unwrap().take() {
                break at;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        };
        if round >= WARM_UP {
            times.push(at.saturating_duration_since(began));
        }
        tokio::time::sleep(REST).await;
        let began = Instant::now();
        if let Some(mut beside) = beside {
            beside.write_all(&[b'x'; 300]).unwrap();
            beside.sync_data().unwrap();
        }
        flushes.push(began.elapsed());
    }
    Times {
        asked: spread(times),
        flushed: spread(flushes),
    }
}

fn spread(mut times: Vec<Duration>) -> Spread {
    times.sort();
    (times[times.len() / 2], times[times.len() * 9 / 10])
}
