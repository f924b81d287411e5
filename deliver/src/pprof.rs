//! The form of collectors that take pprof as it is: `POST …?service=&profile_type=`, a profile of one kind each.

use prost::Message;
use vtprof_profile::gzip;
use vtprof_profile::kind::Kind;
use vtprof_profile::pprof::Profile;

use crate::form::Formed;
use crate::origin::Origin;
use crate::parts::{self, Bounds, Keys, MOST_BYTES, Recipe, Unfit};
use crate::query::query;
use crate::request::Request;
use crate::window::Window;

const BOUNDS: Bounds = Bounds {
    samples: usize::MAX,
    bytes: MOST_BYTES,
};

/// The window, a request or more for each kind. `profile_type` is [`Kind::name`]. Static labels have no place in it.
pub(crate) fn requests(origin: &Origin, window: &Window) -> Formed {
    let mut formed = Formed::default();
    for (kind, profile) in &window.profiles {
        let path = query(&[("service", &origin.service), ("profile_type", kind.name())]);
        let encode = |part: Profile, _| request(&path, &part);
        as_it_is(*kind, profile, encode, &mut formed);
    }
    formed
}

fn request(path: &str, part: &Profile) -> Result<Request, Unfit> {
    let body = gzip::compress(&part.encode_to_vec());
    Ok(Request {
        path: path.to_owned(),
        content_type: "application/x-protobuf",
        gzip: true,
        body: body.map_err(|error| Unfit::Broken(error.to_string()))?,
        samples: 0,
    })
}

/// Adds the parts of a profile, with all that is in it under its own names.
pub(crate) fn as_it_is(
    kind: Kind,
    profile: &Profile,
    encode: impl FnMut(Profile, u32) -> Result<Request, Unfit>,
    formed: &mut Formed,
) {
    let recipe = Recipe {
        sample_types: &[kind.count(), kind.amount()],
        period_type: kind.period(),
        period: profile.period,
        keys: Keys::All,
        depth: usize::MAX,
        longest_text: usize::MAX,
        comments: true,
        send_empty: true,
    };
    parts::add(profile, &recipe, BOUNDS, encode, formed);
}
