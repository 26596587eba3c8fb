// SPDX-License-Identifier: BSD-3-Clause
// Parses the command line of `sluice replay`, and checks its options against each other.
#include "replay/replay.h"
#include "config/signatures_path.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXIT_USAGE        2
#define FLOWS_DEFAULT     65536u
#define FLOWS_MAX         (1u << 24)
#define LCORES_REPLAY_MAX 8u
#define SEGMENT_MIN       16u
#define SCAN_MS_MAX       600000u

static const char help[] =
	"usage: sluice replay CAPTURE... -p POLICY [options]\n"
	"\n"
	"Sends captures (pcap or pcapng, told by content) through the gateway's packet path under\n"
	"the captures' own clock. Several captures are one continuous run. Needs no root.\n"
	"\n"
	"  -p, --policy FILE       policy.json (required)\n"
	"  -g, --signatures DIR    signature files; default: signatures/ beside the policy, else\n"
	"                          those of the source tree, else the installed ones\n"
	"      --cache DIR         keep compiled signatures there\n"
	"  -w, --write FILE        what leaves the gateway, as pcap\n"
	"  -e, --events FILE       events, as EVE JSON lines (- is standard output)\n"
	"      --stats FILE        counters and the ledger, as JSON (- is standard output)\n"
	"      --streams FILE      what was inspected of each half of a TCP flow: bytes, gaps, "
	"SHA-256,\n"
	"                          as CSV (- is standard output)\n"
	"      --extract DIR       decode all files that are transferred, and write them there "
	"under\n"
	"                          their SHA-256, with a list in files.csv\n"
	"      --audit DIR         write the audit log DIR/audit.log and store files in DIR/files, "
	"as\n"
	"                          the policy's rules ask for it; DIR exists\n"
	"      --audit-pause SPAN  for tests: who writes them takes nothing in those seconds "
	"(6-16)\n"
	"      --scan FILE         scan files with sluice-scan, as the section scan of this "
	"gateway.json\n"
	"                          has it; without, they are unscanned (no_engine)\n"
	"      --scan-ms N         a verdict takes N ms of the captures' time; default 0\n"
	"      --inside CIDR       inside addresses (repeatable); default: per flow the side of "
	"the\n"
	"                          first SYN, else of the first packet\n"
	"      --checksum WORD     verify (default), ignore, or auto: ignore those of senders most "
	"of\n"
	"                          whose checksums in a capture are wrong (transmit offload)\n"
	"      --against FILE      tell which flows of the captures this older policy decides "
	"otherwise,\n"
	"                          instead of what becomes of the packets\n"
	"      --json              tell them as JSON lines\n"
	"      --reload N:FILE     publish another policy before packet N (repeatable, rising)\n"
	"      --flows N           flows per lcore; default 65536\n"
	"      --lcores N          data lcores, 1 to 8; packets come in on the first; default 1\n"
	"      --all-stages        no fast paths: each packet passes all stages. The output is the "
	"same\n"
	"      --heap-mbufs        each packet in a heap buffer of exact size, for "
	"AddressSanitizer\n"
	"      --segment-bytes N   cut packets into mbuf segments of N bytes\n"
	"  -v, --verbose           say more on standard error\n"
	"  -h, --help              this text\n"
	"\n"
	"Exit: 0 done; 1 failed, or a packet is unaccounted for; 2 usage; 78 bad policy. With\n"
	"--against: 0 no flow differs; 1 some do; 2 usage, or failed; 78 bad policy.\n";

__attribute__((format(printf, 1, 2))) static int usage(const char *fmt, ...)
{
	va_list args;

	fputs("sluice replay: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputs(" (sluice replay --help)\n", stderr);
	return EXIT_USAGE;
}

static int number(const char *name, const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < min || value > max)
		return usage("%s %s: want a number from %u to %u", name, text, min, max);
	*out = (uint32_t)value;
	return -1;
}

static int checksum_word(struct replay_options *options, const char *word)
{
	static const char *const words[] = {"verify", "ignore", "auto"};

	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(word, words[i]) == 0) {
			options->checksum = (enum replay_checksum)i;
			return -1;
		}
	}
	return usage("--checksum %s: want verify, ignore or auto", word);
}

static int reload_add(struct replay_options *options, const char *text)
{
	unsigned long long before;
	char *end;

	if (options->n_reloads == REPLAY_RELOADS_MAX)
		return usage("more than %u reloads", REPLAY_RELOADS_MAX);
	errno = 0;
	before = strtoull(text, &end, 10);
	if (errno || end == text || *end != ':' || !end[1] || text[0] == '-' || before == 0)
		return usage("--reload %s: want PACKET:FILE", text);
	if (options->n_reloads > 0 && before < options->reloads[options->n_reloads - 1].before)
		return usage("--reload %s: packet numbers must rise", text);
	options->reloads[options->n_reloads++] =
		(struct replay_reload){.before = before, .path = end + 1};
	return -1;
}

static int pause_set(struct replay_options *options, const char *text)
{
	unsigned from, to;
	int end = 0;

	if (sscanf(text, "%6u-%6u%n", &from, &to, &end) != 2 || text[end] || from >= to)
		return usage("--audit-pause %s: want SECOND-SECOND, the second one later", text);
	options->audit_pause_from_s = from;
	options->audit_pause_to_s = to;
	return -1;
}

static int inside_add(struct replay_options *options, const char *text)
{
	int rc = address_set_add(&options->inside, text);

	options->has_inside = true;
	if (rc == -ERANGE)
		return usage("--inside %s: bits are set beyond the prefix", text);
	if (rc < 0)
		return usage("--inside %s: want an address or ADDRESS/LENGTH", text);
	return -1;
}

// What is written is opened anew: a capture of that name would be lost before it is read.
static int check_outputs(const struct replay_options *options)
{
	const struct {
		const char *option, *path;
	} outputs[] = {{"-w", options->write}, {"-e", options->events}, {"--stats", options->stats},
		{"--streams", options->streams}};
	struct stat out, in;

	for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++) {
		if (!outputs[i].path || stat(outputs[i].path, &out) < 0 || !S_ISREG(out.st_mode))
			continue;
		for (unsigned n = 0; n < options->n_inputs; n++) {
			if (stat(options->inputs[n], &in) == 0 && in.st_dev == out.st_dev &&
				in.st_ino == out.st_ino)
				return usage(
					"%s %s: that is the capture that is read, and would be "
					"lost: name another file",
					outputs[i].option, outputs[i].path);
		}
	}
	return -1;
}

static void signatures_default(struct replay_options *options)
{
	static char path[4096];

	signatures_path_default(options->policy, path, sizeof path);
	options->signatures = path;
}

enum long_option {
	OPT_STATS = 256,
	OPT_STREAMS,
	OPT_EXTRACT,
	OPT_AUDIT,
	OPT_AUDIT_PAUSE,
	OPT_SCAN,
	OPT_SCAN_MS,
	OPT_INSIDE,
	OPT_CHECKSUM,
	OPT_ALL_STAGES,
	OPT_HEAP,
	OPT_SEGMENT,
	OPT_CACHE,
	OPT_RELOAD,
	OPT_FLOWS,
	OPT_LCORES,
	OPT_AGAINST,
	OPT_JSON,
};

static int option_take(struct replay_options *options, int option)
{
	switch (option) {
	case 'p': options->policy = optarg; return -1;
	case 'g': options->signatures = optarg; return -1;
	case 'w': options->write = optarg; return -1;
	case 'e': options->events = optarg; return -1;
	case 'v': options->verbose++; return -1;
	case 'h': fputs(help, stdout); return 0;
	case OPT_STATS: options->stats = optarg; return -1;
	case OPT_STREAMS: options->streams = optarg; return -1;
	case OPT_EXTRACT: options->extract = optarg; return -1;
	case OPT_AUDIT: options->audit = optarg; return -1;
	case OPT_AUDIT_PAUSE: return pause_set(options, optarg);
	case OPT_SCAN: options->scan = optarg; return -1;
	case OPT_SCAN_MS: return number("--scan-ms", optarg, 0, SCAN_MS_MAX, &options->scan_ms);
	case OPT_AGAINST: options->against = optarg; return -1;
	case OPT_JSON: options->json = true; return -1;
	case OPT_CACHE: options->cache = optarg; return -1;
	case OPT_ALL_STAGES: options->all_stages = true; return -1;
	case OPT_HEAP: options->heap_mbufs = true; return -1;
	case OPT_INSIDE: return inside_add(options, optarg);
	case OPT_CHECKSUM: return checksum_word(options, optarg);
	case OPT_RELOAD: return reload_add(options, optarg);
	case OPT_FLOWS: return number("--flows", optarg, 1, FLOWS_MAX, &options->flows);
	case OPT_LCORES: return number("--lcores", optarg, 1, LCORES_REPLAY_MAX, &options->lcores);
	case OPT_SEGMENT:
		return number("--segment-bytes", optarg, SEGMENT_MIN, UINT16_MAX,
			&options->segment_bytes);
	default: return EXIT_USAGE; // getopt has said what
	}
}

int replay_options_parse(struct replay_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{"policy", required_argument, NULL, 'p'},
		{"signatures", required_argument, NULL, 'g'},
		{"write", required_argument, NULL, 'w'},
		{"events", required_argument, NULL, 'e'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{"stats", required_argument, NULL, OPT_STATS},
		{"streams", required_argument, NULL, OPT_STREAMS},
		{"extract", required_argument, NULL, OPT_EXTRACT},
		{"audit", required_argument, NULL, OPT_AUDIT},
		{"audit-pause", required_argument, NULL, OPT_AUDIT_PAUSE},
		{"scan", required_argument, NULL, OPT_SCAN},
		{"scan-ms", required_argument, NULL, OPT_SCAN_MS},
		{"inside", required_argument, NULL, OPT_INSIDE},
		{"checksum", required_argument, NULL, OPT_CHECKSUM},
		{"all-stages", no_argument, NULL, OPT_ALL_STAGES},
		{"heap-mbufs", no_argument, NULL, OPT_HEAP},
		{"segment-bytes", required_argument, NULL, OPT_SEGMENT},
		{"cache", required_argument, NULL, OPT_CACHE},
		{"reload", required_argument, NULL, OPT_RELOAD},
		{"against", required_argument, NULL, OPT_AGAINST},
		{"json", no_argument, NULL, OPT_JSON},
		{"flows", required_argument, NULL, OPT_FLOWS},
		{"lcores", required_argument, NULL, OPT_LCORES},
		{0},
	};
	int option, rc;

	*options = (struct replay_options){.flows = FLOWS_DEFAULT, .lcores = 1};
	optind = 0; // the caller may have parsed its own options
	while ((option = getopt_long(argc, argv, "p:g:w:e:vh", longs, NULL)) != -1) {
		rc = option_take(options, option);
		if (rc >= 0)
			return rc;
	}
	options->inputs = argv + optind;
	options->n_inputs = (unsigned)(argc - optind);
	if (options->n_inputs == 0)
		return usage("no capture is named");
	if (!options->policy)
		return usage("no policy: -p policy.json");
	if (options->scan_ms && !options->scan)
		return usage("--scan-ms is for --scan");
	if (options->json && !options->against)
		return usage("--json is for --against; events are JSON lines anyway (-e)");
	if (options->against &&
		(options->write || options->events || options->stats || options->streams ||
			options->extract || options->audit || options->n_reloads))
		return usage("--against only compares: -w, -e, --stats, --streams, --extract, "
			     "--audit and --reload are not for it");
	int code = check_outputs(options);
	if (code >= 0)
		return code;
	if (options->has_inside)
		address_set_seal(&options->inside);
	if (!options->signatures)
		signatures_default(options);
	return -1;
}

void replay_options_fini(struct replay_options *options)
{
	address_set_free(&options->inside);
}
