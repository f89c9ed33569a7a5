//! The interrupt of a NIC inside a Corundum, as it reaches a program: frames.
//!
//! ```text
//!   irq of the NIC ──> frame at its port's stream ──> kernel's interface ──> packet socket
//! ```
//!
//! Corundum's kernel driver gives an application no interrupt, but each received frame has one. The
//! block hands it a frame of an EtherType of its own ([`EVENT_TYPE`]) when the interrupt
//! rises, and now and then while it is high. A packet socket gets them, of every interface: which
//! of them is the block's port cannot be told. A frame of somebody else only makes a program look.

use std::fs;
use std::io::{Error, ErrorKind};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

use nix::libc;
use tessera_abi::corundum::EVENT_TYPE;

/// `IFF_UP` of an interface's flags.
const UP: u32 = 1;

/// Whether a device of the system has a network interface that is up.
pub(crate) fn has_interface(device: &Path) -> bool {
    let up = |flags: String| {
        let digits = flags.trim().trim_start_matches("0x").to_owned();
        u32::from_str_radix(&digits, 16).is_ok_and(|flags| flags & UP == UP)
    };
    let interfaces = fs::read_dir(device.join("net")).into_iter().flatten().flatten();
    interfaces.filter_map(|entry| fs::read_to_string(entry.path().join("flags")).ok()).any(up)
}

/// A descriptor that becomes readable with such a frame. It does not block.
pub(crate) fn open() -> Result<OwnedFd, Error> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: it takes numbers only. Of protocol 0, it hears nothing yet.
    let fd = unsafe { libc::socket(libc::AF_PACKET, kind, 0) };
    if fd < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nobody else's.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: numbers and bytes, of which zeros are some.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = u16::try_from(libc::AF_PACKET).map_err(|_| ErrorKind::Unsupported)?;
    address.sll_protocol = EVENT_TYPE.to_be();
    let len = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address lives, and is as long as said.
    if unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) } != 0 {
        return Err(Error::last_os_error());
    }
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::io::Write;
    use std::os::fd::AsFd;
    use tessera_abi::corundum::event_frame;

    #[test]
    fn interfaces_that_are_up_are_told_from_others() {
        let device = std::env::temp_dir().join(format!("tessera-interfaces-{}", std::process::id()));
        assert!(!has_interface(&device), "there is nothing");
        let interface = device.join("net/eth7");
        fs::create_dir_all(&interface).unwrap();
        assert!(!has_interface(&device), "it has no flags");
        for (flags, up) in [("0x1002\n", false), ("0x1003\n", true), ("nonsense", false)] {
            fs::write(interface.join("flags"), flags).unwrap();
            assert_eq!(has_interface(&device), up, "{flags}");
        }
        fs::remove_dir_all(device).unwrap();
    }

    /// By the loopback interface, which takes frames of any type.
    #[test]
    fn a_frame_makes_it_readable() {
        let listener = match open() {
            Ok(listener) => listener,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                let test = "event_frames::a_frame_makes_it_readable";
                // Not `print!`, which a passing test keeps to itself.
                let _ = write!(std::io::stdout(), "\nSKIPPED {test}: packet sockets want root ({error})\n");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let mut bytes = [0; 128];
        let read = |bytes: &mut [u8]| nix::unistd::read(listener.as_fd(), bytes);
        let name = CString::new("lo").unwrap();
        // SAFETY: the name ends with a zero.
        let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
        // Others may have come meanwhile.
        while read(&mut bytes).is_ok() {}
        let sender = open().unwrap();
        // SAFETY: numbers and bytes, of which zeros are some.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_ifindex = index.try_into().unwrap();
        let frame = event_frame(1);
        // SAFETY: frame and address live, and are as long as said.
        let sent = unsafe {
            libc::sendto(
                sender.as_raw_fd(),
                frame.as_ptr().cast(),
                frame.len(),
                0,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as libc::socklen_t,
            )
        };
        if sent < 0 {
            let error = Error::last_os_error();
            // A namespace of its own whose loopback is down.
            assert_eq!(error.raw_os_error(), Some(libc::ENETDOWN), "{error}");
            let test = "event_frames::a_frame_makes_it_readable";
            let _ = write!(std::io::stdout(), "\nSKIPPED {test}: the loopback interface is down\n");
            return;
        }
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        loop {
            match read(&mut bytes) {
                Ok(len) if bytes[..len] == frame => break,
                _ => assert!(std::time::Instant::now() < end, "it did not come"),
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}
