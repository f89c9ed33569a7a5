//! Packet sequence numbers: 24 bits on the wire, never wrapping inside.

/// The number nearest to `near` whose low 24 bits are `psn`.
pub fn extend(psn: u32, near: u64) -> u64 {
    // The difference as a signed number of 24 bits.
    let ahead = ((psn.wrapping_sub(near as u32) << 8) as i32) >> 8;
    near.saturating_add_signed(i64::from(ahead))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_wrap() {
        let wrap = 1 << 24;
        assert_eq!(extend(5, 3), 5);
        assert_eq!(extend(3, 5), 3);
        assert_eq!(extend(0, wrap - 1), wrap);
        assert_eq!(extend(0xFF_FFFF, wrap), wrap - 1);
        assert_eq!(extend(2, 7 * wrap + 9), 7 * wrap + 2);
    }
}
