//! OTLP traces and profiles in JSON, and speedscope.
#![no_main]

use libfuzzer_sys::fuzz_target;
use vtprof_profile::formats::{Format, Hint};

fuzz_target!(|bytes: &[u8]| {
    let hint = Hint {
        format: Some(Format::OtlpJson),
        ..Hint::default()
    };
    vtprof_fuzz::check(bytes, &hint);
});
