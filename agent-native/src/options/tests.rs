use super::*;

fn applied(key: &str, value: &str) -> Result<Options, OptionError> {
    let mut options = Options::default();
    options.apply(key, value, "the test")?;
    Ok(options)
}

#[test]
fn every_key_takes_what_its_documentation_shows() {
    assert_eq!(
        applied("cpu", "100hz").unwrap().cpu,
        Some(Duration::from_millis(10))
    );
    assert_eq!(applied("cpu", "off").unwrap().cpu, None);
    assert_eq!(
        applied("cpu", "100hz").unwrap().period(Kind::Cpu),
        Some(10_000_000)
    );
    assert_eq!(applied("cpu", "off").unwrap().period(Kind::Cpu), None);
    assert!(!applied("cpu", "off").unwrap().uses_signals());
    assert!(Options::default().uses_signals());
    let blocked = |text| applied("blocked", text).unwrap().period(Kind::Blocked);
    assert_eq!(blocked("1ms"), Some(1_000_000));
    assert_eq!(blocked("off"), None);
    assert_eq!(Options::default().period(Kind::Blocked), None);
    let lock = applied("lock", "2ms").unwrap();
    assert_eq!(lock.period(Kind::Lock), Some(2_000_000));
    assert_eq!(lock.period(Kind::LockOwner), Some(20_000_000));
    for options in [Options::default(), applied("lock", "off").unwrap()] {
        assert_eq!(options.period(Kind::Lock), None);
        assert_eq!(options.period(Kind::LockOwner), None);
    }
    assert_eq!(Options::default().period(Kind::Alloc), None);
    assert_eq!(Options::default().period(Kind::Wall), None);
    let wall = applied("wall", "10ms").unwrap();
    assert_eq!(wall.period(Kind::Wall), Some(10_000_000));
    assert_eq!(applied("wall", "off").unwrap().period(Kind::Wall), None);
    assert_eq!(wall.wall_scope, WallScope::Context);
    let scope = applied("wall_scope", "all").unwrap().wall_scope;
    assert_eq!(scope, WallScope::All);
    assert_eq!(applied("alloc", "off").unwrap().period(Kind::Alloc), None);
    assert_eq!(
        applied("alloc", "512k").unwrap().period(Kind::Alloc),
        Some(524_288)
    );
    let mut live = applied("live", "16k").unwrap();
    assert_eq!(live.live, Some(16_384));
    assert_eq!(live.period(Kind::Live), None, "nothing to follow");
    live.alloc = Some(65_536);
    assert_eq!(live.period(Kind::Live), Some(65_536));
    assert_eq!(applied("live", "off").unwrap().live, None);
    let out = |text| applied("out", text).unwrap().out;
    assert_eq!(out("/x/y"), Some(PathBuf::from("/x/y")));
    assert_eq!(out("off"), None);
    assert_eq!(
        applied("every", "5m").unwrap().every,
        Duration::from_secs(300)
    );
    assert_eq!(Options::default().flush, Duration::from_secs(5));
    assert_eq!(
        applied("flush", "30s").unwrap().flush,
        Duration::from_secs(30)
    );
    assert_eq!(
        applied("service", "shop").unwrap().service.as_deref(),
        Some("shop")
    );
    assert_eq!(
        applied("context", "mount").unwrap().context,
        ContextStrategy::Mount
    );
    assert_eq!(applied("contexts", "1024").unwrap().contexts, 1024);
    assert_eq!(
        applied("keep", "1GiB,2h").unwrap().keep,
        Keep {
            bytes: 1 << 30,
            age: Duration::from_secs(7200)
        }
    );
    let metrics = |text| applied("metrics", text).unwrap().metrics;
    let address = |text: &str| Some(text.parse().unwrap());
    assert_eq!(metrics("0.0.0.0:9464"), address("0.0.0.0:9464"));
    assert_eq!(metrics("9464"), address("127.0.0.1:9464"));
    assert_eq!(metrics("[::1]:0"), address("[::1]:0"));
    assert_eq!(metrics("off"), None);
    assert_eq!(Options::default().metrics, None);
    for bad in ["localhost:9464", "127.0.0.1", "99999", ":9464", ""] {
        assert!(applied("metrics", bad).is_err(), "{bad}");
    }
    assert_eq!(applied("log", "debug").unwrap().log, Level::Debug);
    assert_eq!(
        applied("signal", "prof").unwrap().signal,
        Some(libc::SIGPROF)
    );
    assert!(!applied("stacks", "visible").unwrap().whole_stacks);
    assert_eq!(
        applied("stress", "4000hz").unwrap().stress,
        Some(Duration::from_micros(250))
    );
    assert!(!applied("shim", "off").unwrap().shim);
    assert!(!Options::default().publish_context);
    assert!(applied("publish_context", "on").unwrap().publish_context);
}

#[test]
fn what_may_lead_to_a_secret_is_not_quoted_in_an_error() {
    for (key, value) in [
        ("push", "pprof+https://me:hunter2@h"),
        ("push_auth", "bearer hunter2"),
    ] {
        let text = applied(key, value).unwrap_err().to_string();
        assert!(text.contains(key) && !text.contains("hunter2"), "{text}");
    }
    assert_eq!(applied("label.zone", "b").unwrap().push.labels.len(), 1);
}

#[test]
fn what_may_be_switched_while_it_runs_has_options() {
    assert!(Options::default().ctl && !applied("ctl", "off").unwrap().ctl);
    assert_eq!(applied("jmx", "on").unwrap().jmx, Jmx::On);
    let overhead = |text| applied("max_overhead", text).unwrap().max_overhead;
    assert_eq!((overhead("0.5%"), overhead("off")), (Some(0.005), None));
}

#[test]
fn an_error_names_the_key_the_value_and_where_it_stood() {
    let text = applied("cpu", "fast").unwrap_err().to_string();
    for part in ["cpu", "\"fast\"", "the test"] {
        assert!(text.contains(part), "{text}");
    }
    let text = applied("cup", "100hz").unwrap_err().to_string();
    for part in ["\"cup\"", "the test", "cpu"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(text.lines().count(), 1);
    let text = applied("alloc", "1k").unwrap_err().to_string();
    for part in ["alloc", "\"1k\"", "16k"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(text.lines().count(), 1);
    let text = applied("flush", "6m").unwrap_err().to_string();
    for part in ["flush", "\"6m\"", "1s to 5m"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn every_known_key_is_applied_by_the_table() {
    for key in KEYS.iter().filter(|key| **key != "config") {
        let error = applied(key, "\u{1}").unwrap_err();
        assert!(
            matches!(error, OptionError::BadValue { .. }),
            "{key}: {error}"
        );
    }
}
