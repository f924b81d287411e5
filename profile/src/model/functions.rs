//! The function table.

use super::error::{Flaw, ModelError};
use super::fields::{Framed, decode_into, each};
use super::id_map::IdMap;
use super::strings::{StringIndex, Strings};
use crate::bounds::{Budget, Of};
use crate::pprof;

const FUNCTION: u64 = 5;

/// A function of the profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionIndex(u32);

impl_index!(FunctionIndex);

/// One function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Function {
    /// Name for people.
    pub name: StringIndex,
    /// Name as the system knows it; may be empty.
    pub system_name: StringIndex,
    /// Source file; may be empty.
    pub file: StringIndex,
    /// First line, 0 when unknown.
    pub start_line: i64,
}

/// The functions of a profile.
#[derive(Debug)]
pub struct Functions {
    functions: Vec<Function>,
    ids: IdMap,
}

impl Functions {
    /// No function.
    #[cfg(feature = "merge")]
    pub(crate) fn none() -> Self {
        Functions {
            functions: Vec::new(),
            ids: IdMap::default(),
        }
    }

    /// Adds a function that no file names by an id.
    #[cfg(feature = "merge")]
    pub(crate) fn push(&mut self, function: Function) -> Result<FunctionIndex, Flaw> {
        let next = super::fields::index(self.functions.len())?;
        self.functions.push(function);
        Ok(FunctionIndex(next))
    }

    pub(super) fn read(
        framed: &Framed<'_>,
        strings: &Strings,
        budget: &mut Budget,
    ) -> Result<Self, ModelError> {
        let mut table = Functions {
            functions: Vec::new(),
            ids: IdMap::default(),
        };
        let mut function = pprof::Function::default();
        each(framed, FUNCTION, "function", |_, payload| {
            decode_into(&mut function, payload)?;
            table.ids.push(function.id)?;
            let function = Function {
                name: strings.resolve(function.name)?,
                system_name: strings.resolve(function.system_name)?,
                file: strings.resolve(function.filename)?,
                start_line: function.start_line,
            };
            // Who reads functions reads the texts of each.
            for text in [function.name, function.system_name, function.file] {
                budget.spend(Of::Text, strings.get(text).len())?;
            }
            table.functions.push(function);
            Ok(())
        })?;
        Ok(table)
    }

    pub(super) fn resolve(&self, id: u64) -> Result<FunctionIndex, Flaw> {
        self.ids.get(id).map(FunctionIndex).ok_or(Flaw::Dangling {
            table: "function",
            id,
        })
    }

    /// Adds a function that the file does not have, for locations without one. Only after all
    /// functions of the file are read: it has no id.
    pub(super) fn push_synthetic(
        &mut self,
        name: StringIndex,
        none: StringIndex,
    ) -> Result<FunctionIndex, Flaw> {
        let next = super::fields::index(self.functions.len())?;
        self.functions.push(Function {
            name,
            system_name: none,
            file: none,
            start_line: 0,
        });
        Ok(FunctionIndex(next))
    }

    /// The function. `index` must be of this table.
    pub fn get(&self, index: FunctionIndex) -> &Function {
        &self.functions[index.as_usize()]
    }

    /// All functions with their indices.
    pub fn iter(&self) -> impl Iterator<Item = (FunctionIndex, &Function)> {
        (0..).map(FunctionIndex).zip(&self.functions)
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }
}
