//! Parts of the cases, for several machines.

/// Which part of the cases to run: `1/4` to `4/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub part: u32,
    /// Parts in all.
    pub of: u32,
}

/// No such part.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no part; write i/n with i from 1 to n, such as 2/8")]
pub struct ShardError(String);

impl std::str::FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let parsed = text.split_once('/').and_then(|(part, of)| Some((part.parse().ok()?, of.parse().ok()?)));
        match parsed {
            Some((part, of)) if (1..=of).contains(&part) => Ok(Self { part, of }),
            _ => Err(ShardError(text.into())),
        }
    }
}

impl Shard {
    /// The cases of this part: every n-th, so that parts cost alike.
    pub fn of<T>(self, cases: Vec<T>) -> Vec<T> {
        let mine = |&(number, _): &(usize, T)| number as u32 % self.of == self.part - 1;
        cases.into_iter().enumerate().filter(mine).map(|(_, case)| case).collect()
    }
}
