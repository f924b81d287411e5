use super::*;

#[test]
fn periods_are_rates_or_durations_from_one_to_a_thousand_hertz() {
    assert_eq!(period("1hz"), Ok(Some(SECOND)));
    assert_eq!(period("1000Hz"), Ok(Some(Duration::from_millis(1))));
    assert_eq!(period("19ms"), Ok(Some(Duration::from_millis(19))));
    for bad in [
        "0hz",
        "1001hz",
        "2s",
        "0ms",
        "100",
        "",
        "hz",
        "-5ms",
        "1e3hz",
        "99999999999hz",
    ] {
        assert!(period(bad).is_err(), "{bad}");
    }
}

#[test]
fn stress_goes_up_to_five_thousand_hertz() {
    assert_eq!(stress("5000hz"), Ok(Some(Duration::from_micros(200))));
    assert_eq!(stress("off"), Ok(None));
    for bad in ["5001hz", "0hz", "", "fast"] {
        assert!(stress(bad).is_err(), "{bad}");
    }
}

#[test]
fn waits_are_durations_and_no_rates() {
    assert_eq!(wait("1ms"), Ok(Some(Duration::from_millis(1))));
    assert_eq!(wait("1s"), Ok(Some(SECOND)));
    assert_eq!(wait("off"), Ok(None));
    for bad in ["0ms", "2s", "100hz", "1", "", "on"] {
        assert_eq!(
            wait(bad),
            Err("a duration from 1ms to 1s, or off".to_owned())
        );
    }
}

#[test]
fn durations_know_five_units_and_no_overflow() {
    assert_eq!(duration("7d"), Ok(Duration::from_secs(7 * 86_400)));
    for bad in ["5", "s", "5 s", "18446744073709551615d", "5y"] {
        assert!(duration(bad).is_err(), "{bad}");
    }
}

#[test]
fn durations_within_bounds_are_taken_and_the_others_told_the_bounds() {
    let (least, most) = (SECOND, Duration::from_secs(300));
    for (text, millis) in [("1s", 1_000), ("1500ms", 1_500), ("5m", 300_000)] {
        assert_eq!(
            between(text, least, most),
            Ok(Duration::from_millis(millis))
        );
    }
    for bad in ["0s", "999ms", "301s", "6m", "1h"] {
        assert_eq!(between(bad, least, most), Err("1s to 5m".to_owned()));
    }
    for bad in ["", "5", "off", "-5s", "1.5s"] {
        assert!(between(bad, least, most).is_err(), "{bad}");
    }
    let day = Duration::from_secs(86_400);
    assert_eq!(
        between("2d", SECOND, day),
        Err("1s to 24h".to_owned()),
        "as for a window"
    );
}

#[test]
fn a_spelled_duration_reads_back_as_itself() {
    for text in ["0ms", "999ms", "1s", "1500ms", "90s", "5m", "24h"] {
        assert_eq!(spelled(duration(text).unwrap()), text);
    }
}

#[test]
fn keep_takes_a_size_an_age_or_both() {
    let keep_ = Keep {
        bytes: 1,
        age: SECOND,
    };
    assert_eq!(
        keep("10k", keep_),
        Ok(Keep {
            bytes: 10 << 10,
            age: SECOND
        })
    );
    assert_eq!(
        keep("3h", keep_),
        Ok(Keep {
            bytes: 1,
            age: Duration::from_secs(10_800)
        })
    );
    assert_eq!(
        keep("24h,512MiB", keep_),
        Ok(Keep {
            bytes: 512 << 20,
            age: Duration::from_secs(86_400)
        })
    );
    assert!(keep("many", keep_).is_err());
    assert!(keep("", keep_).is_err());
}

#[test]
fn intervals_are_sizes_that_neither_ruin_the_application_nor_overflow() {
    assert_eq!(interval("off"), Ok(None));
    for (text, bytes) in [
        ("16k", 16_384),
        ("16384", 16_384),
        ("512k", 524_288),
        ("2MiB", 2 << 20),
        ("1g", 1 << 30),
    ] {
        assert_eq!(interval(text), Ok(Some(bytes)), "{text}");
    }
    for bad in [
        "0",
        "1",
        "15k",
        "16383",
        "1073741825",
        "2g",
        "4g",
        "8g",
        "17179869184g",
        "512",
        "-1",
        "on",
        "",
        "512q",
        "10ms",
    ] {
        assert!(interval(bad).is_err(), "{bad}");
    }
}

#[test]
fn objects_are_counted_from_one_to_a_million() {
    assert_eq!(objects("off"), Ok(None));
    for (text, count) in [("1", 1), ("999", 999), ("16k", 16_384), ("1m", 1 << 20)] {
        assert_eq!(objects(text), Ok(Some(count)), "{text}");
    }
    for bad in [
        "0", "0k", "2m", "1025k", "1048577", "4096m", "on", "", "k", "-1", "16kib", "1.5k",
    ] {
        assert!(objects(bad).is_err(), "{bad}");
    }
}

#[test]
fn shares_are_percents_above_nothing() {
    assert_eq!(share("1%"), Ok(Some(0.01)));
    assert_eq!(share("off"), Ok(None));
    for bad in ["0%", "101%", "1", "%", "-1%", "nan%", "inf%", ""] {
        assert!(share(bad).is_err(), "{bad}");
    }
}

#[test]
fn signals_are_sigprof_or_real_time_ones() {
    assert_eq!(signal("SIGPROF"), Ok(libc::SIGPROF));
    assert_eq!(signal("rtmin+3"), Ok(libc::SIGRTMIN() + 3));
    for bad in ["9", "11", "rtmin+99", "usr2", ""] {
        assert!(signal(bad).is_err(), "{bad}");
    }
}
