/*
 * What RC promises: every message once, in order, in the receive it is for; writes and reads
 * before what comes behind them; errors that end a queue pair; shared receive queues. Two queue pairs of one NIC, which
 * sends to itself over a fabric that may lose and overtake.
 */
#include <endian.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failed;

#define CHECK(what, is)                                                        \
	do {                                                                   \
		int is_ = !!(is);                                              \
		printf("%s %s\n", is_ ? "ok    " : "FAILED", what);            \
		failed += !is_;                                                \
	} while (0)

enum { MESSAGES = 60, LONGEST = 20000, SLOT = 1 << 15, MEMORY = 2 * MESSAGES * SLOT };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq[2];
static struct ibv_mr *mr;
static char *memory;
static union ibv_gid gid;

static struct ibv_qp *create_sharing(int side, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq[side], .recv_cq = cq[side], .qp_type = IBV_QPT_RC, .srq = srq,
		.cap = { .max_send_wr = 128, .max_recv_wr = 128, .max_send_sge = 3, .max_recv_sge = 3,
			 .max_inline_data = 200 },
	};
	return ibv_create_qp(pd, &init);
}

static struct ibv_qp *create(int side) { return create_sharing(side, NULL); }

static int join(struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };
	int bad = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .hop_limit = 1 } } };
	bad |= ibv_modify_qp(qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7,
		.max_rd_atomic = 1 };
	return bad | ibv_modify_qp(qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

static int wait_for(struct ibv_cq *queue, struct ibv_wc *wc, int count)
{
	int have = 0;
	for (int polls = 0; have < count && polls < 200000; polls++) {
		int got = ibv_poll_cq(queue, count - have, wc + have);
		if (got < 0)
			return got;
		have += got;
	}
	return have;
}

/* Lengths of all kinds: none, one packet, many, a packet and a byte. */
static int length(int n)
{
	static const int some[] = { 0, 1, 64, 1023, 1024, 1025, 5000, LONGEST };
	return some[n * 5 % 8];
}

static void fill(char *at, int len, int n)
{
	for (int i = 0; i < len; i++)
		at[i] = (char)(n * 31 + i * 7 + i / 251);
}

static int is_filled(const char *at, int len, int n)
{
	for (int i = 0; i < len; i++)
		if (at[i] != (char)(n * 31 + i * 7 + i / 251))
			return 0;
	return 1;
}

static char *source(int n) { return memory + (size_t)n * SLOT; }
static char *sink(int n) { return memory + (size_t)(MESSAGES + n) * SLOT; }

static int receive(struct ibv_qp *qp, int n, int len)
{
	struct ibv_sge sge = { (uintptr_t)sink(n), len, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;
	return ibv_post_recv(qp, &wr, &bad);
}

static int send_some(struct ibv_qp *qp, int n, int len, int flags)
{
	struct ibv_sge sge = { (uintptr_t)source(n), len, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(n * 3), .send_flags = flags }, *bad;
	return ibv_post_send(qp, &wr, &bad);
}

static int one_sided(struct ibv_qp *qp, int n, enum ibv_wr_opcode opcode, char *here, int len, char *there, int flags)
{
	struct ibv_sge sge = { (uintptr_t)here, len, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = flags,
		.imm_data = htobe32(n * 3), .wr.rdma = { .remote_addr = (uintptr_t)there, .rkey = mr->rkey } }, *bad;
	return ibv_post_send(qp, &wr, &bad);
}

static void reads(struct ibv_qp *a)
{
	struct ibv_wc wc[40];
	int bad = 0, right;
	for (int n = 0; n < 20; n++) {
		fill(source(n), LONGEST, n + 100);
		memset(sink(n), 0, SLOT);
		bad |= one_sided(a, n, IBV_WR_RDMA_READ, sink(n), length(n), source(n), IBV_SEND_SIGNALED);
	}
	int have = wait_for(cq[0], wc, 20);
	right = !bad && have == 20;
	for (int n = 0; n < have; n++) {
		right &= wc[n].wr_id == (uint64_t)n && !wc[n].status && wc[n].opcode == IBV_WC_RDMA_READ;
		right &= (int)wc[n].byte_len == length(n) && is_filled(sink(n), length(n), n + 100) && !sink(n)[length(n)];
	}
	CHECK("reads, in order", right);

	/* A read sees what was written before it, and not what is written behind it. */
	fill(source(0), 5000, 1), fill(source(1), 5000, 2), fill(source(2), 5000, 3);
	for (int round = 0; round < 5 && !bad; round++) {
		bad |= one_sided(a, 0, IBV_WR_RDMA_WRITE, source(round % 2), 5000, sink(3), 0);
		bad |= one_sided(a, 1, IBV_WR_RDMA_READ, sink(4 + round), 5000, sink(3), 0);
		bad |= one_sided(a, 2, IBV_WR_RDMA_WRITE, source(2), 5000, sink(3), IBV_SEND_SIGNALED);
		bad |= wait_for(cq[0], wc, 1) != 1 || wc[0].status || !is_filled(sink(4 + round), 5000, 1 + round % 2);
	}
	CHECK("between two writes", !bad);

	struct ibv_sge into[2] = { { (uintptr_t)sink(0), 3000, mr->lkey }, { (uintptr_t)sink(1), 2000, mr->lkey } };
	struct ibv_send_wr parts = { .wr_id = 6, .sg_list = into, .num_sge = 2, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { .remote_addr = (uintptr_t)source(0), .rkey = mr->rkey } }, *to;
	bad = ibv_post_send(a, &parts, &to) || wait_for(cq[0], wc, 1) != 1 || wc[0].status;
	CHECK("read in parts", !bad && !memcmp(sink(0), source(0), 3000) && !memcmp(sink(1), source(0) + 3000, 2000));
	parts.send_flags |= IBV_SEND_INLINE;
	CHECK("inline is refused", ibv_post_send(a, &parts, &to) == EINVAL);
}

static int atomic(struct ibv_qp *qp, int n, int swap, uint64_t *here, uint64_t *there, uint64_t compare_add, uint64_t value)
{
	struct ibv_sge sge = { (uintptr_t)here, 8, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1,
		.opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic = { .remote_addr = (uintptr_t)there, .compare_add = compare_add, .swap = value, .rkey = mr->rkey } };
	struct ibv_send_wr *bad;
	return ibv_post_send(qp, &wr, &bad);
}

static void atomics(struct ibv_qp *a)
{
	struct ibv_wc wc[40];
	uint64_t *word = (uint64_t *)sink(0), *old = (uint64_t *)sink(1);
	int bad = 0, right = 1;
	*word = 1000;
	for (int n = 0; n < 30; n++)
		bad |= atomic(a, n, 0, old + n, word, n, 0);
	int have = wait_for(cq[0], wc, 30);
	uint64_t sum = 1000;
	for (int n = 0; n < have; sum += n, n++)
		right &= wc[n].wr_id == (uint64_t)n && !wc[n].status && wc[n].opcode == IBV_WC_FETCH_ADD && wc[n].byte_len == 8 &&
			old[n] == sum;
	CHECK("added, each once", !bad && have == 30 && right && *word == sum);
	bad = atomic(a, 1, 1, old, word, sum, 7) | atomic(a, 2, 1, old + 1, word, sum, 8);
	have = wait_for(cq[0], wc, 2);
	CHECK("swapped, and not", !bad && have == 2 && wc[0].opcode == IBV_WC_COMP_SWAP && old[0] == sum && old[1] == 7 &&
			*word == 7);
}

static void writes_that_tell(struct ibv_qp *a, struct ibv_qp *b)
{
	struct ibv_wc wc[40];
	int bad = 0, right;
	/* Among sends, half of them before their receives are posted. */
	for (int n = 0; n < 12; n++) {
		fill(source(n), LONGEST, n + 40);
		memset(sink(n), 0, SLOT), memset(sink(20 + n), 0, SLOT);
		bad |= n % 3 ? one_sided(a, n, IBV_WR_RDMA_WRITE_WITH_IMM, source(n), length(n), sink(n), IBV_SEND_SIGNALED)
			     : send_some(a, n, length(n), IBV_SEND_SIGNALED);
		if (n == 6)
			for (int polls = 0; polls < 300; polls++)
				bad |= ibv_poll_cq(cq[1], 1, wc) != 0;
		if (n >= 6)
			bad |= receive(b, 20 + 2 * (n - 6), LONGEST) | receive(b, 20 + 2 * (n - 6) + 1, LONGEST);
	}
	int have = wait_for(cq[1], wc, 12);
	right = !bad && have == 12;
	for (int n = 0; n < have; n++) {
		int told = wc[n].opcode == IBV_WC_RECV_RDMA_WITH_IMM;
		right &= wc[n].wr_id == 20u + n && !wc[n].status && (int)wc[n].byte_len == length(n) && told == !!(n % 3);
		right &= wc[n].wc_flags == IBV_WC_WITH_IMM && wc[n].imm_data == htobe32(n * 3);
		right &= is_filled(told ? sink(n) : sink(20 + n), length(n), n + 40) && (!told || !sink(20 + n)[0]);
	}
	CHECK("writes with immediate, in order among sends", right);
	have = wait_for(cq[0], wc, 12);
	right = have == 12;
	for (int n = 0; n < have; n++)
		right &= wc[n].wr_id == (uint64_t)n && !wc[n].status && wc[n].opcode == (n % 3 ? IBV_WC_RDMA_WRITE : IBV_WC_SEND);
	CHECK("and their ends", right);
}

/* Who may not, and what is not there. */
static void refusals(void)
{
	char *few = calloc(1, SLOT);
	struct ibv_mr *closed = ibv_reg_mr(pd, few, SLOT, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc[4];
	for (int kind = 0; kind < 4; kind++) {
		static const char *const names[] = { "no right to read", "beyond the region", "no right to add", "askew" };
		static const enum ibv_wc_status status[] = { IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR,
			IBV_WC_REM_INV_REQ_ERR };
		struct ibv_qp *a = create(0), *b = create(1);
		int bad = join(a, b) | join(b, a);
		memset(sink(1), 0, SLOT);
		struct ibv_sge sge = { (uintptr_t)sink(0), 8, mr->lkey };
		struct ibv_send_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ }, *to;
		wr.wr.rdma.remote_addr = (uintptr_t)few, wr.wr.rdma.rkey = closed->rkey;
		if (kind == 1)
			wr.wr.rdma.remote_addr = (uintptr_t)memory + MEMORY - 7, wr.wr.rdma.rkey = mr->rkey;
		if (kind >= 2) {
			wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
			wr.wr.atomic.remote_addr = (uintptr_t)(kind == 2 ? few : sink(1) + 4);
			wr.wr.atomic.rkey = kind == 2 ? closed->rkey : mr->rkey;
			wr.wr.atomic.compare_add = 1;
		}
		bad |= ibv_post_send(a, &wr, &to) || wait_for(cq[0], wc, 1) != 1 || wc[0].status != status[kind] || wc[0].wr_id != 5;
		CHECK(names[kind], !bad && !few[0] && !sink(1)[4] && !ibv_destroy_qp(a) && !ibv_destroy_qp(b));
	}
	ibv_dereg_mr(closed);
	free(few);
}

enum { SHARERS = 6, SHARED_ENTRIES = 16 };

static int post_shared(struct ibv_srq *srq, int n)
{
	/* Every other one in two parts, the second of which is long. */
	struct ibv_sge sge[2] = { { (uintptr_t)sink(n), n % 2 ? 100 : LONGEST, mr->lkey },
		{ (uintptr_t)sink(n) + 100, LONGEST - 100, mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = sge, .num_sge = 1 + n % 2 }, *bad;
	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void shared(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = SHARED_ENTRIES, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &init);
	struct ibv_qp *a[SHARERS], *b[SHARERS];
	struct ibv_wc wc[16];
	int bad = 0, next[SHARERS] = { 0 }, got = 0, right = 1, ends = 0;
	for (int i = 0; i < SHARERS; i++) {
		a[i] = create(0), b[i] = create_sharing(1, srq);
		bad |= !a[i] || !b[i] || join(a[i], b[i]) || join(b[i], a[i]);
	}
	struct ibv_recv_wr own = { .wr_id = 1 }, *bad_recv;
	CHECK("six that share", srq && !bad && ibv_post_recv(b[0], &own, &bad_recv) == EINVAL);
	/* Ten messages each, of which each fifth is a write; two receives, which go round. */
	for (int n = 0; n < 10; n++)
		for (int i = 0; i < SHARERS; i++) {
			int m = n * SHARERS + i;
			fill(source(m), LONGEST, m);
			bad |= n % 5 == 4 ? one_sided(a[i], m, IBV_WR_RDMA_WRITE_WITH_IMM, source(m), length(m), sink(20 + i), 0)
					  : send_some(a[i], m, length(m), 0);
		}
	bad |= post_shared(srq, 0) | post_shared(srq, 1);
	while (got < 10 * SHARERS && wait_for(cq[1], wc, 1) == 1) {
		int i = 0, at = (int)wc[0].wr_id;
		while (i < SHARERS - 1 && b[i]->qp_num != wc[0].qp_num)
			i++;
		int n = next[i]++, m = n * SHARERS + i, told = wc[0].opcode == IBV_WC_RECV_RDMA_WITH_IMM;
		right &= !wc[0].status && (int)wc[0].byte_len == length(m) && told == (n % 5 == 4) && wc[0].imm_data == htobe32(m * 3);
		right &= is_filled(told ? sink(20 + i) : sink(at), length(m), m) && wc[0].src_qp == a[i]->qp_num;
		bad |= post_shared(srq, at);
		got++;
	}
	CHECK("each pair's messages in order, in whatever receive", !bad && right && got == 10 * SHARERS);
	/* One goes: what still comes for it takes no receive from the others. */
	bad = ibv_destroy_qp(b[0]);
	fill(source(0), LONGEST, 9);
	for (int n = 0; n < 3; n++)
		bad |= send_some(a[0], n, 100, IBV_SEND_SIGNALED);
	ends = wait_for(cq[0], wc, 3);
	CHECK("messages for one that is gone", !bad && ends == 3 && ibv_poll_cq(cq[1], 1, wc) == 0);
	bad = send_some(a[1], 1, 5000, 0) | send_some(a[2], 0, 5000, 0);
	got = wait_for(cq[1], wc, 2);
	CHECK("the others have theirs", !bad && got == 2 && !wc[0].status && !wc[1].status);
	CHECK("in use", ibv_destroy_srq(srq) == EBUSY);
	for (int i = 0; i < SHARERS; i++)
		bad |= ibv_destroy_qp(a[i]) | (i && ibv_destroy_qp(b[i]));
	CHECK("all go", !bad && !ibv_destroy_srq(srq));
}

/*
 * One waits for ever with a few receives, while another's go round the ring often; and more
 * receives than the NIC has places.
 */
static void waiting(void)
{
	enum { IDLE = 3000, ROUNDS = 9000, AT_A_TIME = 60 };
	struct ibv_qp *a[2] = { create(0), create(0) }, *b[2];
	struct ibv_qp_init_attr init = { .send_cq = cq[1], .recv_cq = cq[1], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = IDLE, .max_send_sge = 1, .max_recv_sge = 1 } };
	b[0] = ibv_create_qp(pd, &init), b[1] = create(1);
	int bad = !b[0] || !b[1];
	for (int i = 0; i < 2 && !bad; i++)
		bad |= join(a[i], b[i]) | join(b[i], a[i]);
	struct ibv_wc wc[AT_A_TIME];
	struct ibv_sge sge = { (uintptr_t)sink(0), 8, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;
	for (int n = 0; n < IDLE && !bad; n++) {
		wr.wr_id = n;
		bad |= ibv_post_recv(b[0], &wr, &bad_recv);
	}
	CHECK("3000 receives", !bad);
	int got = 0, right = 1;
	for (int n = 0; n < ROUNDS && !bad && right; n += AT_A_TIME) {
		for (int i = 0; i < AT_A_TIME; i++)
			bad |= receive(b[1], i, 8) | send_some(a[1], i, 0, i == AT_A_TIME - 1 ? IBV_SEND_SIGNALED : 0);
		int have = wait_for(cq[1], wc, AT_A_TIME);
		for (int i = 0; i < have; i++)
			right &= wc[i].wr_id == (uint64_t)i && !wc[i].status;
		got += have;
		bad |= wait_for(cq[0], wc, 1) != 1;
	}
	CHECK("9000 messages beside them", !bad && right && got == ROUNDS);
	/* The first receives have made room long ago, and come back when they are asked for. */
	got = 0;
	for (int n = 0; n < 200 && !bad; n += 50) {
		for (int i = 0; i < 50; i++)
			bad |= send_some(a[0], i, 8, 0);
		int have = wait_for(cq[1], wc, 50);
		for (int i = 0; i < have; i++)
			right &= wc[i].wr_id == (uint64_t)(n + i) && !wc[i].status;
		got += have;
	}
	CHECK("and then those", !bad && right && got == 200);
	CHECK("both go", !ibv_destroy_qp(a[0]) && !ibv_destroy_qp(a[1]) && !ibv_destroy_qp(b[0]) && !ibv_destroy_qp(b[1]));
}

static int moved(struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = { .qp_state = state, .port_num = 1, .rnr_retry = 7,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | mask);
}

/* One side is a step ahead: what it asks for and tells waits until the other knows it. */
static void early(void)
{
	struct ibv_qp *a = create(0), *b = create(1);
	struct ibv_wc wc[4];
	struct ibv_recv_wr none = { .wr_id = 7 }, *bad_recv;
	int bad = moved(b, IBV_QPS_INIT, IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS) | join(a, b);
	fill(source(0), 3000, 5);
	memset(sink(0), 0, SLOT);
	bad |= ibv_post_recv(b, &none, &bad_recv);
	bad |= one_sided(a, 1, IBV_WR_RDMA_WRITE_WITH_IMM, source(0), 3000, sink(0), IBV_SEND_SIGNALED);
	bad |= one_sided(a, 2, IBV_WR_RDMA_READ, sink(1), 3000, sink(0), IBV_SEND_SIGNALED);
	int have = 0;
	for (int polls = 0; polls < 300; polls++)
		have += ibv_poll_cq(cq[0], 4 - have, wc + have), bad |= ibv_poll_cq(cq[1], 1, wc + 3) != 0;
	bad |= join(b, a);
	have += wait_for(cq[0], wc + have, 2 - have);
	CHECK("a read before the other knows its peer", !bad && have == 2 && !wc[0].status && !wc[1].status && wc[1].wr_id == 2 &&
			is_filled(sink(1), 3000, 5));
	have = wait_for(cq[1], wc, 1);
	CHECK("a write with immediate, too", have == 1 && wc[0].wr_id == 7 && !wc[0].status && wc[0].byte_len == 3000 &&
			wc[0].opcode == IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK("they go", !ibv_destroy_qp(a) && !ibv_destroy_qp(b));
}

/* Receives without buffers, for writes with immediate: more than there are keys. */
static void without_buffers(void)
{
	enum { MANY = 1000 };
	struct ibv_qp_init_attr init = { .send_cq = cq[1], .recv_cq = cq[1], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = MANY, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *a = create(0), *b = ibv_create_qp(pd, &init);
	int bad = !a || !b || join(a, b) || join(b, a), got = 0, right = 1;
	struct ibv_recv_wr none = { 0 }, *bad_recv;
	struct ibv_wc wc[20];
	for (int n = 0; n < MANY && !bad; n++) {
		none.wr_id = n;
		bad |= ibv_post_recv(b, &none, &bad_recv);
	}
	CHECK("a thousand receives without buffers", !bad);
	for (int n = 0; n < 20; n++)
		bad |= n % 2 ? send_some(a, n, 0, 0) : one_sided(a, n, IBV_WR_RDMA_WRITE_WITH_IMM, source(0), n, sink(0), 0);
	got = wait_for(cq[1], wc, 20);
	for (int n = 0; n < got; n++)
		right &= wc[n].wr_id == (uint64_t)n && !wc[n].status && wc[n].byte_len == (n % 2 ? 0u : (unsigned)n);
	CHECK("are told of", !bad && right && got == 20);
	/* Of nothing no key is looked at. */
	struct ibv_send_wr nothing = { .wr_id = 50, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_SIGNALED }, *bad_send;
	bad = ibv_post_send(a, &nothing, &bad_send);
	nothing.wr_id = 51, nothing.opcode = IBV_WR_RDMA_WRITE;
	bad |= ibv_post_send(a, &nothing, &bad_send);
	got = wait_for(cq[0], wc, 2);
	CHECK("nothing read and written, by no key", !bad && got == 2 && !wc[0].status && !wc[1].status && wc[1].wr_id == 51);
	struct ibv_qp_attr now;
	CHECK("asked what it signals", !ibv_query_qp(a, &now, IBV_QP_STATE, &init) && !init.sq_sig_all);
	CHECK("they go", !ibv_destroy_qp(a) && !ibv_destroy_qp(b));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct ibv_device **list = ibv_get_device_list(NULL);
	context = ibv_open_device(list[0]);
	ibv_query_gid(context, 1, 0, &gid);
	pd = ibv_alloc_pd(context);
	cq[0] = ibv_create_cq(context, 1000, NULL, NULL, 0);
	cq[1] = ibv_create_cq(context, 1000, NULL, NULL, 0);
	memory = calloc(1, MEMORY);
	mr = ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_qp *a = create(0), *b = create(1);
	CHECK("two of them", a && b && a->qp_num != b->qp_num);
	struct ibv_qp_attr lone = { .qp_state = IBV_QPS_RTR, .dest_qp_num = 12345, .path_mtu = IBV_MTU_1024,
		.ah_attr = { .is_global = 1, .grh.dgid = gid } };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *c = create(0);
	CHECK("of nobody", !ibv_modify_qp(c, &init, IBV_QP_STATE) &&
			ibv_modify_qp(c, &lone, IBV_QP_STATE | IBV_QP_AV | IBV_QP_DEST_QPN | IBV_QP_PATH_MTU) == ENETUNREACH);
	CHECK("it goes", !ibv_destroy_qp(c));
	CHECK("joined", !join(a, b) && !join(b, a) && a->state == IBV_QPS_RTS);

	/* The first third waits for receives; all in order, every third signaled. */
	int bad = 0, signaled = 0;
	for (int n = 0; n < MESSAGES; n++) {
		fill(source(n), LONGEST, n);
		bad |= send_some(a, n, length(n), n % 3 ? 0 : IBV_SEND_SIGNALED);
		signaled += !(n % 3);
	}
	struct ibv_wc wc[MESSAGES];
	for (int polls = 0; polls < 20; polls++)
		bad |= ibv_poll_cq(cq[0], 1, wc) != 0;
	for (int n = 0; n < MESSAGES; n++)
		bad |= receive(b, n, LONGEST);
	CHECK("posted", !bad);
	int have = wait_for(cq[1], wc, MESSAGES), right = have == MESSAGES;
	for (int n = 0; n < have; n++) {
		right &= wc[n].wr_id == (uint64_t)n && !wc[n].status && (int)wc[n].byte_len == length(n);
		right &= wc[n].opcode == IBV_WC_RECV && wc[n].wc_flags == IBV_WC_WITH_IMM;
		right &= wc[n].imm_data == htobe32(n * 3) && wc[n].qp_num == b->qp_num && wc[n].src_qp == a->qp_num;
		right &= is_filled(sink(n), length(n), n) && !sink(n)[length(n)];
	}
	CHECK("all arrive, in order, each in its place", right);
	have = wait_for(cq[0], wc, signaled);
	right = have == signaled && ibv_poll_cq(cq[0], 1, wc + have) == 0;
	for (int i = 0; i < have; i++)
		right &= wc[i].wr_id == 3u * i && !wc[i].status && wc[i].opcode == IBV_WC_SEND;
	CHECK("those that are signaled end, in order", right);

	/* A flag is there after what it tells of. */
	volatile char *flag = sink(0) + SLOT - 1;
	memset(sink(0), 0, SLOT);
	fill(source(0), LONGEST, 77);
	source(1)[0] = 1;
	struct ibv_sge data = { (uintptr_t)source(0), LONGEST, mr->lkey }, one = { (uintptr_t)source(1), 1, mr->lkey };
	struct ibv_send_wr *bad_send, second = { .wr_id = 2, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE,
		.wr.rdma = { .remote_addr = (uintptr_t)flag, .rkey = mr->rkey } };
	struct ibv_send_wr first = { .wr_id = 1, .next = &second, .sg_list = &data, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .wr.rdma = { .remote_addr = (uintptr_t)sink(0), .rkey = mr->rkey } };
	bad = ibv_post_send(a, &first, &bad_send);
	source(1)[0] = 2;
	for (int polls = 0; !*flag && polls < 200000; polls++)
		bad |= ibv_poll_cq(cq[1], 1, wc) != 0;
	CHECK("a flag follows its data", !bad && *flag == 1 && is_filled(sink(0), LONGEST, 77));
	have = wait_for(cq[0], wc, 1);
	CHECK("written", have == 1 && wc[0].wr_id == 2 && !wc[0].status && wc[0].opcode == IBV_WC_RDMA_WRITE);

	/* Several buffers, both sides. */
	struct ibv_sge from[3] = { { (uintptr_t)source(2), 3000, mr->lkey }, { (uintptr_t)source(3), 1, mr->lkey },
		{ (uintptr_t)source(4), 2000, mr->lkey } };
	struct ibv_sge into[2] = { { (uintptr_t)sink(2), 4000, mr->lkey }, { (uintptr_t)sink(3), 4000, mr->lkey } };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 5, .sg_list = into, .num_sge = 2 };
	struct ibv_send_wr parts = { .wr_id = 6, .sg_list = from, .num_sge = 3, .opcode = IBV_WR_SEND };
	char want[5001];
	memcpy(want, source(2), 3000);
	want[3000] = source(3)[0];
	memcpy(want + 3001, source(4), 2000);
	bad = ibv_post_recv(b, &recv, &bad_recv) | ibv_post_send(a, &parts, &bad_send);
	have = wait_for(cq[1], wc, 1);
	CHECK("in parts", !bad && have == 1 && wc[0].byte_len == 5001 && !memcmp(sink(2), want, 4000) &&
			!memcmp(sink(3), want + 4000, 1001));

	reads(a);
	atomics(a);
	writes_that_tell(a, b);

	/* What this device has not. */
	struct ibv_send_wr bind = { .wr_id = 9, .sg_list = &data, .num_sge = 1, .opcode = IBV_WR_BIND_MW };
	CHECK("a window is refused", ibv_post_send(a, &bind, &bad_send) == EINVAL && bad_send == &bind);
	CHECK("to begin anew", ibv_modify_qp(a, &(struct ibv_qp_attr){ .qp_state = IBV_QPS_RESET }, IBV_QP_STATE) == EOPNOTSUPP);

	/* A wrong key ends the queue pair, and what is behind it. */
	first.next = NULL;
	first.wr.rdma.rkey ^= 0x100;
	bad = ibv_post_send(a, &first, &bad_send) | send_some(a, 8, 10, 0) | receive(a, 9, 10);
	have = wait_for(cq[0], wc, 3);
	CHECK("a wrong key", !bad && have == 3 && wc[0].wr_id == 1 && wc[0].status == IBV_WC_REM_ACCESS_ERR);
	right = 1;
	for (int i = 1; i < have; i++)
		right &= wc[i].status == IBV_WC_WR_FLUSH_ERR && (wc[i].wr_id == 8 || wc[i].wr_id == 9);
	struct ibv_qp_attr now;
	struct ibv_qp_init_attr its = { 0 };
	CHECK("flushes the rest", right && !ibv_query_qp(a, &now, IBV_QP_STATE, &its) && now.qp_state == IBV_QPS_ERR);
	CHECK("it goes, and its peer with receives", !receive(b, 10, 10) && !receive(b, 11, 10) && !ibv_destroy_qp(a) &&
			!ibv_destroy_qp(b) && ibv_poll_cq(cq[1], 1, wc) == 0);

	/* Two more, on the same endpoint: a message that is too long for its receive. */
	a = create(0), b = create(1);
	CHECK("two more", a && b && !join(a, b) && !join(b, a));
	bad = receive(b, 20, 100) | send_some(a, 21, 101, 0);
	have = wait_for(cq[0], wc, 1);
	CHECK("too long, sent", !bad && have == 1 && wc[0].wr_id == 21 && wc[0].status == IBV_WC_REM_INV_REQ_ERR);
	CHECK("they go", !ibv_destroy_qp(a) && !ibv_destroy_qp(b));

	/* One that is gone does not answer. */
	a = create(0), b = create(1);
	CHECK("two again", a && b && !join(a, b) && !join(b, a) && !ibv_destroy_qp(b));
	now.rnr_retry = 2;
	CHECK("of little patience", !ibv_modify_qp(a, &now, IBV_QP_RNR_RETRY));
	bad = send_some(a, 30, 10, 0);
	have = wait_for(cq[0], wc, 1);
	CHECK("nobody receives", !bad && have == 1 && wc[0].wr_id == 30 && wc[0].status == IBV_WC_RNR_RETRY_EXC_ERR);
	CHECK("it goes too", !ibv_destroy_qp(a));

	/* Nor does it however patient one is. */
	a = create(0), b = create(1);
	bad = join(a, b) | join(b, a) | ibv_destroy_qp(b) | send_some(a, 31, 10, 0);
	have = wait_for(cq[0], wc, 1);
	CHECK("nobody will ever", !bad && have == 1 && wc[0].wr_id == 31 && wc[0].status == IBV_WC_RETRY_EXC_ERR);
	CHECK("and it goes", !ibv_destroy_qp(a));
	early();
	without_buffers();
	refusals();
	shared();
	waiting();
	CHECK("all goes", !ibv_dereg_mr(mr) && !ibv_destroy_cq(cq[0]) && !ibv_destroy_cq(cq[1]) &&
			!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	printf("%d wrong\n", failed);
	return failed != 0;
}
