/*
 * What programs rely on in a verbs device, beyond sending and receiving: each check is
 * something that a program in the field breaks on. One NIC, which sends to itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int failed;

#define CHECK(what, is)                                                        \
	do {                                                                   \
		int is_ = !!(is);                                              \
		printf("%s %s\n", is_ ? "ok    " : "FAILED", what);            \
		failed += !is_;                                                \
	} while (0)

enum { QKEY = 0x11111111, GRH = 40 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static char *memory;
enum { MEMORY = 1 << 16 };

static struct ibv_qp *create(struct ibv_srq *srq, int sge, int all)
{
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .srq = srq, .qp_type = IBV_QPT_UD, .sq_sig_all = all,
		.cap = { .max_send_wr = 256, .max_recv_wr = 256, .max_send_sge = sge,
			 .max_recv_sge = sge, .max_inline_data = 64 },
	};
	return ibv_create_qp(pd, &init);
}

static int move(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	int bad = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	bad |= ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return bad | ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* Waits for completions, as many as asked; fewer if none come. */
static int wait_for(struct ibv_wc *wc, int count)
{
	int have = 0;
	for (int polls = 0; have < count && polls < 20000; polls++) {
		int got = ibv_poll_cq(cq, count - have, wc + have);
		if (got < 0)
			return got;
		have += got;
	}
	return have;
}

static struct ibv_wc *of(struct ibv_wc *wc, int count, uint64_t wr_id)
{
	for (int i = 0; i < count; i++)
		if (wc[i].wr_id == wr_id)
			return &wc[i];
	static struct ibv_wc none = { .status = IBV_WC_GENERAL_ERR };
	return &none;
}

/* Programs block a signal, and wait for it: none of the device's threads may take it. */
static void signals(void)
{
	sigset_t set;
	struct timespec most = { .tv_sec = 2 };
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	CHECK("a blocked signal waits for the program", !kill(getpid(), SIGUSR1) && sigtimedwait(&set, NULL, &most) == SIGUSR1);
}

/* Puts a completion into a queue that nobody polls. */
static struct ibv_qp *flushed_to(struct ibv_cq *queue)
{
	struct ibv_qp_init_attr init = { .send_cq = queue, .recv_cq = queue, .qp_type = IBV_QPT_UD, .sq_sig_all = 1,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct ibv_qp *qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr recv = { .wr_id = 5 }, *bad;
	if (!qp || move(qp) || ibv_modify_qp(qp, &attr, IBV_QP_STATE) || ibv_post_recv(qp, &recv, &bad))
		return NULL;
	return qp;
}

static int readable(struct ibv_comp_channel *channel, int ms)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	return poll(&fd, 1, ms) == 1;
}

static void events(void)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	struct ibv_cq *one = ibv_create_cq(context, 10, NULL, channel, 0), *two = ibv_create_cq(context, 10, NULL, channel, 0), *told;
	void *its;
	struct ibv_wc wc;
	struct ibv_qp *a = flushed_to(one), *b = flushed_to(two);
	int bad = !a || !b || ibv_req_notify_cq(one, 0) || !readable(channel, 2000);
	/* What was told of a queue that goes, goes with it: who is woken then would wait for ever. */
	bad |= ibv_req_notify_cq(two, 0) || usleep(100000) || ibv_destroy_qp(a) || ibv_destroy_cq(one);
	CHECK("only the other's event is left", !bad && !ibv_get_cq_event(channel, &told, &its) && told == two &&
			!readable(channel, 0));
	ibv_ack_cq_events(two, 1);
	/* Events that nobody reads stop nobody. */
	alarm(30);
	for (int n = 0, before = -1; n < 20000 && !bad; n++) {
		int now;
		bad |= ibv_req_notify_cq(two, 0);
		for (int tries = 0; tries < 20 && (ioctl(channel->fd, FIONREAD, &now), now == before); tries++)
			usleep(50);
		if (now == before && n > 100)
			break;
		before = now;
	}
	CHECK("a channel full of events", !bad && ibv_poll_cq(two, 1, &wc) == 1 && wc.wr_id == 5);
	alarm(0);
	CHECK("its end", !ibv_destroy_qp(b) && !ibv_destroy_cq(two) && !readable(channel, 0) && !ibv_destroy_comp_channel(channel));
}

/* Queue pairs that fail are replaced before they go; those that go leave what they had of a shared queue. */
static void comings_and_goings(struct ibv_ah *ah, struct ibv_qp *from)
{
	struct ibv_wc wc[2];
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	struct ibv_sge room = { (uintptr_t)memory + 40000, 200, mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 51, .sg_list = &room, .num_sge = 1 };
	struct ibv_send_wr *bad_send, send = { .opcode = IBV_WR_SEND, .wr.ud = { .ah = ah, .remote_qkey = QKEY } };
	struct ibv_qp *old = create(NULL, 1, 0);
	int bad = !old || move(old) || ibv_modify_qp(old, &error, IBV_QP_STATE);
	struct ibv_qp *new = create(NULL, 1, 0);
	bad |= !new || move(new) || ibv_destroy_qp(old) || ibv_post_recv(new, &recv, &bad_recv);
	send.wr.ud.remote_qpn = new->qp_num;
	bad |= ibv_post_send(from, &send, &bad_send);
	CHECK("one in the place of one that failed", !bad && wait_for(wc, 1) == 1 && wc[0].wr_id == 51 && !ibv_destroy_qp(new));
	struct ibv_srq_init_attr few = { .attr = { .max_wr = 2, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &few);
	for (int n = 0; n < 6 && !bad; n++) {
		struct ibv_qp *qp = create(srq, 1, 0);
		bad |= !qp || move(qp) || ibv_post_srq_recv(srq, &recv, &bad_recv);
		send.wr.ud.remote_qpn = qp->qp_num;
		bad |= ibv_post_send(from, &send, &bad_send);
		/* Time passes by the polls of another queue. */
		struct ibv_cq *other = ibv_create_cq(context, 1, NULL, NULL, 0);
		for (int polls = 0; polls < 30; polls++)
			bad |= ibv_poll_cq(other, 1, wc);
		bad |= ibv_destroy_cq(other) || ibv_destroy_qp(qp) || ibv_poll_cq(cq, 2, wc);
	}
	CHECK("a shared queue outlasts what was not polled", !bad && !ibv_destroy_srq(srq));
}

int main(void)
{
	int count;
	struct ibv_device **list = ibv_get_device_list(&count);
	CHECK("there is one device", count == 1 && list[0] && !list[1]);
	if (!count)
		return 1;
	struct ibv_device *device = list[0];
	CHECK("its name", !strcmp(ibv_get_device_name(device), "tessera0"));

	/* UCX uses a device whose node is a character device that may be read and written. */
	char node[300];
	struct stat st;
	snprintf(node, sizeof node, "/dev/infiniband/%s", device->dev_name);
	CHECK("its node may be used", !stat(node, &st) && S_ISCHR(st.st_mode) && !access(node, R_OK | W_OK));
	CHECK("other nodes are not there", access("/dev/infiniband/nobody", F_OK) && errno == ENOENT);
	CHECK("other files are as they are", !stat("/", &st) && S_ISDIR(st.st_mode));

	/* mlx5dv_is_supported and its like look behind the device. */
	int behind = 0;
	for (int i = 0; i < 512; i++)
		behind |= ((char *)(device + 1))[i];
	CHECK("behind the device is nothing", !behind);

	/* Libraries open it several times, at once and in turn. */
	struct ibv_context *other = ibv_open_device(device);
	context = ibv_open_device(device);
	CHECK("it opens twice", context && other && context != other);
	CHECK("one closes", !ibv_close_device(other));
	other = ibv_open_device(device);
	CHECK("and opens again", other != NULL);
	ibv_free_device_list(list);
	CHECK("the list is not needed", context->device == device && !strcmp(device->name, "tessera0"));

	/* A short context lets libfabric crash in another provider. */
	struct verbs_context *extended = verbs_get_ctx(context);
	CHECK("the context is an extended one", extended && extended->sz == sizeof *extended);
	struct ibv_device_attr_ex attr_ex;
	CHECK("extended attributes", !ibv_query_device_ex(context, NULL, &attr_ex) && attr_ex.orig_attr.max_qp == 256);
	struct ibv_port_attr port;
	CHECK("a port", !ibv_query_port(context, 1, &port) && port.state == IBV_PORT_ACTIVE &&
			port.link_layer == IBV_LINK_LAYER_ETHERNET && port.active_mtu == IBV_MTU_4096);
	CHECK("no second port", ibv_query_port(context, 2, &port) == EINVAL);
	union ibv_gid gid, none;
	CHECK("a GID", !ibv_query_gid(context, 1, 0, &gid) && gid.raw[10] == 0xFF && gid.raw[12] == 10);
	CHECK("no seventh GID", ibv_query_gid(context, 1, 6, &none) == -1 && errno == EINVAL);
	struct ibv_gid_entry entry;
	CHECK("GIDs are of RoCE v2", !ibv_query_gid_ex(context, 1, 0, &entry, 0) &&
			entry.gid_type == IBV_GID_TYPE_ROCE_V2 && !memcmp(&entry.gid, &gid, 16));
	uint16_t pkey;
	CHECK("a P_Key", !ibv_query_pkey(context, 1, 0, &pkey) && pkey == 0xFFFF);

	/* Asynchronous events are polled by an own descriptor. */
	struct ibv_async_event event;
	fcntl(context->async_fd, F_SETFL, fcntl(context->async_fd, F_GETFL) | O_NONBLOCK);
	CHECK("no asynchronous event", ibv_get_async_event(context, &event) == -1 && errno == EAGAIN);

	pd = ibv_alloc_pd(context);
	memory = calloc(1, MEMORY);
	mr = ibv_reg_mr(pd, memory, MEMORY, 0xF);
	struct ibv_mr *closed = ibv_reg_mr(pd, memory, 100, 0);
	CHECK("memory with all rights", mr && mr->lkey && mr->addr == memory);
	struct ibv_mr *inner = ibv_reg_mr(pd, memory, 16, IBV_ACCESS_LOCAL_WRITE);
	CHECK("the same memory again", inner && inner->lkey != mr->lkey && !ibv_dereg_mr(inner));
	CHECK("rights that make no sense", !ibv_reg_mr(pd, memory, 16, IBV_ACCESS_REMOTE_WRITE) && errno == EINVAL);

	struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
	cq = ibv_create_cq(context, 4096, memory, channel, 0);
	CHECK("a queue of 4096", cq && cq->cqe >= 4096 && cq->cq_context == memory);
	CHECK("a queue too large", !ibv_create_cq(context, 1 << 30, NULL, NULL, 0) && errno == EINVAL);

	/* What is not there is refused, and by the number that says so. */
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };
	CHECK("UC is refused", !ibv_create_qp(pd, &init) && errno == EOPNOTSUPP);
	init.qp_type = IBV_QPT_UD;
	init.cap.max_inline_data = 1 << 16;
	CHECK("too much inline is refused", !ibv_create_qp(pd, &init) && errno == EINVAL);
	init.cap.max_inline_data = 0;
	init.cap.max_send_wr = 1 << 20;
	CHECK("too many requests are refused", !ibv_create_qp(pd, &init) && errno == EINVAL);
	CHECK("memory windows are refused", !ibv_alloc_mw(pd, IBV_MW_TYPE_1) && errno == EOPNOTSUPP);

	struct ibv_qp *a = create(NULL, 6, 0), *b = create(NULL, 6, 1);
	CHECK("two queue pairs", a && b && a->qp_num != b->qp_num && a->qp_num >> 24 == 0);
	CHECK("multicast is refused", ibv_attach_mcast(a, &gid, 0) == EOPNOTSUPP);
	CHECK("a queue in use stays", ibv_destroy_cq(cq) == EBUSY);
	CHECK("a domain in use stays", ibv_dealloc_pd(pd) == EBUSY);
	CHECK("a channel in use stays", ibv_destroy_comp_channel(channel) == EBUSY);
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 1 };
	struct ibv_send_wr *bad_send;
	CHECK("no receive before INIT", ibv_post_recv(a, &recv, &bad_recv) == EINVAL && bad_recv == &recv);
	struct ibv_sge shut[2] = { { (uintptr_t)memory, 50, mr->lkey }, { (uintptr_t)memory + 50, 50, closed->lkey } };
	struct ibv_recv_wr parts = { .wr_id = 2, .sg_list = shut, .num_sge = 2 };
	struct ibv_qp_attr begun = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	CHECK("no receive where nothing may be written", !ibv_modify_qp(a, &begun, IBV_QP_STATE | IBV_QP_QKEY) &&
			ibv_post_recv(a, &parts, &bad_recv) == EINVAL && !ibv_dereg_mr(closed));
	CHECK("to RTS", !move(a) && !move(b) && a->state == IBV_QPS_RTS);
	struct ibv_qp_attr now;
	init.sq_sig_all = 77;
	CHECK("asked for its state", !ibv_query_qp(a, &now, IBV_QP_STATE, &init) && now.qp_state == IBV_QPS_RTS &&
			now.qkey == QKEY && init.cap.max_send_wr >= 256 && init.cap.max_send_sge >= 6 && init.sq_sig_all == 0);

	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1, .grh.dgid = gid, .grh.hop_limit = 7 };
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	CHECK("an address handle", ah != NULL);
	to.grh.dgid.raw[15] = 99;
	CHECK("of nobody", !ibv_create_ah(pd, &to) && errno == ENETUNREACH);
	to.grh.dgid.raw[12] = 224;
	CHECK("of a multicast group", !ibv_create_ah(pd, &to) && errno == EOPNOTSUPP);
	to.is_global = 0;
	CHECK("of a LID", !ibv_create_ah(pd, &to) && errno == EINVAL);

	/* Six buffers here, four there. */
	struct ibv_sge from[6], into[4] = {
		{ (uintptr_t)memory + 40000, 30, mr->lkey }, { (uintptr_t)memory + 41000, 20, mr->lkey },
		{ (uintptr_t)memory + 42000, 0, mr->lkey }, { (uintptr_t)memory + 43000, 1000, mr->lkey } };
	for (int i = 0; i < 6; i++) {
		from[i] = (struct ibv_sge){ (uintptr_t)memory + 1000 * i, 11 + i, mr->lkey };
		memset(memory + 1000 * i, 'a' + i, 11 + i);
	}
	recv = (struct ibv_recv_wr){ .wr_id = 77, .sg_list = into, .num_sge = 4 };
	struct ibv_send_wr send = { .wr_id = 78, .sg_list = from, .num_sge = 6, .opcode = IBV_WR_SEND_WITH_IMM,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(0x01020304),
		.wr.ud = { .ah = ah, .remote_qpn = b->qp_num, .remote_qkey = QKEY } };
	CHECK("a list is posted", !ibv_post_recv(b, &recv, &bad_recv) && !ibv_post_send(a, &send, &bad_send));
	struct ibv_wc wc[8];
	int have = wait_for(wc, 2);
	struct ibv_wc *got = of(wc, have, 77), *sent = of(wc, have, 78);
	CHECK("it arrives", have == 2 && !got->status && got->opcode == IBV_WC_RECV && got->byte_len == GRH + 81);
	CHECK("it is sent", !sent->status && sent->opcode == IBV_WC_SEND && sent->qp_num == a->qp_num);
	CHECK("whose it is", got->qp_num == b->qp_num && got->src_qp == a->qp_num && got->pkey_index == 0);
	CHECK("with its immediate", got->wc_flags == (IBV_WC_GRH | IBV_WC_WITH_IMM) && got->imm_data == htobe32(0x01020304));
	/* UCX drops every datagram without. */
	CHECK("sl tells of IPv4", got->sl == 0xA);
	char whole[GRH + 81], want[81];
	memcpy(whole, memory + 40000, 30);
	memcpy(whole + 30, memory + 41000, 20);
	memcpy(whole + 50, memory + 43000, sizeof whole - 50);
	for (int i = 0, at = 0; i < 6; at += 11 + i++)
		memset(want + at, 'a' + i, 11 + i);
	CHECK("its bytes", !memcmp(whole + GRH, want, 81));
	CHECK("its IPv4 header", whole[20] == 0x45 && !memcmp(whole + 32, gid.raw + 12, 4) && !memcmp(whole + 36, gid.raw + 12, 4));
	CHECK("its time to live", whole[28] == 7);
	struct ibv_ah *back = ibv_create_ah_from_wc(pd, got, (struct ibv_grh *)whole, 1);
	CHECK("a handle for the answer", back != NULL && !ibv_destroy_ah(back));

	/* Inline: the buffer may change at once, and need not be registered. */
	char text[64] = "inline";
	struct ibv_sge one = { (uintptr_t)text, sizeof text, 0 }, room = { (uintptr_t)memory + 40000, 200, mr->lkey };
	recv = (struct ibv_recv_wr){ .wr_id = 1, .sg_list = &room, .num_sge = 1 };
	send = (struct ibv_send_wr){ .wr_id = 2, .sg_list = &one, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE, .wr.ud = { .ah = ah, .remote_qpn = b->qp_num, .remote_qkey = QKEY } };
	int bad = ibv_post_recv(b, &recv, &bad_recv) | ibv_post_send(a, &send, &bad_send);
	memset(text, 0, sizeof text);
	have = wait_for(wc, 1);
	CHECK("inline, unsignaled", !bad && have == 1 && wc[0].wr_id == 1 && !strcmp(memory + 40040, "inline"));
	send.send_flags = 0;
	CHECK("a key of nobody", ibv_post_send(a, &send, &bad_send) == EINVAL && bad_send == &send);
	one = (struct ibv_sge){ (uintptr_t)memory + MEMORY - 10, 11, mr->lkey };
	CHECK("past the end", ibv_post_send(a, &send, &bad_send) == EINVAL);
	one.addr = (uintptr_t)memory;
	one.length = 4097;
	CHECK("more than a datagram", ibv_post_send(a, &send, &bad_send) == EINVAL);
	send.opcode = IBV_WR_RDMA_WRITE;
	one.length = 1;
	CHECK("a write", ibv_post_send(a, &send, &bad_send) == EINVAL);
	send.opcode = IBV_WR_SEND;

	/* A wrong Q_Key reaches nobody; the next one does, and by an event. */
	send.wr_id = 3;
	send.wr.ud.remote_qkey = QKEY + 1;
	recv.wr_id = 4;
	CHECK("asked for an event", !ibv_req_notify_cq(cq, 0));
	bad = ibv_post_recv(b, &recv, &bad_recv) | ibv_post_send(a, &send, &bad_send);
	send.wr.ud.remote_qkey = QKEY;
	send.num_sge = 0;
	bad |= ibv_post_send(a, &send, &bad_send);
	struct ibv_cq *told = NULL;
	void *its = NULL;
	CHECK("an event", !bad && !ibv_get_cq_event(channel, &told, &its) && told == cq && its == memory);
	ibv_ack_cq_events(cq, 1);
	have = wait_for(wc, 1);
	CHECK("only the right Q_Key", have == 1 && wc[0].wr_id == 4 && wc[0].byte_len == GRH);
	CHECK("and no more", ibv_poll_cq(cq, 8, wc) == 0);

	signals();
	events();
	comings_and_goings(ah, a);
	CHECK("what it signals", !ibv_query_qp(b, &now, IBV_QP_STATE, &init) && init.sq_sig_all &&
			!ibv_query_qp(a, &now, IBV_QP_STATE, &init) && !init.sq_sig_all);

	/* A shared receive queue. */
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 100, .max_sge = 2 } };
	struct ibv_srq *srq = ibv_create_srq(pd, &shared);
	CHECK("a shared queue", srq && shared.attr.max_wr >= 100);
	struct ibv_qp *c = create(srq, 1, 0), *d = create(srq, 1, 0);
	CHECK("two that share it", c && d && !move(c) && !move(d));
	CHECK("none of their own", ibv_post_recv(c, &recv, &bad_recv) == EINVAL);
	CHECK("it stays", ibv_destroy_srq(srq) == EBUSY);
	for (int i = 0; i < 2; i++) {
		recv.wr_id = 10 + i;
		room.addr = (uintptr_t)memory + 40000 + 1000 * i;
		bad |= ibv_post_srq_recv(srq, &recv, &bad_recv);
		send.wr.ud.remote_qpn = i ? d->qp_num : c->qp_num;
		bad |= ibv_post_send(a, &send, &bad_send);
	}
	have = wait_for(wc, 2);
	int numbers = have == 2 && wc[0].qp_num + wc[1].qp_num == c->qp_num + d->qp_num && wc[0].qp_num != wc[1].qp_num;
	CHECK("one for each", !bad && numbers && wc[0].wr_id + wc[1].wr_id == 21);
	CHECK("they go", !ibv_destroy_qp(c) && !ibv_destroy_qp(d) && !ibv_destroy_srq(srq));

	/* Errors flush, in order. */
	for (int i = 0; i < 3; i++) {
		recv.wr_id = 20 + i;
		bad |= ibv_post_recv(b, &recv, &bad_recv);
	}
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };
	bad |= ibv_modify_qp(b, &error, IBV_QP_STATE);
	have = wait_for(wc, 3);
	int flushed = have == 3;
	for (int i = 0; i < have; i++)
		flushed &= wc[i].status == IBV_WC_WR_FLUSH_ERR && wc[i].wr_id == 20u + i && wc[i].opcode == IBV_WC_RECV;
	CHECK("an error flushes", !bad && flushed);
	recv.wr_id = 31;
	bad |= ibv_post_recv(b, &recv, &bad_recv) | ibv_post_send(b, &send, &bad_send);
	have = wait_for(wc, 2);
	CHECK("also what comes later", !bad && have == 2 && wc[0].status == IBV_WC_WR_FLUSH_ERR &&
			wc[1].status == IBV_WC_WR_FLUSH_ERR && wc[0].wr_id == 31 && wc[1].opcode == IBV_WC_SEND);
	recv.wr_id = 30;
	bad = ibv_post_recv(a, &recv, &bad_recv);
	CHECK("what is left goes", !bad && !ibv_destroy_qp(a) && !ibv_destroy_qp(b) && ibv_poll_cq(cq, 8, wc) == 0);
	CHECK("all of it", !ibv_destroy_ah(ah) && !ibv_dereg_mr(mr) && !ibv_destroy_cq(cq) &&
			!ibv_destroy_comp_channel(channel) && !ibv_dealloc_pd(pd));
	CHECK("closed", !ibv_close_device(context) && !ibv_close_device(other));
	printf("%d wrong\n", failed);
	return failed != 0;
}
