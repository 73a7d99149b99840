use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{BoxFuture, join};

use super::*;
use crate::model::{
    Credential, ModelExtensions, ModelSettings, RetryPolicy, Transport, TransportRequest,
    TransportStream,
};

/// Lists one model a second after it was asked, or never, or says that it cannot.
struct Lister {
    asked: AtomicUsize,
    answer: Mutex<Result<bool, ModelError>>,
}

impl Transport for Lister {
    fn send(&self, _: TransportRequest) -> BoxFuture<'static, Result<TransportStream, ModelError>> {
        panic!("only models are asked for");
    }

    fn models(&self) -> BoxFuture<'static, Result<Vec<ModelInfo>, ModelError>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if answer? {
                std::future::pending::<()>().await;
            }
            let id = "m".to_owned();
            Ok(vec![ModelInfo {
                id,
                ..ModelInfo::default()
            }])
        })
    }
}

fn client(lister: &Arc<Lister>) -> ApiClient {
    let limit = Duration::from_secs(1);
    let settings = ModelSettings {
        base_url: "http://127.0.0.1:9".to_owned(),
        credential: Credential::ApiKey("key".into()),
        retry: RetryPolicy {
            max_retries: 0,
            max_wait: limit,
        },
        api_version: None,
        connect_timeout: limit,
        head_timeout: limit,
        idle_timeout: limit,
    };
    let extensions = ModelExtensions {
        transport: Some(Arc::clone(lister) as Arc<dyn Transport>),
        ..ModelExtensions::default()
    };
    ApiClient::new(settings, extensions)
}

fn lister() -> Arc<Lister> {
    Arc::new(Lister {
        asked: AtomicUsize::new(0),
        answer: Mutex::new(Ok(false)),
    })
}

fn asked(lister: &Lister) -> usize {
    lister.asked.load(Ordering::Relaxed)
}

/// Spec: [MODEL-36]
#[actix::test]
async fn the_list_is_remembered_for_an_hour() {
    tokio::time::pause();
    let lister = lister();
    let (client, catalog) = (client(&lister), Catalog::default());
    // Those who ask at the same time share one request.
    let (first, second) = join(catalog.list(&client, None), catalog.list(&client, None)).await;
    assert_eq!((first.unwrap().len(), asked(&lister)), (1, 1));
    assert_eq!(second.unwrap()[0].id, "m");
    tokio::time::sleep(Duration::from_secs(3599)).await;
    let model = |id: &str| {
        let (catalog, client, id) = (catalog.clone(), client.clone(), Arc::from(id));
        async move { catalog.model(&client, None, &id).await.unwrap() }
    };
    assert_eq!(model("m").await.unwrap().id, "m");
    assert_eq!(model("n").await, None);
    assert_eq!(asked(&lister), 1);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(model("m").await.unwrap().id, "m");
    assert_eq!(asked(&lister), 2);
    // Another key may see other models.
    let source: Arc<str> = "env:KEY".into();
    catalog.list(&client, Some(&source)).await.unwrap();
    catalog.list(&client, Some(&source)).await.unwrap();
    assert_eq!(asked(&lister), 3);
}

/// Spec: [MODEL-36]
#[actix::test]
async fn a_failure_is_remembered_for_a_minute() {
    tokio::time::pause();
    let lister = lister();
    let (client, catalog) = (client(&lister), Catalog::default());
    for (number, (answer, said)) in [
        (Err(ModelError::Truncated), ModelError::Truncated),
        (
            Ok(true),
            ModelError::NoAnswer {
                limit: LOOK_UP_TIMEOUT,
            },
        ),
    ]
    .into_iter()
    .enumerate()
    {
        *lister.answer.lock().unwrap() = answer;
        assert_eq!(catalog.list(&client, None).await, Err(said.clone()));
        tokio::time::sleep(Duration::from_secs(59)).await;
        assert_eq!(catalog.list(&client, None).await, Err(said));
        assert_eq!(asked(&lister), number + 1);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    *lister.answer.lock().unwrap() = Ok(false);
    assert!(catalog.list(&client, None).await.is_ok());
}

/// Spec: [MODEL-36] [MODEL-37]
#[actix::test]
async fn a_look_up_that_nobody_waits_for_is_dropped() {
    tokio::time::pause();
    let lister = lister();
    let (client, catalog) = (client(&lister), Catalog::default());
    let short = Duration::from_millis(500);
    let given_up = tokio::time::timeout(short, catalog.list(&client, None)).await;
    assert!(given_up.is_err());
    let began = Instant::now();
    assert!(catalog.list(&client, None).await.is_ok());
    // It began anew: the first one was not kept half done.
    assert_eq!((asked(&lister), began.elapsed().as_secs()), (2, 1));
}

/// Spec: [MODEL-51]
#[actix::test]
async fn what_was_said_last_of_a_model_outlives_a_failed_look_up() {
    tokio::time::pause();
    let lister = lister();
    let (client, catalog) = (client(&lister), Catalog::default());
    let id: Arc<str> = "m".into();
    assert_eq!(catalog.known(None, &id), None);
    let first = catalog.model(&client, None, &id).await.unwrap().unwrap();
    assert_eq!((catalog.known(None, &id), asked(&lister)), (Some(first), 1));
    tokio::time::sleep(LIFETIME).await;
    *lister.answer.lock().unwrap() = Err(ModelError::Truncated);
    let still = catalog.model(&client, None, &id).await.unwrap().unwrap();
    assert_eq!((&*still.id, asked(&lister)), ("m", 2));
    // Of others, and with another key, nothing was said.
    let source: Arc<str> = "env:KEY".into();
    let other = catalog.model(&client, Some(&source), &id).await;
    assert_eq!(other, Err(ModelError::Truncated));
    let other = catalog.model(&client, None, &"n".into()).await;
    assert_eq!(other, Err(ModelError::Truncated));
    assert_eq!(catalog.known(Some(&source), &id), None);
}
