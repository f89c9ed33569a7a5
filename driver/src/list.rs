//! Which devices there are, and what they have.

use std::path::{Path, PathBuf};

use tessera_abi::params::{MAX_PACKETS, MAX_PAYLOAD_LOG2};
use tessera_abi::pci;
use tessera_abi::regs::{self, Reg};

use crate::address::{function, socket, AddressError};
use crate::context::Context;
use crate::device::{Device, DeviceError};
use crate::error::OpenError;
use crate::remote::{look_closely, Identity};
use crate::ring::MAX_ENTRIES;

/// A device that a program may open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedDevice {
    /// What [`open_device`](crate::open_device) takes.
    pub address: String,
    /// Which NIC it is, and its addresses; of PCI functions the program gives those.
    pub identity: Option<Identity>,
    /// Whether a program has it open, where that can be known without opening it.
    pub is_open: Option<bool>,
}

/// The devices that this program may open: those at the address in the environment variable
/// `TESSERA_DEVICE`, if that is set, and the PCI functions of this machine with the numbers of
/// a Tessera NIC: by `pci:` those behind no IOMMU. What verbs call `ibv_get_device_list`; nothing is opened.
///
/// # Errors
/// Those of [`devices_at`].
pub fn devices() -> Result<Vec<ListedDevice>, AddressError> {
    let mut listed = match std::env::var("TESSERA_DEVICE") {
        Ok(address) if !address.is_empty() => devices_at(&address)?,
        _ => Vec::new(),
    };
    let folder = Path::new("/sys/bus/pci/devices");
    for function in functions(folder) {
        let kind = if folder.join(&function).join("iommu_group").exists() { "vfio" } else { "pci" };
        let address = format!("{kind}:{function}");
        // What is behind a `?` says more of the same function.
        if listed.iter().all(|other| other.address.split('?').next() != Some(&address)) {
            listed.push(ListedDevice { address, identity: None, is_open: None });
        }
    }
    Ok(listed)
}

/// Names of the PCI functions that have our numbers, in order.
fn functions(folder: &Path) -> Vec<String> {
    let number = |path: PathBuf| {
        let text = std::fs::read_to_string(path).ok()?;
        u16::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()
    };
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut ours: Vec<_> = found
        .filter(|function| {
            let of = |name| number(function.path().join(name));
            (of("vendor"), of("device")) == (Some(pci::VENDOR), Some(pci::DEVICE))
        })
        .filter_map(|function| function.file_name().into_string().ok())
        .collect();
    ours.sort_unstable();
    ours
}

/// The devices at an address, whichever of them it names: of a `socket:` all NICs of that
/// simulator process. Of one that names a single function, that one; whether it is there shows
/// when it is opened.
///
/// # Errors
/// If the address names nothing known, or nobody answers there.
pub fn devices_at(address: &str) -> Result<Vec<ListedDevice>, AddressError> {
    let other = address.split_once(':').filter(|(_, rest)| !rest.is_empty());
    if function(address)?.is_some() || matches!(other, Some(("vfio-user" | "mqnic", _))) {
        return Ok(vec![ListedDevice { address: address.into(), identity: None, is_open: None }]);
    }
    let (path, _) = socket(address)?;
    let mut listed = Vec::new();
    // Their numbers have no gaps; who has none of the first number is in trouble.
    for nic in 0.. {
        let (identity, is_open) = match look_closely(path, nic) {
            Ok(found) => found,
            Err(_) if nic > 0 => break,
            Err(error) => return Err(error.into()),
        };
        listed.push(ListedDevice {
            address: format!("socket:{}?nic={nic}", path.display()),
            identity: Some(identity),
            is_open: Some(is_open),
        });
    }
    Ok(listed)
}

/// What a NIC has, as its registers say. What verbs call `ibv_query_device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceAttributes {
    /// Version of the register map: major, minor.
    pub abi: (u16, u16),
    /// Messages it can be sending at a time.
    pub messages_sent: usize,
    /// Messages it can be receiving at a time.
    pub messages_received: usize,
    /// Blocks of 256 packets that all messages being received share.
    pub bitmap_blocks: usize,
    /// Endpoints, and shared receive rings among them.
    pub endpoints: usize,
    /// Completion queues.
    pub completion_queues: usize,
    /// Memory keys.
    pub memory_keys: usize,
    /// Receives of a ring that are read ahead.
    pub receive_prefetch: usize,
    /// Tagged receives that can be in place; 0: the NIC matches no tags.
    pub tagged_receives: usize,
    /// It lets software recover messages whose receive has a chunk area; else it recovers them itself, and the
    /// area stays empty.
    pub host_recovery: bool,
    /// It knows IPv6; else IPv4 only.
    pub ipv6: bool,
    /// It sends and accepts frames with 802.1Q tags.
    pub vlan: bool,
    /// Rounds of collectives may be registered; else a message of a round is one of none.
    pub rounds: bool,
    /// It has what [`Context::set_short_first`] and classes of [`Context::set_dscps`] take.
    pub classes: bool,
    /// It has paths by weight, and counts what happens to each entropy value.
    pub path_tables: bool,
    /// It prefers paths that came back without congestion; else it takes all in turn.
    pub recycle: bool,
    /// It has endpoints of datagrams beside those of messages.
    pub datagrams: bool,
    /// Places for messages being received and for what is remembered of those that ended.
    pub tombstones: usize,
    /// Most entries of a ring or a completion queue.
    pub max_entries: usize,
    /// Most payload bytes of a packet.
    pub max_payload: u32,
    /// Most bytes of a message, in packets of `max_payload`.
    pub max_message: u32,
}

impl DeviceAttributes {
    /// Reads them of a device, open or not.
    ///
    /// # Errors
    /// If it is no Tessera NIC, or fails.
    pub fn of(device: &dyn Device) -> Result<Self, OpenError> {
        let read = |reg: Reg| device.read(reg.offset);
        let magic = read(regs::MAGIC)?;
        if magic != regs::MAGIC_VALUE {
            return Err(OpenError::NotTessera(magic));
        }
        Ok(Self::read(read)?)
    }

    fn read(read: impl Fn(Reg) -> Result<u32, DeviceError>) -> Result<Self, DeviceError> {
        let version = read(regs::ABI_VERSION)?;
        let (sizes0, sizes1, sizes2) = (read(regs::SIZES0)?, read(regs::SIZES1)?, read(regs::SIZES2)?);
        let size = |word: u32, lsb: u32| 1_usize << (word >> lsb & 0x1F);
        let max_payload = 1 << MAX_PAYLOAD_LOG2;
        Ok(Self {
            abi: ((version >> 16) as u16, version as u16),
            messages_sent: size(sizes0, 0),
            messages_received: size(sizes0, 8),
            bitmap_blocks: size(sizes0, 16),
            endpoints: size(sizes0, 24),
            completion_queues: size(sizes1, 0),
            memory_keys: size(sizes1, 8),
            receive_prefetch: size(sizes1, 16),
            tagged_receives: if sizes1 >> 24 & 0x1F == 0 { 0 } else { size(sizes1, 24) },
            host_recovery: sizes1 >> 31 != 0,
            ipv6: sizes2 & regs::sizes2::NO_IPV6 == 0,
            vlan: sizes2 & regs::sizes2::NO_VLAN == 0,
            rounds: sizes2 & regs::sizes2::NO_ROUNDS == 0,
            classes: sizes2 & regs::sizes2::NO_CLASSES == 0,
            path_tables: sizes2 & regs::sizes2::NO_PATH_TABLES == 0,
            recycle: sizes2 & regs::sizes2::NO_RECYCLE == 0,
            datagrams: sizes2 & regs::sizes2::NO_DATAGRAMS == 0,
            tombstones: (sizes2 & regs::sizes2::TOMBSTONES) as usize,
            max_entries: MAX_ENTRIES,
            max_payload,
            max_message: MAX_PACKETS.saturating_mul(max_payload),
        })
    }
}

impl Context {
    /// What this NIC has.
    ///
    /// # Errors
    /// If the device fails.
    pub fn attributes(&self) -> Result<DeviceAttributes, DeviceError> {
        DeviceAttributes::read(|reg| self.read(reg))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_told_by_their_numbers() {
        let folder = std::env::temp_dir().join(format!("tessera-functions-{}", std::process::id()));
        let ours = (pci::VENDOR, pci::DEVICE);
        let there = [("0000:02:00.0", ours), ("0000:01:00.0", ours), ("0000:03:00.0", (0x8086, pci::DEVICE))];
        for (name, (vendor, device)) in there {
            let function = folder.join(name);
            std::fs::create_dir_all(&function).unwrap();
            std::fs::write(function.join("vendor"), format!("{vendor:#06x}\n")).unwrap();
            std::fs::write(function.join("device"), format!("{device:#06x}\n")).unwrap();
        }
        assert_eq!(functions(&folder), ["0000:01:00.0", "0000:02:00.0"]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(functions(&folder).is_empty());
    }

    #[test]
    fn an_address_of_one_function_lists_that() {
        let listed = devices_at("vfio:0000:01:00.0").unwrap();
        let one = ListedDevice { address: "vfio:0000:01:00.0".into(), identity: None, is_open: None };
        assert_eq!(listed, [one]);
        assert_eq!(devices_at("pci:0000:00:05.0").unwrap()[0].address, "pci:0000:00:05.0");
        let shell = "pci:0000:03:00.0?bar=2&offset=0x200000";
        assert_eq!(devices_at(shell).unwrap()[0].address, shell);
        for unknown in ["", "vfio:", "pci:", "disk:0", "vfio:0000:01:00.0?bar=7", "vfio:?bar=2"] {
            assert!(devices_at(unknown).is_err(), "{unknown}");
        }
    }
}
