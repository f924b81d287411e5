//! From options and the environment to where windows go.
//!
//! Without `push=` nothing is sent, whatever OpenTelemetry's variables say: that traces go somewhere is no consent to send
//! profiles there. `push=otlp` is, and then those variables say where.

use vtprof_deliver::environment;
use vtprof_deliver::form::Form;
use vtprof_deliver::office::Destination;
use vtprof_deliver::pyroscope::Pyroscope;
use vtprof_deliver::secret::Secret;
use vtprof_deliver::target::{Backend, Credential, Scheme, TENANT, Target, Token};

use crate::log;
use crate::options::push::{Push, To};

/// The environment's token.
const TOKEN: &str = "VTPROF_PUSH_TOKEN";

/// All of them, in the order of the option; `variable` finds a variable of the environment.
///
/// # Errors
/// What cannot be used, without a secret in it.
pub fn of(
    push: &Push,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Vec<Destination>, String> {
    let mut targets = Vec::new();
    for to in &push.to {
        targets.push(match to {
            To::Target(target) => (**target).clone(),
            To::Collector => {
                for name in environment::unheeded(&variable) {
                    log::warn(&format!(
                        "push=otlp: {name} is not used: vtprof shows servers no certificate of its own"
                    ));
                }
                environment::otlp(&variable)?
            }
        });
    }
    let given = variable(TOKEN).filter(|token| !token.trim().is_empty());
    let token = given
        .map(|token| Secret::new(&token).map_err(|why| format!("{TOKEN}: {why}")))
        .transpose()?;
    // Not without TLS what is given for the same with it.
    let server = |target: &Target| {
        let address = &target.address;
        (address.is_secure(), address.authority().to_owned())
    };
    let is_one_server = targets
        .windows(2)
        .all(|two| server(&two[0]) == server(&two[1]));
    let auth = each("push_auth", &push.auth, targets.len(), true)?;
    let files = each(
        "push_token_file",
        &push.token_files,
        targets.len(),
        is_one_server,
    )?;
    let tenants = each("push_tenant", &push.tenants, targets.len(), true)?;
    if token.is_some() && push.token_files.is_empty() && !is_one_server {
        return Err(format!(
            "{TOKEN} is one token, and push= names several servers: give each its own with push_token_file=FILE,FILE"
        ));
    }
    // One scheme for all is for those that have a token, where any has.
    let has_tokens = token.is_some() || files.iter().any(Option::is_some);
    let is_copied = push.auth.len() == 1 && targets.len() > 1 && has_tokens;
    for (index, target) in targets.iter_mut().enumerate() {
        let file = files.get(index).cloned().flatten().map(Token::File);
        let known = || token.clone().filter(|_| push.token_files.is_empty());
        let token = file.or_else(|| known().map(Token::Known));
        let scheme = auth.get(index).cloned().flatten();
        let scheme = scheme.filter(|_| token.is_some() || !is_copied);
        target.credential = credential(scheme, token)?;
        if target.credential.is_some() {
            target.headers.retain(|(name, _)| name != "authorization");
        }
        if let Some(tenant) = tenants.get(index).cloned().flatten() {
            target
                .headers
                .retain(|(name, _)| !name.eq_ignore_ascii_case(TENANT));
            target.headers.push((TENANT.to_owned(), tenant));
        }
        target.ca = push.ca.clone().or(target.ca.take());
        for doubt in target.doubts() {
            log::warn(&format!("push: {doubt}"));
        }
    }
    let form = |backend| match backend {
        Backend::Pyroscope => Form::Pyroscope(Pyroscope {
            span: push.span,
            trace_ids: !push.without_trace_ids,
            ..Pyroscope::default()
        }),
        Backend::Otlp => Form::Otlp,
        Backend::Pprof => Form::Pprof,
    };
    let destination = |target: Target| Destination {
        form: form(target.backend),
        target,
    };
    Ok(targets.into_iter().map(destination).collect())
}

/// One value a target: those given, or the only one for all where that may be.
fn each<T: Clone>(
    key: &str,
    given: &[Option<T>],
    count: usize,
    one_for_all: bool,
) -> Result<Vec<Option<T>>, String> {
    match given {
        [one] if count > 1 && one_for_all => Ok(vec![one.clone(); count]),
        _ if given.is_empty() || given.len() == count => Ok(given.to_vec()),
        _ => Err(format!(
            "{key} has {} values and push= has {count}: give one for each, with a comma between, - for none",
            given.len()
        )),
    }
}

fn credential(scheme: Option<Scheme>, token: Option<Token>) -> Result<Option<Credential>, String> {
    match (scheme, token) {
        (scheme, Some(token)) => Ok(Some(Credential {
            scheme: scheme.unwrap_or_else(|| Scheme::Word("Bearer".to_owned())),
            token,
        })),
        (Some(_), None) => Err(format!(
            "push_auth without a token: name a file of one with push_token_file=FILE, or set {TOKEN}"
        )),
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_options(pairs: &[(&str, &str)], token: Option<&str>) -> Result<Vec<Destination>, String> {
        let mut push = Push::default();
        for (key, value) in pairs {
            push.apply(key, value)?;
        }
        of(&push, |name| {
            token.filter(|_| name == TOKEN).map(str::to_owned)
        })
    }

    const TWO: &str = "pprof+https://a,otlp+https://b";

    fn scheme(destination: &Destination) -> Option<Scheme> {
        let credential = destination.target.credential.as_ref()?;
        Some(credential.scheme.clone())
    }

    #[test]
    fn a_token_alone_is_a_bearer_s_and_a_file_wins_over_the_environment() {
        let all = of_options(&[("push", "otlp+https://a")], Some("hunter2")).unwrap();
        assert_eq!(scheme(&all[0]), Some(Scheme::Word("Bearer".into())));
        let pairs = [("push", "otlp"), ("push_token_file", "/absent")];
        let all = of_options(&pairs, Some("hunter2")).unwrap();
        let token = &all[0].target.credential.as_ref().unwrap().token;
        assert_eq!(*token, Token::File("/absent".into()));
        assert_eq!(all[0].form, Form::Otlp);
    }

    #[test]
    fn no_token_goes_to_a_server_that_it_was_not_given_for() {
        assert!(of_options(&[("push", TWO)], Some("hunter2")).is_err());
        assert!(of_options(&[("push", TWO), ("push_token_file", "/a")], None).is_err());
        let pairs = [("push", TWO), ("push_token_file", "-,/b")];
        let all = of_options(&pairs, Some("hunter2")).unwrap();
        assert_eq!(scheme(&all[0]), None);
        assert_eq!(scheme(&all[1]), Some(Scheme::Word("Bearer".into())));
        let bare = [("push", "pprof+https://a,otlp+http://a")];
        assert!(of_options(&bare, Some("hunter2")).is_err());
        let same = [("push", "pprof+https://a,otlp+https://a")];
        let all = of_options(&same, Some("hunter2")).unwrap();
        assert!(all.iter().all(|it| scheme(it).is_some()));
    }

    #[test]
    fn a_scheme_without_a_token_and_lists_of_other_lengths_are_told_in_one_line() {
        for pairs in [
            &[("push", TWO), ("push_auth", "bearer")][..],
            &[("push", "otlp"), ("push_tenant", "a,b")],
            &[("push", TWO), ("push_token_file", "/a,/b,/c")],
        ] {
            let error = of_options(pairs, None).unwrap_err();
            assert_eq!(error.lines().count(), 1);
            assert!(error.contains("push_"), "{error}");
        }
    }

    #[test]
    fn one_scheme_is_for_all_that_have_a_token() {
        let pairs = [
            ("push", TWO),
            ("push_token_file", "-,/b"),
            ("push_auth", "Collector"),
        ];
        let all = of_options(&pairs, None).unwrap();
        assert_eq!(scheme(&all[0]), None);
        assert_eq!(scheme(&all[1]), Some(Scheme::Word("Collector".into())));
    }

    #[test]
    fn a_tenant_by_option_takes_the_place_of_one_among_the_collector_s_headers() {
        let mut push = Push::default();
        push.apply("push", "otlp").unwrap();
        push.apply("push_tenant", "own").unwrap();
        let headers = |name: &str| {
            let given = name == "OTEL_EXPORTER_OTLP_HEADERS";
            given.then(|| "x-scope-orgid=theirs,a=b".to_owned())
        };
        let all = of(&push, headers).unwrap();
        let headers = all[0].target.headers.iter();
        let headers: Vec<_> = headers.map(|(name, it)| (&**name, it.expose())).collect();
        assert_eq!(headers, [("a", "b"), (TENANT, "own")]);
    }

    #[test]
    fn one_tenant_is_for_all_and_is_a_header() {
        let all = of_options(&[("push", TWO), ("push_tenant", "team")], None).unwrap();
        for destination in &all {
            let headers = &destination.target.headers;
            assert_eq!(headers[0].0, TENANT);
            assert_eq!(headers[0].1.expose(), "team");
        }
    }
}
