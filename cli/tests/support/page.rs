//! What a page of `vtprof flame` shows.

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::Value;

/// The document in a page.
pub fn document(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").expect("data");
    let (data, _) = data.split_once("</script>").expect("its end");
    let gzip = STANDARD.decode(data).expect("base64");
    let mut text = String::new();
    GzDecoder::new(gzip.as_slice())
        .read_to_string(&mut text)
        .expect("gzip");
    serde_json::from_str(&text).expect("JSON")
}

/// Of the first kind the sum of the type that is shown first.
pub fn shown(document: &Value) -> i64 {
    let profile = &document["profiles"][0];
    let default = super::int(&profile["default"]) as usize;
    let values = profile["sides"][0]["values"][default].as_array();
    values.expect("values").iter().map(super::int).sum()
}
