//! From FASM, which is what nextpnr leaves for AMD's 7 series, to configuration frames, by Project X-Ray's database.
//!
//! ```text
//!  TILE.FEATURE[63:0] = 64'b...  ──> its tile's type and place (tilegrid.json)
//!                                ──> the bits of the feature (segbits_TYPE.db), or none (ppips_TYPE.db)
//!                                ──> set, or to stay clear, in a frame of 101 words
//! ```
//!
//! The frames go to `xc7frames2bit`, which adds checksums and commands. A feature that the database does not know is an
//! error, and so is a bit that one feature sets and another keeps clear: half a bitstream may damage what it is
//! loaded into.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// Words of 32 bits in a frame of the 7 series.
const WORDS: usize = 101;
/// Most bits in one value: those of a line of a block RAM.
const MOST_BITS: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum FramesError {
    #[error("cannot read {}: {error}", file.display())]
    Read { file: PathBuf, error: String },
    #[error("{} is not what it should be: {what}", file.display())]
    Database { file: PathBuf, what: String },
    #[error("line {line} of the FASM, {text:?}: {what}")]
    Line { line: usize, text: String, what: String },
}

/// Where a tile's bits of one kind are.
#[derive(Clone, Debug, Deserialize)]
struct Bits {
    #[serde(default)]
    alias: Option<Alias>,
    baseaddr: String,
    offset: i64,
}

/// A tile that lies in the frames like one of another type.
#[derive(Clone, Debug, Deserialize)]
struct Alias {
    sites: HashMap<String, String>,
    start_offset: i64,
    #[serde(rename = "type")]
    of: String,
}

#[derive(Debug, Deserialize)]
struct Tile {
    bits: HashMap<String, Bits>,
    #[serde(rename = "type")]
    of: String,
}

/// A bit of a feature, from the beginning of its tile: frame, bit, and whether it is one.
type Place = (u32, i64, bool);

/// What a type of tiles can be told. Names are without the type in front, and without an index.
#[derive(Debug, Default)]
struct Features {
    /// By name and index (0 without), for each kind of bits.
    bits: HashMap<(String, usize), (&'static str, Vec<Place>)>,
    /// Those that are so anyway.
    always: HashSet<String>,
}

/// A database of one family, and the tiles of one device.
#[derive(Debug)]
pub struct Database {
    folder: PathBuf,
    tiles: HashMap<String, Tile>,
    types: HashMap<String, Features>,
}

/// Frames by address, as far as anything is said of them.
#[derive(Debug, Default)]
pub struct Frames {
    /// Of each its words, and which bits of them are decided.
    frames: BTreeMap<u32, Box<[(u32, u32); WORDS]>>,
}

fn lines(file: &Path) -> Result<impl Iterator<Item = Result<String, FramesError>> + '_, FramesError> {
    let cannot = |error: std::io::Error| FramesError::Read { file: file.into(), error: error.to_string() };
    let open = File::open(file).map_err(cannot)?;
    Ok(BufReader::new(open).lines().map(move |line| line.map_err(cannot)))
}

/// `NAME[12]` in its parts.
fn indexed(name: &str) -> Option<(&str, usize)> {
    let (name, index) = name.strip_suffix(']')?.split_once('[')?;
    Some((name, index.parse().ok()?))
}

impl Features {
    fn read(folder: &Path, of: &str) -> Result<Self, FramesError> {
        let mut features = Self::default();
        let lower = of.to_lowercase();
        let kinds = [("CLB_IO_CLK", ""), ("BLOCK_RAM", ".block_ram")];
        for (kind, suffix) in kinds {
            let file = folder.join(format!("segbits_{lower}{suffix}.db"));
            if !file.is_file() {
                continue;
            }
            for line in lines(&file)? {
                let line = line?;
                let wrong = || FramesError::Database { file: file.clone(), what: format!("{line:?}") };
                let mut words = line.split_whitespace();
                let Some(name) = words.next() else { continue };
                let name = name.strip_prefix(of).and_then(|name| name.strip_prefix('.')).ok_or_else(wrong)?;
                let place = |word: &str| {
                    let bit = word.trim_start_matches('!');
                    let (frame, index) = bit.split_once('_')?;
                    Some((frame.parse().ok()?, index.parse().ok()?, bit.len() == word.len()))
                };
                let places = words.map(place).collect::<Option<Vec<Place>>>().ok_or_else(wrong)?;
                let (name, index) = indexed(name).unwrap_or((name, 0));
                features.bits.insert((name.to_owned(), index), (kind, places));
            }
        }
        let file = folder.join(format!("ppips_{lower}.db"));
        if file.is_file() {
            for line in lines(&file)? {
                let line = line?;
                let name = line.split_whitespace().next().unwrap_or_default();
                if let Some(name) = name.strip_prefix(of).and_then(|name| name.strip_prefix('.')) {
                    features.always.insert(name.to_owned());
                }
            }
        }
        Ok(features)
    }
}

impl Frames {
    fn decide(&mut self, address: u32, word: usize, bit: u32, one: bool) -> Result<(), String> {
        let frame = self.frames.entry(address).or_insert_with(|| Box::new([(0, 0); WORDS]));
        let (value, decided) =
            frame.get_mut(word).ok_or_else(|| format!("its bits would be in word {word} of a frame"))?;
        if *decided >> bit & 1 == 1 && (*value >> bit & 1 == 1) != one {
            return Err(format!(
                "bit {bit} of word {word} of frame 0x{address:08X} is set by one feature and kept clear by another"
            ));
        }
        *decided |= 1 << bit;
        *value |= u32::from(one) << bit;
        Ok(())
    }

    /// As `xc7frames2bit` reads them: address, then its words.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (address, words) in &self.frames {
            let words: Vec<_> = words.iter().map(|(word, _)| format!("0x{word:08X}")).collect();
            let _ = writeln!(text, "0x{address:08X} {}", words.join(","));
        }
        text
    }

    /// The bits that are one: frame, word, bit.
    pub fn ones(&self) -> impl Iterator<Item = (u32, usize, u32)> + '_ {
        self.frames.iter().flat_map(|(address, words)| {
            words.iter().enumerate().flat_map(move |(at, (word, _))| {
                (0..32).filter(|bit| *word >> bit & 1 == 1).map(move |bit| (*address, at, bit))
            })
        })
    }

    #[cfg(test)]
    pub fn of(ones: &[(u32, usize, u32)]) -> Self {
        let mut frames = Self::default();
        for (address, word, bit) in ones {
            frames.decide(*address, *word, *bit, true).unwrap();
        }
        frames
    }
}

/// The bits that a line of FASM says are one: feature, and their indices.
fn ones(text: &str) -> Result<(&str, Vec<usize>), String> {
    let (feature, value) = match text.split_once('=') {
        Some((feature, value)) => (feature.trim(), Some(value.trim())),
        None => (text, None),
    };
    let (name, low, width) = match feature.strip_suffix(']').and_then(|feature| feature.split_once('[')) {
        None => (feature, 0, 1),
        Some((name, range)) => {
            let number = |text: &str| text.parse::<usize>().map_err(|_| format!("{text:?} is no index"));
            let (high, low) = range.split_once(':').unwrap_or((range, range));
            let (high, low) = (number(high)?, number(low)?);
            if high < low || high - low >= MOST_BITS {
                return Err(format!("[{range}] is no range of at most {MOST_BITS} bits"));
            }
            (name, low, high - low + 1)
        }
    };
    let Some(value) = value else { return Ok((name, vec![low])) };
    let (base, digits): (u32, _) = match value.split_once('\'') {
        None => (10, value),
        Some((_, digits)) => match digits.split_at_checked(1) {
            Some(("b", digits)) => (2, digits),
            Some(("h", digits)) => (16, digits),
            Some(("o", digits)) => (8, digits),
            Some(("d", digits)) => (10, digits),
            _ => return Err(format!("{value:?} is no value")),
        },
    };
    let mut bits = Vec::new();
    if base == 10 {
        let value: u64 = digits.parse().map_err(|_| format!("{value:?} is no value"))?;
        bits.extend((0..64).filter(|bit| value >> bit & 1 == 1));
    } else {
        let each = base.trailing_zeros() as usize;
        for (place, digit) in digits.chars().rev().filter(|digit| *digit != '_').enumerate() {
            let digit = digit.to_digit(base).ok_or_else(|| format!("{value:?} is no value"))?;
            bits.extend((0..each).filter(|bit| digit >> bit & 1 == 1).map(|bit| place * each + bit));
        }
    }
    match bits.iter().find(|bit| **bit >= width) {
        Some(bit) => Err(format!("its value has a bit {bit}, and it has {width}")),
        None => Ok((name, bits.into_iter().map(|bit| low + bit).collect())),
    }
}

impl Database {
    /// That of a family's folder (`.../artix7`), with the tiles of a device's folder below it (`xc7a200t`).
    ///
    /// # Errors
    /// [`FramesError`] naming the file.
    pub fn open(folder: &Path, device: &str) -> Result<Self, FramesError> {
        let file = folder.join(device).join("tilegrid.json");
        let open = File::open(&file)
            .map_err(|error| FramesError::Read { file: file.clone(), error: error.to_string() })?;
        let tiles = serde_json::from_reader(BufReader::new(open))
            .map_err(|error| FramesError::Database { file, what: error.to_string() })?;
        Ok(Self { folder: folder.into(), tiles, types: HashMap::new() })
    }

    /// What a text of FASM says, in frames.
    ///
    /// # Errors
    /// [`FramesError`] naming the first line that the database does not know, or that says the opposite of one before.
    pub fn frames(&mut self, fasm: &Path) -> Result<Frames, FramesError> {
        let mut frames = Frames::default();
        for (number, line) in lines(fasm)?.enumerate() {
            let line = line?;
            let text = line.split('#').next().unwrap_or_default().trim();
            if text.is_empty() {
                continue;
            }
            let wrong = |what: String| FramesError::Line {
                line: number + 1,
                text: text.chars().take(80).collect(),
                what,
            };
            let (name, indices) = ones(text).map_err(wrong)?;
            let (tile, feature) =
                name.split_once('.').ok_or_else(|| wrong("there is no tile in front of a feature".into()))?;
            let tile = self
                .tiles
                .get(tile)
                .ok_or_else(|| wrong(format!("the device has no tile {tile}; is it for another?")))?;
            // All kinds of bits of a tile have the same alias, or none.
            let alias = tile.bits.values().find_map(|bits| bits.alias.as_ref());
            let (of, mut feature) = match alias {
                None => (&tile.of, feature.to_owned()),
                Some(alias) => {
                    let (site, rest) = feature.split_once('.').unwrap_or((feature, ""));
                    let site = alias.sites.get(site).map_or(site, String::as_str);
                    let feature = if rest.is_empty() { site.to_owned() } else { format!("{site}.{rest}") };
                    (&alias.of, feature)
                }
            };
            if !self.types.contains_key(of) {
                self.types.insert(of.clone(), Features::read(&self.folder, of)?);
            }
            let features = &self.types[of];
            for index in indices {
                let key = (feature, index);
                let Some((kind, places)) = features.bits.get(&key) else {
                    if features.always.contains(&key.0) {
                        break;
                    }
                    return Err(wrong(format!("tiles of type {of} have no such feature (index {index})")));
                };
                feature_bits(&mut frames, tile, kind, places).map_err(wrong)?;
                (feature, _) = key;
            }
        }
        Ok(frames)
    }
}

/// Puts a feature's bits where its tile is.
fn feature_bits(frames: &mut Frames, tile: &Tile, kind: &str, places: &[Place]) -> Result<(), String> {
    let bits = tile.bits.get(kind).ok_or_else(|| format!("its tile has no bits of kind {kind}"))?;
    let begin = bits.baseaddr.strip_prefix("0x").and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let begin = begin.ok_or_else(|| format!("its tile is said to be at {:?}", bits.baseaddr))?;
    let offset = bits.offset - bits.alias.as_ref().map_or(0, |alias| alias.start_offset);
    for (frame, bit, one) in places {
        let at = offset * 32 + bit;
        let word = usize::try_from(at / 32).ok().filter(|_| at >= 0);
        let word = word.ok_or_else(|| format!("its bits would be {at} bits from its frame's beginning"))?;
        frames.decide(begin + frame, word, (at % 32) as u32, *one)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRID: &str = r#"{
        "CLBLL_L_X2Y1": {"bits": {"CLB_IO_CLK": {"baseaddr": "0x00000100", "frames": 36, "offset": 2, "words": 2}},
            "grid_x": 1, "type": "CLBLL_L"},
        "BRAM_L_X6Y0": {"bits": {
            "BLOCK_RAM": {"baseaddr": "0x00C40000", "frames": 128, "offset": 0, "words": 10},
            "CLB_IO_CLK": {"baseaddr": "0x00440300", "frames": 28, "offset": 99, "words": 2}}, "type": "BRAM_L"},
        "LIOB33_SING_X0Y0": {"bits": {"CLB_IO_CLK": {
            "alias": {"sites": {"IOB33_Y0": "IOB33_Y1"}, "start_offset": 2, "type": "LIOB33"},
            "baseaddr": "0x00440000", "frames": 42, "offset": 3, "words": 2}}, "type": "LIOB33_SING"}
    }"#;

    /// A database of three tiles, and frames by it.
    fn database(name: &str) -> (PathBuf, Database) {
        let folder = std::env::temp_dir().join(format!("tessera-frames-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("device")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("device/tilegrid.json", GRID);
        write(
            "segbits_clbll_l.db",
            "CLBLL_L.SLICEL_X0.ALUT.INIT[00] 32_15\nCLBLL_L.SLICEL_X0.ALUT.INIT[01] 33_15\n\
             CLBLL_L.SLICEL_X0.ALUT.INIT[17] 01_40\nCLBLL_L.X.A 05_00 !05_01\nCLBLL_L.X.B 05_01 !06_00\n",
        );
        write("ppips_clbll_l.db", "CLBLL_L.CLBLL_L_A.CLBLL_L_A1 always\n");
        write(
            "segbits_bram_l.db",
            "BRAM_L.RAMB18_Y0.IN_USE 27_100\nBRAM_L.WIDE 00_63\nBRAM_L.OUTSIDE 00_64\n",
        );
        write("segbits_bram_l.block_ram.db", "BRAM_L.RAMB18_Y0.INIT_00[004] 00_80\n");
        write("segbits_liob33.db", "LIOB33.IOB33_Y1.SLEW.SLOW 02_70\n");
        let database = Database::open(&folder, "device").unwrap();
        (folder, database)
    }

    fn frames(name: &str, fasm: &str) -> Result<String, FramesError> {
        let (folder, mut database) = database(name);
        let file = folder.join("design.fasm");
        std::fs::write(&file, fasm).unwrap();
        let frames = database.frames(&file).map(|frames| frames.text());
        std::fs::remove_dir_all(folder).unwrap();
        frames
    }

    fn line(address: u32, set: &[(usize, u32)]) -> String {
        let mut words = [0u32; WORDS];
        for (word, bit) in set {
            words[*word] |= 1 << bit;
        }
        let words: Vec<_> = words.iter().map(|word| format!("0x{word:08X}")).collect();
        format!("0x{address:08X} {}\n", words.join(","))
    }

    #[test]
    fn features_are_bits_of_frames() {
        let fasm = "# by hand\n\nCLBLL_L_X2Y1.SLICEL_X0.ALUT.INIT[17:0] = 18'b10_0000_0000_0000_0010\n\
                    CLBLL_L_X2Y1.CLBLL_L_A.CLBLL_L_A1\nCLBLL_L_X2Y1.X.A # set and clear\n\
                    CLBLL_L_X2Y1.X.B = 0\nBRAM_L_X6Y0.RAMB18_Y0.INIT_00[7:4] = 4'h1\n\
                    LIOB33_SING_X0Y0.IOB33_Y0.SLEW.SLOW\nBRAM_L_X6Y0.WIDE\n";
        let expected = [
            line(0x101, &[(3, 8)]),
            line(0x105, &[(2, 0)]),
            line(0x100 + 33, &[(2, 15)]),
            line(0x44_0002, &[(3, 6)]),
            line(0x44_0300, &[(100, 31)]),
            line(0xC4_0000, &[(2, 16)]),
        ];
        assert_eq!(frames("good", fasm).unwrap(), expected.concat());
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_line() {
        for (fasm, said) in [
            ("\nNONE_X0Y0.A", "line 2 of the FASM, \"NONE_X0Y0.A\": the device has no tile NONE_X0Y0"),
            ("CLBLL_L_X2Y1.X.C", "tiles of type CLBLL_L have no such feature"),
            ("CLBLL_L_X2Y1.SLICEL_X0.ALUT.INIT[2]", "no such feature (index 2)"),
            (
                "CLBLL_L_X2Y1.X.A\nCLBLL_L_X2Y1.X.B",
                "line 2 of the FASM, \"CLBLL_L_X2Y1.X.B\": bit 1 of word 2",
            ),
            ("CLBLL_L_X2Y1", "no tile in front"),
            ("CLBLL_L_X2Y1.X.A = 2", "its value has a bit 1, and it has 1"),
            ("CLBLL_L_X2Y1.X.A = 1'q1", "is no value"),
            ("CLBLL_L_X2Y1.X.A[x]", "is no index"),
            ("CLBLL_L_X2Y1.X.A[0:1]", "is no range"),
            ("BRAM_L_X6Y0.OUTSIDE", "word 101 of a frame"),
        ] {
            let refused = frames("bad", fasm).unwrap_err().to_string();
            assert!(refused.contains(said), "{fasm:?}: {refused}");
        }
    }

    #[test]
    fn a_database_that_is_none_is_refused() {
        let (folder, _) = database("none");
        assert!(Database::open(&folder, "other").unwrap_err().to_string().contains("tilegrid.json"));
        std::fs::write(folder.join("segbits_clbll_l.db"), "CLBLL_L.X.A 5-1\n").unwrap();
        std::fs::write(folder.join("design.fasm"), "CLBLL_L_X2Y1.X.A").unwrap();
        let mut database = Database::open(&folder, "device").unwrap();
        let refused = database.frames(&folder.join("design.fasm")).unwrap_err().to_string();
        assert!(refused.contains("segbits_clbll_l.db is not what it should be"), "{refused}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
