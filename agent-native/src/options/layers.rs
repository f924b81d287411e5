//! Where keys come from: the option string over the environment over the file.

use std::path::Path;

use super::{OptionError, Options};

pub(super) const STRING: &str = "the option string";
const ENVIRONMENT: &str = "VTPROF_OPTS";
const LABEL: &str = "label.";

/// Reads all three layers. `environment` is the value of `VTPROF_OPTS`.
///
/// # Errors
/// The first key or value that cannot be used.
pub fn read(string: &str, environment: &str) -> Result<Options, OptionError> {
    let string = split(string, STRING)?;
    let environment = split(environment, ENVIRONMENT)?;
    let mut options = Options::default();
    let config = string
        .iter()
        .chain(&environment)
        .find(|(key, _)| key == "config");
    if let Some((_, path)) = config {
        read_file(&mut options, Path::new(path))?;
    }
    for (pairs, origin) in [(&environment, ENVIRONMENT), (&string, STRING)] {
        for (key, value) in pairs.iter().filter(|(key, _)| key != "config") {
            options.apply(key, value, origin)?;
        }
    }
    Ok(options)
}

/// `k=v,k=v`. A part without `=` belongs to the value before it (`keep=512MiB,24h`).
pub(super) fn split(text: &str, origin: &str) -> Result<Vec<(String, String)>, OptionError> {
    let mut pairs: Vec<(String, String)> = Vec::new();
    for part in text
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
    {
        match (part.split_once('='), pairs.last_mut()) {
            (Some((key, value)), _) => {
                pairs.push((spelled(key.trim()), value.trim().to_owned()));
            }
            (None, Some((_, value))) => {
                value.push(',');
                value.push_str(part);
            }
            (None, None) => {
                return Err(OptionError::NoValue {
                    text: part.to_owned(),
                    origin: origin.to_owned(),
                });
            }
        }
    }
    Ok(pairs)
}

/// A key as it is known: in small letters, but for the name of a label.
fn spelled(key: &str) -> String {
    let lower = key.to_ascii_lowercase();
    match lower.strip_prefix(LABEL) {
        Some(_) => format!("{LABEL}{}", &key[LABEL.len()..]),
        None => lower,
    }
}

fn read_file(options: &mut Options, path: &Path) -> Result<(), OptionError> {
    let fail = |reason: String| OptionError::File {
        path: path.display().to_string(),
        reason: reason.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let text = std::fs::read_to_string(path).map_err(|error| fail(error.to_string()))?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| fail(told(&error, &text)))?;
    let origin = path.display().to_string();
    let mut pairs: Vec<(String, toml::Value)> = Vec::new();
    for (key, value) in table {
        match value {
            // `label.zone = "a"` is a table of TOML's.
            toml::Value::Table(labels) if key == "label" => {
                pairs.extend(labels.into_iter().map(|(k, v)| (format!("{LABEL}{k}"), v)));
            }
            value => pairs.push((key, value)),
        }
    }
    for (key, value) in pairs {
        let value = match value {
            toml::Value::String(text) => text,
            toml::Value::Integer(number) => number.to_string(),
            other => {
                return Err(fail(format!(
                    "{key} is a {}: write a string",
                    other.type_str()
                )));
            }
        };
        options.apply(&key, &value, &origin)?;
    }
    Ok(())
}

/// Where a TOML error is and what it is. Not as it displays itself, which is a drawing of the line: a password may stand there.
fn told(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    let before = error.span().and_then(|span| text.get(..span.start));
    match before {
        Some(before) => format!("line {}: {message}", 1 + before.matches('\n').count()),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;

    fn file(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("vtprof-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        path
    }

    #[test]
    fn the_string_wins_over_the_environment_and_that_over_the_file() {
        let path = file(
            "layers",
            "cpu = \"10hz\"\nevery = \"10s\"\nservice = \"file\"\ncontexts = 99\n",
        );
        let options = read(
            &format!("cpu=30hz,config={}", path.display()),
            "cpu=20hz,every=20s",
        )
        .unwrap();
        assert_eq!(options.cpu, Some(Duration::from_secs(1) / 30));
        assert_eq!(options.every, Duration::from_secs(20));
        assert_eq!(options.service.as_deref(), Some("file"));
        assert_eq!(options.contexts, 99);
    }

    #[test]
    fn each_layer_sets_how_long_the_last_profile_is_waited_for() {
        let config = format!("config={}", file("flush", "flush = \"7s\"\n").display());
        for (string, environment, seconds) in [
            ("flush=9s", "flush=8s", 9),
            (config.as_str(), "flush=8s", 8),
            (config.as_str(), "", 7),
            ("", "", 5),
        ] {
            let options = read(string, environment).unwrap();
            assert_eq!(options.flush, Duration::from_secs(seconds), "{string}");
        }
    }

    #[test]
    fn a_comma_inside_a_value_stays_there() {
        let options = read("keep=1GiB,2h,cpu=10ms", "").unwrap();
        assert_eq!(options.keep.bytes, 1 << 30);
        assert_eq!(options.keep.age, Duration::from_secs(7200));
        assert_eq!(options.cpu, Some(Duration::from_millis(10)));
    }

    #[test]
    fn labels_keep_their_letters_in_each_layer_and_the_nearer_layer_wins() {
        let path = file("labels", "label.Zone = \"a\"\nlabel.tier = \"1\"\n");
        let string = format!("config={},LABEL.Zone=c,push=otlp", path.display());
        let push = read(&string, "label.Zone=b").unwrap().push;
        let labels: Vec<_> = push.labels.iter().map(|(k, v)| (&**k, &**v)).collect();
        assert_eq!(labels, [("tier", "1"), ("Zone", "c")]);
    }

    #[test]
    fn nothing_given_is_the_defaults() {
        assert_eq!(read("", ""), Ok(Options::default()));
        assert_eq!(read(" , ,", ""), Ok(Options::default()));
    }

    #[test]
    fn every_fault_is_one_line_that_says_where() {
        let broken = file("broken", "cpu = [1\n");
        let wrong = file("wrong", "cpu = true\n");
        for (string, environment, part) in [
            ("bogus", "", "\"bogus\""),
            ("nonsense=1", "", "the option string"),
            ("", "cpu=0hz", "VTPROF_OPTS"),
            ("", "flush=0s", "VTPROF_OPTS"),
            ("config=/does/not/exist.toml", "", "/does/not/exist.toml"),
            (&format!("config={}", broken.display()), "", "broken"),
            (&format!("config={}", wrong.display()), "", "boolean"),
        ] {
            let message = read(string, environment).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
    #[test]
    fn no_fault_of_a_file_tells_what_stands_in_it() {
        for line in [
            "push = \"otlp:https://u:SECRET@h",
            "config_url = \"https://u:SECRET@h",
            "config_url = 'https://u:SECRET@h",
            "push = https://u:SECRET@h",
            "push = \"https://u:SECRET@h\" SECRET",
            "push = \"\\SECRET\"",
            "push = [\"https://u:SECRET@h\"]",
            "push = \"otlp\"\npush = \"otlp:https://u:SECRET@h\"",
            "push",
        ] {
            let text = format!("cpu = \"10ms\"\n{line}\n");
            let config = format!("config={}", file("secret", &text).display());
            let message = read(&config, "").unwrap_err().to_string();
            assert!(!message.contains("SECRET"), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
            let is_place = message.contains("line 2: ") || message.contains("line 3: ");
            assert!(is_place || line.contains('['), "{message}");
        }
    }
}
