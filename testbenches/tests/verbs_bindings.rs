//! The structures that programs share with `tessera-verbs`, field by field beside the bindings
//! that `ibverbs-sys` makes of rdma-core's header, which may be newer than the installed one:
//! `cargo test -p tessera-testbenches --features ibverbs-sys --test verbs_bindings`.
//!
//! Of what a provider keeps beside (`verbs_context`), and of what the bindings keep to themselves, only
//! `tests/verbs_layout.rs` speaks. That crate wants cmake, libclang and `libibverbs-dev`; the default build and
//! `tests/verbs_layout.rs` want neither of the first two.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};

use tessera_verbs::ffi::LAYOUT;

/// What later headers have put fields behind.
const GROWN: [&str; 1] = ["ibv_port_attr"];

/// Sizes and offsets by the bindings, under the names of [`LAYOUT`].
macro_rules! theirs {
    ($($name:ident: $($field:ident)*;)*) => {
        BTreeMap::from([$(
            (stringify!($name).to_owned(), size_of::<ibverbs_sys::$name>()),
            $((
                concat!(stringify!($name), ".", stringify!($field)).to_owned(),
                offset_of!(ibverbs_sys::$name, $field),
            ),)*
        )*])
    };
}

fn by_bindings() -> BTreeMap<String, usize> {
    let mut theirs = theirs! {
        ibv_gid_entry: gid gid_index port_num gid_type ndev_ifindex;
        ibv_device_attr: fw_ver node_guid sys_image_guid max_mr_size page_size_cap vendor_id
        vendor_part_id hw_ver max_qp max_qp_wr device_cap_flags max_sge max_sge_rd max_cq max_cqe max_mr
        max_pd max_qp_rd_atom max_ee_rd_atom max_res_rd_atom max_qp_init_rd_atom max_ee_init_rd_atom
        atomic_cap max_ee max_rdd max_mw max_raw_ipv6_qp max_raw_ethy_qp max_mcast_grp
        max_mcast_qp_attach max_total_mcast_qp_attach max_ah max_fmr max_map_per_fmr max_srq max_srq_wr
        max_srq_sge max_pkeys local_ca_ack_delay phys_port_cnt;
        ibv_port_attr: state max_mtu active_mtu gid_tbl_len port_cap_flags max_msg_sz bad_pkey_cntr
        qkey_viol_cntr pkey_tbl_len lid sm_lid lmc max_vl_num sm_sl subnet_timeout init_type_reply
        active_width active_speed phys_state link_layer flags port_cap_flags2;
        ibv_wc: imm_data qp_num src_qp wc_flags pkey_index slid sl dlid_path_bits;
        ibv_pd: context handle;
        ibv_mr: context pd addr length handle lkey rkey;
        ibv_global_route: dgid flow_label sgid_index hop_limit traffic_class;
        ibv_grh: version_tclass_flow paylen next_hdr hop_limit sgid dgid;
        ibv_ah_attr: grh dlid sl src_path_bits static_rate is_global port_num;
        ibv_ah: context pd handle;
        ibv_srq_attr: max_wr max_sge srq_limit;
        ibv_srq_init_attr: srq_context attr;
        ibv_srq: context srq_context pd handle mutex cond events_completed;
        ibv_qp_cap: max_send_wr max_recv_wr max_send_sge max_recv_sge max_inline_data;
        ibv_qp_init_attr: qp_context send_cq recv_cq srq cap qp_type sq_sig_all;
        ibv_qp_attr: qp_state cur_qp_state path_mtu path_mig_state qkey rq_psn sq_psn dest_qp_num
        qp_access_flags cap ah_attr alt_ah_attr pkey_index alt_pkey_index en_sqd_async_notify sq_draining
        max_rd_atomic max_dest_rd_atomic min_rnr_timer port_num timeout retry_cnt rnr_retry alt_port_num
        alt_timeout rate_limit;
        ibv_qp: context qp_context pd send_cq recv_cq srq handle qp_num state qp_type mutex cond
        events_completed;
        ibv_sge: addr length lkey;
        ibv_send_wr: wr_id next sg_list num_sge opcode send_flags wr qp_type;
        ibv_recv_wr: wr_id next sg_list num_sge;
        ibv_comp_channel: context fd refcnt;
        ibv_cq: context channel cq_context handle cqe mutex cond comp_events_completed
        async_events_completed;
        ibv_async_event: element event_type;
        ibv_device: _ops node_type transport_type name dev_name dev_path ibdev_path;
        ibv_context_ops: _compat_query_device _compat_query_port _compat_alloc_pd _compat_dealloc_pd
        _compat_reg_mr _compat_rereg_mr _compat_dereg_mr alloc_mw bind_mw dealloc_mw _compat_create_cq
        poll_cq req_notify_cq _compat_cq_event _compat_resize_cq _compat_destroy_cq _compat_create_srq
        _compat_modify_srq _compat_query_srq _compat_destroy_srq post_srq_recv _compat_create_qp
        _compat_query_qp _compat_modify_qp _compat_destroy_qp post_send post_recv _compat_create_ah
        _compat_destroy_ah _compat_attach_mcast _compat_detach_mcast _compat_async_event;
        ibv_context: device ops cmd_fd async_fd num_comp_vectors mutex abi_compat;
    };
    // What has no name in the header has one of bindgen's.
    let send = [
        ("imm_data", offset_of!(ibverbs_sys::ibv_send_wr, __bindgen_anon_1)),
        ("bind_mw", offset_of!(ibverbs_sys::ibv_send_wr, __bindgen_anon_2)),
    ];
    theirs.extend(send.map(|(field, at)| (format!("ibv_send_wr.{field}"), at)));
    theirs
}

#[test]
fn every_field_is_where_the_bindings_have_it() {
    let theirs = by_bindings();
    let (mut compared, mut wrong, mut left) = (0, Vec::new(), Vec::new());
    for (name, size, fields) in LAYOUT {
        let of_fields = fields.iter().map(|(field, at)| (format!("{name}.{field}"), *at));
        for (name, ours) in std::iter::once(((*name).to_owned(), *size)).chain(of_fields) {
            match theirs.get(&name) {
                // The program says how long its own is.
                Some(&there) if GROWN.contains(&&*name) && there >= ours => compared += 1,
                Some(&there) if there != ours => {
                    wrong.push(format!("{name}: {ours}, of the bindings {there}"))
                }
                Some(_) => compared += 1,
                None => left.push(name),
            }
        }
    }
    println!("{compared} numbers compared; not public there, or not in the list here: {}", left.join(" "));
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(compared > 200, "only {compared} numbers compared");
}
