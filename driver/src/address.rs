//! Devices by address: what a program is told on its command line or in `TESSERA_DEVICE`.

use std::path::Path;
use std::sync::Arc;

use crate::device::{Device, DeviceError};
use crate::mqnic::{Mqnic, MqnicError};
use crate::pci::sysfs::Sysfs;
use crate::pci::vfio::Vfio;
use crate::pci::vfio_user::VfioUser;
use crate::pci::{Function, PciError};
use crate::remote::{self, Remote, ANY};

/// Why a device could not be opened by its address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// It says nothing known here.
    #[error(
        "`{0}` is no device: use socket:PATH or socket:PATH?nic=N, or vfio-user:PATH, with the socket of a simulator process, or vfio:0000:01:00.0 (pci:0000:01:00.0 where there is no IOMMU), with the address of a board, or mqnic:/dev/mqnic0, with the device of a Corundum"
    )]
    Unknown(String),
    /// It may be a device, but is no simulator that can be asked for its fabric.
    #[error(
        "`{0}` is no simulator's socket, which verbs programs need: use socket:PATH or socket:PATH?nic=N"
    )]
    NotSocket(String),
    /// There is no NIC of that number anywhere.
    #[error("`{0}` is no number of a NIC: use 0 for the first, 1 for the second, `any` for the first that is free")]
    Nic(String),
    /// The device did not answer.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The PCI function cannot be opened.
    #[error(transparent)]
    Pci(#[from] PciError),
    /// The Corundum cannot be opened.
    #[error(transparent)]
    Mqnic(#[from] MqnicError),
}

/// Path and NIC of a `socket:` address.
///
/// # Errors
/// If it is none.
pub fn socket(address: &str) -> Result<(&Path, u32), AddressError> {
    let Some(rest) = address.strip_prefix("socket:") else {
        return Err(AddressError::NotSocket(address.into()));
    };
    let (path, nic) = rest.rsplit_once("?nic=").unwrap_or((rest, "0"));
    if path.is_empty() {
        return Err(AddressError::Unknown(address.into()));
    }
    let nic = match nic {
        "any" => ANY,
        nic => nic.parse().map_err(|_| AddressError::Nic(nic.into()))?,
    };
    Ok((Path::new(path), nic))
}

/// Opens the device that a `socket:` address names, as what it is.
///
/// # Errors
/// If the address is of another kind, or nobody answers there.
pub fn open_socket(address: &str) -> Result<Arc<Remote>, AddressError> {
    let (path, nic) = socket(address)?;
    Ok(remote::connect(path, nic)?)
}

/// Opens the device that an address names.
///
/// | address | device |
/// |---|---|
/// | `socket:PATH?nic=N` | NIC N (0 if not said; `any`: the first that is free) of a simulator process that listens at PATH |
/// | `vfio-user:PATH` | the PCI function that a process makes which listens at PATH |
/// | `vfio:ADDRESS` | the PCI function of this machine, such as 0000:01:00.0, through Linux VFIO |
/// | `pci:ADDRESS` | the same where there is no IOMMU, with memory in huge pages: [`pci::sysfs`](crate::pci::sysfs) |
/// | `mqnic:PATH` | the application block of a Corundum that its kernel driver has, such as /dev/mqnic0: [`mqnic`](crate::mqnic) |
///
/// # Errors
/// If the address names nothing known, or nobody answers there.
pub fn open_device(address: &str) -> Result<Arc<dyn Device>, AddressError> {
    let unknown = || AddressError::Unknown(address.into());
    match address.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(unknown)? {
        ("vfio-user", path) => Ok(Function::open(Box::new(VfioUser::connect(Path::new(path))?))?),
        ("vfio", function) => Ok(Function::open(Box::new(Vfio::open(function)?))?),
        ("pci", function) => Ok(Function::open(Box::new(Sysfs::open(function)?))?),
        ("mqnic", path) => Ok(Mqnic::open(Path::new(path))?),
        ("socket", _) => Ok(open_socket(address)?),
        _ => Err(unknown()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_addresses_are_named() {
        let error = |address: &str| open_device(address).err().expect("no such device").to_string();
        for unknown in ["", "disk:0", "socket:", "socket:?nic=1", "vfio-user:", "vfio:", "pci:", "mqnic:"] {
            let said = error(unknown);
            assert!(said.contains(&format!("`{unknown}`")) && said.contains("socket:PATH"), "{said}");
        }
        assert!(error("socket:/tmp/x?nic=one").contains("`one` is no number"));
        let other = open_socket("vfio:0000:01:00.0").unwrap_err();
        assert_eq!(other, AddressError::NotSocket("vfio:0000:01:00.0".into()));
        assert!(error("pci:eth0").contains("`eth0` is no address of a PCI function"));
        assert!(error("vfio:eth0").contains("`eth0` is no address of a PCI function"));
        let nobody = error("vfio-user:/nonexistent/nic0");
        assert!(nobody.contains("/nonexistent/nic0") && nobody.contains("--vfio-user"), "{nobody}");
        let nobody = error("socket:/nonexistent/tessera.sock?nic=1");
        assert!(
            nobody.contains("/nonexistent/tessera.sock") && nobody.contains("start the simulator"),
            "{nobody}"
        );
    }
}
