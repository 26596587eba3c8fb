// SPDX-License-Identifier: BSD-3-Clause
// What the library's selection reads out of a table that tools/tpbench wrote (measured.json): for
// each pair of transport and size one line of JSON.
#include <stdlib.h>
#include <string.h>

#include "transportapi/core/cost_table.h"
#include "tp.h"

static const char *const program = "tp_measured";

static const char help[] =
	"usage: tp_measured FILE TRANSPORT SIZE [TRANSPORT SIZE ...]\n"
	"\n"
	"Median round trip and loss, as the selection mode \"measured\" has them of FILE.\n"
	"Exit code: 0; 1 nothing is known of a transport; 2 wrong arguments or FILE.\n";

int main(int argc, char **argv)
{
	struct tapi_cost_table *measured;
	struct tapi_error error = {};
	int unknown = 0;
	if (argc == 2 && !strcmp(argv[1], "--help")) {
		fputs(help, stdout);
		return 0;
	}
	if (argc < 4 || argc % 2)
		tp_usage(program, "give FILE and pairs of TRANSPORT and SIZE");
	if (tapi_cost_table_load(&measured, argv[1], &error))
		tp_usage(program, "%s", error.text);
	for (int i = 2; i < argc; i += 2) {
		const uint32_t size = (uint32_t)tp_number(program, argv[i], argv[i + 1], 1, 65536);
		double median_us, loss;
		if (!tapi_cost_table_at(measured, argv[i], size, &median_us, &loss)) {
			fprintf(stderr, "%s: %s knows nothing of %s\n", program, argv[1], argv[i]);
			unknown = 1;
			continue;
		}
		printf("{\"transport\":");
		tp_print_string(stdout, argv[i]);
		printf(",\"size\":%u,\"median_us\":%.3f,\"loss\":%.6f}\n", size, median_us, loss);
	}
	tapi_cost_table_free(measured);
	return unknown;
}
