//! The example of the crate's page: ends of requests, awaited.

use tessera_driver::{CompletionQueue, Status};
use tessera_driver_tokio::{Completions, CompletionsError};

/// Until all of so many requests have ended; how many ended well.
pub async fn ended(queue: CompletionQueue, requests: usize) -> Result<usize, CompletionsError> {
    let mut completions = Completions::new(queue)?;
    let mut well = 0;
    for _ in 0..requests {
        well += usize::from(completions.next().await?.status == Status::Success);
    }
    Ok(well)
}

fn main() {
    println!("to be awaited on a tokio runtime: see the crate's page");
}
