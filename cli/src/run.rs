//! `vtprof run`: starts a JVM with the agent in it, and becomes that JVM, so that signals and exit status are its own.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, anyhow, bail};

use crate::args::RunArgs;
use crate::attach::library;
use crate::attach::options::{self, Out};
use crate::text::note;

/// Every JVM reads options from it, and says so in a line.
const VARIABLE: &str = "JAVA_TOOL_OPTIONS";

/// Runs the command; comes back only with an error.
pub fn run(args: &RunArgs) -> Result<()> {
    let library = library::here(&args.agent)?;
    let string = options::string(&args.agent)?;
    let here = env::current_dir().context("the working directory")?;
    let environment = env::var(options::ENVIRONMENT).unwrap_or_default();
    let out = options::out(&string, &environment, &here, |path| {
        std::fs::read_to_string(path).with_context(|| format!("config={}", path.display()))
    })?;
    let (program, words) = args
        .command
        .split_first()
        .context("there is nothing to run: write it behind --")?;

    let agent = agent_flag(&library, &string);
    let mut command = Command::new(program);
    let how = if is_launcher(program) {
        // The first option: what follows the class or jar is the application's.
        command.arg(&agent);
        ""
    } else {
        command.env(VARIABLE, with_flag(env::var_os(VARIABLE), &agent)?);
        "; every JVM it starts reads the agent from JAVA_TOOL_OPTIONS"
    };
    let place = match &out {
        Out::In(folder) => {
            let folder = folder.display();
            format!("profiles appear in {folder}, next: vtprof spans {folder}")
        }
        Out::Off => options::NO_FILES.to_owned(),
    };
    note(&format!("{place}{how}"));
    let error = command.args(words).exec();
    Err(anyhow!("{}: {error}", program.display()))
}

/// Whether this is the command `java`, which takes the agent as an argument. Others, `mvn` or a script, may start one.
fn is_launcher(program: &OsStr) -> bool {
    Path::new(program).file_name() == Some(OsStr::new("java"))
}

fn agent_flag(library: &Path, options: &str) -> OsString {
    let mut flag = OsString::from("-agentpath:");
    flag.push(library);
    if !options.is_empty() {
        flag.push("=");
        flag.push(options);
    }
    flag
}

/// The variable with one flag more, quoted: blanks part flags there.
fn with_flag(before: Option<OsString>, flag: &OsStr) -> Result<OsString> {
    let text = flag.to_string_lossy();
    let quote = match (text.contains('\''), text.contains('"')) {
        (false, _) => "'",
        (true, false) => "\"",
        (true, true) => bail!("{VARIABLE} cannot hold both kinds of quotes: {text}"),
    };
    let mut all = before.unwrap_or_default();
    if !all.is_empty() {
        all.push(" ");
    }
    all.push(quote);
    all.push(flag);
    all.push(quote);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn java_takes_an_argument_and_others_a_variable() {
        for (program, is) in [
            ("java", true),
            ("/opt/jdk/bin/java", true),
            ("./mvnw", false),
            ("javac", false),
            ("java.sh", false),
        ] {
            assert_eq!(is_launcher(OsStr::new(program)), is, "{program}");
        }
        assert_eq!(
            agent_flag(Path::new("/x/libvtprof.so"), "cpu=1ms"),
            "-agentpath:/x/libvtprof.so=cpu=1ms"
        );
        assert_eq!(
            agent_flag(Path::new("/x/libvtprof.so"), ""),
            "-agentpath:/x/libvtprof.so"
        );
    }

    #[test]
    fn a_flag_with_blanks_is_one_flag_and_comes_behind_those_that_are_there() {
        let with = |before: Option<&str>, flag: &str| {
            with_flag(before.map(OsString::from), OsStr::new(flag)).ok()
        };
        assert_eq!(with(None, "-a b"), Some("'-a b'".into()));
        assert_eq!(with(Some("-Xmx1g"), "-a'b"), Some("-Xmx1g \"-a'b\"".into()));
        assert_eq!(with(None, "-a'b\"c"), None);
    }
}
