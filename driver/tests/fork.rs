//! Memory and `fork`: what a child does with its memory is not seen by its parent, whose
//! device may be at work in it.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use tessera_driver::DmaMemory;

#[test]
fn a_child_leaves_its_parents_memory_alone() {
    let kept = DmaMemory::from_slice(&[1; 8192]);
    let freed = DmaMemory::new(8192).shared_file().map(|(_, offset)| offset);
    let mut child = Command::new("true");
    let inherited = kept.clone();
    // SAFETY: the only thread that allocates such memory is this one, and its locks are free.
    unsafe {
        child.pre_exec(move || {
            // As the last owner would: of the parent's own claim the child has a copy too.
            Arc::decrement_strong_count(Arc::as_ptr(&inherited));
            Arc::decrement_strong_count(Arc::as_ptr(&inherited));
            // Where the parent has room, and in the child's view has lost some.
            for _ in 0..4 {
                std::mem::forget(DmaMemory::from_slice(&[9; 8192]));
            }
            Ok(())
        });
    }
    assert!(child.status().unwrap().success());
    assert_eq!(kept.to_vec(0, 8192), [1; 8192]);
    let again = DmaMemory::new(8192);
    assert_eq!(again.shared_file().map(|(_, offset)| offset), freed, "the same place");
    assert_eq!(again.to_vec(0, 8192), [0; 8192]);
}
