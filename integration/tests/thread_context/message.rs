//! Protobuf by hand, to read a process context without the code that wrote it.

use anyhow::{Context, Result, bail};

/// Fields of a message in their order: number, and bytes of those that have a length or number of the others.
pub fn fields(mut bytes: &[u8]) -> Result<Vec<(u64, Field<'_>)>> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes)?;
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)?),
            2 => {
                let length = usize::try_from(varint(&mut bytes)?)?;
                let (field, rest) = bytes.split_at_checked(length).context("cut short")?;
                bytes = rest;
                Field::Bytes(field)
            }
            other => bail!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    Ok(fields)
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl<'a> Field<'a> {
    fn bytes(self) -> Result<&'a [u8]> {
        match self {
            Field::Bytes(bytes) => Ok(bytes),
            Field::Number(number) => bail!("the number {number} where bytes should be"),
        }
    }
}

/// Keys and values, in their order.
pub type Attributes = Vec<(String, String)>;

/// Key and value of a `KeyValue`, the value as text: numbers in digits, a list as `[…]`.
pub fn key_value(bytes: &[u8]) -> Result<(String, String)> {
    let (mut key, mut value) = (String::new(), String::new());
    for (number, field) in fields(bytes)? {
        match number {
            1 => key = std::str::from_utf8(field.bytes()?)?.to_owned(),
            2 => value = any_value(field.bytes()?)?,
            other => bail!("field {other} of a KeyValue"),
        }
    }
    Ok((key, value))
}

fn any_value(bytes: &[u8]) -> Result<String> {
    let (number, field) = *fields(bytes)?.first().context("an empty value")?;
    Ok(match (number, field) {
        (1, Field::Bytes(text)) => std::str::from_utf8(text)?.to_owned(),
        (3, Field::Number(number)) => number.to_string(),
        (5, Field::Bytes(list)) => {
            let values = fields(list)?.into_iter();
            let values: Result<Vec<_>> = values.map(|(_, one)| any_value(one.bytes()?)).collect();
            format!("[{}]", values?.join(","))
        }
        other => bail!("a value of {other:?}"),
    })
}

/// Attributes of a `ProcessContext`: those of its resource, and its own.
pub fn process_context(bytes: &[u8]) -> Result<(Attributes, Attributes)> {
    let (mut resource, mut own) = (Vec::new(), Vec::new());
    for (number, field) in fields(bytes)? {
        match number {
            1 => {
                for (number, field) in fields(field.bytes()?)? {
                    anyhow::ensure!(number == 1, "field {number} of a Resource");
                    resource.push(key_value(field.bytes()?)?);
                }
            }
            2 => own.push(key_value(field.bytes()?)?),
            other => bail!("field {other} of a ProcessContext"),
        }
    }
    Ok((resource, own))
}

fn varint(bytes: &mut &[u8]) -> Result<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().context("cut short")?;
        *bytes = rest;
        value |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    bail!("a number of more than 64 bits")
}
