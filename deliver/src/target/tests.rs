use super::*;

#[test]
fn an_address_is_joined_with_a_path_and_keeps_its_own_path_and_query() {
    for (address, path, url) in [
        ("http://h", "/a", "http://h/a"),
        ("http://h/", "/a?b=c", "http://h/a?b=c"),
        ("https://h:1/base/", "/a", "https://h:1/base/a"),
        ("https://h/base?k=v", "/a?b=c", "https://h/base/a?b=c&k=v"),
        ("https://h?k=v", "?b=c", "https://h/?b=c&k=v"),
        ("http://[::1]:4040", "/a", "http://[::1]:4040/a"),
        ("http://h", "", "http://h/"),
    ] {
        assert_eq!(Address::parse(address).unwrap().url(path), url);
    }
    for (address, url) in [
        ("http://h:1/v1/x", "http://h:1/v1/x"),
        ("http://h/c/?k=v", "http://h/c/?k=v"),
        ("http://h", "http://h/"),
    ] {
        let whole = Address::parse(address).unwrap().whole();
        assert_eq!(whole.url("/v1development/profiles"), url);
    }
}

#[test]
fn a_token_that_others_can_read_on_its_way_and_one_that_cannot_be_read_are_doubted() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&file, "hunter2").unwrap();
    let doubts = |address: &str, token: Token| {
        let mut target = Target::new(Backend::Pprof, Address::parse(address).unwrap());
        assert!(target.doubts().is_empty(), "{address}: without a token");
        target.credential = Some(Credential {
            scheme: Scheme::Word("Bearer".to_owned()),
            token,
        });
        let doubts = target.doubts();
        assert!(
            doubts.iter().all(|doubt| !doubt.contains("hunter2")),
            "{doubts:?}"
        );
        assert!(
            doubts.iter().all(|doubt| doubt.lines().count() == 1),
            "{doubts:?}"
        );
        doubts.len()
    };
    let given = || Token::File(file.path().to_owned());
    assert_eq!(doubts("https://h/", given()), 0);
    assert_eq!(doubts("http://127.0.0.1:1/", given()), 0);
    assert_eq!(doubts("http://h/?key=hunter2", given()), 1);
    assert_eq!(doubts("https://h/", Token::File("/absent".into())), 1);
    assert_eq!(doubts("http://h/", Token::File("/absent".into())), 2);
    let known = Token::Known(Secret::new("hunter2").unwrap());
    assert_eq!(doubts("http://h/", known), 1);
}

#[test]
fn this_machine_is_its_name_or_a_loopback_address_and_no_name_that_begins_like_one() {
    let is_local = |host| {
        let address = Address::parse(&format!("http://{host}/")).unwrap();
        address.is_local()
    };
    for host in [
        "localhost",
        "LocalHost:1",
        "127.0.0.1",
        "127.9.9.9:1",
        "[::1]",
        "[::1]:1",
    ] {
        assert!(is_local(host), "{host}");
    }
    for host in [
        "127.evil.example",
        "127.0.0.1.evil:1",
        "localhost.x",
        "10.0.0.1",
        "[::2]:1",
    ] {
        assert!(!is_local(host), "{host}");
    }
}

#[test]
fn what_is_no_address_is_told_why_and_never_quoted() {
    for (text, error) in [
        ("ftp://h", AddressError::Scheme),
        ("h:4040", AddressError::Scheme),
        ("http://", AddressError::Malformed),
        ("http://:80/", AddressError::Malformed),
        ("http://h:notaport/", AddressError::Malformed),
        ("http://h:99999/", AddressError::Malformed),
        ("http://a b/", AddressError::Malformed),
        ("http://me:hunter2@h/", AddressError::UserInfo),
        ("http://h/a#b", AddressError::Fragment),
    ] {
        assert_eq!(Address::parse(text), Err(error), "{text}");
        assert!(!error.to_string().contains("hunter2"));
    }
    assert!(Target::parse("http://h").is_err());
    assert!(Target::parse("zipkin+http://h").is_err());
}

#[test]
fn a_target_is_printed_without_path_query_and_credentials() {
    let mut target = Target::parse("pprof+https://h:1/key-a?key=b").unwrap();
    target.credential = Some(Credential {
        scheme: Scheme::Word("Bearer".into()),
        token: Token::Known(Secret::new("hunter2").unwrap()),
    });
    target.headers = vec![("x-key".into(), Secret::new("hunter3").unwrap())];
    assert_eq!(target.to_string(), "pprof+https://h:1");
    let all = format!("{target} {target:?}");
    for hidden in ["hunter", "key-a", "key=b"] {
        assert!(!all.contains(hidden), "{all}");
    }
}

#[test]
fn the_same_target_of_the_same_service_has_the_same_mark_and_no_other() {
    let target = |text| Target::parse(text).unwrap();
    let marks = [
        target("pprof+http://h/a").mark("shop", 0),
        target("pprof+http://h/b").mark("shop", 0),
        target("otlp+http://h/a").mark("shop", 0),
        target("pprof+http://h/a").mark("shop2", 0),
    ];
    assert_eq!(target("pprof+http://h/a").mark("shop", 0), marks[0]);
    let of_tenant = |tenant| {
        let mut it = target("pprof+http://h/a");
        it.headers = vec![(TENANT.into(), Secret::new(tenant).unwrap())];
        it.mark("shop", 0)
    };
    let of_name = |name: &str| {
        let mut it = target("pprof+http://h/a");
        it.credential = Some(Credential {
            scheme: Scheme::Basic(name.into()),
            token: Token::File("/t".into()),
        });
        it.mark("shop", 0)
    };
    let others = [
        of_tenant("a"),
        of_tenant("b"),
        of_name("a"),
        of_name("b"),
        target("pprof+http://h/a").mark("shop", 1),
    ];
    let distinct: std::collections::HashSet<_> = marks.into_iter().chain(others).collect();
    assert_eq!(distinct.len(), 9);
    assert_eq!(
        fnv(b"a"),
        0xaf63_dc4c_8601_ec8c,
        "as FNV's own tables have it"
    );
}
