//! The location table: each location is one frame, or several where functions were inlined.
//!
//! Native code that nobody symbolized has an address and no function. It gets one here, named
//! after object and address, so that the rest of the program knows frames only.

use std::collections::HashMap;

use super::error::{Flaw, ModelError};
use super::fields::{Framed, decode_into, each, index};
use super::functions::{FunctionIndex, Functions};
use super::id_map::IdMap;
use super::strings::{StringIndex, Strings};
use crate::bounds::{Budget, Of};
use crate::pprof;

const MAPPING: u64 = 3;
const LOCATION: u64 = 4;
const UNKNOWN: &str = "[unknown]";

/// A location of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationIndex(u32);

impl_index!(LocationIndex);

/// One frame of a location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Its function.
    pub function: FunctionIndex,
    /// Its line, 0 when unknown.
    pub line: i64,
}

/// The locations of a profile.
#[derive(Debug)]
pub struct Locations {
    frames: Vec<Frame>,
    /// End of each location's frames.
    ends: Vec<u32>,
    ids: IdMap,
}

impl Locations {
    /// No location.
    #[cfg(feature = "merge")]
    pub(crate) fn none() -> Self {
        Locations {
            frames: Vec::new(),
            ends: Vec::new(),
            ids: IdMap::default(),
        }
    }

    /// Adds a location that no file names by an id.
    #[cfg(feature = "merge")]
    pub(crate) fn push(&mut self, frames: &[Frame]) -> Result<LocationIndex, Flaw> {
        let next = index(self.ends.len())?;
        self.frames.extend_from_slice(frames);
        self.ends.push(index(self.frames.len())?);
        Ok(LocationIndex(next))
    }

    pub(super) fn read(
        framed: &Framed<'_>,
        strings: &mut Strings,
        functions: &mut Functions,
        budget: &mut Budget,
    ) -> Result<Self, ModelError> {
        let mappings = Mappings::read(framed, strings)?;
        let mut table = Locations {
            frames: Vec::new(),
            ends: Vec::new(),
            ids: IdMap::default(),
        };
        let mut synthetic = HashMap::new();
        let mut location = pprof::Location::default();
        each(framed, LOCATION, "location", |_, payload| {
            decode_into(&mut location, payload)?;
            table.ids.push(location.id)?;
            for line in &location.line {
                let function = match line.function_id {
                    0 => named(UNKNOWN.to_owned(), &mut synthetic, strings, functions)?,
                    id => functions.resolve(id)?,
                };
                table.frames.push(Frame {
                    function,
                    line: line.line,
                });
            }
            if location.line.is_empty() {
                let name = mappings.name(&location, strings, budget)?;
                let function = named(name, &mut synthetic, strings, functions)?;
                table.frames.push(Frame { function, line: 0 });
            }
            table.ends.push(index(table.frames.len())?);
            Ok(())
        })?;
        Ok(table)
    }

    pub(super) fn resolve(&self, id: u64) -> Result<LocationIndex, Flaw> {
        self.ids.get(id).map(LocationIndex).ok_or(Flaw::Dangling {
            table: "location",
            id,
        })
    }

    /// The frames of a location, innermost first, never none. `index` must be of this table.
    pub fn frames(&self, index: LocationIndex) -> &[Frame] {
        let i = index.0 as usize;
        let start = i
            .checked_sub(1)
            .map_or(0, |before| self.ends[before] as usize);
        &self.frames[start..self.ends[i] as usize]
    }

    /// Whether each stands for one frame.
    pub(super) fn is_flat(&self) -> bool {
        self.frames.len() == self.ends.len()
    }

    /// All locations with their frames, in order.
    pub fn iter(&self) -> impl Iterator<Item = (LocationIndex, &[Frame])> {
        (0..self.ends.len()).map(|index| {
            let index = LocationIndex(index as u32);
            (index, self.frames(index))
        })
    }

    /// Number of locations.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// The synthetic function of that name.
fn named(
    name: String,
    known: &mut HashMap<String, FunctionIndex>,
    strings: &mut Strings,
    functions: &mut Functions,
) -> Result<FunctionIndex, Flaw> {
    if let Some(&function) = known.get(&name) {
        return Ok(function);
    }
    let none = strings.resolve(0)?;
    let text = strings.push(&name)?;
    let function = functions.push_synthetic(text, none)?;
    known.insert(name, function);
    Ok(function)
}

struct Mapping {
    start: u64,
    offset: u64,
    path: StringIndex,
}

/// The mappings, needed only for names of locations without a function.
struct Mappings {
    mappings: Vec<Mapping>,
    ids: IdMap,
}

impl Mappings {
    fn read(framed: &Framed<'_>, strings: &Strings) -> Result<Self, ModelError> {
        let mut table = Mappings {
            mappings: Vec::new(),
            ids: IdMap::default(),
        };
        let mut mapping = pprof::Mapping::default();
        each(framed, MAPPING, "mapping", |_, payload| {
            decode_into(&mut mapping, payload)?;
            table.ids.push(mapping.id)?;
            table.mappings.push(Mapping {
                start: mapping.memory_start,
                offset: mapping.file_offset,
                path: strings.resolve(mapping.filename)?,
            });
            Ok(())
        })?;
        Ok(table)
    }

    /// `object+0xoffset` where the object is known, else the bare address.
    fn name(
        &self,
        location: &pprof::Location,
        strings: &Strings,
        budget: &mut Budget,
    ) -> Result<String, Flaw> {
        let mapping = match location.mapping_id {
            0 => None,
            id => {
                let index = self.ids.get(id).ok_or(Flaw::Dangling {
                    table: "mapping",
                    id,
                })?;
                self.mappings.get(index as usize)
            }
        };
        if location.address == 0 {
            return Ok(UNKNOWN.to_owned());
        }
        let object = mapping.map(|mapping| (mapping, object(strings.get(mapping.path))));
        Ok(match object {
            Some((mapping, object)) if !object.is_empty() => {
                // It is in two tables, which double as they grow.
                budget.spend(Of::Text, object.len().saturating_mul(4))?;
                let in_file = location.address.wrapping_sub(mapping.start);
                let in_file = in_file.wrapping_add(mapping.offset);
                format!("{object}+{in_file:#x}")
            }
            _ => format!("{:#x}", location.address),
        })
    }
}

/// The last part of a path.
fn object(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
