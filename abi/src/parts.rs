//! What a configuration can leave out, and the names of those that do.
//!
//! `nic512_no_ipv6_no_tags` is [`nic512`](crate::params::NIC512) without IPv6 and without tagged receives,
//! `nic512_plain` has none of what can be left out. A name is all that a verb needs, and all that it prints.

use core::fmt;

use crate::params::{Config, CONFIGS};
use crate::regs;

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// IPv6 beside IPv4.
    Ipv6,
    /// 802.1Q tags.
    Vlan,
    /// Rounds of collectives.
    Rounds,
    /// Turns and DSCPs by what is left of a message.
    Classes,
    /// Weights and counters of paths.
    PathTables,
    /// Entropy values that came back clean are used again.
    Recycle,
    /// Endpoints of datagrams.
    Datagrams,
    /// Receives by tag.
    Tags,
    /// Messages that the host recovers.
    HostRecovery,
    /// Words of table entries that hold nothing, read back as they were written.
    SpareWords,
}

/// Between the name of a configuration and that of a part that is left out.
const NO: &str = "_no_";
/// Behind the name of a configuration of which all is left out that can be.
const PLAIN: &str = "_plain";

impl Part {
    /// Every part, in the order in which names have them.
    pub const ALL: [Self; 10] = [
        Self::Ipv6,
        Self::Vlan,
        Self::Rounds,
        Self::Classes,
        Self::PathTables,
        Self::Recycle,
        Self::Datagrams,
        Self::Tags,
        Self::HostRecovery,
        Self::SpareWords,
    ];

    /// As in the names of configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ipv6 => "ipv6",
            Self::Vlan => "vlan",
            Self::Rounds => "rounds",
            Self::Classes => "classes",
            Self::PathTables => "path_tables",
            Self::Recycle => "recycle",
            Self::Datagrams => "datagrams",
            Self::Tags => "tags",
            Self::HostRecovery => "host_recovery",
            Self::SpareWords => "spare_words",
        }
    }

    /// What it is, for a list of them.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Ipv6 => "IPv6 beside IPv4",
            Self::Vlan => "802.1Q tags",
            Self::Rounds => "rounds of collectives",
            Self::Classes => "turns and DSCPs by what is left of a message",
            Self::PathTables => "weights and counters of paths",
            Self::Recycle => "entropy values that came back clean are used again",
            Self::Datagrams => "endpoints of datagrams",
            Self::Tags => "receives by tag",
            Self::HostRecovery => "messages that the host recovers",
            Self::SpareWords => "words of table entries that hold nothing, read back as they were written",
        }
    }

    /// The bit of SIZES2 that says that it is left out; none for what other registers say, or none.
    pub(crate) const fn left_out_bit(self) -> u32 {
        match self {
            Self::Ipv6 => regs::sizes2::NO_IPV6,
            Self::Vlan => regs::sizes2::NO_VLAN,
            Self::Rounds => regs::sizes2::NO_ROUNDS,
            Self::Classes => regs::sizes2::NO_CLASSES,
            Self::PathTables => regs::sizes2::NO_PATH_TABLES,
            Self::Recycle => regs::sizes2::NO_RECYCLE,
            Self::Datagrams => regs::sizes2::NO_DATAGRAMS,
            Self::Tags | Self::HostRecovery | Self::SpareWords => 0,
        }
    }
}

/// Why a name is none of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnknownConfig<'a> {
    /// No configuration begins like this.
    Name(&'a str),
    /// Nothing of that name can be left out.
    Part(&'a str),
    /// It has no such part, or the name leaves it out already.
    LeftOut(&'a str, Part),
    /// It has nothing that could be left out.
    Plain(&'a str),
}

impl fmt::Display for UnknownConfig<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => {
                write!(to, "there is no configuration {name}; there is ")?;
                list(to, CONFIGS.iter().map(|config| config.name))?;
                write!(to, ", each also {NO}PART of it (nic512{NO}ipv6{NO}tags), or {PLAIN} of all parts (nic512{PLAIN})")
            }
            Self::Part(part) => {
                write!(to, "no configuration has a part {part} to leave out; there is ")?;
                list(to, Part::ALL.iter().map(|part| part.name()))
            }
            Self::LeftOut(name, part) => {
                write!(to, "{name} has no {} ({}): take {NO}{} away", part.name(), part.what(), part.name())
            }
            Self::Plain(name) => write!(to, "{name} has nothing to leave out: take {PLAIN} away"),
        }
    }
}

impl core::error::Error for UnknownConfig<'_> {}

fn list<'a>(to: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'a str>) -> fmt::Result {
    for (number, name) in names.enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        write!(to, "{comma}{name}")?;
    }
    Ok(())
}

impl Config {
    /// Whether it has a part.
    pub const fn has(&self, part: Part) -> bool {
        match part {
            Part::Ipv6 => self.ipv6,
            Part::Vlan => self.vlan,
            Part::Rounds => self.rounds,
            Part::Classes => self.classes,
            Part::PathTables => self.path_tables,
            Part::Recycle => self.recycle,
            Part::Datagrams => self.datagrams,
            Part::Tags => self.tagged_log2 > 0,
            Part::HostRecovery => self.host_recovery,
            Part::SpareWords => self.table_words > regs::TABLE_WORDS_USED,
        }
    }

    /// The same under the same name, but for a part.
    #[must_use]
    pub const fn without(mut self, part: Part) -> Self {
        match part {
            Part::Ipv6 => self.ipv6 = false,
            Part::Vlan => self.vlan = false,
            Part::Rounds => self.rounds = false,
            Part::Classes => self.classes = false,
            Part::PathTables => self.path_tables = false,
            Part::Recycle => self.recycle = false,
            Part::Datagrams => self.datagrams = false,
            Part::Tags => self.tagged_log2 = 0,
            Part::HostRecovery => self.host_recovery = false,
            Part::SpareWords => self.table_words = regs::TABLE_WORDS_USED,
        }
        self
    }

    /// The configuration of a name: one of [`CONFIGS`], or one of them without a part or several. It has that name.
    ///
    /// # Errors
    /// [`UnknownConfig`].
    pub fn named(name: &'static str) -> Result<Self, UnknownConfig<'static>> {
        let base = |base: &'static str| Self::by_name(base).ok_or(UnknownConfig::Name(name));
        let mut config = if let Some(plain) = name.strip_suffix(PLAIN) {
            let all = base(plain)?;
            if Part::ALL.iter().all(|&part| !all.has(part)) {
                return Err(UnknownConfig::Plain(plain));
            }
            Part::ALL.iter().fold(*all, |config, &part| config.without(part))
        } else {
            let mut words = name.split(NO);
            let first = words.next().unwrap_or_default();
            let mut config = *base(first)?;
            for word in words {
                let part = Part::ALL.into_iter().find(|part| part.name() == word);
                let part = part.ok_or(UnknownConfig::Part(word))?;
                if !config.has(part) {
                    return Err(UnknownConfig::LeftOut(first, part));
                }
                config = config.without(part);
            }
            config
        };
        config.name = name;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use crate::params::{NIC512, NIC64, TINY};
    use std::string::ToString;

    #[test]
    fn a_name_says_what_is_left_out() {
        let config = Config::named("nic512_no_ipv6_no_path_tables").unwrap();
        let name = "nic512_no_ipv6_no_path_tables";
        assert_eq!(config, Config { name, ipv6: false, path_tables: false, ..NIC512 });
        assert_eq!(Config::named("nic512"), Ok(NIC512));
        let plain = Config::named("tiny_plain").unwrap();
        assert!(Part::ALL.iter().all(|&part| TINY.has(part) && !plain.has(part)));
        let again = Config {
            name: "tiny",
            tagged_log2: TINY.tagged_log2,
            host_recovery: true,
            table_words: TINY.table_words,
            ipv6: true,
            vlan: true,
            rounds: true,
            classes: true,
            path_tables: true,
            recycle: true,
            datagrams: true,
            ..plain
        };
        assert_eq!(again, TINY, "what is no part stays");
    }

    #[test]
    fn each_part_is_one_of_its_own_and_the_host_can_see_it() {
        for part in Part::ALL {
            let config = TINY.without(part);
            for other in Part::ALL {
                assert_eq!(config.has(other), other != part, "{part:?} left out, {other:?}");
            }
            // Spare words are seen by reading one.
            assert_eq!(config.sizes() == TINY.sizes(), part == Part::SpareWords, "{part:?}");
        }
    }

    #[test]
    fn names_that_mean_nothing_are_refused_with_what_there_is() {
        let said = |name| Config::named(name).unwrap_err().to_string();
        assert_eq!(
            said("nic1024_no_ipv6"),
            "there is no configuration nic1024_no_ipv6; there is nic512, nic256, nic128, nic64, tiny, each also \
             _no_PART of it (nic512_no_ipv6_no_tags), or _plain of all parts (nic512_plain)"
        );
        assert_eq!(
            said("nic512_no_psn"),
            "no configuration has a part psn to leave out; there is ipv6, vlan, rounds, classes, path_tables, recycle, \
             datagrams, tags, host_recovery, spare_words"
        );
        assert_eq!(said("nic512_no_vlan_no_vlan"), "nic512 has no vlan (802.1Q tags): take _no_vlan away");
        assert_eq!(said("nic64_no_tags"), "nic64 has no tags (receives by tag): take _no_tags away");
        assert_eq!(said("nic64_plain"), "nic64 has nothing to leave out: take _plain away");
        for none in ["", "_plain", "_no_ipv6", "nic512_", "nic512_plain_no_ipv6", "nic512_no_ipv6_plain"] {
            assert!(Config::named(none).is_err(), "{none:?}");
        }
        assert!(Part::ALL.iter().all(|&part| !NIC64.has(part)));
    }
}
