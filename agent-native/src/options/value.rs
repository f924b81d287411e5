//! How a value of each kind is read. Errors are the reason alone; the caller names key and value.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use super::Keep;

type Result<T> = std::result::Result<T, String>;

const SECOND: Duration = Duration::from_secs(1);

/// `100hz`, `10ms` or `off`.
pub fn period(text: &str) -> Result<Option<Duration>> {
    const WANTED: &str = "1hz to 1000hz, a duration from 1ms to 1s, or off";
    period_from(text, Duration::from_millis(1)).ok_or_else(|| WANTED.to_owned())
}

/// `4000hz` or `off`.
pub fn stress(text: &str) -> Result<Option<Duration>> {
    const WANTED: &str = "1hz to 5000hz, a duration from 1ms to 1s, or off";
    period_from(text, Duration::from_micros(200)).ok_or_else(|| WANTED.to_owned())
}

/// `1ms` or `off`.
pub fn wait(text: &str) -> Result<Option<Duration>> {
    const WANTED: &str = "a duration from 1ms to 1s, or off";
    if text == "off" {
        return Ok(None);
    }
    duration(text)
        .ok()
        .filter(|wait| (Duration::from_millis(1)..=SECOND).contains(wait))
        .map(Some)
        .ok_or_else(|| WANTED.to_owned())
}

/// `Some(None)` for off, `None` for what is no period of at least `least` and at most a second.
fn period_from(text: &str, least: Duration) -> Option<Option<Duration>> {
    if text == "off" {
        return Some(None);
    }
    let lower = text.to_ascii_lowercase();
    let period = match lower.strip_suffix("hz") {
        Some(rate) => SECOND.checked_div(rate.trim().parse().ok()?)?,
        None => duration(&lower).ok()?,
    };
    (least..=SECOND).contains(&period).then_some(Some(period))
}

/// `500ms`, `60s`, `5m`, `24h`, `7d`.
pub fn duration(text: &str) -> Result<Duration> {
    let wanted = || "a number with ms, s, m, h or d, such as 60s".to_owned();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .ok_or_else(wanted)?;
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wanted())?;
    let millis = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(wanted()),
    };
    number
        .checked_mul(millis)
        .map(Duration::from_millis)
        .ok_or_else(wanted)
}

/// A duration within bounds.
pub fn between(text: &str, least: Duration, most: Duration) -> Result<Duration> {
    let value = duration(text)?;
    if value < least || value > most {
        return Err(format!("{} to {}", spelled(least), spelled(most)));
    }
    Ok(value)
}

/// A duration as an option has it, in the largest unit that fits: `5s`, `1500ms`. Parts of a ms are left out.
pub fn spelled(duration: Duration) -> String {
    let millis = duration.as_millis();
    let (unit, length) = [("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        .into_iter()
        .find(|(_, length)| millis > 0 && millis.is_multiple_of(*length))
        .unwrap_or(("ms", 1));
    format!("{}{unit}", millis / length)
}

/// A number within bounds.
pub fn count(text: &str, least: usize, most: usize) -> Result<usize> {
    text.parse()
        .ok()
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(|| format!("a number from {least} to {most}"))
}

/// One of some words.
pub fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T> {
    words
        .iter()
        .find(|(word, _)| *word == text)
        .map(|(_, value)| *value)
        .ok_or_else(|| {
            let all: Vec<_> = words.iter().map(|(word, _)| *word).collect();
            format!("one of {}", all.join(", "))
        })
}

/// `127.0.0.1:9464`, `9464` of the loopback address, or `off`. No name: who listens where is not to hang on a resolver.
pub fn listener(text: &str) -> Result<Option<SocketAddr>> {
    const WANTED: &str =
        "an address and a port such as 127.0.0.1:9464, a port of 127.0.0.1 such as 9464, or off";
    if text == "off" {
        return Ok(None);
    }
    let port = || Some(SocketAddr::from((Ipv4Addr::LOCALHOST, text.parse().ok()?)));
    let address = text.parse().ok().or_else(port);
    address.map(Some).ok_or_else(|| WANTED.to_owned())
}

/// A path.
pub fn path(text: &str) -> Result<PathBuf> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("a directory".to_owned());
    }
    Ok(PathBuf::from(text))
}

/// A directory, or `off`.
pub fn directory(text: &str) -> Result<Option<PathBuf>> {
    if text == "off" {
        return Ok(None);
    }
    path(text).map(Some)
}

/// A service name.
pub fn name(text: &str) -> Result<String> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err("a name".to_owned());
    }
    Ok(text.to_owned())
}

/// `512MiB,24h`, or one of the two; the other stays as it is.
pub fn keep(text: &str, mut keep: Keep) -> Result<Keep> {
    for part in text.split(',') {
        let part = part.trim();
        if let Ok(age) = duration(part) {
            keep.age = age;
        } else {
            keep.bytes = bytes(part)
                .ok_or("a size such as 512MiB, an age such as 24h, or both with a comma between")?;
        }
    }
    Ok(keep)
}

/// `512k` or `off`: bytes between two samples of allocations. At the least one each 16 KiB, as a thread that does
/// nothing but allocate may come to some GiB a second; at the most what JVMTI's `jint` holds.
pub fn interval(text: &str) -> Result<Option<u32>> {
    const LEAST: u32 = 16 << 10;
    const MOST: u32 = 1 << 30;
    if text == "off" {
        return Ok(None);
    }
    bytes(text)
        .and_then(|bytes| u32::try_from(bytes).ok())
        .filter(|bytes| (LEAST..=MOST).contains(bytes))
        .map(Some)
        .ok_or_else(|| "a size from 16k to 1g, such as 512k, or off".to_owned())
}

/// `16k` or `off`: objects that are followed at a time. Each takes some 150 bytes, and time of each collection.
pub fn objects(text: &str) -> Result<Option<u32>> {
    const MOST: u32 = 1 << 20;
    if text == "off" {
        return Ok(None);
    }
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(thousands) => (thousands, 1 << 10),
        None => text
            .strip_suffix(['m', 'M'])
            .map_or((text, 1), |millions| (millions, 1 << 20)),
    };
    let count = number.parse::<u32>().ok();
    count
        .and_then(|count| count.checked_mul(factor))
        .filter(|count| (1..=MOST).contains(count))
        .map(Some)
        .ok_or_else(|| "a number of objects from 1 to 1m, such as 16k, or off".to_owned())
}

/// `1%` or `off`, as a share: 0.01.
pub fn share(text: &str) -> Result<Option<f64>> {
    if text == "off" {
        return Ok(None);
    }
    let percent = text
        .strip_suffix('%')
        .and_then(|number| number.parse().ok());
    percent
        .filter(|percent| (0.1..=100.0).contains(percent))
        .map(|percent: f64| Some(percent / 100.0))
        .ok_or_else(|| "a share from 0.1% to 100%, such as 1%, or off".to_owned())
}

/// `512MiB`.
pub fn bytes(text: &str) -> Option<u64> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// `prof`, `rtmin+N` or a number of a real-time signal.
pub fn signal(text: &str) -> Result<i32> {
    let (least, most) = (libc::SIGRTMIN(), libc::SIGRTMAX());
    let wanted = || {
        format!(
            "prof, rtmin+0 to rtmin+{}, or a number from {least} to {most}",
            most - least
        )
    };
    let lower = text.to_ascii_lowercase();
    if matches!(lower.trim_start_matches("sig"), "prof") {
        return Ok(libc::SIGPROF);
    }
    let number = match lower.strip_prefix("rtmin+") {
        Some(offset) => offset
            .parse::<i32>()
            .ok()
            .and_then(|n| n.checked_add(least)),
        None => lower.parse().ok(),
    };
    number
        .filter(|n| (least..=most).contains(n))
        .ok_or_else(wanted)
}

#[cfg(test)]
mod tests;
