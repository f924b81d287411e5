//! The client: HTTP/1.1 and TLS, for one target. Nothing of it exists before the first upload.
//!
//! No redirect is followed, no proxy of the environment is used (profiles go where the option says), no cookie is kept, no
//! thread is started. Names are looked up on the courier's own thread: a lookup that hangs holds this target up for as long as
//! the system's resolver does, and nobody else.

use std::fs;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD as STANDARD;
use ureq::http::{HeaderMap, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout, time};
use ureq::{Agent, Error};

use crate::courier::answer::{Answer, Carrier, retry_after};
use crate::form::Form;
use crate::rejected;
use crate::request::Request;
use crate::secret::Secret;
use crate::target::{Scheme, Target, Token};

/// How long a connection may take to come about; less where the upload's own time is less.
const CONNECT: Duration = Duration::from_secs(5);
/// Most that is read of an answer's body, bytes.
const ANSWER: u64 = 4 << 10;
/// Most that an answer's headers may have, bytes.
const HEADERS: usize = 16 << 10;

/// See the module.
#[derive(Debug)]
pub struct Client {
    target: Target,
    form: Form,
    agent: Option<Agent>,
}

impl Client {
    /// A client of that target.
    #[must_use]
    pub fn new(target: Target, form: Form) -> Self {
        Self {
            target,
            form,
            agent: None,
        }
    }

    fn send(&mut self, request: &Request, within: Duration) -> Result<Answer, String> {
        let authorization = authorization(&self.target)?;
        let agent = match &self.agent {
            Some(agent) => agent,
            None => self.agent.insert(agent(&self.target)?),
        };
        let mut post = agent
            .post(self.target.address.url(&request.path))
            .config()
            .timeout_global(Some(within))
            .timeout_connect(Some(within.min(CONNECT)))
            .build();
        if !request.content_type.is_empty() {
            post = post.content_type(request.content_type);
        }
        if request.gzip {
            post = post.header("Content-Encoding", "gzip");
        }
        for (name, value) in &self.target.headers {
            post = post.header(name, value.expose());
        }
        if let Some(value) = &authorization {
            post = post.header("Authorization", value.expose());
        }
        let mut response = post
            .send(&request.body[..])
            .map_err(|error| reason(&error, within))?;
        let asked = asked(response.headers());
        let answer = Answer::of(response.status().as_u16(), asked);
        // The status has decided; a body that is cut or does not end changes nothing about that.
        let mut body = Vec::new();
        let _cut = response
            .body_mut()
            .as_reader()
            .take(ANSWER)
            .read_to_end(&mut body);
        Ok(match answer {
            Answer::Taken { .. } => Answer::Taken {
                rejected: rejected::profiles(self.form, &body),
            },
            other => other,
        })
    }
}

impl Carrier for Client {
    fn carry(&mut self, request: &Request, within: Duration) -> Answer {
        self.send(request, within)
            .unwrap_or_else(|why| Answer::Later {
                why,
                asked: None,
                is_suspect: true,
            })
    }
}

/// What goes into `Authorization`.
///
/// # Errors
/// The token cannot be read.
pub(crate) fn authorization(target: &Target) -> Result<Option<Secret>, String> {
    let Some(credential) = &target.credential else {
        return Ok(None);
    };
    let token = match &credential.token {
        Token::Known(secret) => secret.clone(),
        Token::File(path) => Secret::read(path)
            .map_err(|why| format!("is not asked: the token in {}: {why}", path.display()))?,
    };
    let value = match &credential.scheme {
        Scheme::Word(word) => format!("{word} {}", token.expose()),
        Scheme::Basic(name) => {
            let pair = format!("{name}:{}", token.expose());
            format!("Basic {}", STANDARD.encode(pair))
        }
    };
    Secret::new(&value).map(Some).map_err(str::to_owned)
}

fn asked(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let date = text("date").and_then(|text| httpdate::parse_http_date(text).ok());
    retry_after(text("retry-after")?, date.unwrap_or_else(SystemTime::now))
}

/// A client with the target's ideas of whom to trust.
///
/// # Errors
/// Whom to trust cannot be read.
pub(crate) fn agent(target: &Target) -> Result<Agent, String> {
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .proxy(None)
        .max_idle_connections(1)
        .max_idle_connections_per_host(1)
        .max_response_header_size(HEADERS)
        .user_agent(concat!("vtprof/", env!("CARGO_PKG_VERSION")))
        .accept("*/*");
    if target.address.is_secure() {
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .root_certs(RootCerts::Specific(Arc::new(trusted(target)?)))
            .build();
        config = config.tls_config(tls);
    }
    Ok(Agent::with_parts(
        config.build(),
        DefaultConnector::default(),
        OnThisThread::default(),
    ))
}

/// Authorities of the system, and those of the target's file.
fn trusted(target: &Target) -> Result<Vec<Certificate<'static>>, String> {
    let system = rustls_native_certs::load_native_certs().certs;
    let mut all: Vec<_> = system
        .iter()
        .map(|der| Certificate::from_der(der).to_owned())
        .collect();
    if let Some(path) = &target.ca {
        let fail = |why: String| format!("is not asked: push_ca={}: {why}", path.display());
        let pem = fs::read(path).map_err(|error| fail(error.to_string()))?;
        let before = all.len();
        for item in parse_pem(&pem) {
            match item {
                Ok(PemItem::Certificate(certificate)) => all.push(certificate),
                Ok(_) => {}
                Err(_) => return Err(fail("it is no PEM".to_owned())),
            }
        }
        if all.len() == before {
            return Err(fail("there is no certificate in it".to_owned()));
        }
    }
    if all.is_empty() {
        return Err(
            "is not asked: this system has no certificate authorities: name a file of them with push_ca=FILE"
                .to_owned(),
        );
    }
    Ok(all)
}

/// Why there was no answer, without an address: a query may hold a key.
pub(crate) fn reason(error: &Error, within: Duration) -> String {
    match error {
        Error::Timeout(_) => format!("does not answer within {} ms", within.as_millis()),
        Error::HostNotFound => "is not found by its name".to_owned(),
        Error::Io(error) => format!("does not answer: {error}"),
        Error::Rustls(error) => format!("does not answer: {error}"),
        Error::Tls(error) => format!("does not answer: {error}"),
        Error::Protocol(_) | Error::LargeResponseHeader(..) => {
            "answers something that is not HTTP".to_owned()
        }
        _ => "does not answer".to_owned(),
    }
}

/// Looks names up without a thread of its own: threads that the agent does not know would be profiled.
#[derive(Debug, Default)]
struct OnThisThread(DefaultResolver);

impl Resolver for OnThisThread {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let never = NextTimeout {
            after: time::Duration::NotHappening,
            ..timeout
        };
        self.0.resolve(uri, config, never)
    }
}

#[cfg(test)]
mod tests;
