//! The receiver behind the packet parser: messages being received and their bytes.

mod access;
mod chunks;
mod context;
mod datagram;
mod fence;
mod grant;
mod grant_order;
mod lookup;
mod match_table;
mod narrow_placement;
mod placement;
mod receiver;
mod words;

pub use access::Access;
pub use chunks::{AreaWrite, ChunkStep, Chunks, AREA_TAG};
pub use context::{
    Arrival, BlockSlot, Context, ContextEvent, ContextPulses, ContextState, Ending, Stock, WholeChunk, Window,
};
pub use datagram::RxDatagram;
pub use fence::{FenceStep, RxFence};
pub use grant::Grant;
pub use grant_order::{GrantEnter, GrantList, GrantName, GrantOrder, GrantStep};
pub use lookup::{
    HashSeed, Lookup, LookupEnds, LookupHash, LookupHeld, LookupJudge, LookupName, LookupNumbers,
    LookupPlace, LookupReply, LookupTables, LookupTally, LookupTenant, LookupTenants, LookupWay,
};
pub use match_table::{MatchLinks, MatchNode, MatchNodes, MatchTable, MatchTenant, MatchTenants, TagHash};
pub use narrow_placement::NarrowPlacement;
pub use placement::{Placement, RingEntry};
pub use receiver::Receiver;
pub use words::{ContextFixed, ContextLive};
