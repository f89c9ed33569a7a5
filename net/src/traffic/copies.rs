//! The same collective in several groups at once, as tensor or data parallel groups do.
//!
//! ```text
//!   ranks   0 1 2 3 │ 4 5 6 7 │ 8 9 10 11       three copies of a plan of four
//! ```
//!
//! Which hosts a group's ranks are, a [`Group`](super::plan::Group) says.

use super::plan::{At, Plan, PlanError, Send};
use crate::Ps;

/// Copies of a plan, which know nothing of each other.
#[derive(Clone, Debug)]
pub struct Copies<P> {
    plan: P,
    copies: u32,
}

impl<P: Plan> Copies<P> {
    /// So many of `plan`.
    ///
    /// # Errors
    /// If there is none, or more ranks than can be numbered.
    pub fn new(plan: P, copies: u32) -> Result<Self, PlanError> {
        if copies == 0 || plan.ranks().checked_mul(copies).is_none() {
            return Err(PlanError::Senseless(
                "copies of a plan are at least one and at most 2^32 ranks in all",
            ));
        }
        Ok(Self { plan, copies })
    }

    /// A rank as its own copy knows it.
    fn own(&self, at: &At) -> At {
        At { rank: at.rank % self.plan.ranks(), ..*at }
    }
}

impl<P: Plan> Plan for Copies<P> {
    fn ranks(&self) -> u32 {
        self.plan.ranks() * self.copies
    }

    fn lanes(&self) -> u32 {
        self.plan.lanes()
    }

    fn stages(&self) -> u32 {
        self.plan.stages()
    }

    fn awaits(&self, at: &At) -> u32 {
        self.plan.awaits(&self.own(at))
    }

    fn send(&self, at: &At, index: u32) -> Option<Send> {
        let own = self.own(at);
        let send = self.plan.send(&own, index)?;
        Some(Send { to: at.rank - own.rank + send.to, ..send })
    }

    fn pause(&self, at: &At) -> Ps {
        self.plan.pause(&self.own(at))
    }
}

#[cfg(test)]
mod tests {
    use super::super::allreduce::{Ring, Tree};
    use super::super::plan::tests::{bytes_of, messages};
    use super::*;

    #[test]
    fn copies_keep_to_themselves() {
        let tree = Tree::new(5, 1000, 2, true).unwrap();
        let once = bytes_of(&tree, 0);
        let copies = Copies::new(tree, 3).unwrap();
        assert_eq!(bytes_of(&copies, 0), [&once[..], &once[..], &once[..]].concat());
        assert!(messages(&copies, 0).iter().all(|(at, send)| at.rank / 5 == send.to / 5));
        assert!(Copies::new(Ring::new(5, 1000, 1).unwrap(), 0).is_err());
        assert!(Copies::new(Ring::new(5, 1000, 1).unwrap(), u32::MAX).is_err());
    }
}
