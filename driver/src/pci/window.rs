//! Where a NIC's registers lie, behind a PCI function that is not its own but a shell's.

use std::fmt;

use tessera_abi::pci;

use super::PciError;
use crate::memory::PAGE;

/// The register map, 2 MiB, at an offset of a BAR. The function's numbers, its reset and its other
/// BARs are the shell's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Window {
    bar: u8,
    offset: u64,
}

impl Window {
    /// A window at a byte offset of BAR 0 to 5; `None` if there is no such BAR, or no page of 4 KiB
    /// begins there, which is what can be mapped.
    pub fn new(bar: u8, offset: u64) -> Option<Self> {
        (bar < 6 && offset.is_multiple_of(PAGE as u64)).then_some(Self { bar, offset })
    }

    /// Which BAR.
    pub fn bar(self) -> u8 {
        self.bar
    }

    /// Bytes of the BAR in front of it.
    pub fn offset(self) -> u64 {
        self.offset
    }

    /// That a BAR whose register reads so, and which has so many bytes, has room for it.
    pub(super) fn check(self, name: &str, register: u32, len: u64) -> Result<(), PciError> {
        let (name, bar) = (name.to_owned(), self.bar);
        // The lowest bit tells I/O space from memory.
        if len > 0 && register & 1 == 1 {
            return Err(PciError::Ports { name, bar });
        }
        if len.checked_sub(pci::BAR_LEN).is_none_or(|last| self.offset > last) {
            return Err(PciError::Window { name, window: self, len });
        }
        Ok(())
    }
}

/// As it is written in an address.
impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "?bar={}&offset={:#x}", self.bar, self.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_of_pages_and_inside() {
        assert_eq!(Window::new(6, 0), None);
        for offset in [1, 4, 4095, u64::MAX] {
            assert_eq!(Window::new(0, offset), None, "{offset}");
        }
        let window = Window::new(2, 0x20_0000).unwrap();
        assert_eq!(window.to_string(), "?bar=2&offset=0x200000");
        assert_eq!(window.check("x", 0xC, 4 << 20), Ok(()));
        for len in [0, 1 << 20, 2 << 20, (4 << 20) - 1] {
            let said = window.check("x", 0xC, len).unwrap_err().to_string();
            let words = if len == 0 { "x has no BAR 2".into() } else { format!("{len} bytes") };
            assert!(said.contains(&words), "{said}");
        }
        let said = window.check("x", 1, 4 << 20).unwrap_err().to_string();
        assert!(said.contains("BAR 2 of x is I/O space"), "{said}");
        let last = Window::new(0, u64::MAX / 4096 * 4096).unwrap();
        assert!(last.check("x", 0, u64::MAX).is_err(), "its end is beyond 64 bits");
    }
}
