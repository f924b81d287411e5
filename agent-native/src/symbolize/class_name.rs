//! Class names as people write them, without what differs from run to run.
//!
//! A lambda's or hidden class's name carries an address, a proxy's or accessor's a serial number. Two runs
//! of one program must give the same names, or their profiles cannot be compared.

/// From a JVM signature (`Lcom/acme/Shop$$Lambda/0x00007f3a.1234;`) to `com.acme.Shop$$Lambda`; of an array
/// (`[[I`) to `int[][]`.
#[must_use]
pub fn from_signature(signature: &str) -> String {
    let element = signature.trim_start_matches('[');
    let dimensions = signature.len() - element.len();
    if dimensions == 0 {
        return of_element(element);
    }
    let element = match element {
        "Z" => "boolean".to_owned(),
        "B" => "byte".to_owned(),
        "C" => "char".to_owned(),
        "S" => "short".to_owned(),
        "I" => "int".to_owned(),
        "J" => "long".to_owned(),
        "F" => "float".to_owned(),
        "D" => "double".to_owned(),
        class => of_element(class),
    };
    element + &"[]".repeat(dimensions)
}

fn of_element(signature: &str) -> String {
    let inner = signature
        .strip_prefix('L')
        .and_then(|s| s.strip_suffix(';'))
        .unwrap_or(signature);
    stable(inner)
}

fn stable(name: &str) -> String {
    // JVMTI writes a hidden class as `Name.suffix` (GetClassSignature), Java as `Name/suffix`; the suffix is
    // an address, possibly with `+0x…` behind it.
    let name = cut_hidden_suffix(name);
    // JDK 17: `Shop$$Lambda$14`.
    let name = match name.find("$$Lambda$") {
        Some(at) if is_number(&name[at + 9..]) => &name[..at + 8],
        _ => name,
    };
    let mut dotted = name.replace('/', ".");
    for (prefix, numbered) in [
        ("jdk.proxy", true),
        ("com.sun.proxy.$Proxy", false),
        ("jdk.internal.reflect.GeneratedMethodAccessor", false),
        ("jdk.internal.reflect.GeneratedConstructorAccessor", false),
        (
            "jdk.internal.reflect.GeneratedSerializationConstructorAccessor",
            false,
        ),
    ] {
        if let Some(rest) = dotted.strip_prefix(prefix) {
            if numbered {
                // `jdk.proxy2.$Proxy17`: module and class are both numbered.
                if let Some((module, class)) = rest.split_once(".$Proxy")
                    && is_number(module)
                    && is_number(class)
                {
                    dotted = format!("{prefix}N.$ProxyN");
                }
            } else if is_number(rest) {
                dotted = format!("{prefix}N");
            }
            break;
        }
    }
    dotted
}

fn cut_hidden_suffix(name: &str) -> &str {
    for mark in ["/0x", ".0x"] {
        if let Some(at) = name.rfind(mark)
            && name[at + 3..]
                .chars()
                .all(|c| c.is_ascii_hexdigit() || matches!(c, '+' | 'x'))
        {
            return &name[..at];
        }
    }
    name
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::from_signature;

    #[test]
    fn ordinary_names_lose_nothing_but_their_wrapping() {
        for (signature, name) in [
            ("Ljava/lang/String;", "java.lang.String"),
            ("Lcom/acme/Outer$Inner$1;", "com.acme.Outer$Inner$1"),
            ("LShop;", "Shop"),
            ("Lcom/acme/Lambda$Calculus;", "com.acme.Lambda$Calculus"),
            ("Lcom/acme/v0x1/A;", "com.acme.v0x1.A"),
        ] {
            assert_eq!(from_signature(signature), name);
        }
    }

    #[test]
    fn arrays_are_written_as_in_java() {
        for (signature, name) in [
            ("[B", "byte[]"),
            ("[[J", "long[][]"),
            ("[Ljava/lang/Object;", "java.lang.Object[]"),
            ("[[LB;", "B[][]"),
            (
                "[Lcom/acme/Shop$$Lambda.0x00007f1b4c001208;",
                "com.acme.Shop$$Lambda[]",
            ),
        ] {
            assert_eq!(from_signature(signature), name);
        }
    }

    #[test]
    fn what_differs_from_run_to_run_is_left_out() {
        for (signature, name) in [
            (
                "Lcom/acme/Shop$$Lambda.0x00007f1b4c001208;",
                "com.acme.Shop$$Lambda",
            ),
            (
                "Lcom/acme/Shop$$Lambda/0x00007f1b4c001208;",
                "com.acme.Shop$$Lambda",
            ),
            (
                "Lcom/acme/Shop$$Lambda$14.0x0000000800c03000;",
                "com.acme.Shop$$Lambda",
            ),
            ("Lcom/acme/Shop$$Lambda$14;", "com.acme.Shop$$Lambda"),
            (
                "Ljava/lang/invoke/LambdaForm$MH.0x0000000800c04400;",
                "java.lang.invoke.LambdaForm$MH",
            ),
            ("Lcom/acme/H.0x0000000800c04400+0x1f;", "com.acme.H"),
            ("Ljdk/proxy2/$Proxy17;", "jdk.proxyN.$ProxyN"),
            ("Lcom/sun/proxy/$Proxy3;", "com.sun.proxy.$ProxyN"),
            (
                "Ljdk/internal/reflect/GeneratedMethodAccessor41;",
                "jdk.internal.reflect.GeneratedMethodAccessorN",
            ),
        ] {
            assert_eq!(from_signature(signature), name);
        }
    }
}
