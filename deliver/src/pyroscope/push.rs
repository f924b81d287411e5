//! The messages of Pyroscope's `push.v1.PusherService/Push`, by the Connect protocol: one message is the body.
//! Field numbers are those of `push/v1/push.proto` and `types/v1/types.proto` of `github.com/grafana/pyroscope/api` v1.6.0.

use prost::Message;

use super::labels::{Labels, SERVICE};
use super::series::Series;
use crate::identity::Identity;
use crate::request::Request;

/// Where they go, behind the address of a server.
pub(crate) const PATH: &str = "/push.v1.PusherService/Push";

/// What is pushed at a time.
#[derive(Clone, PartialEq, Message)]
struct PushRequest {
    #[prost(message, repeated, tag = "1")]
    series: Vec<RawProfileSeries>,
}

/// Profiles under one set of labels.
#[derive(Clone, PartialEq, Message)]
struct RawProfileSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<LabelPair>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<RawSample>,
}

#[derive(Clone, PartialEq, Message)]
struct LabelPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

/// A profile.
#[derive(Clone, PartialEq, Message)]
struct RawSample {
    /// pprof, gzipped.
    #[prost(bytes = "vec", tag = "1")]
    raw_profile: Vec<u8>,
    /// A UUID.
    #[prost(string, tag = "2")]
    id: String,
}

pub(super) fn request(series: &Series, labels: &Labels, raw: Vec<u8>, id: Identity) -> Request {
    let pair = |name: &str, value: &str| LabelPair {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    let mut pairs = vec![
        pair("__name__", series.name),
        // Sums of a window, from which nothing before is to be taken away.
        pair("__delta__", "false"),
        pair(SERVICE, &labels.service),
    ];
    let others = labels.others.iter();
    pairs.extend(others.map(|(name, value)| pair(name, value)));
    let push = PushRequest {
        series: vec![RawProfileSeries {
            labels: pairs,
            samples: vec![RawSample {
                raw_profile: raw,
                id: id.to_string(),
            }],
        }],
    };
    Request {
        path: PATH.to_owned(),
        content_type: "application/proto",
        // The profile in it is.
        gzip: false,
        body: push.encode_to_vec(),
        samples: 0,
    }
}
