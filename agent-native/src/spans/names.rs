//! Names of local roots, as they were last: frameworks rename a server span after routing.
//!
//! Few distinct names a window: an application that puts ids into span names gets `<other>` for the rest,
//! not a profile of a million label values.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Distinct names a window.
pub const DISTINCT: usize = 1_000;
/// Roots remembered in a generation.
const ROOTS: usize = 131_072;
/// What names beyond [`DISTINCT`] become.
pub const OTHER: &str = "<other>";
/// What a root with an empty name is called.
pub const UNNAMED: &str = "<unnamed>";
/// What a root without a known name is called.
pub const UNKNOWN: &str = "<unknown>";

/// See the module. Used by the drain thread alone.
pub struct RootNames {
    /// Roots that ended in this window, and those that are open.
    current: HashMap<u64, Arc<str>>,
    /// Roots that ended in the window before: work they left behind may still run under their children.
    previous: HashMap<u64, Arc<str>>,
    ended: HashSet<u64>,
    distinct: HashSet<Arc<str>>,
    other: Arc<str>,
}

impl Default for RootNames {
    fn default() -> Self {
        Self {
            current: HashMap::new(),
            previous: HashMap::new(),
            ended: HashSet::new(),
            distinct: HashSet::new(),
            other: Arc::from(OTHER),
        }
    }
}

impl RootNames {
    /// The root is open and called so for now.
    pub fn provisional(&mut self, root: u64, name: &str) {
        self.put(root, name);
    }

    /// The root ended with that name.
    pub fn finalize(&mut self, root: u64, name: &str) {
        self.put(root, name);
        if self.current.contains_key(&root) {
            self.ended.insert(root);
        }
    }

    /// The root is known no longer.
    pub fn lose(&mut self, root: u64) {
        if self.current.contains_key(&root) {
            self.ended.insert(root);
        }
    }

    /// An end was lost, of whichever root: all are let go with the window.
    pub fn lose_open(&mut self) {
        self.ended.extend(self.current.keys());
    }

    /// Whether the name may still change.
    #[must_use]
    pub fn is_open(&self, root: u64) -> bool {
        self.current.contains_key(&root) && !self.ended.contains(&root)
    }

    /// The name as far as it is known.
    #[must_use]
    pub fn find(&self, root: u64) -> Option<Arc<str>> {
        let known = self.current.get(&root);
        known.or_else(|| self.previous.get(&root)).map(Arc::clone)
    }

    /// A window closed: names are counted anew, ended roots are kept for one more.
    pub fn next_window(&mut self) {
        self.previous = HashMap::with_capacity(self.ended.len());
        for root in self.ended.drain() {
            if let Some(name) = self.current.remove(&root) {
                self.previous.insert(root, name);
            }
        }
        self.distinct.clear();
        let open: Vec<_> = self.current.values().map(Arc::clone).collect();
        self.distinct.extend(open.into_iter().take(DISTINCT));
    }

    fn put(&mut self, root: u64, name: &str) {
        let known = self.current.contains_key(&root);
        if !known && self.current.len() >= ROOTS {
            return;
        }
        let name = self.intern(name);
        self.current.insert(root, name);
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        let name = if name.is_empty() { UNNAMED } else { name };
        if let Some(known) = self.distinct.get(name) {
            return Arc::clone(known);
        }
        if self.distinct.len() >= DISTINCT {
            return Arc::clone(&self.other);
        }
        let name: Arc<str> = Arc::from(name);
        self.distinct.insert(Arc::clone(&name));
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(names: &RootNames, root: u64) -> String {
        let name = names.find(root);
        name.map_or_else(|| UNKNOWN.to_owned(), |name| name.to_string())
    }

    #[test]
    fn the_last_name_counts_and_outlives_its_root_by_one_window() {
        let mut names = RootNames::default();
        names.provisional(1, "GET");
        assert!(names.is_open(1));
        names.finalize(1, "GET /checkout");
        assert!(!names.is_open(1));
        assert_eq!(get(&names, 1), "GET /checkout");
        names.next_window();
        assert_eq!(get(&names, 1), "GET /checkout");
        names.next_window();
        assert_eq!(get(&names, 1), UNKNOWN);
    }

    #[test]
    fn an_open_root_keeps_its_name_over_windows() {
        let mut names = RootNames::default();
        names.provisional(1, "job");
        for _ in 0..5 {
            names.next_window();
        }
        assert_eq!(get(&names, 1), "job");
        assert!(names.is_open(1));
    }

    #[test]
    fn an_empty_name_is_called_unnamed() {
        let mut names = RootNames::default();
        names.finalize(1, "");
        assert_eq!(get(&names, 1), UNNAMED);
    }

    #[test]
    fn roots_whose_end_was_lost_do_not_stay() {
        let mut names = RootNames::default();
        names.provisional(1, "job");
        names.lose_open();
        names.next_window();
        assert_eq!(get(&names, 1), "job");
        names.next_window();
        assert_eq!(get(&names, 1), UNKNOWN);
    }

    #[test]
    fn names_beyond_a_thousand_are_one_and_start_anew_in_the_next_window() {
        let mut names = RootNames::default();
        for root in 0..DISTINCT as u64 + 5 {
            names.finalize(root, &format!("GET /{root}"));
        }
        assert_eq!(get(&names, DISTINCT as u64 - 1), "GET /999");
        assert_eq!(get(&names, DISTINCT as u64), OTHER);
        names.next_window();
        names.finalize(5000, "GET /new");
        assert_eq!(get(&names, 5000), "GET /new");
    }
}
