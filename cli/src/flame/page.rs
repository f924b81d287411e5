//! The page: one HTML file with its style and script, and for `flame` with the document in it.
//!
//! The script is kept as ES modules, which one file cannot import from each other: they are joined here, in the order in
//! which they need each other. The policy names style and script by their hashes, so nothing else runs or is loaded,
//! whatever stands in the data; the data is base64, which no text can break out of.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

const TEMPLATE: &str = include_str!("../../web/page.html");
const STYLE: &str = include_str!("../../web/style.css");

macro_rules! modules {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../web/", $name)))),*]
    };
}

/// Each after those that it imports from.
const MODULES: [(&str, &str); 18] = modules![
    "element.js",
    "figures.js",
    "document.js",
    "selection.js",
    "tally.js",
    "comparison.js",
    "colours.js",
    "layout.js",
    "painter.js",
    "graph.js",
    "functions.js",
    "histogram.js",
    "panel.js",
    "telling.js",
    "heading.js",
    "address.js",
    "feed.js",
    "app.js",
];

/// A page and what it may do.
pub struct Page {
    pub html: String,
    /// Its content security policy, without what only a header can say.
    pub policy: String,
}

impl Page {
    /// With the document in it, or without one: then it asks the server that it comes from.
    pub fn new(title: &str, document: Option<&[u8]>) -> Self {
        let script = joined();
        let hash = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
        let connect = match document {
            Some(_) => "",
            None => "; connect-src 'self'",
        };
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; img-src data:{connect}; base-uri 'none'; form-action 'none'",
            hash(&script),
            hash(STYLE)
        );
        let data = document.map_or_else(String::new, |document| {
            format!(
                "<script type=\"application/octet-stream\" id=\"data\">{}</script>",
                STANDARD.encode(document)
            )
        });
        // One pass, so that nothing that is put in is taken for a place to put something.
        let parts = [
            ("policy", policy.as_str()),
            ("title", &escaped(title)),
            ("style", STYLE),
            ("data", &data),
            ("script", &script),
        ];
        let mut html =
            String::with_capacity(TEMPLATE.len() + STYLE.len() + script.len() + data.len());
        let mut rest = TEMPLATE;
        while let Some((before, after)) = rest.split_once("{{") {
            html.push_str(before);
            let (name, after) = after.split_once("}}").unwrap_or((after, ""));
            let part = parts.iter().find(|(part, _)| *part == name);
            html.push_str(part.map_or("", |(_, text)| text));
            rest = after;
        }
        html.push_str(rest);
        Page { html, policy }
    }
}

/// All modules as one.
fn joined() -> String {
    let mut script = String::new();
    for (name, source) in MODULES {
        script += &format!("// {name}\n");
        for line in source.lines().filter(|line| !line.starts_with("import ")) {
            script += line.strip_prefix("export ").unwrap_or(line);
            script.push('\n');
        }
    }
    script
}

/// Text of an element or of a quoted attribute.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_module_imports_only_from_those_before_it_and_on_one_line() {
        let mut before = HashSet::new();
        for (name, source) in MODULES {
            for line in source.lines().filter(|line| line.starts_with("import")) {
                let from = line.rsplit_once("from \"./").map(|(_, from)| from);
                let from = from.and_then(|from| from.strip_suffix("\";"));
                let from = from.unwrap_or_else(|| panic!("{name}: {line}"));
                assert!(before.contains(from), "{name} imports from {from}");
            }
            before.insert(name);
        }
    }

    #[test]
    fn what_modules_declare_outside_of_functions_has_one_name_each() {
        let mut names = HashSet::new();
        for (module, source) in MODULES {
            for line in source.lines() {
                let line = line.strip_prefix("export ").unwrap_or(line);
                let line = line.strip_prefix("async ").unwrap_or(line);
                let keywords = ["const ", "let ", "function ", "class "];
                let declared = keywords.iter().find_map(|word| line.strip_prefix(word));
                let Some(declared) = declared else { continue };
                let end = declared.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
                let name = &declared[..end.unwrap_or(declared.len())];
                assert!(names.insert(name), "{module} declares {name} again");
            }
        }
    }

    #[test]
    fn nothing_in_the_script_makes_markup_or_code_of_text() {
        for (name, source) in MODULES {
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function(",
                "</script",
            ] {
                assert!(!source.contains(word), "{name} has {word}");
            }
        }
    }

    #[test]
    fn a_title_stays_text() {
        let page = Page::new("</title><script>alert('{{data}}')</script>", Some(b"x"));
        assert!(
            page.html
                .contains("&lt;/title&gt;&lt;script&gt;alert(&#39;{{data}}&#39;)")
        );
        assert_eq!(page.html.matches("<script").count(), 2);
        assert!(!page.html.contains("{{script}}"));
    }
}
