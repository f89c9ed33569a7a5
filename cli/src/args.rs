//! Values that options of several verbs take: what makes no sense is refused
//! before anything begins.

/// Most workers that can be asked for: each is a thread.
const MAX_JOBS: usize = 1024;
/// Most of anything that is counted out by hand.
const MAX_COUNT: usize = 1_000_000;

fn within(text: &str, least: usize, most: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(value) if (least..=most).contains(&value) => Ok(value),
        _ => Err(format!("a number from {least} to {most} is needed")),
    }
}

/// Workers at once.
pub fn jobs(text: &str) -> Result<usize, String> {
    within(text, 1, MAX_JOBS)
}

/// How many of something, none being none of the answers.
pub fn count(text: &str) -> Result<usize, String> {
    within(text, 1, MAX_COUNT)
}

/// Seconds that something may take.
pub fn seconds(text: &str) -> Result<usize, String> {
    within(text, 1, MAX_COUNT)
}

/// Of the loss of a frame. A fabric that loses more delivers in no time worth waiting.
pub fn probability(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=0.5).contains(&value) => Ok(value),
        _ => Err("a probability from 0 to 0.5 is needed".into()),
    }
}

/// Delay of the slowest path beyond the fastest.
pub fn skew(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=1000.0).contains(&value) => Ok(value),
        _ => Err("0 to 1000 microseconds are possible".into()),
    }
}

/// A share of all.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if (0.0..=100.0).contains(&value) => Ok(value),
        _ => Err("a percentage from 0 to 100 is needed".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_make_no_sense_are_refused() {
        assert_eq!(jobs("1024"), Ok(1024));
        for text in ["0", "1025", "1000000", "-1", "two", ""] {
            assert_eq!(jobs(text), Err("a number from 1 to 1024 is needed".into()), "{text:?}");
        }
        assert!(count("1").is_ok() && count("0").is_err() && count("18446744073709551615").is_err());
        assert!(probability("0").is_ok() && probability("0.5").is_ok());
        assert!(skew("0").is_ok() && skew("1000").is_ok() && percent("100").is_ok());
        for text in ["-1", "NaN", "inf", "1e18"] {
            assert!(probability(text).is_err(), "{text}");
            assert!(skew(text).is_err(), "{text}");
            assert!(percent(text).is_err(), "{text}");
        }
    }
}
