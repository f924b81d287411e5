//! What must hold of whatever was read.

use vtprof_profile::Message;
use vtprof_profile::formats::{Document, Hint, collapsed, read, speedscope};
use vtprof_profile::gzip;
use vtprof_profile::merge::Merger;
use vtprof_profile::model::Profile;
use vtprof_profile::otlp::{Gathered, read_profiles, write_profiles};
use vtprof_profile::spans::traces_to_spans;

/// Sums of each sample type.
fn sums(profile: &Profile) -> Vec<i128> {
    let mut sums = vec![0; profile.sample_types.len()];
    for sample in profile.samples.iter() {
        for (sum, value) in sums.iter_mut().zip(sample.values) {
            *sum += i128::from(*value);
        }
    }
    sums
}

/// Whether no sum of a part of the samples saturates.
fn is_far_from_the_brink(profile: &Profile) -> bool {
    let magnitudes = profile.samples.iter().flat_map(|sample| sample.values);
    let whole: u128 = magnitudes
        .map(|value| u128::from(value.unsigned_abs()))
        .sum();
    whole < (i64::MAX / 4) as u128
}

/// Adds the profile up and writes it in each format; sums must survive.
pub fn check_profile(profile: &Profile) {
    for sample in profile.samples.iter() {
        for frame in profile.frames(&sample) {
            let function = profile.functions.get(frame.function);
            let _ = profile.strings.get(function.name);
        }
    }
    let mut merger = Merger::new();
    merger.add(profile).expect("the first");
    merger.add(profile).expect("the same types");
    let twice = merger.finish().expect("two");
    let is_exact = is_far_from_the_brink(profile);
    let once = sums(profile);
    if is_exact {
        let double: Vec<_> = once.iter().map(|sum| sum * 2).collect();
        assert_eq!(sums(&twice), double, "added to itself");
    }

    let mut bytes = Vec::new();
    profile.write_pprof(&mut bytes).expect("memory");
    let back = Profile::from_bytes(&bytes).expect("what was written is read");
    assert_eq!(sums(&back), once, "pprof");
    assert_eq!(back.samples.len(), profile.samples.len());

    let otlp = write_profiles(None, [profile]).expect("small");
    let again = Message::decode(otlp.encode_to_vec().as_slice()).expect("just encoded");
    assert_eq!(otlp, again);
    let read_back = read_profiles(&again).expect("what was written is read");
    if is_exact {
        let all: i128 = read_back.iter().flat_map(sums).sum();
        assert_eq!(all, once.iter().sum::<i128>(), "OTLP");
    }

    for (column, sum) in once.iter().enumerate() {
        let mut text = Vec::new();
        collapsed::write(profile, column, &mut text).expect("memory");
        if is_exact && !text.is_empty() {
            let value_type = profile.sample_types[column].clone();
            let back = collapsed::read(&text, value_type).expect("what was written is read");
            assert_eq!(sums(&back), [*sum], "collapsed");
        }
    }
    let mut json = Vec::new();
    speedscope::write(profile, "fuzz", &mut json).expect("memory");
    speedscope::read(&json).expect("what was written is read");
}

/// Reads bytes of whatever format, and checks all that is in them.
pub fn check(bytes: &[u8], hint: &Hint) {
    let mut gathered = Gathered::default();
    let _ = read(bytes, hint, |document| match document {
        Document::Profile(profile) => check_profile(&profile),
        Document::Traces(traces) => gathered.add(traces),
    });
    let list = traces_to_spans(&gathered.finish());
    for span in &list.spans {
        let _ = span.duration_nanos();
    }
}

/// As a file is read: decompressed, to a limit.
pub fn check_file(bytes: &[u8]) {
    const LIMIT: u64 = 1 << 20;
    if let Ok(bytes) = gzip::read_bytes(bytes, LIMIT) {
        assert!(bytes.len() as u64 <= LIMIT);
        check(&bytes, &Hint::default());
    }
}
