//! What is shown of each span: one measure where one was asked for, else one of each kind of profile that is there.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, bail};
use vtprof_profile::kind::Kind;
use vtprof_profile::model::Profile;

use crate::args::InputArgs;
use crate::figures::Sum;
use crate::measure::{Chooser, Reader};
use crate::selection::{Choice, Selection};

/// The kinds of time that a span's duration is made of, where nobody works or waits beside it.
const PARTS: [Kind; 2] = [Kind::Cpu, Kind::Blocked];

/// Number of a column, in the order in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ColumnId(usize);

impl ColumnId {
    /// The column of that number, from 0.
    pub fn nth(number: usize) -> Self {
        ColumnId(number)
    }
}

/// One measure.
#[derive(Debug)]
pub struct Column {
    /// `None` for what vtprof does not write.
    pub kind: Option<Kind>,
    pub chooser: Chooser,
}

impl Column {
    /// Its name in the head of a table, e.g. `CPU`: that of its kind, where it shows the kind's amount.
    pub fn head(&self) -> String {
        let measure = self.chooser.measure();
        let measure = measure.map_or("cpu", |measure| measure.kind.as_str());
        let of_kind = self.kind.filter(|kind| kind.amount().kind == measure);
        let name = of_kind.map_or(measure, |kind| kind.name());
        name.replace('_', " ").to_uppercase()
    }

    /// Unit of its values.
    pub fn unit(&self) -> &str {
        let measure = self.chooser.measure();
        measure.map_or("nanoseconds", |measure| &measure.unit)
    }
}

/// What becomes of a profile.
pub enum Taken {
    /// It is read into that column.
    Into(ColumnId, Reader),
    /// The same, and what was read before does not count.
    Anew(ColumnId, Reader),
    /// It is left out.
    Not,
}

/// See the module.
#[derive(Debug)]
pub struct Columns {
    measure: Option<String>,
    /// `--kind`.
    asked: Option<Kind>,
    /// Where one measure was asked for.
    selection: Option<Selection>,
    list: Vec<Column>,
}

impl Columns {
    pub fn new(args: &InputArgs) -> Self {
        let one = args.kind.is_some() || args.sample_type.is_some();
        Columns {
            measure: args.measure().map(str::to_owned),
            asked: args.kind,
            selection: one.then(|| Selection::new(args)),
            list: Vec::new(),
        }
    }

    /// Finds the column of the next profile.
    ///
    /// # Errors
    /// It has not what was asked for, or cannot stand beside those before it.
    pub fn take(&mut self, profile: &Profile) -> Result<Taken> {
        let kind = Kind::of(profile);
        let Some(selection) = &mut self.selection else {
            let (id, reader) = self.read_beside(profile, kind)?;
            return Ok(Taken::Into(id, reader));
        };
        let choice = selection.judge(profile);
        if choice == Choice::LeaveOut {
            return Ok(Taken::Not);
        }
        if choice == Choice::TakeAnew || self.list.is_empty() {
            self.list = vec![Column {
                kind: self.asked.or(kind),
                chooser: Chooser::new(self.measure.as_deref()),
            }];
        }
        let reader = self.list[0].chooser.reader(profile)?;
        Ok(match choice {
            Choice::TakeAnew => Taken::Anew(ColumnId(0), reader),
            _ => Taken::Into(ColumnId(0), reader),
        })
    }

    fn read_beside(&mut self, profile: &Profile, kind: Option<Kind>) -> Result<(ColumnId, Reader)> {
        let known = self.list.iter().position(|column| column.kind == kind);
        let index = known.unwrap_or(self.list.len());
        if known.is_none() {
            if !self.list.is_empty() && (kind.is_none() || self.list[0].kind.is_none()) {
                bail!(
                    "a profile of vtprof and one of another writer: --sample-type names a value that both have"
                );
            }
            self.list.push(Column {
                kind,
                chooser: Chooser::new(kind.map(|kind| kind.amount().kind)),
            });
        }
        Ok((ColumnId(index), self.list[index].chooser.reader(profile)?))
    }

    /// Says what was left out, where nobody has asked for that.
    ///
    /// # Errors
    /// What was asked for is not among the inputs.
    pub fn conclude(&self) -> Result<()> {
        self.selection.as_ref().map_or(Ok(()), Selection::conclude)
    }

    /// All, in the order of their kinds: the first is what shares and orders are of.
    pub fn in_order(&self) -> Vec<(ColumnId, &Column)> {
        let mut all: Vec<_> = self.list.iter().enumerate().collect();
        all.sort_by_key(|(_, column)| column.kind);
        all.into_iter()
            .map(|(index, column)| (ColumnId(index), column))
            .collect()
    }

    /// The first of them.
    pub fn lead(&self) -> Option<ColumnId> {
        self.in_order().first().map(|(id, _)| *id)
    }

    /// The columns whose sum is the share of a duration that is accounted for, if all are there.
    fn parts(&self) -> Option<[ColumnId; PARTS.len()]> {
        let found = |part: Kind| self.list.iter().position(|c| c.kind == Some(part));
        let [cpu, blocked] = PARTS.map(found);
        Some([ColumnId(cpu?), ColumnId(blocked?)])
    }

    /// Whether it can be told how much of a duration is accounted for.
    pub fn can_account(&self) -> bool {
        self.parts().is_some()
    }

    /// The time of these costs that is accounted for, ns.
    pub fn accounted(&self, costs: &Costs) -> Option<i128> {
        let parts = self.parts()?;
        Some(parts.iter().map(|part| costs.of(*part).value).sum())
    }
}

/// Sums by column, and within one by the label that its kind has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Costs {
    sums: Vec<Sum>,
    states: BTreeMap<(ColumnId, Arc<str>), i128>,
}

impl Costs {
    /// Adds to a column.
    pub fn add(&mut self, column: ColumnId, sum: Sum, state: Option<&Arc<str>>) {
        if self.sums.len() <= column.0 {
            self.sums.resize(column.0 + 1, Sum::default());
        }
        self.sums[column.0].add(sum);
        if let Some(state) = state {
            let key = (column, Arc::clone(state));
            *self.states.entry(key).or_default() += sum.value;
        }
    }

    /// Adds all of others.
    pub fn add_all(&mut self, others: &Costs) {
        for (index, sum) in others.sums.iter().enumerate() {
            self.add(ColumnId(index), *sum, None);
        }
        for (key, value) in &others.states {
            *self.states.entry(key.clone()).or_default() += value;
        }
    }

    /// The sum of a column.
    pub fn of(&self, column: ColumnId) -> Sum {
        self.sums.get(column.0).copied().unwrap_or_default()
    }

    /// The sum of a column that is there.
    pub fn of_lead(&self, lead: Option<ColumnId>) -> Sum {
        lead.map_or_else(Sum::default, |lead| self.of(lead))
    }

    /// The values of a column by state.
    pub fn states(&self, column: ColumnId) -> impl Iterator<Item = (&str, i128)> {
        let all = self.states.iter();
        all.filter(move |((of, _), _)| *of == column)
            .map(|((_, state), value)| (&**state, *value))
    }

    /// The states of a column, those with the most first.
    pub fn state_names(&self, column: ColumnId) -> Vec<String> {
        let mut states: Vec<_> = self.states(column).collect();
        states.sort_by_key(|(name, value)| (Reverse(*value), *name));
        let names = states.into_iter().map(|(name, _)| name.to_owned());
        names.collect()
    }

    /// The value of a column in one state.
    pub fn in_state(&self, column: ColumnId, state: &str) -> i128 {
        let found = self.states.get(&(column, Arc::from(state)));
        found.copied().unwrap_or(0)
    }
}

impl<'a> std::iter::Sum<&'a Costs> for Costs {
    fn sum<I: Iterator<Item = &'a Costs>>(all: I) -> Costs {
        all.fold(Costs::default(), |mut total, costs| {
            total.add_all(costs);
            total
        })
    }
}
