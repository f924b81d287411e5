//! JDK tools that inherit the agent by `JAVA_TOOL_OPTIONS` print what they always print.

use std::path::Path;
use std::process::Command;

use vtprof_integration::artifacts;
use vtprof_integration::jdk;
use vtprof_integration::report::say;
use vtprof_integration::workdir::WorkDir;

const TOOLS: [(&str, &[&str]); 6] = [
    ("java", &["--version"]),
    ("javac", &["--version"]),
    ("javac", &["-version"]),
    ("jar", &["--version"]),
    ("jcmd", &["-h"]),
    ("keytool", &["-help"]),
];

/// Full, the folder of the JVM's own figures would make it speak on stdout.
const QUIET: &str = "-XX:-UsePerfData";

fn stdout(tool: &Path, arguments: &[&str], dir: &Path, options: &str) -> Vec<u8> {
    let output = Command::new(tool)
        .args(arguments)
        .current_dir(dir)
        .env("JAVA_TOOL_OPTIONS", options)
        .output()
        .expect("the tool runs");
    assert!(
        output.status.success(),
        "{tool:?} {arguments:?}: {output:?}"
    );
    output.stdout
}

#[test]
fn a_jdk_tool_with_the_agent_prints_the_same_on_stdout() {
    let agent = artifacts::agent().expect("the agent");
    let options = format!("{QUIET} -agentpath:{}", agent.display());
    for jdk in jdk::ends("jdk_tools") {
        let dir = WorkDir::new("tools").expect("a folder");
        for (name, arguments) in TOOLS {
            let Some(tool) = jdk.tool(name) else {
                say(&format!("SKIPPED {name} of {}: it has none", jdk.version));
                continue;
            };
            let plain = stdout(&tool, arguments, dir.path(), QUIET);
            let profiled = stdout(&tool, arguments, dir.path(), &options);
            assert_eq!(
                String::from_utf8_lossy(&profiled),
                String::from_utf8_lossy(&plain),
                "{name} {arguments:?} of {}",
                jdk.version
            );
        }
    }
}
