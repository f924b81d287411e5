//! The query of an address.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What RFC 3986 calls unreserved stands as it is.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// `?key=value&…`; empty where there are none. Keys are ours and stand as they are.
pub(crate) fn query(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (key, value) in pairs {
        text.push(if text.is_empty() { '?' } else { '&' });
        text.push_str(key);
        text.push('=');
        text.extend(utf8_percent_encode(value, ESCAPED));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::query;

    #[test]
    fn what_could_end_a_value_or_a_line_is_escaped() {
        let text = query(&[
            ("service", "a&b=c d\r\n#é{}"),
            ("profile_type", "lock_owner"),
        ]);
        assert_eq!(
            text,
            "?service=a%26b%3Dc%20d%0D%0A%23%C3%A9%7B%7D&profile_type=lock_owner"
        );
        assert_eq!(query(&[]), "");
    }
}
