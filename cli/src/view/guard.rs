//! Whom the server answers: the page that it gave out, and nobody else's.
//!
//! It listens on this machine alone, but any site that is open in the browser can send it requests. One that has its own
//! name point here (DNS rebinding) is known by the host it asks for, one that sends across by where it says it comes from.

use hyper::header::{HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode, Uri};

/// Knows the names that the server has.
#[derive(Debug, Clone)]
pub struct Guard {
    hosts: Vec<String>,
}

impl Guard {
    /// Of a server on that port.
    pub fn new(port: u16) -> Self {
        const NAMES: [&str; 2] = ["127.0.0.1", "localhost"];
        // Browsers leave out the port where it is HTTP's.
        let bare = NAMES.iter().filter(|_| port == 80);
        let mut hosts: Vec<_> = bare.map(|name| (*name).to_owned()).collect();
        hosts.extend(NAMES.map(|name| format!("{name}:{port}")));
        Guard { hosts }
    }

    /// Why a request is refused, if it is.
    pub fn refusal(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<StatusCode> {
        if !self.is_own_host(uri, headers)
            || !self.is_own_origin(headers)
            || is_from_elsewhere(uri, headers)
        {
            return Some(StatusCode::FORBIDDEN);
        }
        (method != Method::GET).then_some(StatusCode::METHOD_NOT_ALLOWED)
    }

    fn is_own_host(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let is_own = |host: &str| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
        let mut named = headers.get_all(HOST).iter();
        let host = named.next().and_then(|host| host.to_str().ok());
        host.is_some_and(is_own)
            && named.next().is_none()
            && uri
                .authority()
                .is_none_or(|authority| is_own(authority.as_str()))
    }

    /// A request without an origin is one of the same, or one that a person typed or followed.
    fn is_own_origin(&self, headers: &HeaderMap) -> bool {
        headers.get_all(ORIGIN).iter().all(|origin| {
            let host = origin.to_str().ok().and_then(|o| o.strip_prefix("http://"));
            host.is_some_and(|host| self.hosts.iter().any(|own| own == host))
        })
    }
}

/// What a browser says of a request that another site has made. A link to the page is followed.
fn is_from_elsewhere(uri: &Uri, headers: &HeaderMap) -> bool {
    let is = |name: &str, value: &str| headers.get(name).is_some_and(|found| found == value);
    let is_other = is("sec-fetch-site", "cross-site") || is("sec-fetch-site", "same-site");
    let is_link =
        uri.path() == "/" && is("sec-fetch-mode", "navigate") && is("sec-fetch-dest", "document");
    is_other && !is_link
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(port: u16, method: Method, headers: &[(&'static str, &str)]) -> Option<u16> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().expect("a header"));
        }
        let uri = "/document".parse().expect("a path");
        let refusal = Guard::new(port).refusal(&method, &uri, &map);
        refusal.map(|status| status.as_u16())
    }

    #[test]
    fn only_its_own_names_are_hosts() {
        for (host, refused) in [
            ("127.0.0.1:8417", None),
            ("localhost:8417", None),
            ("LOCALHOST:8417", None),
            ("localhost", Some(403)),
            ("localhost:80", Some(403)),
            ("evil.example:8417", Some(403)),
            ("127.0.0.1:8417.evil.example", Some(403)),
            ("127.0.0.2:8417", Some(403)),
            ("[::1]:8417", Some(403)),
            ("", Some(403)),
        ] {
            assert_eq!(
                judged(8417, Method::GET, &[("host", host)]),
                refused,
                "{host}"
            );
        }
        assert_eq!(judged(8417, Method::GET, &[]), Some(403));
        assert_eq!(judged(80, Method::GET, &[("host", "localhost")]), None);
        let twice = [("host", "localhost:8417"), ("host", "evil.example")];
        assert_eq!(judged(8417, Method::GET, &twice), Some(403));
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let with = |name, value| {
            judged(
                8417,
                Method::GET,
                &[("host", "localhost:8417"), (name, value)],
            )
        };
        assert_eq!(with("origin", "http://localhost:8417"), None);
        assert_eq!(with("origin", "http://127.0.0.1:8417"), None);
        assert_eq!(with("origin", "https://localhost:8417"), Some(403));
        assert_eq!(with("origin", "http://localhost:9000"), Some(403));
        assert_eq!(with("origin", "http://evil.example"), Some(403));
        assert_eq!(with("origin", "null"), Some(403));
        assert_eq!(with("sec-fetch-site", "same-origin"), None);
        assert_eq!(with("sec-fetch-site", "none"), None);
        assert_eq!(with("sec-fetch-site", "cross-site"), Some(403));
        assert_eq!(with("sec-fetch-site", "same-site"), Some(403));
    }

    #[test]
    fn a_link_of_another_site_leads_to_the_page_and_to_nothing_else() {
        let headers: HeaderMap = [
            ("host", "localhost:8417"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ]
        .into_iter()
        .map(|(name, value)| {
            let name = name.parse().expect("a name");
            (
                name,
                value
                    .parse::<hyper::header::HeaderValue>()
                    .expect("a value"),
            )
        })
        .collect();
        let guard = Guard::new(8417);
        let judged =
            |path: &str| guard.refusal(&Method::GET, &path.parse().expect("a path"), &headers);
        assert_eq!(judged("/"), None);
        assert_eq!(judged("/document"), Some(StatusCode::FORBIDDEN));
    }

    #[test]
    fn nothing_but_get_is_answered() {
        for method in [Method::POST, Method::HEAD, Method::OPTIONS, Method::DELETE] {
            assert_eq!(
                judged(8417, method, &[("host", "localhost:8417")]),
                Some(405)
            );
        }
    }
}
