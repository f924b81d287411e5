//! Where profiles go: a server, what it is, and what it asks for at the door.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use ureq::http::Uri;

use crate::secret::Secret;

/// What a server is, by the scheme of its address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Backend {
    /// Connect, `push.v1.PusherService/Push`.
    Pyroscope,
    /// OTLP profiles over HTTP.
    Otlp,
    /// pprof, a kind a POST.
    Pprof,
}

impl Backend {
    /// All of them, by the word that begins an address.
    pub const ALL: [(&'static str, Self); 3] = [
        ("pyroscope", Self::Pyroscope),
        ("otlp", Self::Otlp),
        ("pprof", Self::Pprof),
    ];

    /// That word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pyroscope => "pyroscope",
            Self::Otlp => "otlp",
            Self::Pprof => "pprof",
        }
    }
}

/// An address of a server. Printed without its path and query: some put keys there.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    secure: bool,
    authority: String,
    path: String,
    query: Option<String>,
    /// It is where to POST to, and not what paths are added to.
    is_whole: bool,
}

/// Why a text is no address. It is not quoted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressError {
    /// Another scheme, or none.
    Scheme,
    /// A name or password before the host.
    UserInfo,
    /// A `#`.
    Fragment,
    /// No host, or what no URL has.
    Malformed,
}

impl fmt::Display for AddressError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => "an address that begins with http:// or https://",
            Self::UserInfo => {
                "an address without name and password, which others would see: give push_auth=basic:NAME and the password with push_token_file=FILE"
            }
            Self::Fragment => "an address without #",
            Self::Malformed => "an address such as https://host:4040/path",
        })
    }
}

impl Address {
    /// Reads `http://host:port/path?query`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (secure, rest) = match (text.strip_prefix("https://"), text.strip_prefix("http://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(AddressError::Scheme),
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return Err(AddressError::UserInfo);
        }
        if text.contains('#') {
            return Err(AddressError::Fragment);
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::Malformed)?;
        let host = uri.host().unwrap_or_default();
        // The parser takes "host:" and "host:x" for hosts.
        let has_bad_port = uri.port().is_none() && authority.len() != host.len();
        if host.is_empty() || has_bad_port {
            return Err(AddressError::Malformed);
        }
        Ok(Self {
            secure,
            authority: authority.to_owned(),
            path: uri.path().to_owned(),
            query: uri.query().map(str::to_owned),
            is_whole: false,
        })
    }

    /// The same, to be used as it is: no path is added.
    #[must_use]
    pub fn whole(self) -> Self {
        Self {
            is_whole: true,
            ..self
        }
    }

    /// Whether it is under TLS.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Whether it is this machine by its name.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let host = match self.authority.strip_prefix('[') {
            Some(rest) => rest.split(']').next(),
            None => self.authority.split(':').next(),
        };
        let host = host.unwrap_or_default();
        host.eq_ignore_ascii_case("localhost")
            || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    /// Host and port as given.
    #[must_use]
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Where a request with that path, and query, goes. Not to be shown.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        let (base, added) = if self.is_whole {
            (&*self.path, "")
        } else {
            (self.path.trim_end_matches('/'), path)
        };
        let slash = if base.is_empty() && !added.starts_with('/') {
            "/"
        } else {
            ""
        };
        let mut url = format!("{scheme}://{}{base}{slash}{added}", self.authority);
        if let Some(query) = &self.query {
            url.push(if url.contains('?') { '&' } else { '?' });
            url.push_str(query);
        }
        url
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}", self.authority)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where a token comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// It is there.
    Known(Secret),
    /// It is read before each upload, since files of tokens are renewed.
    File(PathBuf),
}

/// What goes before the token in `Authorization`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scheme {
    /// That word and the token: `Bearer`, `Collector`.
    Word(String),
    /// `Basic`: that name, and the token as password.
    Basic(String),
}

/// A name and a secret for the door.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Credential {
    /// How.
    pub scheme: Scheme,
    /// What.
    pub token: Token,
}

/// See the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// What it is.
    pub backend: Backend,
    /// Where it is.
    pub address: Address,
    /// For `Authorization`.
    pub credential: Option<Credential>,
    /// Other headers.
    pub headers: Vec<(String, Secret)>,
    /// Certificates to trust beside the system's, PEM.
    pub ca: Option<PathBuf>,
    /// How long one upload may take.
    pub timeout: Duration,
}

/// The header that says whose profiles they are, at servers for several.
pub const TENANT: &str = "X-Scope-OrgID";

/// How long one upload may take where nothing else is said.
pub const TIMEOUT: Duration = Duration::from_secs(10);

impl Target {
    /// Reads `form+http://host:port/path?query`; nothing but that is set.
    ///
    /// # Errors
    /// What it should be instead; the text is not quoted.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (word, rest) = text.split_once('+').unwrap_or(("", text));
        let backend = Backend::ALL.iter().find(|(name, _)| *name == word);
        let Some((_, backend)) = backend else {
            return Err(
                "pyroscope+, otlp+ or pprof+ before http:// or https://, or otlp alone".to_owned(),
            );
        };
        let address = Address::parse(rest).map_err(|error| error.to_string())?;
        Ok(Self::new(*backend, address))
    }

    /// A target that asks for nothing at the door.
    #[must_use]
    pub fn new(backend: Backend, address: Address) -> Self {
        Self {
            backend,
            address,
            credential: None,
            headers: Vec::new(),
            ca: None,
            timeout: TIMEOUT,
        }
    }

    /// What is likely to be a mistake in it, a line each. Reads the token's file, and quotes nothing of it.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let Some(credential) = &self.credential else {
            return Vec::new();
        };
        let mut doubts = Vec::new();
        if !self.address.is_secure() && !self.address.is_local() {
            doubts.push(format!(
                "{} gets its token without TLS, where others can read it: write https://",
                self.address
            ));
        }
        if let Token::File(path) = &credential.token
            && let Err(why) = Secret::read(path)
        {
            doubts.push(format!("the token in {}: {why}", path.display()));
        }
        doubts
    }

    /// A number that is the same for the same target of the same service in each run; of those that differ only in their
    /// token, `nth` tells them apart. Whose profiles they are is in it, so none is sent as another tenant's. No token is:
    /// the number can be seen by its folder's name.
    #[must_use]
    pub fn mark(&self, service: &str, nth: usize) -> u64 {
        let mut text = format!("{} {} {service}", self.backend.name(), self.address.url(""));
        let mut add = |what: &str, value: &str| {
            text.push('\n');
            text.push_str(what);
            text.push_str(value);
        };
        for (name, value) in &self.headers {
            if name.eq_ignore_ascii_case(TENANT) {
                add("tenant ", value.expose());
            }
        }
        if let Some(Scheme::Basic(name)) = self.credential.as_ref().map(|it| &it.scheme) {
            add("name ", name);
        }
        if nth > 0 {
            add("nth ", &nth.to_string());
        }
        fnv(text.as_bytes())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.backend.name(), self.address)
    }
}

/// FNV-1a, 64 bits: the same in each build, which `std`'s hashes do not promise.
#[must_use]
pub fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;
