/*
 * UD queue pairs over reliable messages (TESSERA_UD=reliable): every one arrives, once, also
 * those longer than the MTU, over a fabric that loses. A NIC that sends to itself.
 */
#include <arpa/inet.h>
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

enum { GRH = 40, COUNT = 40, LONGEST = 100000, SLOT = 1 << 17, MEMORY = 2 * COUNT * SLOT, QKEY = 0x11111111 };

static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *memory;

static struct ibv_qp *create(void)
{
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = COUNT, .max_recv_wr = COUNT, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	if (!qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return NULL;
	attr.qp_state = IBV_QPS_RTR;
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE))
		return NULL;
	attr.qp_state = IBV_QPS_RTS;
	return ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN) ? NULL : qp;
}

static int length(int n)
{
	static const int some[] = { 0, 1, 64, 4096, 4097, 20000, 4095, LONGEST };
	return some[n % 8];
}

static char byte(int n, int i) { return (char)(n * 31 + i * 7 + i / 251); }
static char *source(int n) { return memory + (size_t)n * SLOT; }
static char *sink(int n) { return memory + (size_t)(COUNT + n) * SLOT; }

/* In one buffer, or in two. */
static int receive(struct ibv_qp *qp, int n)
{
	struct ibv_sge sge[2] = { { (uintptr_t)sink(n), n % 2 ? 1000 : GRH + LONGEST, mr->lkey },
		{ (uintptr_t)sink(n) + 1000, GRH + LONGEST - 1000, mr->lkey } };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = sge, .num_sge = 1 + n % 2 }, *bad;
	return ibv_post_recv(qp, &wr, &bad);
}

static int send_one(struct ibv_qp *qp, struct ibv_ah *ah, uint32_t to, int n, int len, uint32_t qkey)
{
	int first = n % 3 == 2 ? len / 3 : len;
	struct ibv_sge sge[2] = { { (uintptr_t)source(n), first, mr->lkey }, { (uintptr_t)source(n) + first, len - first, mr->lkey } };
	struct ibv_send_wr wr = { .wr_id = n, .sg_list = sge, .num_sge = 1 + (n % 3 == 2), .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED | (len <= 64 && n % 2 ? IBV_SEND_INLINE : 0), .imm_data = htonl(n),
		.wr.ud = { ah, to, qkey } }, *bad;
	return ibv_post_send(qp, &wr, &bad);
}

int main(int argc, char **argv)
{
	int gid_index = argc > 1 ? atoi(argv[1]) : 0;
	setvbuf(stdout, NULL, _IOLBF, 0);
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	union ibv_gid gid;
	ibv_query_gid(context, 1, gid_index, &gid);
	struct ibv_port_attr port;
	CHECK("long messages", !ibv_query_port(context, 1, &port) && port.max_msg_sz >= LONGEST);
	pd = ibv_alloc_pd(context);
	cq = ibv_create_cq(context, 4 * COUNT, NULL, NULL, 0);
	memory = calloc(1, MEMORY);
	mr = ibv_reg_mr(pd, memory, MEMORY, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp *a = create(), *b = create();
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = gid, .sgid_index = gid_index } };
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);
	CHECK("two of them", a && b && ah);

	int bad = 0, right = 1, sent = 0, got = 0, seen[COUNT] = { 0 };
	for (int n = 0; n < COUNT; n++) {
		for (int i = 0; i < LONGEST; i++)
			source(n)[i] = byte(n, i);
		bad |= receive(b, n);
	}
	for (int n = 0; n < COUNT; n++)
		/* The own Q_Key, said or meant. */
		bad |= send_one(a, ah, b->qp_num, n, length(n), n % 4 ? QKEY : 0x80000000u);
	struct ibv_wc wc;
	for (long polls = 0; (sent < COUNT || got < COUNT) && polls < 1000000; polls++) {
		if (ibv_poll_cq(cq, 1, &wc) != 1)
			continue;
		right &= !wc.status;
		if (wc.opcode == IBV_WC_SEND) {
			sent++;
			continue;
		}
		int n = ntohl(wc.imm_data), len = length(n);
		const unsigned char *at = (unsigned char *)sink(wc.wr_id);
		got++, seen[n]++;
		right &= wc.opcode == IBV_WC_RECV && (int)wc.byte_len == GRH + len && wc.src_qp == a->qp_num && wc.qp_num == b->qp_num;
		right &= wc.wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM);
		right &= gid_index ? !memcmp(at + 8, &gid, 16) && !memcmp(at + 24, &gid, 16)
				   : at[20] == 0x45 && !memcmp(at + 32, gid.raw + 12, 4) && !memcmp(at + 36, gid.raw + 12, 4);
		for (int i = 0; i < len; i++)
			right &= (char)at[GRH + i] == byte(n, i);
		right &= !at[GRH + len];
	}
	for (int n = 0; n < COUNT; n++)
		right &= seen[n] == 1;
	CHECK("all arrive, once, as they were", !bad && right && sent == COUNT && got == COUNT);
	CHECK("another's Q_Key is refused", send_one(a, ah, b->qp_num, 0, 8, QKEY + 1) == EINVAL);
	struct ibv_sge few = { (uintptr_t)sink(0), GRH - 1, mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &few, .num_sge = 1 }, *bad_recv;
	CHECK("no room for the area", ibv_post_recv(b, &wr, &bad_recv) == EINVAL);
	few.length = GRH + 10;
	bad = ibv_post_recv(b, &wr, &bad_recv) | send_one(a, ah, b->qp_num, 1, 11, QKEY);
	int ends = 0;
	for (long polls = 0; ends < 1 && polls < 1000000; polls++)
		if (ibv_poll_cq(cq, 1, &wc) == 1 && wc.opcode == IBV_WC_SEND)
			ends++;
	CHECK("too long for its receive", !bad && ends == 1 && wc.status == IBV_WC_REM_INV_REQ_ERR);
	CHECK("all goes", !ibv_destroy_qp(a) && !ibv_destroy_qp(b) && !ibv_destroy_ah(ah) && !ibv_dereg_mr(mr) &&
			!ibv_destroy_cq(cq) && !ibv_dealloc_pd(pd) && !ibv_close_device(context));
	printf("%d wrong\n", failed);
	return failed != 0;
}
