//! HTTP on 127.0.0.1: the page, its document, and the version of that.

use std::convert::Infallible;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Semaphore;
use tokio_io_timeout::TimeoutStream;
use vtprof_profile::ids::SpanId;

use super::documents::Documents;
use super::guard::Guard;
use crate::flame::page::Page;
use crate::text::note;

/// Connections at a time: a browser has six.
const CONNECTIONS: usize = 64;
/// How long a client may take to say what it wants, and to take more of the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What requests are answered from.
struct Site {
    guard: Guard,
    page: Bytes,
    policy: HeaderValue,
    documents: Arc<Documents>,
}

type Answer = Response<Full<Bytes>>;

/// Listens on that port of this machine.
///
/// # Errors
/// It is taken, or may not be had.
pub fn listen(port: u16) -> std::io::Result<TcpListener> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Answers until the process ends.
///
/// # Errors
/// There can be no runtime.
pub fn serve(listener: TcpListener, title: &str, documents: Arc<Documents>) -> Result<()> {
    let page = Page::new(title, None);
    let policy = format!("{}; frame-ancestors 'none'", page.policy);
    let site = Arc::new(Site {
        guard: Guard::new(listener.local_addr()?.port()),
        page: page.html.into(),
        policy: policy.parse().context("policy")?,
        documents,
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(accept(listener, site))
}

async fn accept(listener: TcpListener, site: Arc<Site>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let permit = Arc::clone(&room).acquire_owned().await?;
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of descriptors, most likely: some will be closed.
                note(&format!("cannot accept a connection: {error}"));
                tokio::time::sleep(Duration::from_secs(1)).await;
                continue;
            }
        };
        let site = Arc::clone(&site);
        // Whoever reads nothing would have a connection, and the document, for ever.
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(PATIENCE));
        tokio::spawn(async move {
            let service = service_fn(|request| answer(Arc::clone(&site), request));
            // A client that goes away or speaks no HTTP is its own affair.
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(PATIENCE)
                .serve_connection(TokioIo::new(Box::pin(stream)), service)
                .await;
            drop(permit);
        });
    }
}

async fn answer(site: Arc<Site>, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let refusal = site
        .guard
        .refusal(request.method(), request.uri(), request.headers());
    let mut answer = match refusal {
        Some(status) => plain(status, status.canonical_reason().unwrap_or("refused")),
        None => site.route(&request).await,
    };
    let headers = answer.headers_mut();
    if refusal == Some(StatusCode::METHOD_NOT_ALLOWED) {
        headers.insert(header::ALLOW, HeaderValue::from_static("GET"));
    }
    headers.insert(header::CONTENT_SECURITY_POLICY, site.policy.clone());
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(answer)
}

impl Site {
    async fn route(&self, request: &Request<Incoming>) -> Answer {
        match request.uri().path() {
            "/" => of_type("text/html; charset=utf-8", self.page.clone()),
            "/version" => {
                let version = self.documents.snapshot().version.to_string();
                of_type("application/json", version.into())
            }
            "/document" => {
                let root = request
                    .uri()
                    .query()
                    .and_then(|query| query.strip_prefix("root="));
                match root.map(str::parse::<SpanId>).transpose() {
                    Ok(root) => self.document(root).await,
                    Err(error) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
                }
            }
            _ => plain(StatusCode::NOT_FOUND, "not found"),
        }
    }

    async fn document(&self, root: Option<SpanId>) -> Answer {
        let documents = Arc::clone(&self.documents);
        let made = tokio::task::spawn_blocking(move || documents.get(root)).await;
        let made = made.map_err(anyhow::Error::from).and_then(|made| made);
        match made {
            Ok((version, gzip)) => {
                let mut answer = of_type("application/json", gzip);
                let headers = answer.headers_mut();
                headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
                headers.insert("x-vtprof-version", HeaderValue::from(version));
                answer
            }
            Err(error) => {
                note(&format!("error: {error:#}"));
                plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error:#}"))
            }
        }
    }
}

fn of_type(mime: &'static str, body: Bytes) -> Answer {
    let mut answer = Response::new(Full::new(body));
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(mime));
    answer
}

fn plain(status: StatusCode, text: &str) -> Answer {
    let mut answer = of_type(
        "text/plain; charset=utf-8",
        Bytes::from(format!("{text}\n")),
    );
    *answer.status_mut() = status;
    answer
}
