// SPDX-License-Identifier: BSD-3-Clause
// Writes the samples of packet_samples.c as seeds of tests/fuzz/fuzz_parse.c into a folder:
// packet_seeds tests/fuzz/corpus/parse
#include <stdio.h>
#include "packet.h"

int main(int argc, char **argv)
{
	static struct packet_sample s;
	char path[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: packet_seeds FOLDER\n");
		return 2;
	}
	for (unsigned i = 0; packet_sample(i, &s); i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], s.name);
		FILE *out = fopen(path, "wb");

		if (!out) {
			perror(path);
			return 1;
		}
		fputc(s.packet.link, out);
		fputc(0, out);
		fwrite(s.packet.bytes, 1, s.packet.length, out);
		if (fclose(out)) {
			perror(path);
			return 1;
		}
	}
	return 0;
}
