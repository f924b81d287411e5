//! One of something for each kind of profile.

use std::ops::{Index, IndexMut};

use vtprof_profile::kind::Kind;

/// See the module.
#[derive(Debug)]
pub struct ByKind<T>([T; Kind::ALL.len()]);

impl<T> ByKind<T> {
    /// Makes each.
    pub fn new(make: impl FnMut(Kind) -> T) -> Self {
        Self(Kind::ALL.map(make))
    }

    /// All, in the order of kinds.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, &T)> {
        Kind::ALL.into_iter().zip(&self.0)
    }
}

// `Kind::ALL` has each kind at its own number: tested beside the table.
impl<T> Index<Kind> for ByKind<T> {
    type Output = T;

    fn index(&self, kind: Kind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<Kind> for ByKind<T> {
    fn index_mut(&mut self, kind: Kind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_finds_its_own() {
        let mut each = ByKind::new(Kind::name);
        each[Kind::Blocked] = "changed";
        let all: Vec<_> = each.iter().map(|(kind, name)| (kind, *name)).collect();
        assert_eq!(
            all,
            [
                (Kind::Cpu, "cpu"),
                (Kind::Alloc, "alloc"),
                (Kind::Live, "live"),
                (Kind::Blocked, "changed"),
                (Kind::Wall, "wall"),
                (Kind::Lock, "lock"),
                (Kind::LockOwner, "lock_owner")
            ]
        );
        assert_eq!(each[Kind::Alloc], "alloc");
    }
}
