//! Functions by name, over several profiles: whatever differs from run to run is cut off.

use std::collections::HashMap;

use vtprof_profile::model::Profile;

/// A name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

impl NameId {
    /// Its place in tables with an entry for each.
    pub fn as_usize(self) -> usize {
        self.0 as usize
    }
}

/// All names.
#[derive(Debug, Default)]
pub struct Names {
    list: Vec<String>,
    index: HashMap<String, NameId>,
}

impl Names {
    /// The id of a name.
    pub fn id(&mut self, name: &str) -> NameId {
        if let Some(id) = self.index.get(name) {
            return *id;
        }
        let id = NameId(self.list.len() as u32);
        self.list.push(name.to_owned());
        self.index.insert(name.to_owned(), id);
        id
    }

    /// The name.
    pub fn get(&self, id: NameId) -> &str {
        &self.list[id.as_usize()]
    }

    /// All ids.
    pub fn ids(&self) -> impl Iterator<Item = NameId> + use<> {
        (0..self.list.len() as u32).map(NameId)
    }

    /// The names of a profile's functions, in their order.
    pub fn of_functions(&mut self, profile: &Profile) -> Vec<NameId> {
        let functions = profile.functions.iter();
        functions
            .map(|(_, function)| self.id(&stable(profile.strings.get(function.name))))
            .collect()
    }
}

/// Marks behind which a class has a number of its own in each run.
const NUMBERED: [&str; 5] = [
    "$$Lambda$",
    "$Proxy",
    "GeneratedMethodAccessor",
    "GeneratedConstructorAccessor",
    "GeneratedSerializationConstructorAccessor",
];

/// The name without addresses and serial numbers. Files of vtprof have none.
fn stable(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(at) = rest.find("0x") {
        let digits = rest[at + 2..]
            .find(|c: char| !c.is_ascii_hexdigit())
            .unwrap_or(rest.len() - at - 2);
        let before = &rest[..at];
        // A name may have "0x" in it, as `parse0x`; an address stands behind a mark or alone.
        let mark = before.ends_with(['/', '.', '+', '@']);
        if digits == 0 || !(mark || before.is_empty() && out.is_empty()) {
            out.push_str(&rest[..at + 2]);
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&before[..before.len() - usize::from(mark)]);
        rest = &rest[at + 2 + digits..];
    }
    out.push_str(rest);
    if out.is_empty() {
        return if name.is_empty() {
            "[no name]"
        } else {
            "[unknown]"
        }
        .to_owned();
    }
    for mark in NUMBERED {
        if let Some(at) = out.find(mark) {
            let from = at + mark.len();
            let digits = out[from..]
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(out.len() - from);
            if digits > 0 {
                // As vtprof itself has them: `Shop$$Lambda`, `$ProxyN`.
                let (from, number) = if mark == "$$Lambda$" {
                    (from - 1, "")
                } else {
                    (from, "N")
                };
                let digits_end = at + mark.len() + digits;
                out.replace_range(from..digits_end, number);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_cut_off() {
        for (name, expected) in [
            ("com.acme.Shop.order", "com.acme.Shop.order"),
            (
                "com.acme.Shop$$Lambda.0x00007f3a1234.run",
                "com.acme.Shop$$Lambda.run",
            ),
            (
                "com.acme.Shop$$Lambda/0x00007f3a+0x12.run",
                "com.acme.Shop$$Lambda.run",
            ),
            (
                "com.acme.Shop$$Lambda$14/0x0000000800c03000.run",
                "com.acme.Shop$$Lambda.run",
            ),
            ("com.acme.Shop$$Lambda$14.run", "com.acme.Shop$$Lambda.run"),
            ("jdk.proxy2.$Proxy17.get", "jdk.proxy2.$ProxyN.get"),
            (
                "jdk.internal.reflect.GeneratedMethodAccessor3.invoke",
                "jdk.internal.reflect.GeneratedMethodAccessorN.invoke",
            ),
            ("libc.so.6+0x12ab", "libc.so.6"),
            ("0x7ffe12", "[unknown]"),
            ("", "[no name]"),
            ("parse0xff", "parse0xff"),
            ("0xylophone.play", "0xylophone.play"),
            ("größe.0xab/日本", "größe/日本"),
        ] {
            assert_eq!(stable(name), expected, "{name}");
        }
    }
}
