//! What a server has thrown away of a request that it took.

use prost::Message;

use crate::form::Form;

/// `ExportProfilesServiceResponse` of `opentelemetry.proto.collector.profiles.v1development` (proto 1.11).
#[derive(Clone, PartialEq, Message)]
struct Response {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_profiles: i64,
}

/// Most profiles that a request has: one of each of a kind's two sample types.
const MOST: u64 = 2;

/// How many profiles, by the body of its 2xx; no more than a request has. A body that does not say counts none.
#[must_use]
pub fn profiles(form: Form, body: &[u8]) -> u64 {
    if form != Form::Otlp {
        return 0;
    }
    let response = Response::decode(body).unwrap_or_default();
    let rejected = response
        .partial_success
        .unwrap_or_default()
        .rejected_profiles;
    u64::try_from(rejected).unwrap_or(0).min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_that_rejects_profiles_is_believed_and_nonsense_is_not() {
        let said = |rejected_profiles| {
            let response = Response {
                partial_success: Some(PartialSuccess { rejected_profiles }),
            };
            profiles(Form::Otlp, &response.encode_to_vec())
        };
        assert_eq!([said(0), said(1), said(-1)], [0, 1, 0]);
        assert_eq!(said(i64::MAX), 2, "there were no more");
        assert_eq!(profiles(Form::Otlp, b""), 0);
        assert_eq!(profiles(Form::Otlp, b"{}"), 0);
        assert_eq!(profiles(Form::Pprof, &[0x0a, 2, 8, 3]), 0);
    }
}
