//! Which package a function belongs to, told from its name as profilers write it.

use std::borrow::Cow;

/// The package of functions that are in none.
const NONE: &str = "[no package]";
/// Rows such as `[gc pause]` and `[stub: sha256]` say so by their first character.
const NOT_A_FUNCTION: char = '[';

/// The package of a Java or Go function, the crate or outermost namespace of a Rust or C++ one, the library of a C one.
pub fn package_of<'a>(function: &'a str, file: &'a str) -> Cow<'a, str> {
    if function.starts_with(NOT_A_FUNCTION) {
        return Cow::Borrowed(function);
    }
    // What follows is parameters, or the address of a hidden class (`Foo$$Lambda/0x00007f….run`).
    let end = function.find("$$").unwrap_or(function.len());
    let name = &function[..end];
    let name = &name[..argument_list(name)];
    if let Some((namespace, _)) = name.split_once("::") {
        let namespace = namespace.rsplit(' ').next().unwrap_or(namespace);
        return Cow::Borrowed(namespace.trim_start_matches(['<', '&']));
    }
    let (path, last) = match name.rfind('/') {
        Some(slash) => name.split_at(slash + 1),
        None => ("", name),
    };
    if path.is_empty() {
        return dotted(last, end < function.len()).map_or_else(|| library(file), Cow::Borrowed);
    }
    // Java with slashes has the class behind the last one, Go the rest of the package.
    if last.starts_with(char::is_uppercase) {
        return Cow::Owned(path.trim_end_matches('/').replace('/', "."));
    }
    let rest = last.find('.').unwrap_or(last.len());
    Cow::Borrowed(&name[..path.len() + rest])
}

/// Where parameters begin. Go's receivers, `bytes.(*Buffer).Write`, are in parentheses, too.
fn argument_list(name: &str) -> usize {
    let mut from = 0;
    while let Some(at) = name[from..].find('(') {
        if !name[..from + at].ends_with('.') {
            return from + at;
        }
        from += at + 1;
    }
    name.len()
}

/// The package in `a.b.Class.method`; `None` where there is no dot. `has_class`: the class's name was cut off behind it.
fn dotted(name: &str, has_class: bool) -> Option<&str> {
    let is_class =
        |part: &str| part.starts_with(|c: char| c.is_uppercase() || c == '(' || c == '$');
    let mut end = 0;
    for part in name.split('.') {
        if is_class(part) {
            return Some(if end == 0 { NONE } else { &name[..end - 1] });
        }
        end += part.len() + 1;
    }
    // No part looks like a class: `a.b.c.d` of an obfuscator, `runtime.mallocgc` and `main.run.func1` of Go.
    let method = name.rfind('.')?;
    let class = name[..method].rfind('.').filter(|_| !has_class);
    Some(&name[..class.unwrap_or(method)])
}

fn library(file: &str) -> Cow<'_, str> {
    let base = file.rsplit('/').next().unwrap_or(file);
    if base.ends_with(".so") || base.contains(".so.") {
        Cow::Owned(format!("[{base}]"))
    } else if base.starts_with(NOT_A_FUNCTION) {
        Cow::Borrowed(base)
    } else {
        Cow::Borrowed(NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_in_the_package_that_its_name_says() {
        for (function, package) in [
            (
                "io.vtprof.demo.endpoint.Hash.spin",
                "io.vtprof.demo.endpoint",
            ),
            ("java.util.HashMap$Node.hashCode", "java.util"),
            (
                "java.lang.String.format(java.lang.String, java.lang.Object[])",
                "java.lang",
            ),
            ("com.shop.Cart$$Lambda/0x00007f3c5c0a1000.run", "com.shop"),
            ("com.shop.Cart$$Lambda.0x00007f3c5c0a1000.run", "com.shop"),
            ("Main.run", "[no package]"),
            ("java/util/HashMap.get", "java.util"),
            ("a.b.c.d", "a.b"),
            ("github.com/foo/bar.(*T).Do", "github.com/foo/bar"),
            ("github.com/foo/bar.run.func1", "github.com/foo/bar"),
            ("net/http.(*conn).serve", "net/http"),
            ("bytes.(*Buffer).Write", "bytes"),
            ("runtime.mallocgc", "runtime"),
            ("main.run.func1", "main"),
            ("fmt.Println", "fmt"),
            ("core::ops::function::FnOnce::call_once", "core"),
            ("std::vector<int>::push_back(int&&)", "std"),
            ("[stub: sha256]", "[stub: sha256]"),
            ("GC Thread", "[no package]"),
            ("", "[no package]"),
        ] {
            assert_eq!(package_of(function, ""), package, "{function}");
        }
    }

    #[test]
    fn a_function_of_a_library_is_in_the_library() {
        assert_eq!(package_of("memcpy", "/lib/x86_64/libc.so.6"), "[libc.so.6]");
        assert_eq!(package_of("inflate", "libz.so"), "[libz.so]");
        assert_eq!(package_of("clock_gettime", "[vdso]"), "[vdso]");
        assert_eq!(package_of("main", "main.c"), "[no package]");
    }
}
