//! The structures of `infiniband/verbs.h` that programs and this library share.
//!
//! Names and layouts are those of the header; `tests/layout.rs` compares every field
//! with the installed one. Enumerations are plain numbers here: a program may hand in
//! any.

#![allow(non_camel_case_types, non_snake_case)]

use std::ffi::{c_char, c_int, c_uint, c_void};

use libc::{pthread_cond_t, pthread_mutex_t, size_t};

/// A function that programs do not call, or that is absent.
pub type Absent = Option<unsafe extern "C" fn()>;

macro_rules! structs {
    ($($(#[$meta:meta])* $name:ident { $($(#[$inner:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy)]
            pub struct $name { $(pub $field: $type,)* }
        )*

        /// Of every structure: its size, and the offset of every field.
        pub const LAYOUT: &[(&str, usize, &[(&str, usize)])] = &[
            $((
                stringify!($name),
                std::mem::size_of::<$name>(),
                &[$((stringify!($field), std::mem::offset_of!($name, $field)),)*],
            ),)*
        ];
    };
}

/// A GID, in network order.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ibv_gid {
    pub raw: [u8; 16],
}

structs! {
    ibv_gid_entry {
        gid: ibv_gid,
        gid_index: u32,
        port_num: u32,
        gid_type: u32,
        ndev_ifindex: u32,
    }
    ibv_device_attr {
        fw_ver: [c_char; 64],
        node_guid: u64,
        sys_image_guid: u64,
        max_mr_size: u64,
        page_size_cap: u64,
        vendor_id: u32,
        vendor_part_id: u32,
        hw_ver: u32,
        max_qp: c_int,
        max_qp_wr: c_int,
        device_cap_flags: c_uint,
        max_sge: c_int,
        max_sge_rd: c_int,
        max_cq: c_int,
        max_cqe: c_int,
        max_mr: c_int,
        max_pd: c_int,
        max_qp_rd_atom: c_int,
        max_ee_rd_atom: c_int,
        max_res_rd_atom: c_int,
        max_qp_init_rd_atom: c_int,
        max_ee_init_rd_atom: c_int,
        atomic_cap: c_uint,
        max_ee: c_int,
        max_rdd: c_int,
        max_mw: c_int,
        max_raw_ipv6_qp: c_int,
        max_raw_ethy_qp: c_int,
        max_mcast_grp: c_int,
        max_mcast_qp_attach: c_int,
        max_total_mcast_qp_attach: c_int,
        max_ah: c_int,
        max_fmr: c_int,
        max_map_per_fmr: c_int,
        max_srq: c_int,
        max_srq_wr: c_int,
        max_srq_sge: c_int,
        max_pkeys: u16,
        local_ca_ack_delay: u8,
        phys_port_cnt: u8,
    }
    ibv_port_attr {
        state: c_uint,
        max_mtu: c_uint,
        active_mtu: c_uint,
        gid_tbl_len: c_int,
        port_cap_flags: u32,
        max_msg_sz: u32,
        bad_pkey_cntr: u32,
        qkey_viol_cntr: u32,
        pkey_tbl_len: u16,
        lid: u16,
        sm_lid: u16,
        lmc: u8,
        max_vl_num: u8,
        sm_sl: u8,
        subnet_timeout: u8,
        init_type_reply: u8,
        active_width: u8,
        active_speed: u8,
        phys_state: u8,
        link_layer: u8,
        flags: u8,
        port_cap_flags2: u16,
    }
    ibv_wc {
        wr_id: u64,
        status: c_uint,
        opcode: c_uint,
        vendor_err: u32,
        byte_len: u32,
        imm_data: u32,
        qp_num: u32,
        src_qp: u32,
        wc_flags: c_uint,
        pkey_index: u16,
        slid: u16,
        sl: u8,
        dlid_path_bits: u8,
    }
    ibv_pd {
        context: *mut ibv_context,
        handle: u32,
    }
    ibv_mr {
        context: *mut ibv_context,
        pd: *mut ibv_pd,
        addr: *mut c_void,
        length: size_t,
        handle: u32,
        lkey: u32,
        rkey: u32,
    }
    ibv_global_route {
        dgid: ibv_gid,
        flow_label: u32,
        sgid_index: u8,
        hop_limit: u8,
        traffic_class: u8,
    }
    ibv_grh {
        version_tclass_flow: u32,
        paylen: u16,
        next_hdr: u8,
        hop_limit: u8,
        sgid: ibv_gid,
        dgid: ibv_gid,
    }
    ibv_ah_attr {
        grh: ibv_global_route,
        dlid: u16,
        sl: u8,
        src_path_bits: u8,
        static_rate: u8,
        is_global: u8,
        port_num: u8,
    }
    ibv_ah {
        context: *mut ibv_context,
        pd: *mut ibv_pd,
        handle: u32,
    }
    ibv_srq_attr {
        max_wr: u32,
        max_sge: u32,
        srq_limit: u32,
    }
    ibv_srq_init_attr {
        srq_context: *mut c_void,
        attr: ibv_srq_attr,
    }
    ibv_srq {
        context: *mut ibv_context,
        srq_context: *mut c_void,
        pd: *mut ibv_pd,
        handle: u32,
        mutex: pthread_mutex_t,
        cond: pthread_cond_t,
        events_completed: u32,
    }
    ibv_qp_cap {
        max_send_wr: u32,
        max_recv_wr: u32,
        max_send_sge: u32,
        max_recv_sge: u32,
        max_inline_data: u32,
    }
    ibv_qp_init_attr {
        qp_context: *mut c_void,
        send_cq: *mut ibv_cq,
        recv_cq: *mut ibv_cq,
        srq: *mut ibv_srq,
        cap: ibv_qp_cap,
        qp_type: c_uint,
        sq_sig_all: c_int,
    }
    ibv_qp_attr {
        qp_state: c_uint,
        cur_qp_state: c_uint,
        path_mtu: c_uint,
        path_mig_state: c_uint,
        qkey: u32,
        rq_psn: u32,
        sq_psn: u32,
        dest_qp_num: u32,
        qp_access_flags: c_uint,
        cap: ibv_qp_cap,
        ah_attr: ibv_ah_attr,
        alt_ah_attr: ibv_ah_attr,
        pkey_index: u16,
        alt_pkey_index: u16,
        en_sqd_async_notify: u8,
        sq_draining: u8,
        max_rd_atomic: u8,
        max_dest_rd_atomic: u8,
        min_rnr_timer: u8,
        port_num: u8,
        timeout: u8,
        retry_cnt: u8,
        rnr_retry: u8,
        alt_port_num: u8,
        alt_timeout: u8,
        rate_limit: u32,
    }
    ibv_qp {
        context: *mut ibv_context,
        qp_context: *mut c_void,
        pd: *mut ibv_pd,
        send_cq: *mut ibv_cq,
        recv_cq: *mut ibv_cq,
        srq: *mut ibv_srq,
        handle: u32,
        qp_num: u32,
        state: c_uint,
        qp_type: c_uint,
        mutex: pthread_mutex_t,
        cond: pthread_cond_t,
        events_completed: u32,
    }
    ibv_sge {
        addr: u64,
        length: u32,
        lkey: u32,
    }
    ibv_send_wr {
        wr_id: u64,
        next: *mut ibv_send_wr,
        sg_list: *mut ibv_sge,
        num_sge: c_int,
        opcode: c_uint,
        send_flags: c_uint,
        imm_data: u32,
        /// Of UD: `ah`, `remote_qpn` and `remote_qkey`; else a remote address.
        wr: Destination,
        qp_type: u64,
        /// Memory windows and segmentation: not looked at.
        bind_mw: [u64; 6],
    }
    ibv_recv_wr {
        wr_id: u64,
        next: *mut ibv_recv_wr,
        sg_list: *mut ibv_sge,
        num_sge: c_int,
    }
    ibv_comp_channel {
        context: *mut ibv_context,
        fd: c_int,
        refcnt: c_int,
    }
    ibv_cq {
        context: *mut ibv_context,
        channel: *mut ibv_comp_channel,
        cq_context: *mut c_void,
        handle: u32,
        cqe: c_int,
        mutex: pthread_mutex_t,
        cond: pthread_cond_t,
        comp_events_completed: u32,
        async_events_completed: u32,
    }
    ibv_async_event {
        element: *mut c_void,
        event_type: c_uint,
    }
    ibv_device {
        _ops: [*mut c_void; 2],
        node_type: c_int,
        transport_type: c_int,
        name: [c_char; 64],
        dev_name: [c_char; 64],
        dev_path: [c_char; 256],
        ibdev_path: [c_char; 256],
    }
    ibv_context_ops {
        _compat_query_device: Absent,
        _compat_query_port: Absent,
        _compat_alloc_pd: Absent,
        _compat_dealloc_pd: Absent,
        _compat_reg_mr: Absent,
        _compat_rereg_mr: Absent,
        _compat_dereg_mr: Absent,
        alloc_mw: Option<unsafe extern "C" fn(*mut ibv_pd, c_uint) -> *mut c_void>,
        bind_mw: Option<unsafe extern "C" fn(*mut ibv_qp, *mut c_void, *mut c_void) -> c_int>,
        dealloc_mw: Option<unsafe extern "C" fn(*mut c_void) -> c_int>,
        _compat_create_cq: Absent,
        poll_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int, *mut ibv_wc) -> c_int>,
        req_notify_cq: Option<unsafe extern "C" fn(*mut ibv_cq, c_int) -> c_int>,
        _compat_cq_event: Absent,
        _compat_resize_cq: Absent,
        _compat_destroy_cq: Absent,
        _compat_create_srq: Absent,
        _compat_modify_srq: Absent,
        _compat_query_srq: Absent,
        _compat_destroy_srq: Absent,
        post_srq_recv: Option<unsafe extern "C" fn(*mut ibv_srq, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
        _compat_create_qp: Absent,
        _compat_query_qp: Absent,
        _compat_modify_qp: Absent,
        _compat_destroy_qp: Absent,
        post_send: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_send_wr, *mut *mut ibv_send_wr) -> c_int>,
        post_recv: Option<unsafe extern "C" fn(*mut ibv_qp, *mut ibv_recv_wr, *mut *mut ibv_recv_wr) -> c_int>,
        _compat_create_ah: Absent,
        _compat_destroy_ah: Absent,
        _compat_attach_mcast: Absent,
        _compat_detach_mcast: Absent,
        _compat_async_event: Absent,
    }
    ibv_context {
        device: *mut ibv_device,
        ops: ibv_context_ops,
        cmd_fd: c_int,
        async_fd: c_int,
        num_comp_vectors: c_int,
        mutex: pthread_mutex_t,
        abi_compat: *mut c_void,
    }
    verbs_context {
        query_port: Option<unsafe extern "C" fn(*mut ibv_context, u8, *mut ibv_port_attr, size_t) -> c_int>,
        advise_mr: Absent,
        alloc_null_mr: Absent,
        read_counters: Absent,
        attach_counters_point_flow: Absent,
        create_counters: Absent,
        destroy_counters: Absent,
        reg_dm_mr: Absent,
        alloc_dm: Absent,
        free_dm: Absent,
        modify_flow_action_esp: Absent,
        destroy_flow_action: Absent,
        create_flow_action_esp: Absent,
        modify_qp_rate_limit: Absent,
        alloc_parent_domain: Absent,
        dealloc_td: Absent,
        alloc_td: Absent,
        modify_cq: Absent,
        post_srq_ops: Absent,
        destroy_rwq_ind_table: Absent,
        create_rwq_ind_table: Absent,
        destroy_wq: Absent,
        modify_wq: Absent,
        create_wq: Absent,
        query_rt_values: Absent,
        create_cq_ex: Absent,
        priv_: *mut c_void,
        query_device_ex: Absent,
        ibv_destroy_flow: Absent,
        ABI_placeholder2: Absent,
        ibv_create_flow: Absent,
        ABI_placeholder1: Absent,
        open_qp: Absent,
        create_qp_ex: Absent,
        get_srq_num: Absent,
        create_srq_ex: Absent,
        open_xrcd: Absent,
        close_xrcd: Absent,
        _ABI_placeholder3: u64,
        sz: size_t,
        context: ibv_context,
    }
}

/// Where a send goes: a C union of `ud`, `rdma` and `atomic`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Destination {
    pub ud: Ud,
    pub rdma: Rdma,
    pub atomic: [u64; 4],
}

/// Of datagrams.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Ud {
    pub ah: *mut ibv_ah,
    pub remote_qpn: u32,
    pub remote_qkey: u32,
}

/// Of writes.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Rdma {
    pub remote_addr: u64,
    pub rkey: u32,
}
