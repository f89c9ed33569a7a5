/* Collectives whose results every rank checks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ELEMENTS = 1000, EACH = 100, ROUNDS = 3 };

int main(int argc, char **argv)
{
	int rank, ranks, wrong = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	double *mine = malloc(ELEMENTS * sizeof *mine), *sum = malloc(ELEMENTS * sizeof *sum);
	int *out = malloc(ranks * EACH * sizeof *out), *in = malloc(ranks * EACH * sizeof *in);

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < ELEMENTS; i++)
			mine[i] = rank * 1000 + i + round;
		MPI_Allreduce(mine, sum, ELEMENTS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		for (int i = 0; i < ELEMENTS; i++) {
			double want = 0;
			for (int j = 0; j < ranks; j++)
				want += j * 1000 + i + round;
			wrong += sum[i] != want;
		}
		for (int i = 0; i < ranks * EACH; i++)
			out[i] = rank * 100000 + i + round;
		MPI_Alltoall(out, EACH, MPI_INT, in, EACH, MPI_INT, MPI_COMM_WORLD);
		for (int j = 0; j < ranks; j++)
			for (int i = 0; i < EACH; i++)
				wrong += in[j * EACH + i] != j * 100000 + rank * EACH + i + round;
	}
	MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("%d ranks, %d elements wrong\n", ranks, all);
	MPI_Finalize();
	return wrong != 0;
}
