//! Kernels in parts.

/// `LogicBlock` finds `Logic::update` by name, so where a block is declared `Part` is
/// not in scope.
mod blocks {
    use tessera_rtl::prelude::*;

    #[derive(LogicBlock, Default)]
    pub(super) struct Whole {
        pub a: Signal<In, Bits<4>>,
        pub b: Signal<Out, Bits<4>>,
        pub c: Signal<Out, Bit>,
    }

    impl Logic for Whole {
        #[hdl_gen]
        fn update(&mut self) {
            self.b.next = self.a.val() + 1;
            self.c.next = self.b.val() == 3;
            if self.a.val() == 0 {
                self.b.next = 7.into();
            }
        }
    }

    #[derive(LogicBlock, Default)]
    pub(super) struct Parts {
        pub a: Signal<In, Bits<4>>,
        pub b: Signal<Out, Bits<4>>,
        pub c: Signal<Out, Bit>,
    }

    tessera_rtl::kernel_of_parts!(Parts: super::First, super::Second);
}

pub(super) struct First;
pub(super) struct Second;

mod kernel {
    use super::blocks::Parts;
    use super::{First, Second};
    use tessera_rtl::parts::Part;
    use tessera_rtl::prelude::*;

    impl Part<First> for Parts {
        #[hdl_gen]
        fn update(&mut self) {
            self.b.next = self.a.val() + 1;
            self.c.next = self.b.val() == 3;
        }
    }

    impl Part<Second> for Parts {
        #[hdl_gen]
        fn update(&mut self) {
            if self.a.val() == 0 {
                self.b.next = 7.into();
            }
        }
    }
}

#[test]
fn parts_are_one_kernel() {
    let whole = tessera_rtl::emit::export(&mut blocks::Whole::default(), "block").unwrap();
    let parts = tessera_rtl::emit::export(&mut blocks::Parts::default(), "block").unwrap();
    assert_eq!(whole.verilog, parts.verilog);
    assert!(whole.verilog.contains("7"), "{}", whole.verilog);
}
