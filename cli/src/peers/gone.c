/*
 * A peer that dies after it was asked: its NIC took the question, and nobody answers. Two
 * NICs; the second one's program is stopped, asked, and ended.
 */
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LEN = 4096, SECONDS = 30 };

struct who {
	union ibv_gid gid;
	uint32_t qpn, rkey;
	uint64_t at;
} self, other;

static void die(const char *what)
{
	printf("FAILED %s\n", what);
	exit(1);
}

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct ibv_mr *mr;

static void prepare(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	if (!context)
		die("there is no device");
	struct ibv_pd *pd = ibv_alloc_pd(context);
	int rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	char *memory = calloc(1, LEN);
	mr = ibv_reg_mr(pd, memory, LEN, rights);
	cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 } };
	qp = ibv_create_qp(pd, &init);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = rights };
	if (!mr || !qp || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		die("INIT is refused");
	ibv_query_gid(context, 1, 0, &self.gid);
	self.qpn = qp->qp_num, self.rkey = mr->rkey, self.at = (uintptr_t)memory;
}

static void join(void)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = other.qpn,
		.max_dest_rd_atomic = 1, .min_rnr_timer = 12, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .dgid = other.gid, .hop_limit = 1 } } };
	int bad = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	if (bad || ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC))
		die("RTR or RTS is refused");
}

static int read_some(struct ibv_wc *wc, pid_t ends)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, LEN, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
		.send_flags = IBV_SEND_SIGNALED, .wr.rdma = { .remote_addr = other.at, .rkey = other.rkey } }, *bad;
	if (ibv_post_send(qp, &wr, &bad))
		die("a read is refused");
	time_t until = time(NULL) + SECONDS;
	for (int polls = 0; time(NULL) < until; polls++) {
		if (ibv_poll_cq(cq, 1, wc) == 1)
			return 1;
		/* The NIC has the question by now. */
		if (ends && polls == 200) {
			kill(ends, SIGKILL);
			waitpid(ends, NULL, 0);
		}
	}
	return 0;
}

int main(void)
{
	int there[2], back[2];
	struct ibv_wc wc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(there) || pipe(back))
		die("no pipes");
	pid_t child = fork();
	int in = child ? back[0] : there[0], out = child ? there[1] : back[1];
	prepare();
	if (write(out, &self, sizeof self) != sizeof self || read(in, &other, sizeof other) != sizeof other)
		die("the other is gone");
	join();
	if (!child) {
		if (write(out, "", 1) != 1)
			die("the other is gone");
		for (;;)
			pause();
	}
	char byte;
	if (read(in, &byte, 1) != 1)
		die("the other is gone");
	if (!read_some(&wc, 0) || wc.status)
		die("a read of one that lives");
	kill(child, SIGSTOP);
	if (!read_some(&wc, child))
		die("a read of one that is gone has no end");
	if (wc.status != IBV_WC_RETRY_EXC_ERR || wc.wr_id != 9)
		die(ibv_wc_status_str(wc.status));
	if (ibv_destroy_qp(qp))
		die("it does not go");
	printf("reads of one that lives, and of one that is gone, end\n");
	return 0;
}
