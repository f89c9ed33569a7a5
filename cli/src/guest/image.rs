//! What a guest boots: Debian's kernel, and an archive of files that the kernel begins with.

use std::path::{Path, PathBuf};
use std::process::Command;

use tessera_sim::tools::cache_dir;

use super::{bytes, find, output};
use crate::output::Failure;

/// What every guest's init does first.
const PREPARE: &str = r#"#!/bin/busybox sh
/bin/busybox mkdir -p /proc /sys /dev /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox --install -s /bin
export PATH=/bin
echo 1 > /proc/sys/kernel/printk
for module in $(cat /modules/order); do insmod /modules/$module.ko || echo "no module $module"; done
"#;

/// The end of an init that does what the console says, for `Qemu::run`: one line, one command.
pub const SERVE: &str = r#"
stty -echo
echo "@ ready"
while read -r line; do eval "$line" < /dev/null; echo "@ ended with $?"; done
poweroff -f
"#;

/// Debian's kernel, unpacked: downloaded once, never installed.
pub struct Kernel {
    folder: PathBuf,
}

impl Kernel {
    /// The kernel that linux-image-amd64 depends on, from the cache or Debian.
    ///
    /// # Errors
    /// If it is in neither, with the remedy.
    pub fn get() -> Result<Self, Failure> {
        let parent = cache_dir().join("tools");
        let folder = parent.join("guest-kernel");
        if folder.is_dir() {
            return Ok(Self { folder });
        }
        let remedy = |error: Failure| {
            let how = "a Debian with `apt-get update` done has it";
            Failure::new(format!("there is no kernel for the guest ({error}): {how}"))
        };
        let depends =
            output(Command::new("apt-cache").args(["depends", "linux-image-amd64"])).map_err(remedy)?;
        let package = depends.lines().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
        let package = package.ok_or_else(|| remedy(Failure::new("linux-image-amd64 names none")))?;
        std::fs::create_dir_all(&parent)?;
        // Whole or not at all, also where two do it at once.
        let fresh = tempfile::Builder::new().prefix("kernel-").tempdir_in(&parent)?;
        let name = format!("linux-image-{package}");
        output(Command::new("apt-get").args(["download", "-qq", &name]).current_dir(&fresh))
            .map_err(remedy)?;
        let archive = find(fresh.path(), &|name| name.ends_with(".deb"));
        let archive = archive.ok_or_else(|| remedy(Failure::new(format!("{name} was not downloaded"))))?;
        let unpacked = fresh.path().join("unpacked");
        output(Command::new("dpkg-deb").arg("-x").args([&archive, &unpacked])).map_err(remedy)?;
        extract(&unpacked)?;
        match std::fs::rename(&unpacked, &folder) {
            Err(_) if folder.is_dir() => Ok(Self { folder }),
            renamed => Ok(renamed.map(|()| Self { folder })?),
        }
    }

    /// The uncompressed kernel: QEMU starts it at its PVH entry, twice as fast as a bzImage.
    pub fn vmlinux(&self) -> PathBuf {
        self.folder.join("vmlinux")
    }

    /// A module's file; none of what is built in.
    fn module(&self, name: &str) -> Option<PathBuf> {
        let plain = |name: &str| name.replace('-', "_");
        let wanted = format!("{}.ko", plain(name));
        find(&self.folder.join("lib/modules"), &|file| plain(file) == wanted)
    }
}

/// Unpacks the kernel out of its own unpacker.
fn extract(folder: &Path) -> Result<(), Failure> {
    const XZ: &[u8] = b"\xFD7zXZ\0";
    let image = find(&folder.join("boot"), &|name| name.starts_with("vmlinuz"));
    let image = std::fs::read(image.ok_or_else(|| Failure::new("the kernel's package has none"))?)?;
    let at = image.windows(XZ.len()).position(|bytes| bytes == XZ);
    let at = at.ok_or_else(|| Failure::new("the kernel's image is not packed by xz, as Debian's are"))?;
    let packed = folder.join("vmlinux.xz");
    std::fs::write(&packed, &image[at..])?;
    // What follows the stream is none of xz's.
    let kernel = bytes(Command::new("xz").args(["--single-stream", "-dc"]).arg(&packed))?;
    if !kernel.starts_with(b"\x7FELF") {
        return Err(Failure::new("the kernel's image holds no ELF file"));
    }
    std::fs::remove_file(packed)?;
    Ok(std::fs::write(folder.join("vmlinux"), kernel)?)
}

/// What a module wants loaded before it: `depends=` of its `.modinfo` section.
fn depends(module: &[u8]) -> Vec<String> {
    const KEY: &[u8] = b"\0depends=";
    let Some(at) = module.windows(KEY.len()).position(|bytes| bytes == KEY) else { return Vec::new() };
    let value = module[at + KEY.len()..].split(|&byte| byte == 0).next().unwrap_or_default();
    let names = String::from_utf8_lossy(value).into_owned();
    names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// An archive of files for the kernel to begin with, in cpio's "new ASCII" format.
#[derive(Default)]
struct Archive {
    bytes: Vec<u8>,
    names: Vec<PathBuf>,
    count: u32,
}

impl Archive {
    fn entry(&mut self, name: &str, mode: u32, data: &[u8]) {
        self.count += 1;
        let len = (data.len() as u32, name.len() as u32 + 1);
        // Number, mode, owner (2), links, time, length, devices (4), length of the name, 0.
        let fields = [self.count, mode, 0, 0, 1, 0, len.0, 0, 0, 0, 0, len.1, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        self.bytes.extend(name.bytes().chain([0]));
        self.align();
        self.bytes.extend(data);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// Adds a file at an absolute path, and the folders above it; the first of a name stays.
    fn add(&mut self, path: &Path, data: &[u8]) {
        let relative = path.strip_prefix("/").unwrap_or(path);
        let mut above: Vec<_> = relative.ancestors().filter(|a| *a != Path::new("")).collect();
        above.reverse();
        for name in above {
            if self.names.iter().any(|known| known == name) {
                continue;
            }
            self.names.push(name.into());
            let text = name.to_string_lossy();
            if name == relative {
                self.entry(&text, 0o100_755, data);
            } else {
                self.entry(&text, 0o040_755, &[]);
            }
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}

/// A guest's files: busybox, modules, programs with their libraries, and an init.
pub struct Image<'a> {
    kernel: &'a Kernel,
    archive: Archive,
    /// Modules in the order of loading.
    modules: Vec<String>,
}

impl<'a> Image<'a> {
    /// An image whose init loads the modules, then does `init`'s lines: with busybox's
    /// shell, all of its programs in `/bin`, and output to the console.
    ///
    /// # Errors
    /// If busybox cannot be read.
    pub fn new(kernel: &'a Kernel, init: &str) -> Result<Self, Failure> {
        let mut archive = Archive::default();
        archive.add(Path::new("/init"), (PREPARE.to_owned() + init).as_bytes());
        let users = b"root:x:0:0::/:/bin/sh\nnobody:x:65534:65534::/:/bin/sh\n";
        archive.add(Path::new("/etc/passwd"), users);
        archive.add(Path::new("/bin/busybox"), &std::fs::read("/bin/busybox")?);
        Ok(Self { kernel, archive, modules: Vec::new() })
    }

    /// Adds modules of the kernel, each behind what it depends on. What is no module is
    /// built in, or not there: then the guest says what does not work.
    ///
    /// # Errors
    /// If one cannot be read.
    pub fn modules(mut self, names: &[&str]) -> Result<Self, Failure> {
        for name in names {
            self.module(name)?;
        }
        Ok(self)
    }

    fn module(&mut self, name: &str) -> Result<(), Failure> {
        let name = name.replace('-', "_");
        let Some(file) = self.kernel.module(&name) else { return Ok(()) };
        if self.modules.contains(&name) {
            return Ok(());
        }
        let module = std::fs::read(file)?;
        for other in depends(&module) {
            self.module(&other)?;
        }
        self.archive.add(&Path::new("/modules").join(format!("{name}.ko")), &module);
        self.modules.push(name);
        Ok(())
    }

    /// Adds a program (or a library that programs open by themselves) at a path of the
    /// guest, and the libraries that it is linked with.
    ///
    /// # Errors
    /// If it cannot be read, or lacks a library.
    pub fn program(mut self, program: &Path, at: &str) -> Result<Self, Failure> {
        self = self.file(at, &read(program)?);
        let linked = output(Command::new("ldd").arg(program))?;
        if let Some(absent) = linked.lines().find(|line| line.contains("not found")) {
            return Err(Failure::new(format!("{} cannot run here: {}", program.display(), absent.trim())));
        }
        for library in linked.split_whitespace().filter(|word| word.starts_with('/')) {
            let library = Path::new(library);
            self.archive.add(library, &read(library)?);
        }
        Ok(self)
    }

    /// Adds a file.
    pub fn file(mut self, at: &str, data: &[u8]) -> Self {
        self.archive.add(Path::new(at), data);
        self
    }

    /// Writes the archive into a folder; where it is.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(mut self, folder: &Path) -> Result<PathBuf, Failure> {
        self.archive.add(Path::new("/modules/order"), self.modules.join("\n").as_bytes());
        let path = folder.join("initial.cpio");
        std::fs::write(&path, self.archive.finish())?;
        Ok(path)
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_whole_words() {
        let mut archive = Archive::default();
        archive.add(Path::new("/a/b"), b"12345");
        archive.add(Path::new("/a/c"), b"");
        archive.add(Path::new("/a/b"), b"again");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("070701").count(), 4, "one folder, two files, the end");
        assert!(text.starts_with("07070100000001000041ed") && text.contains("12345\0\0\x0007"));
    }

    #[test]
    fn modules_say_what_they_depend_on() {
        assert_eq!(
            depends(b"\x7FELF\0license=GPL\0depends=ib_core,udp-tunnel\0name=x\0"),
            ["ib_core", "udp-tunnel"]
        );
        assert!(depends(b"\0depends=\0retpoline=Y\0").is_empty());
        assert!(depends(b"nothing").is_empty());
    }
}
