//! What all JSON answers share. Values are in the unit of `measure`; shares and errors are
//! fractions, not percent; what is not known is null.

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::figures::{Sum, relative_error, share};

/// A sum, its part of the whole, and what it stands on.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figure {
    value: Option<i128>,
    share: Option<f64>,
    samples: Option<i128>,
    relative_error: Option<f64>,
}

impl Figure {
    /// `counted`: whether the files say how many samples there are.
    pub fn new(sum: Sum, whole: Sum, counted: bool) -> Self {
        Figure {
            value: Some(sum.value),
            share: share(sum.value, whole.value),
            samples: counted.then_some(sum.samples),
            relative_error: relative_error(sum.samples).filter(|_| counted),
        }
    }
}

/// Writes the answer, indented.
pub fn write(answer: &impl Serialize, out: &mut impl Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, answer)?;
    writeln!(out)?;
    Ok(())
}
