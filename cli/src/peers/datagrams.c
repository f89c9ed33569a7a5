/*
 * Datagrams of all lengths, each there and back, between this device and another: of any
 * make, all that is used is what UD queue pairs promise. What comes besides is an error.
 *
 *   datagrams ADDRESS PORT         waits for the other at a TCP port
 *   datagrams ADDRESS PORT HOST    begins
 *
 * ADDRESS is this device's, one of IPv4 or IPv6.
 */
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { QKEY = 0x22446688, GRH = 40, LONGEST = 4096, RECEIVES = 16, SLOT = 8192, SECONDS = 20, SEND = 1 << 16 };

static const int LENGTHS[] = { 0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 2047, 2048, 2049, 4093,
			       4094, 4095, LONGEST };
enum { ROUNDS = 2 * sizeof LENGTHS / sizeof *LENGTHS };

static struct ibv_context *context;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;
static uint8_t *memory;

struct who {
	union ibv_gid gid;
	uint32_t qpn;
} self, other;

static void die(const char *what)
{
	printf("FAILED %s\n", what);
	exit(1);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static int join(const char *port, const char *host)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = host ? 0 : AI_PASSIVE };
	struct addrinfo *at;
	if (getaddrinfo(host, port, &hints, &at))
		die("there is no such host");
	int fd = socket(at->ai_family, SOCK_STREAM, 0), one = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (host) {
		if (connect(fd, at->ai_addr, at->ai_addrlen))
			die("nobody listens there");
		return fd;
	}
	if (bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, 1))
		die("the port is not free");
	return accept(fd, NULL, NULL);
}

static void exchange(int fd, const void *out, void *in, size_t len)
{
	if (write(fd, out, len) != (ssize_t)len)
		die("the other is gone");
	for (size_t have = 0; have < len;) {
		ssize_t got = read(fd, (char *)in + have, len - have);
		if (got <= 0)
			die("the other is gone");
		have += got;
	}
}

/* Which of the device's GIDs is an address. */
static int gid_of(const char *address)
{
	union ibv_gid want = { .raw = { [10] = 0xFF, [11] = 0xFF } };
	if (inet_pton(AF_INET, address, want.raw + 12) != 1 && inet_pton(AF_INET6, address, want.raw) != 1)
		die("that is no address");
	for (int index = 0; index < 16; index++)
		if (!ibv_query_gid(context, 1, index, &self.gid) && !memcmp(&self.gid, &want, sizeof want))
			return index;
	die("the device has no such address");
	return -1;
}

static void post_receive(int slot)
{
	memset(memory + slot * SLOT, 0xEE, SLOT);
	struct ibv_sge sge = { .addr = (uintptr_t)memory + slot * SLOT, .length = GRH + LONGEST, .lkey = mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;
	if (ibv_post_recv(qp, &wr, &bad))
		die("a receive is refused");
}

static uint8_t byte_of(int round, int back, int at) { return at * 7 + round * 29 + back * 101 + 3; }

static int length_of(int round) { return LENGTHS[round / 2]; }

static uint32_t immediate_of(int round, int back) { return 0xC0DE0000 + 2 * round + back; }

static void send_one(struct ibv_ah *ah, int round, int back)
{
	uint8_t *from = memory + RECEIVES * SLOT;
	int length = length_of(round);
	for (int i = 0; i < length; i++)
		from[i] = byte_of(round, back, i);
	struct ibv_sge sge = { .addr = (uintptr_t)from, .length = length, .lkey = mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = SEND, .sg_list = &sge, .num_sge = length > 0,
		.opcode = round % 2 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND, .imm_data = htonl(immediate_of(round, back)),
		.send_flags = IBV_SEND_SIGNALED, .wr = { .ud = { ah, other.qpn, QKEY } },
	}, *bad;
	if (ibv_post_send(qp, &wr, &bad))
		die("a send is refused");
}

/* Whether a completion is the datagram of a round, whole. */
static const char *wrong(const struct ibv_wc *wc, int round, int back)
{
	const uint8_t *at = memory + wc->wr_id * SLOT;
	int length = length_of(round), v4 = self.gid.raw[10] == 0xFF && !self.gid.raw[0];
	if ((int)wc->byte_len != GRH + length)
		return "another length";
	if (!!(wc->wc_flags & IBV_WC_WITH_IMM) != round % 2)
		return "an immediate too many or too few";
	if (round % 2 && ntohl(wc->imm_data) != immediate_of(round, back))
		return "another immediate";
	if (wc->src_qp != other.qpn || !(wc->wc_flags & IBV_WC_GRH))
		return "another sender";
	/* An IPv4 header stands in the last 20 bytes of the area. */
	if (v4 ? memcmp(at + 32, other.gid.raw + 12, 4) || memcmp(at + 36, self.gid.raw + 12, 4)
	       : memcmp(at + 8, &other.gid, 16) || memcmp(at + 24, &self.gid, 16))
		return "other addresses in the GRH area";
	for (int i = 0; i < length; i++)
		if (at[GRH + i] != byte_of(round, back, i))
			return "other bytes";
	for (int i = GRH + length; i < GRH + LONGEST; i++)
		if (at[i] != 0xEE)
			return "bytes behind its end";
	return NULL;
}

/* Waits for a round's datagram, and for the end of a send if there is one. */
static void receive_one(int round, int back, int sends)
{
	double until = now() + SECONDS;
	for (int receives = 1; receives || sends;) {
		struct ibv_wc wc;
		if (now() > until) {
			printf("round %d, %d bytes: ", round, length_of(round));
			die(sends ? "a send has no end" : "nothing comes");
		}
		if (ibv_poll_cq(cq, 1, &wc) < 1)
			continue;
		if (wc.status != IBV_WC_SUCCESS)
			die(ibv_wc_status_str(wc.status));
		if (wc.wr_id == SEND) {
			sends--;
			continue;
		}
		const char *why = receives-- ? wrong(&wc, round, back) : "a datagram too many";
		if (why) {
			printf("round %d, %d bytes, %d came: ", round, length_of(round), (int)wc.byte_len - GRH);
			die(why);
		}
		post_receive(wc.wr_id);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3 || argc > 4)
		die("datagrams ADDRESS PORT [HOST]");
	setvbuf(stdout, NULL, _IOLBF, 0);
	const char *host = argc > 3 ? argv[3] : NULL;
	int count, begins = host != NULL;
	struct ibv_device **list = ibv_get_device_list(&count);
	if (!list || !count || !(context = ibv_open_device(list[0])))
		die("there is no device");
	int index = gid_of(argv[1]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	memory = aligned_alloc(4096, (RECEIVES + 1) * SLOT);
	mr = pd ? ibv_reg_mr(pd, memory, (RECEIVES + 1) * SLOT, IBV_ACCESS_LOCAL_WRITE) : NULL;
	cq = ibv_create_cq(context, 64, NULL, NULL, 0);
	if (!mr || !cq)
		die("the device takes no memory or has no queue");
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = 4, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 } };
	if (!(qp = ibv_create_qp(pd, &init)))
		die("the device has no queue pair");
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	if (ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		die("INIT is refused");
	for (int slot = 0; slot < RECEIVES; slot++)
		post_receive(slot);
	attr.qp_state = IBV_QPS_RTR;
	int bad = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (bad || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN))
		die("RTR or RTS is refused");
	self.qpn = qp->qp_num;
	int fd = join(argv[2], host);
	exchange(fd, &self, &other, sizeof self);
	struct ibv_ah_attr to = { .is_global = 1, .port_num = 1,
		.grh = { .dgid = other.gid, .sgid_index = index, .hop_limit = 64 } };
	struct ibv_ah *ah = ibv_create_ah(pd, &to);
	if (!ah)
		die("the other's address is not known");
	char byte = 0;
	exchange(fd, &byte, &byte, 1);
	for (int round = 0; round < ROUNDS; round++) {
		if (begins)
			send_one(ah, round, 0);
		/* An answer's end may come behind the next datagram. */
		receive_one(round, begins, begins || round > 0);
		if (!begins)
			send_one(ah, round, 1);
	}
	/* Nothing comes behind the last but the last answer's end. */
	exchange(fd, &byte, &byte, 1);
	int ends = !begins;
	for (double until = now() + 0.3; now() < until;) {
		struct ibv_wc wc;
		if (ibv_poll_cq(cq, 1, &wc) < 1)
			continue;
		if (wc.wr_id != SEND || wc.status != IBV_WC_SUCCESS)
			die("a datagram too many");
		ends--;
	}
	if (ends)
		die("the last send has no end");
	exchange(fd, &byte, &byte, 1);
	printf("%d datagrams of 0 to %d bytes there and back with %s: right\n", ROUNDS, LONGEST, argv[1]);
	return 0;
}
