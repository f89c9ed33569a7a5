//! Bitstreams of AMD's 7 series by Project X-Ray: its database, its packer, and its reader, which looks whether the
//! bitstream says what the FASM did.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::frames::{Database, Frames};
use super::tool;
use crate::output::{self, Failure};

/// The word of a frame that holds its checksum, in its lower bits, which the packer fills in.
const CHECKED: (usize, u32) = (50, 13);

/// An installation of it, for one part.
#[derive(Debug)]
pub struct Xray {
    packer: PathBuf,
    reader: PathBuf,
    family: PathBuf,
    part: &'static str,
}

/// A device is a part without package and speed: `xc7a200t` of `xc7a200tfbg484-1`.
fn device(part: &str) -> &str {
    part.split_inclusive('t').next().unwrap_or(part)
}

impl Xray {
    /// That below a folder: the named one, else `TESSERA_PRJXRAY`, else `/usr`.
    pub fn find(folder: Option<&Path>, family: &str, part: &'static str) -> Result<Self, Failure> {
        let variable =
            || std::env::var_os("TESSERA_PRJXRAY").filter(|name| !name.is_empty()).map(PathBuf::from);
        let folder = folder.map(PathBuf::from).or_else(variable).unwrap_or_else(|| "/usr".into());
        let missing = |what: &str| {
            Failure::new(format!(
                "a bitstream of {part} takes Project X-Ray, and there is no {}: install it (Debian from 14 on: apt-get \
                 install prjxray prjxray-database), name its folder with --prjxray, or leave --bitstream out",
                folder.join(what).display()
            ))
        };
        let file =
            |what: &str| Some(folder.join(what)).filter(|file| file.is_file()).ok_or_else(|| missing(what));
        let family = format!("share/prjxray/database/{family}");
        Ok(Self {
            packer: file("bin/xc7frames2bit")?,
            reader: file("bin/bitread")?,
            family: file(&format!("{family}/{part}/part.yaml")).map(|_| folder.join(&family))?,
            part,
        })
    }

    /// The bitstream `bit` of the FASM that nextpnr left, read back and compared.
    pub fn pack(&self, fasm: &Path, bit: &Path) -> Result<(), Failure> {
        let failure = |error: super::frames::FramesError| Failure::new(error.to_string());
        let mut database = Database::open(&self.family, device(self.part)).map_err(failure)?;
        let frames = database.frames(fasm).map_err(failure)?;
        let beside = |suffix: &str| bit.with_extension(suffix);
        output::write(&beside("frames"), frames.text())?;
        let part_file = self.family.join(self.part).join("part.yaml");
        let mut command = Command::new(&self.packer);
        command
            .arg("--part_file")
            .arg(&part_file)
            .args(["--part_name", self.part, "--frm_file"])
            .arg(beside("frames"))
            .arg("--output_file")
            .arg(bit)
            .stdin(Stdio::null());
        tool("xc7frames2bit", &mut command, &beside("pack.log"))?;
        let mut command = Command::new(&self.reader);
        command.arg("-part_file").arg(&part_file).args(["-y", "-z", "-o"]).arg(beside("bits")).arg(bit);
        tool("bitread", command.stdin(Stdio::null()), &beside("read.log"))?;
        let text = std::fs::read_to_string(beside("bits"))
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", beside("bits").display())))?;
        differs(&frames, &text).map_err(|what| {
            Failure::new(format!("{} does not say what the placed design does: {what}", bit.display()))
        })
    }
}

/// What a bitstream that was read back has more or less than the frames.
fn differs(frames: &Frames, read: &str) -> Result<(), String> {
    let mut there = BTreeSet::new();
    for line in read.lines().filter(|line| !line.is_empty()) {
        let parts = line.strip_prefix("bit_").map(|rest| rest.split('_').collect::<Vec<_>>());
        let place = match parts.as_deref() {
            Some([frame, word, bit]) => u32::from_str_radix(frame, 16)
                .ok()
                .zip(word.parse::<usize>().ok())
                .zip(bit.parse::<u32>().ok()),
            _ => None,
        };
        let ((frame, word), bit) = place.ok_or_else(|| format!("{line:?} is no bit"))?;
        if word != CHECKED.0 || bit >= CHECKED.1 {
            there.insert((frame, word, bit));
        }
    }
    let said: BTreeSet<_> = frames.ones().collect();
    let name =
        |(frame, word, bit): &(u32, usize, u32)| format!("bit {bit} of word {word} of frame 0x{frame:08X}");
    if let Some(lost) = said.difference(&there).next() {
        return Err(format!("{} is not set", name(lost)));
    }
    match there.difference(&said).next() {
        Some(more) => Err(format!("{} is set", name(more))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_names_its_device() {
        assert_eq!((device("xc7a200tfbg484-1"), device("xc7a35tcpg236-2L")), ("xc7a200t", "xc7a35t"));
    }

    #[test]
    fn what_was_read_back_is_compared() {
        let frames = Frames::of(&[(0x40_0100, 3, 8), (0x40_0101, 50, 13)]);
        let read = "bit_00400100_003_08\nbit_00400100_050_12\nbit_00400101_050_13\n";
        assert_eq!(differs(&frames, read), Ok(()));
        let less = differs(&frames, "bit_00400101_050_13\n").unwrap_err();
        assert_eq!(less, "bit 8 of word 3 of frame 0x00400100 is not set");
        let more = differs(&frames, &format!("{read}bit_00400102_000_31\n")).unwrap_err();
        assert_eq!(more, "bit 31 of word 0 of frame 0x00400102 is set");
        assert_eq!(differs(&frames, "bits").unwrap_err(), "\"bits\" is no bit");
    }
}
