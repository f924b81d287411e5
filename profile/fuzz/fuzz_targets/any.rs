//! Files as they come.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    vtprof_fuzz::check_file(bytes);
});
