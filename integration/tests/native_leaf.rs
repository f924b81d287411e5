//! Native code that Java code calls is the leaf of its stacks, under the name of its library, above the method that
//! called it.

use std::time::Duration;

use vtprof_integration::jdk;
use vtprof_integration::jvm::{Finished, Machine, Running};
use vtprof_integration::launch::Launch;
use vtprof_integration::recording::{Recording, Sample};
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

/// The library with the JDK's own `deflate`, or the system's.
const LIBRARIES: [&str; 2] = ["libzip.so", "libz.so"];
const CALLER: &str = "java.util.zip.Deflater.deflate";

fn is_compressing(sample: &Sample) -> bool {
    sample
        .frames
        .iter()
        .any(|frame| frame.contains("NativeBurner.compress"))
}

#[test]
fn native_code_is_the_leaf_under_its_librarys_name_above_the_method_that_called_it() {
    for jdk in jdk::ends("native_leaf") {
        let _machine = Machine::turn();
        let dir = WorkDir::new("native").expect("a folder");
        let launch = Launch::new(&jdk)
            .agent("cpu=1000hz,out=out,every=60s,shim=off,log=warn")
            .expect("the agent")
            .plain_program("NativeBurner", ["3"])
            .expect("the program");
        let finished = Running::start(&launch, dir.path(), Duration::from_secs(60))
            .and_then(Running::wait)
            .and_then(Finished::success)
            .expect("a run");
        assert_eq!(finished.agent_lines(), Vec::<&str>::new());
        let recording = Recording::read(&dir.path().join("out")).expect("a profile");
        let burning: Vec<_> = recording
            .samples
            .iter()
            .filter(|sample| is_compressing(sample))
            .collect();
        let is_right = |sample: &Sample| {
            LIBRARIES
                .iter()
                .any(|library| sample.leaf_file.starts_with(library))
                && sample.frames[1].starts_with(CALLER)
        };
        let sum = |samples: &mut dyn Iterator<Item = &&Sample>| -> u64 {
            samples.map(|sample| sample.count).sum()
        };
        let all = sum(&mut burning.iter());
        let right = sum(&mut burning.iter().filter(|sample| is_right(sample)));
        let mut leaves: Vec<_> = burning
            .iter()
            .map(|sample| (sample.count, &*sample.frames[0], &*sample.leaf_file))
            .collect();
        leaves.sort_unstable_by(|a, b| b.cmp(a));
        leaves.truncate(8);
        say(&format!(
            "{right} of {all} samples in the library on {}: {leaves:?}",
            jdk.version
        ));
        assert!(all > 100, "{all} samples");
        assert!(right * 10 >= all * 9, "{right} of {all}: {leaves:?}");
    }
}
