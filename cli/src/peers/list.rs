//! What runs: each program, its options, and what must come of it.

use super::{board, rxe, Needs, Peer};
use crate::guest;

const UTILS: Needs = &[("/usr/bin/ibv_ud_pingpong", "ibverbs-utils")];
const PERFTEST: Needs = &[("/usr/bin/ib_send_bw", "perftest")];
const UCX: Needs = &[("/usr/bin/ucx_perftest", "ucx-utils")];
const HEADERS: Needs = &[("/usr/include/infiniband/verbs.h", "libibverbs-dev")];
const OPENMPI: Needs = &[
    ("/usr/bin/mpirun.openmpi", "openmpi-bin"),
    ("/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h", "libopenmpi-dev"),
];
const MPICH: Needs =
    &[("/usr/bin/mpirun.mpich", "mpich"), ("/usr/include/x86_64-linux-gnu/mpich/mpi.h", "libmpich-dev")];

/// None at all, to begin with.
const PEER: Peer = Peer {
    name: "",
    needs: &[],
    verb: "run",
    options: &[],
    build: None,
    script: "",
    expects: &[],
    frames: 0,
    damages: false,
    alone: None,
};

const LOSSY: &[&str] = &["--loss", "0.01", "--paths", "4", "--skew-us", "2"];
const LOSSY_FOUR: &[&str] = &["--nics", "4", "--loss", "0.01", "--paths", "4", "--skew-us", "2"];
const RC_BUILD: Option<(&str, &str, &str)> =
    Some(("rc.c", include_str!("rc.c"), "cc -Wall -Wextra -Werror -O1 -o rc rc.c -libverbs"));
const RELIABLE_BUILD: Option<(&str, &str, &str)> = Some((
    "reliable.c",
    include_str!("reliable.c"),
    "cc -Wall -Wextra -Werror -O1 -o reliable reliable.c -libverbs",
));
/// Programs without a retry of their own.
const BURSTS: &str = r#"{ "path_delays_us": [1, 3], "loss": { "mean": 0.05, "burst": 3 },
    "duplicate": 0.02, "corrupt": 0.02, "dead_paths": [{ "path": 1, "from_us": 100, "until_us": 200 }] }"#;
const COLLECTIVES: &str = include_str!("collectives.c");
const OPENMPI_BUILD: Option<(&str, &str, &str)> =
    Some(("collectives.c", COLLECTIVES, "mpicc.openmpi -O1 -o collectives collectives.c"));
/// UCX alone carries it, and by our device alone.
const OPENMPI_RUN: &str =
    "UCX_TLS=ud_verbs,self UCX_NET_DEVICES=tessera0:1 mpirun.openmpi --allow-run-as-root \
    --oversubscribe -np 4 --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any ./collectives";

/// The same over RC queue pairs, which UCX joins by datagrams.
const OPENMPI_RC: &str =
    "UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=tessera0:1 mpirun.openmpi --allow-run-as-root \
    --oversubscribe -np 4 --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any ./collectives";

pub const PEERS: &[Peer] = &[
    Peer {
        name: "rules of a verbs device",
        needs: HEADERS,
        options: &["--nics", "1"],
        build: Some((
            "rules.c",
            include_str!("rules.c"),
            "cc -Wall -Wextra -Werror -O1 -o rules rules.c -libverbs",
        )),
        script: "./rules",
        expects: &["0 wrong"],
        frames: 6,
        ..PEER
    },
    Peer {
        name: "rules, asked for its memory",
        needs: HEADERS,
        options: &["--nics", "1", "--ask-for-memory"],
        build: Some((
            "rules.c",
            include_str!("rules.c"),
            "cc -Wall -Wextra -Werror -O1 -o rules rules.c -libverbs",
        )),
        script: "./rules",
        expects: &["0 wrong"],
        frames: 6,
        ..PEER
    },
    Peer {
        name: "ibv_devices",
        needs: UTILS,
        script: "ibv_devices",
        expects: &["tessera0", "005453fffe000001"],
        ..PEER
    },
    Peer {
        name: "ibv_devinfo -v",
        needs: UTILS,
        script: "ibv_devinfo -v",
        expects: &[
            "PORT_ACTIVE",
            "max_qp:\t\t\t\t256",
            "::ffff:10.0.0.1, RoCE v2",
            "fd54:5352:4100::1, RoCE v2",
        ],
        ..PEER
    },
    Peer {
        name: "ibv_ud_pingpong, data checked",
        needs: UTILS,
        script: "ibv_ud_pingpong -p 18601 -g 0 -n 200 -c & listening 18601; \
                 ibv_ud_pingpong -p 18601 -g 0 -n 200 -c localhost && wait",
        expects: &["200 iters in"],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "ibv_ud_pingpong, events, IPv6, 4096 B",
        needs: UTILS,
        script: "ibv_ud_pingpong -p 18602 -g 1 -s 4096 -n 100 -c -e & listening 18602; \
                 ibv_ud_pingpong -p 18602 -g 1 -s 4096 -n 100 -c -e localhost && wait",
        expects: &["100 iters in"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "reliable datagrams of any length, 5 % loss",
        needs: HEADERS,
        options: &["--nics", "1", "--loss", "0.05", "--paths", "4", "--skew-us", "2"],
        build: RELIABLE_BUILD,
        script: "TESSERA_UD=reliable ./reliable && TESSERA_UD=reliable ./reliable 1",
        expects: &["0 wrong"],
        frames: 500,
        ..PEER
    },
    Peer {
        name: "ibv_ud_pingpong, reliable, bursts of loss",
        needs: UTILS,
        options: &["--fabric", "bursts.json"],
        damages: true,
        build: Some(("bursts.json", BURSTS, "true")),
        script: "export TESSERA_UD=reliable; ibv_ud_pingpong -p 18620 -g 0 -n 100 -c & listening 18620; \
                 ibv_ud_pingpong -p 18620 -g 0 -n 100 -c localhost && wait",
        expects: &["100 iters in"],
        frames: 300,
        ..PEER
    },
    Peer {
        name: "ib_send_bw -c UD, reliable, 1 % loss",
        needs: PERFTEST,
        options: LOSSY,
        script:
            "export TESSERA_UD=reliable; ib_send_bw -p 18621 -c UD -x 0 -n 500 -s 4096 & listening 18621; \
                 ib_send_bw -p 18621 -c UD -x 0 -n 500 -s 4096 localhost && wait",
        expects: &[" 4096       500 "],
        frames: 600,
        ..PEER
    },
    Peer {
        name: "ib_send_bw -c UD",
        needs: PERFTEST,
        script: "ib_send_bw -p 18603 -c UD -x 0 -n 500 -s 1024 & listening 18603; \
                 ib_send_bw -p 18603 -c UD -x 0 -n 500 -s 1024 localhost && wait",
        expects: &[" 1024       500 "],
        frames: 500,
        ..PEER
    },
    Peer {
        name: "ib_send_bw -c UD, both ways",
        needs: PERFTEST,
        script: "ib_send_bw -p 18604 -c UD -x 0 -n 500 -s 4096 -b & listening 18604; \
                 ib_send_bw -p 18604 -c UD -x 0 -n 500 -s 4096 -b localhost && wait",
        expects: &[" 4096       500 "],
        frames: 1000,
        ..PEER
    },
    Peer {
        name: "ib_send_lat -c UD",
        needs: PERFTEST,
        script: "ib_send_lat -p 18605 -c UD -x 0 -n 100 -s 64 & listening 18605; \
                 ib_send_lat -p 18605 -c UD -x 0 -n 100 -s 64 localhost && wait",
        expects: &[" 64      100 "],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "what RC promises",
        needs: HEADERS,
        options: &["--nics", "1", "--set", "T_OPEN=20000"],
        build: RC_BUILD,
        script: "./rc",
        expects: &["0 wrong"],
        frames: 500,
        ..PEER
    },
    Peer {
        name: "an RC peer dies when it was asked",
        needs: HEADERS,
        build: Some((
            "gone.c",
            include_str!("gone.c"),
            "cc -Wall -Wextra -Werror -O1 -o gone gone.c -libverbs",
        )),
        script: "./gone",
        expects: &["and of one that is gone, end"],
        frames: 6,
        ..PEER
    },
    Peer {
        name: "what RC promises, 2 % loss, 4 paths",
        needs: HEADERS,
        options: &[
            "--nics",
            "1",
            "--set",
            "T_OPEN=20000",
            "--loss",
            "0.02",
            "--paths",
            "4",
            "--skew-us",
            "3",
        ],
        build: RC_BUILD,
        script: "./rc",
        expects: &["0 wrong"],
        frames: 500,
        ..PEER
    },
    Peer {
        name: "ibv_rc_pingpong, data checked",
        needs: UTILS,
        script: "ibv_rc_pingpong -p 18609 -g 0 -n 100 -c & listening 18609; \
                 ibv_rc_pingpong -p 18609 -g 0 -n 100 -c localhost && wait",
        expects: &["100 iters in"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ibv_rc_pingpong, 100,000 B, 1 % loss",
        needs: UTILS,
        options: LOSSY,
        script: "ibv_rc_pingpong -p 18610 -g 0 -n 20 -s 100000 -c -e & listening 18610; \
                 ibv_rc_pingpong -p 18610 -g 0 -n 20 -s 100000 -c -e localhost && wait",
        expects: &["20 iters in"],
        frames: 4000,
        ..PEER
    },
    Peer {
        name: "ib_send_bw -c RC, 8 queue pairs",
        needs: PERFTEST,
        script: "ib_send_bw -p 18611 -c RC -x 0 -n 50 -s 4096 -q 8 & listening 18611; \
                 ib_send_bw -p 18611 -c RC -x 0 -n 50 -s 4096 -q 8 localhost && wait",
        expects: &[" 4096       400 "],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "ib_write_bw, 1 % loss",
        needs: PERFTEST,
        options: LOSSY,
        script: "ib_write_bw -p 18612 -x 0 -n 20 -s 65536 & listening 18612; \
                 ib_write_bw -p 18612 -x 0 -n 20 -s 65536 localhost && wait",
        expects: &[" 65536      20 "],
        frames: 320,
        ..PEER
    },
    Peer {
        name: "ib_write_lat",
        needs: PERFTEST,
        script: "ib_write_lat -p 18613 -x 0 -n 50 -s 8 & listening 18613; \
                 ib_write_lat -p 18613 -x 0 -n 50 -s 8 localhost && wait",
        expects: &[" 8       50 "],
        frames: 100,
        ..PEER
    },
    Peer {
        name: "ibv_srq_pingpong, 4 queue pairs, 1 % loss",
        needs: UTILS,
        options: LOSSY,
        script: "ibv_srq_pingpong -p 18614 -g 0 -n 100 -q 4 -c & listening 18614; \
                 ibv_srq_pingpong -p 18614 -g 0 -n 100 -q 4 -c localhost && wait",
        expects: &["100 iters in"],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "ib_read_bw, 1 % loss",
        needs: PERFTEST,
        options: LOSSY,
        script: "ib_read_bw -p 18615 -x 0 -n 20 -s 65536 & listening 18615; \
                 ib_read_bw -p 18615 -x 0 -n 20 -s 65536 localhost && wait",
        expects: &[" 65536      20 "],
        frames: 320,
        ..PEER
    },
    Peer {
        name: "ib_read_lat",
        needs: PERFTEST,
        script: "ib_read_lat -p 18616 -x 0 -n 50 -s 8 & listening 18616; \
                 ib_read_lat -p 18616 -x 0 -n 50 -s 8 localhost && wait",
        expects: &[" 8       50 "],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ib_atomic_bw",
        needs: PERFTEST,
        script: "ib_atomic_bw -p 18617 -x 0 -n 50 -A FETCH_AND_ADD & listening 18617; \
                 ib_atomic_bw -p 18617 -x 0 -n 50 -A FETCH_AND_ADD localhost && wait",
        expects: &[" 8          50 "],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ucx_info -d",
        needs: UCX,
        script: "ucx_info -d",
        expects: &[
            "Memory domain: tessera0",
            "Transport: ud_verbs",
            "Transport: rc_verbs",
            "Device: tessera0:1",
        ],
        ..PEER
    },
    Peer {
        name: "ucx_perftest tag_lat",
        needs: UCX,
        script: "export UCX_TLS=ud_verbs UCX_NET_DEVICES=tessera0:1; \
                 ucx_perftest -p 18606 -t tag_lat -n 100 -s 2048 -w 5 & listening 18606; \
                 ucx_perftest -p 18606 -t tag_lat -n 100 -s 2048 -w 5 localhost && wait",
        expects: &["Final:                   100"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ucx_perftest tag_bw, 1 % loss, 4 paths",
        needs: UCX,
        options: LOSSY,
        script: "export UCX_TLS=ud_verbs UCX_NET_DEVICES=tessera0:1; \
                 ucx_perftest -p 18607 -t tag_bw -n 100 -s 4096 -w 2 & listening 18607; \
                 ucx_perftest -p 18607 -t tag_bw -n 100 -s 4096 -w 2 localhost && wait",
        expects: &["Final:                   100"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ucx_perftest tag_bw, rc_verbs, 1 % loss",
        needs: UCX,
        options: LOSSY,
        script: "export UCX_TLS=rc_verbs,ud_verbs,self UCX_NET_DEVICES=tessera0:1; \
                 ucx_perftest -p 18618 -t tag_bw -n 30 -s 100000 -w 2 & listening 18618; \
                 ucx_perftest -p 18618 -t tag_bw -n 30 -s 100000 -w 2 localhost && wait",
        expects: &["Final:                    30"],
        frames: 800,
        ..PEER
    },
    Peer {
        name: "Open MPI over rc_verbs, 4 ranks, 1 % loss",
        needs: OPENMPI,
        options: LOSSY_FOUR,
        build: OPENMPI_BUILD,
        script: OPENMPI_RC,
        expects: &["4 ranks, 0 elements wrong"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "Open MPI, 4 ranks",
        needs: OPENMPI,
        options: &["--nics", "4"],
        build: OPENMPI_BUILD,
        script: OPENMPI_RUN,
        expects: &["4 ranks, 0 elements wrong"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "Open MPI, 4 ranks, 1 % loss, 4 paths",
        needs: OPENMPI,
        options: LOSSY_FOUR,
        build: OPENMPI_BUILD,
        script: OPENMPI_RUN,
        expects: &["4 ranks, 0 elements wrong"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "MPICH, 4 ranks",
        needs: MPICH,
        options: &["--nics", "4"],
        build: Some(("collectives.c", COLLECTIVES, "mpicc.mpich -O1 -o collectives collectives.c")),
        script: "UCX_TLS=ud_verbs,self UCX_NET_DEVICES=tessera0:1 mpirun.mpich -np 4 ./collectives",
        expects: &["4 ranks, 0 elements wrong"],
        frames: 200,
        ..PEER
    },
    Peer {
        name: "ibv_rc_pingpong, IPv6, 50,001 B, 1 % loss",
        needs: UTILS,
        options: LOSSY,
        script: "ibv_rc_pingpong -p 18619 -g 1 -n 20 -s 50001 -c & listening 18619; \
                 ibv_rc_pingpong -p 18619 -g 1 -n 20 -s 50001 -c localhost && wait",
        expects: &["20 iters in"],
        frames: 2000,
        ..PEER
    },
    Peer {
        name: "soft-RoCE: every length, wrong frames between",
        needs: rxe::NEEDS,
        alone: Some(rxe::DATAGRAMS),
        ..PEER
    },
    Peer { name: "ibv_ud_pingpong with soft-RoCE", needs: rxe::NEEDS, alone: Some(rxe::PINGPONG), ..PEER },
    Peer {
        name: "a NIC in a guest",
        needs: &guest::NEEDS,
        verb: "guest",
        expects: &["128 times 64 bytes, 16 at a time: right", "answered 135 messages"],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "two NICs in a guest, 2 % loss, 4 paths",
        needs: &guest::NEEDS,
        verb: "guest",
        options: &["--inside", "2", "--nics", "3", "--loss", "0.02", "--paths", "4", "--skew-us", "2"],
        expects: &["128 times 64 bytes, 16 at a time: right", "answered 135 messages"],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "a NIC in a guest: what is refused",
        needs: &guest::NEEDS,
        verb: "guest",
        options: &["--nics", "1"],
        script: GUEST_REFUSALS,
        expects: &[
            "0000:00:00.0 is the PCI device 8086:29c0, not a Tessera NIC",
            "there is no PCI function 0000:00:09.0",
            "pci:0000:00:05.0 does without",
            "/config (Permission denied",
            "no huge pages of 2 MiB left",
            "is open in another program",
            "after one that was killed: endpoint",
        ],
        ..PEER
    },
    Peer {
        name: "a NIC in a guest, in a window of BAR 2",
        needs: &guest::NEEDS,
        verb: "guest",
        options: &["--window", "2:0x200000"],
        expects: &[
            "pci:0000:00:05.0?bar=2&offset=0x200000",
            "128 times 64 bytes, 16 at a time: right",
            "answered 135 messages",
        ],
        frames: 400,
        ..PEER
    },
    Peer {
        name: "a NIC in a guest, in a window beside a driver",
        needs: &guest::NEEDS,
        verb: "guest",
        options: &["--nics", "1", "--window", "2:0x200000"],
        script: GUEST_WINDOW,
        expects: &[
            "0000:00:05.0 is the PCI device 10ee:903f, not a Tessera NIC",
            "0000:00:05.0 has no BAR 0",
            "at 0x0 of BAR 2 of 0000:00:05.0 is no NIC that this driver knows (register MAGIC reads 0xffffffff",
            "4194304 bytes of BAR 2, too few for the 2097152 of the register map at 0x300000",
            "`offset=17` in `pci:0000:00:05.0?bar=2&offset=17` is no place for a window",
            "alone: endpoint",
            "bus master behind that: 0",
            "if that is to stay, say beside=pci-stub",
            "is bound to the driver pci-stub, not to onic",
            "pci-stub has not made 0000:00:05.0 bus master",
            "beside a driver: endpoint",
            "bus master behind the same beside a driver: 1",
            "is open in another program",
            "after one that was killed: endpoint",
        ],
        ..PEER
    },
    Peer { name: "VFIO in a guest, QEMU's edu", needs: board::NEEDS, alone: Some(board::ALONE), ..PEER },
];

/// By a NIC in a window of a shell: what is refused, then without and with a driver that has the shell.
/// Bus master is off behind a program that has ended, unless it is the driver's.
const GUEST_WINDOW: &str = "e=tessera-echo nic=0000:00:05.0; at=pci:$nic; w=\"$at?bar=2&offset=0x200000\"; \
    cd /sys/bus/pci/devices/$nic; opened() { until grep endpoint $1; do sleep 0.1; done; }; \
    master() { echo bus master behind $*: $(($(hexdump -s 4 -n 1 -e '1/1 \"%d\"' config) >> 2 & 1)); }; \
    $e $at 1; $e \"$at?bar=0\" 1; $e \"$at?bar=2\" 1; $e \"$at?bar=2&offset=0x300000\" 1; $e \"$at?bar=2&offset=17\" 1; \
    $e \"$w\" 1 > /tmp/a & echo alone: $(opened /tmp/a); kill $!; wait; $e \"$w\" 1 none 0; master that; \
    echo 10ee 903f > /sys/bus/pci/drivers/pci-stub/new_id; \
    $e \"$w\" 1; $e \"$w&beside=onic\" 1; w=\"$w&beside=pci-stub\"; $e \"$w\" 1; \
    printf '\\006' | dd of=config bs=1 seek=4 conv=notrunc 2> /dev/null; $e \"$w\" 1 none 0; master the same beside a driver; \
    $e \"$w\" 1 > /tmp/b & echo beside a driver: $(opened /tmp/b); $e \"$w\" 1; kill -9 $!; wait; \
    $e \"$w\" 1 > /tmp/c & echo after one that was killed: $(opened /tmp/c)";

/// By a guest that has what it needs, but for one thing each time.
const GUEST_REFUSALS: &str = "e=tessera-echo nic=0000:00:05.0; \
    $e pci:0000:00:00.0 1; $e pci:0000:00:09.0 1; $e vfio:$nic 1; $e pci:0000:00:1f.2 1; \
    su nobody -s /bin/sh -c \"$e pci:$nic 1\"; \
    echo 0 > /proc/sys/vm/nr_hugepages; $e pci:$nic 1; echo 16 > /proc/sys/vm/nr_hugepages; \
    opened() { until grep endpoint $1; do sleep 0.1; done; }; \
    $e pci:$nic 1 > /tmp/a & opened /tmp/a; $e pci:$nic 1; kill -9 $!; wait; \
    $e pci:$nic 1 > /tmp/b & echo after one that was killed: $(opened /tmp/b)";
