//! The reader of pprof.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vtprof_profile::model::Profile;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(profile) = Profile::from_bytes(bytes) {
        vtprof_fuzz::check_profile(&profile);
    }
});
