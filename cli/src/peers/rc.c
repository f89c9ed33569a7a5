/*
 * What RC promises: every message once, in order, in the receive it is for; writes before
 * what comes behind them; errors that end a queue pair. Two queue pairs of one NIC, which
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

static struct ibv_qp *create(int side)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq[side], .recv_cq = cq[side], .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 128, .max_recv_wr = 128, .max_send_sge = 3, .max_recv_sge = 3,
			 .max_inline_data = 200 },
	};
	return ibv_create_qp(pd, &init);
}

static int join(struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
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

int main(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	context = ibv_open_device(list[0]);
	ibv_query_gid(context, 1, 0, &gid);
	pd = ibv_alloc_pd(context);
	cq[0] = ibv_create_cq(context, 1000, NULL, NULL, 0);
	cq[1] = ibv_create_cq(context, 1000, NULL, NULL, 0);
	memory = calloc(1, MEMORY);
	mr = ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
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

	/* What this device has not. */
	struct ibv_send_wr read = { .wr_id = 9, .sg_list = &data, .num_sge = 1, .opcode = IBV_WR_RDMA_READ };
	CHECK("a read is refused", ibv_post_send(a, &read, &bad_send) == EINVAL && bad_send == &read);
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
	CHECK("all goes", !ibv_destroy_qp(a) && !ibv_dereg_mr(mr) && !ibv_destroy_cq(cq[0]) && !ibv_destroy_cq(cq[1]) &&
			!ibv_dealloc_pd(pd) && !ibv_close_device(context));
	printf("%d wrong\n", failed);
	return failed != 0;
}
