//! Devices by address: what a program is told on its command line or in `TESSERA_DEVICE`.

use std::path::Path;
use std::sync::Arc;

use crate::device::{Device, DeviceError};
use crate::mqnic::{Mqnic, MqnicError};
use crate::pci::sysfs::Sysfs;
use crate::pci::vfio::Vfio;
use crate::pci::vfio_user::VfioUser;
use crate::pci::{Bus, Function, PciError, Window};
use crate::remote::{self, Remote, ANY};

/// What is wrong with an option of an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionError {
    /// It says nothing.
    #[error("is no option: write options as ?NAME=VALUE&NAME=VALUE")]
    Form,
    /// Devices of this kind have others.
    #[error("is no option of such a device, which has {}", .0.join(", "))]
    Unknown(&'static [&'static str]),
    /// It cannot be both.
    #[error("says again what was said before it: leave one of them out")]
    Twice,
    /// There is no such BAR.
    #[error("names no BAR: use 0 to 5")]
    Bar,
    /// No window can begin there.
    #[error(
        "is no place for a window: use bytes in front of it, decimal or as 0x200000, a multiple of 4096"
    )]
    Offset,
    /// The driver of the kernel stays by another kind of address.
    #[error("has a kind of address of its own: use mqnic:/dev/mqnic0")]
    Corundum,
    /// VFIO has a function for itself.
    #[error("is an option of pci: (without an IOMMU, or with iommu=pt): vfio has the function for itself")]
    Alone,
    /// There is no name.
    #[error("names no driver: use what `lspci -k` says is in use")]
    Driver,
}

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
    /// An option cannot be.
    #[error("`{option}` in `{address}` {why}")]
    Option {
        /// All of it.
        address: String,
        /// The option.
        option: String,
        /// What is wrong with it.
        why: OptionError,
    },
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

/// Names and values of what is behind the `?` of an address: those that are known, each once.
fn options<'a>(
    address: &str,
    text: &'a str,
    known: &'static [&'static str],
) -> Result<Vec<(&'a str, &'a str)>, AddressError> {
    let mut found: Vec<(&str, &str)> = Vec::new();
    for option in text.split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        let why = match () {
            () if !option.contains('=') || name.is_empty() => OptionError::Form,
            () if name == "beside" && address.starts_with("vfio:") => OptionError::Alone,
            () if !known.contains(&name) => OptionError::Unknown(known),
            () if found.iter().any(|(other, _)| *other == name) => OptionError::Twice,
            () => {
                found.push((name, value));
                continue;
            }
        };
        return Err(AddressError::Option { address: address.into(), option: option.into(), why });
    }
    Ok(found)
}

/// A PCI function of this machine, as an address names it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named<'a> {
    function: &'a str,
    /// Of a function that is a shell's, and the driver that may have that.
    window: Option<(Window, Option<&'a str>)>,
}

/// A number as people write offsets.
fn number(text: &str) -> Option<u64> {
    let (digits, base) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    u64::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with('+'))
}

/// What `vfio:` and `pci:` addresses say; `None` of others, and where no function is named.
pub(crate) fn function(address: &str) -> Result<Option<Named<'_>>, AddressError> {
    let (known, rest): (&'static [&'static str], _) = match address.split_once(':') {
        Some(("vfio", rest)) => (&["bar", "offset"], rest),
        Some(("pci", rest)) => (&["bar", "offset", "beside"], rest),
        _ => return Ok(None),
    };
    let (function, text) = rest.split_once('?').map_or((rest, None), |(rest, text)| (rest, Some(text)));
    if function.is_empty() {
        return Ok(None);
    }
    let Some(text) = text else { return Ok(Some(Named { function, window: None })) };
    let (mut bar, mut offset, mut beside) = (0, 0, None);
    for (name, value) in options(address, text, known)? {
        let refuse =
            |why| AddressError::Option { address: address.into(), option: format!("{name}={value}"), why };
        match name {
            "bar" => {
                let known = number(value).and_then(|bar| u8::try_from(bar).ok());
                bar = known
                    .filter(|&bar| Window::new(bar, 0).is_some())
                    .ok_or_else(|| refuse(OptionError::Bar))?;
            }
            "offset" => {
                let known = number(value).filter(|&offset| Window::new(0, offset).is_some());
                offset = known.ok_or_else(|| refuse(OptionError::Offset))?;
            }
            _ if value.is_empty() => return Err(refuse(OptionError::Driver)),
            _ if value == "mqnic" => return Err(refuse(OptionError::Corundum)),
            _ => beside = Some(value),
        }
    }
    Ok(Some(Named { function, window: Window::new(bar, offset).map(|window| (window, beside)) }))
}

/// Path and NIC of a `socket:` address.
///
/// # Errors
/// If it is none.
pub fn socket(address: &str) -> Result<(&Path, u32), AddressError> {
    let Some(rest) = address.strip_prefix("socket:") else {
        return Err(AddressError::NotSocket(address.into()));
    };
    // A `?` may be one of the path's.
    let said = rest.rsplit_once('?').filter(|(_, text)| text.contains('='));
    let (path, text) = said.map_or((rest, None), |(path, text)| (path, Some(text)));
    if path.is_empty() {
        return Err(AddressError::Unknown(address.into()));
    }
    let found = text.map_or(Ok(Vec::new()), |text| options(address, text, &["nic"]))?;
    let nic = match found.first() {
        None => 0,
        Some((_, "any")) => ANY,
        Some((_, nic)) => nic.parse().map_err(|_| AddressError::Nic((*nic).into()))?,
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
/// | `vfio:ADDRESS?bar=N&offset=BYTES` | a NIC in 2 MiB of BAR N (0 if not said) of a function that is a shell's, behind so many bytes (0 if not said): [`Window`] |
/// | `pci:ADDRESS?bar=N&offset=BYTES&beside=DRIVER` | the same where there is no IOMMU; `beside`: the kernel's driver that keeps the shell, if one does |
/// | `mqnic:PATH` | the application block of a Corundum that its kernel driver has, such as /dev/mqnic0: [`mqnic`](crate::mqnic) |
///
/// # Errors
/// If the address names nothing known, or nobody answers there.
pub fn open_device(address: &str) -> Result<Arc<dyn Device>, AddressError> {
    let unknown = || AddressError::Unknown(address.into());
    let (kind, rest) = address.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(unknown)?;
    if let Some(Named { function, window }) = function(address)? {
        let bus: Box<dyn Bus> = match (kind, window) {
            ("vfio", None) => Box::new(Vfio::open(function)?),
            ("vfio", Some((window, _))) => Box::new(Vfio::open_window(function, window)?),
            (_, None) => Box::new(Sysfs::open(function)?),
            (_, Some((window, beside))) => Box::new(Sysfs::open_window(function, window, beside)?),
        };
        return Ok(Function::open(bus)?);
    }
    match (kind, rest) {
        ("vfio-user", path) => Ok(Function::open(Box::new(VfioUser::connect(Path::new(path))?))?),
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
        for unknown in ["vfio:?bar=2", "pci:?"] {
            assert!(error(unknown).contains(&format!("`{unknown}` is no device")));
        }
        let nobody = error("vfio-user:/nonexistent/nic0");
        assert!(nobody.contains("/nonexistent/nic0") && nobody.contains("--vfio-user"), "{nobody}");
        let nobody = error("socket:/nonexistent/tessera.sock?nic=1");
        assert!(
            nobody.contains("/nonexistent/tessera.sock") && nobody.contains("start the simulator"),
            "{nobody}"
        );
    }

    #[test]
    fn windows_are_said_by_options() {
        let window = |bar, offset, beside| Some((Window::new(bar, offset).unwrap(), beside));
        for (text, expected) in [
            ("vfio:03:00.0", None),
            ("vfio:03:00.0?bar=2&offset=0x200000", window(2, 0x20_0000, None)),
            ("pci:03:00.0?offset=4096", window(0, 4096, None)),
            ("pci:03:00.0?bar=5", window(5, 0, None)),
            ("pci:03:00.0?beside=onic", window(0, 0, Some("onic"))),
            ("pci:03:00.0?beside=onic&offset=2097152&bar=2", window(2, 2 << 20, Some("onic"))),
        ] {
            assert_eq!(function(text), Ok(Some(Named { function: "03:00.0", window: expected })), "{text}");
        }
        for other in ["mqnic:/dev/mqnic0?bar=2", "vfio-user:/tmp/nic0?bar=2", "socket:/tmp/x?nic=1", "pci:"] {
            assert_eq!(function(other), Ok(None), "{other}");
        }
    }

    /// Before anything is looked for: there is no such function either.
    #[test]
    fn wrong_options_are_named() {
        let words = |why: &OptionError| why.to_string();
        let pci: &'static [&'static str] = &["bar", "offset", "beside"];
        for (text, option, why) in [
            ("pci:03:00.0?", "", OptionError::Form),
            ("pci:03:00.0?bar", "bar", OptionError::Form),
            ("pci:03:00.0?=2", "=2", OptionError::Form),
            ("pci:03:00.0?bar=2&", "", OptionError::Form),
            ("pci:03:00.0?bar=2?offset=0", "bar=2?offset=0", OptionError::Bar),
            ("pci:03:00.0?Bar=2", "Bar=2", OptionError::Unknown(pci)),
            ("pci:03:00.0?nic=0", "nic=0", OptionError::Unknown(pci)),
            ("vfio:03:00.0?bar=2&beside=onic", "beside=onic", OptionError::Alone),
            ("vfio:03:00.0?bar=2&by=onic", "by=onic", OptionError::Unknown(&["bar", "offset"])),
            ("pci:03:00.0?beside=mqnic", "beside=mqnic", OptionError::Corundum),
            ("vfio:03:00.0?bar=2&bar=2", "bar=2", OptionError::Twice),
            ("vfio:03:00.0?bar=6", "bar=6", OptionError::Bar),
            ("vfio:03:00.0?bar=256", "bar=256", OptionError::Bar),
            ("vfio:03:00.0?bar=", "bar=", OptionError::Bar),
            ("vfio:03:00.0?offset=-4096", "offset=-4096", OptionError::Offset),
            ("vfio:03:00.0?offset=+4096", "offset=+4096", OptionError::Offset),
            ("vfio:03:00.0?offset=200000", "offset=200000", OptionError::Offset),
            ("vfio:03:00.0?offset=0x200004", "offset=0x200004", OptionError::Offset),
            ("vfio:03:00.0?offset=2M", "offset=2M", OptionError::Offset),
            ("vfio:03:00.0?offset=0x10000000000000000", "offset=0x10000000000000000", OptionError::Offset),
            ("pci:03:00.0?beside=", "beside=", OptionError::Driver),
            ("socket:/tmp/x?bar=2", "bar=2", OptionError::Unknown(&["nic"])),
            ("socket:/tmp/x?nic=1&nic=2", "nic=2", OptionError::Twice),
            ("socket:/tmp/x?nic=1&", "", OptionError::Form),
        ] {
            let error = open_device(text).err().expect("refused");
            assert!(error.to_string().ends_with(&words(&why)), "{error}");
            assert_eq!(error, AddressError::Option { address: text.into(), option: option.into(), why });
        }
    }

    #[test]
    fn a_socket_may_have_marks_in_its_path() {
        for (text, path, nic) in [
            ("socket:/tmp/x", "/tmp/x", 0),
            ("socket:/tmp/x?y", "/tmp/x?y", 0),
            ("socket:/tmp/x?a=b?nic=2", "/tmp/x?a=b", 2),
            ("socket:/tmp/x?nic=any", "/tmp/x", ANY),
        ] {
            assert_eq!(socket(text), Ok((Path::new(path), nic)), "{text}");
        }
        assert_eq!(socket("socket:/tmp/x?nic="), Err(AddressError::Nic(String::new())));
    }
}
