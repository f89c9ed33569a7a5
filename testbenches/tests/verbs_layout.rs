//! The structures that programs share with `tessera-verbs`, field by field beside those of
//! the installed `infiniband/verbs.h`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use tessera_sim::tools;
use tessera_verbs::ffi::LAYOUT;

/// Sizes and offsets by the header, under the names of [`LAYOUT`].
fn by_header(folder: &Path) -> BTreeMap<String, usize> {
    let mut source = String::from(
        "#include <infiniband/verbs.h>\n#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n",
    );
    for (name, _, fields) in LAYOUT {
        let kind = if *name == "ibv_gid" { "union" } else { "struct" };
        writeln!(source, "printf(\"{name} %zu\\n\", sizeof({kind} {name}));").unwrap();
        for (field, _) in *fields {
            // What is a keyword here has another name.
            let theirs = field.trim_end_matches('_');
            writeln!(source, "printf(\"{name}.{field} %zu\\n\", offsetof({kind} {name}, {theirs}));")
                .unwrap();
        }
    }
    source.push_str("return 0; }\n");
    let (file, program) = (folder.join("verbs_layout.c"), folder.join("verbs_layout"));
    std::fs::write(&file, source).unwrap();
    let built = Command::new("cc").arg(&file).arg("-o").arg(&program).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let out = Command::new(&program).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines()
        .map(|line| {
            let (name, value) = line.split_once(' ').unwrap();
            (name.to_owned(), value.parse().unwrap())
        })
        .collect()
}

#[test]
fn every_field_is_where_the_header_has_it() {
    let header = [("/usr/include/infiniband/verbs.h", "libibverbs-dev")];
    if let Err(error) = tools::require_packages("its structures are compared", &header) {
        use std::io::Write;
        let test = "every_field_is_where_the_header_has_it";
        let _ = write!(std::io::stdout(), "\nSKIPPED {test}: {error}\n");
        return;
    }
    let theirs = by_header(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let mut compared = 0;
    let mut wrong = Vec::new();
    for (name, size, fields) in LAYOUT {
        let mut compare = |name: String, ours: usize| {
            compared += 1;
            if theirs[&name] != ours {
                wrong.push(format!("{name}: {ours}, of the header {}", theirs[&name]));
            }
        };
        compare((*name).to_owned(), *size);
        for (field, offset) in *fields {
            compare(format!("{name}.{field}"), *offset);
        }
    }
    assert!(compared > 250, "only {compared} numbers compared");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
