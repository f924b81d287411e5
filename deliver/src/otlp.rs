//! The form of OpenTelemetry: `ExportProfilesServiceRequest` of `opentelemetry.proto.collector.profiles.v1development` by
//! HTTP, as of opentelemetry-proto 1.11 (alpha).
//!
//! A message has the profiles of one kind, one for each sample type, and their dictionary. A sample with a trace and a
//! span is linked to them; that span is the current one. Its other labels are attributes under their own names. There are
//! no timestamps of samples: a window holds sums, and when each was taken is not known any more.

use prost::Message;
use vtprof_profile::gzip;
use vtprof_profile::model;
use vtprof_profile::otlp::profiles::ProfilesData;
use vtprof_profile::otlp::trace::{KeyValue, Resource};
use vtprof_profile::otlp::write_profiles;
use vtprof_profile::pprof::Profile;
use vtprof_profile::spans::SERVICE_NAME_ATTRIBUTE;

use crate::form::Formed;
use crate::identity::{Identity, Part};
use crate::origin::Origin;
use crate::parts::{MOST_BYTES, Unfit};
use crate::pprof::as_it_is;
use crate::request::Request;
use crate::window::Window;

/// Where profiles go, behind the address of a Collector.
pub const PATH: &str = "/v1development/profiles";

/// The window, a request or more for each kind.
pub(crate) fn requests(origin: &Origin, window: &Window) -> Formed {
    let mut formed = Formed::default();
    for (kind, profile) in &window.profiles {
        let encode = |part: Profile, number| {
            let id = Part {
                window_start_unix_ns: window.start_unix_ns,
                kind: *kind,
                number,
                sample_type: 0,
            };
            request(origin, id, &part)
        };
        as_it_is(*kind, profile, encode, &mut formed);
    }
    formed
}

fn request(origin: &Origin, id: Part, part: &Profile) -> Result<Request, Unfit> {
    let broken = |error: &dyn std::fmt::Display| Unfit::Broken(error.to_string());
    let bytes = part.encode_to_vec();
    let profile = model::Profile::from_bytes(&bytes).map_err(|error| broken(&error))?;
    drop(bytes);
    let resource = Some(resource(origin));
    let mut data = write_profiles(resource, [&profile]).map_err(|error| broken(&error))?;
    name(&mut data, origin, id);
    if data.encoded_len() > MOST_BYTES {
        return Err(Unfit::TooLarge);
    }
    Ok(Request {
        path: PATH.to_owned(),
        content_type: "application/x-protobuf",
        gzip: true,
        body: gzip::compress(&data.encode_to_vec()).map_err(|error| broken(&error))?,
        samples: 0,
    })
}

/// Gives each profile its id.
fn name(data: &mut ProfilesData, origin: &Origin, id: Part) {
    let resources = data.resource_profiles.iter_mut();
    let scopes = resources.flat_map(|resource| &mut resource.scope_profiles);
    let profiles = scopes.flat_map(|scope| &mut scope.profiles);
    for (sample_type, profile) in profiles.enumerate() {
        let id = Part { sample_type, ..id };
        profile.profile_id = Identity::of(origin, id).bytes().to_vec();
    }
}

/// Who made them. Of two attributes of one key the first wins: labels, then what OpenTelemetry was told, then what is
/// found out.
fn resource(origin: &Origin) -> Resource {
    let mut attributes = vec![KeyValue::string(
        SERVICE_NAME_ATTRIBUTE,
        origin.service.as_str(),
    )];
    let mut add = |attribute: KeyValue| {
        if !attributes.iter().any(|known| known.key == attribute.key) {
            attributes.push(attribute);
        }
    };
    let told = origin.labels.iter().chain(origin.told_attributes());
    for (key, value) in told.filter(|(key, _)| !key.is_empty()) {
        add(KeyValue::string(key, value.as_str()));
    }
    if !origin.host.is_empty() {
        add(KeyValue::string("host.name", origin.host.as_str()));
    }
    add(KeyValue::int("process.pid", origin.pid.into()));
    Resource {
        attributes,
        dropped_attributes_count: 0,
    }
}
