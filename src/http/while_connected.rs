//! The HTTP service of one worker, which is there only while a client is connected.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use actix_http::error::DispatchError;
use actix_service::{Service, ServiceFactory, always_ready};
use futures_util::future::LocalBoxFuture;

/// Takes connections to a service that is made for the first of them and dropped with the last.
/// actix-http keeps a clock for each service, which wakes its thread four times a second.
pub(super) struct WhileConnected<F, S> {
    shared: Rc<WorkerShared<F, S>>,
}

struct WorkerShared<F, S> {
    factory: F,
    service: RefCell<Weak<S>>,
}

impl<F, S> WhileConnected<F, S> {
    /// For connections to services from that factory.
    pub(super) fn new(factory: F) -> Self {
        let service = RefCell::default();
        Self {
            shared: Rc::new(WorkerShared { factory, service }),
        }
    }
}

impl<M, F, S> WorkerShared<M, S>
where
    M: Fn() -> F,
{
    /// The service of those who are connected, or a new one.
    async fn service<C>(&self) -> Result<Rc<S>, DispatchError>
    where
        F: ServiceFactory<C, Config = (), Service = S, InitError = ()>,
        S: Service<C>,
    {
        if let Some(service) = self.service.borrow().upgrade() {
            return Ok(service);
        }
        let made = (self.factory)().new_service(()).await;
        let service = Rc::new(made.map_err(|()| DispatchError::InternalError)?);
        self.service.replace(Rc::downgrade(&service));
        Ok(service)
    }
}

impl<M, F, S, C> Service<C> for WhileConnected<M, S>
where
    M: Fn() -> F + 'static,
    F: ServiceFactory<C, Config = (), Service = S, InitError = ()> + 'static,
    S: Service<C, Response = (), Error = DispatchError> + 'static,
    C: 'static,
{
    type Response = ();
    type Error = DispatchError;
    type Future = LocalBoxFuture<'static, Result<(), DispatchError>>;

    always_ready!();

    fn call(&self, connection: C) -> Self::Future {
        let shared = Rc::clone(&self.shared);
        Box::pin(async move {
            let service = shared.service::<C>().await?;
            service.call(connection).await
        })
    }
}
