//! Whom profiles come from: what a back end shows beside each of them.

use crate::target::fnv;

/// One process, for its whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the service.
    pub service: String,
    /// Static labels, by option (`label.k=v`) or from afar; they win over attributes of the same name.
    pub labels: Vec<(String, String)>,
    /// OpenTelemetry's resource attributes, `service.name` left out.
    pub resource: Vec<(String, String)>,
    /// Name of the host.
    pub host: String,
    /// Process id.
    pub pid: u32,
}

impl Origin {
    /// Attributes that may be sent: command lines are not, since they carry secrets.
    pub(crate) fn told_attributes(&self) -> impl Iterator<Item = &(String, String)> {
        let attributes = self.resource.iter();
        attributes.filter(|(key, _)| !is_command(key))
    }
}

/// A number that is the same for one process all along, and another for each: also in containers, where all have one id.
#[must_use]
pub fn seed(host: &str, pid: u32) -> u64 {
    fnv(format!("{host} {pid}").as_bytes())
}

/// Whether an attribute is, or is of, the process' command line.
#[must_use]
pub fn is_command(key: &str) -> bool {
    key.starts_with("process.command")
}
