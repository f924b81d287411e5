//! The agent's option string, and where its profiles go by it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::args::AgentArgs;

/// Where they go unless something says else, below the JVM's working directory.
const OUT: &str = "vtprof";
/// The variable that the agent reads as well.
pub const ENVIRONMENT: &str = "VTPROF_OPTS";

/// The value of `out=` without files, in options and in answers. A path in an answer is absolute.
pub const OFF: &str = "off";
/// What is said of them then.
pub const NO_FILES: &str = "no files: out=off";

/// Where an agent's profiles go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Out {
    /// To its servers alone.
    Off,
    /// A directory, as the JVM sees it.
    In(PathBuf),
}

/// The option string for the agent.
///
/// # Errors
/// `--out` beside `out=`, or a directory that an option string cannot hold.
pub fn string(args: &AgentArgs) -> Result<String> {
    let Some(out) = &args.out else {
        return Ok(args.options.clone());
    };
    if value_of(&args.options, "out").is_some() {
        bail!("--out and out= in --options: give one of them");
    }
    let out = std::path::absolute(out).with_context(|| format!("--out {}", out.display()))?;
    let out = out
        .to_str()
        .filter(|out| !out.contains([',', '=']))
        .ok_or_else(|| {
            anyhow!(
                "--out {}: the agent takes a directory in UTF-8 without comma and =",
                out.display()
            )
        })?;
    let mut all = args.options.trim_end_matches(',').to_owned();
    if !all.is_empty() {
        all.push(',');
    }
    Ok(all + "out=" + out)
}

/// A value in a list of options; the last one counts. What has no `=` belongs to the value before it.
fn value_of(options: &str, key: &str) -> Option<String> {
    let mut found: Option<String> = None;
    let mut is_its = false;
    for part in options
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        match part.split_once('=') {
            Some((name, value)) => {
                is_its = name.trim().eq_ignore_ascii_case(key);
                if is_its {
                    found = Some(value.trim().to_owned());
                }
            }
            None => {
                if let Some(value) = found.as_mut().filter(|_| is_its) {
                    value.push(',');
                    value.push_str(part);
                }
            }
        }
    }
    found
}

/// Where the profiles go as the agent settles it: by its option string, else by its environment, else by the file
/// that one of them names. `read` reads a file that the JVM sees.
///
/// # Errors
/// Such a file cannot be read.
pub fn out(
    options: &str,
    environment: &str,
    working_directory: &Path,
    read: impl FnOnce(&Path) -> Result<String>,
) -> Result<Out> {
    let either = |key| value_of(options, key).or_else(|| value_of(environment, key));
    let out = match (either("out"), either("config")) {
        (Some(out), _) => Some(out),
        (None, Some(config)) => {
            let path = working_directory.join(&config);
            let table: toml::Table = read(&path)?.parse().map_err(|error: toml::de::Error| {
                anyhow!("config={config}: {}", error.message())
            })?;
            table
                .get("out")
                .and_then(toml::Value::as_str)
                .map(str::to_owned)
        }
        (None, None) => None,
    };
    Ok(match out.as_deref().unwrap_or(OUT) {
        OFF => Out::Off,
        out => Out::In(working_directory.join(out)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(options: &str, out: Option<&str>) -> AgentArgs {
        AgentArgs {
            options: options.to_owned(),
            out: out.map(PathBuf::from),
            agent: None,
        }
    }

    #[test]
    fn a_directory_is_handed_over_absolute_and_named_once() {
        assert_eq!(string(&args("cpu=1ms", None)).expect("options"), "cpu=1ms");
        assert_eq!(
            string(&args("cpu=1ms,", Some("/x"))).expect("options"),
            "cpu=1ms,out=/x"
        );
        let relative = string(&args("", Some("x"))).expect("options");
        assert!(
            relative.starts_with("out=/") && relative.ends_with("/x"),
            "{relative}"
        );
        for (options, out) in [("out=y", "/x"), ("", "/a,b"), ("", "/a=b")] {
            let refused = string(&args(options, Some(out))).expect_err(out);
            assert!(refused.to_string().starts_with("--out"), "{refused}");
        }
    }

    #[test]
    fn the_directory_is_the_one_that_the_agent_takes() {
        let out = |options, environment, file: &str| {
            out(options, environment, Path::new("/srv/shop"), |path| {
                assert_eq!(path, Path::new("/srv/shop/vtprof.toml"));
                Ok(file.to_owned())
            })
            .map(|out| match out {
                Out::Off => NO_FILES.to_owned(),
                Out::In(folder) => folder.display().to_string(),
            })
            .map_err(|error| error.to_string())
        };
        let is = |path: &str| Ok(path.to_owned());
        assert_eq!(out("", "", ""), is("/srv/shop/vtprof"));
        assert_eq!(out("out=/a,keep=1GiB,2h", "out=/b", ""), is("/a"));
        assert_eq!(out("cpu=1ms", "OUT = b ,cpu=2ms", ""), is("/srv/shop/b"));
        assert_eq!(out("out=/a,b", "", ""), is("/a,b"));
        let config = "config=vtprof.toml";
        assert_eq!(out(config, "", "out = \"/c\"\n"), is("/c"));
        assert_eq!(out(config, "out=/b", "out = \"/c\"\n"), is("/b"));
        assert_eq!(out("", config, "cpu = \"1ms\"\n"), is("/srv/shop/vtprof"));
        assert!(out(config, "", "out = [").is_err());
        for (options, environment, file) in [
            ("out=off,push=x", "out=/b", ""),
            ("", "out=off", ""),
            (config, "", "out = \"off\"\n"),
        ] {
            assert_eq!(out(options, environment, file), is(NO_FILES), "{options}");
        }
        assert_eq!(out("out=./off", "", ""), is("/srv/shop/./off"));
    }
}
