// SPDX-License-Identifier: BSD-3-Clause
// Reads pcap and pcapng files from a file or a pipe.
#include "replay/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PCAP_HEADER_BYTES 24u
#define PCAP_RECORDS_HELD 16u     // held against a form of the record headers
#define LINKTYPE_MASK     0xffffu // above it: frame check sequence length and flags

#define BLOCK_SECTION       0x0a0d0d0au // the same in both byte orders
#define BLOCK_INTERFACE     1u
#define BLOCK_PACKET_OLD    2u
#define BLOCK_SIMPLE_PACKET 3u
#define BLOCK_PACKET        6u
#define BLOCK_MIN_BYTES     12u
#define BYTE_ORDER_MAGIC    0x1a2b3c4du

#define OPTION_END       0u
#define OPTION_TSRESOL   9u
#define OPTION_TSOFFSET  14u
#define TSRESOL_BINARY   0x80u
#define TSRESOL_DEFAULT  6u
#define INTERFACES_MAX   65536u // per section; real files have tens
#define PIPE_MAX_BYTES   (1ull << 30)
#define PIPE_START_BYTES (1u << 20)
#define WINDOW_BYTES     (4u << 20)

struct interface {
	uint16_t linktype;
	uint8_t resolution; // if_tsresol as it stands in the file
	uint32_t snaplen;
	int64_t offset_s;
};

struct capture {
	const uint8_t *bytes;
	size_t len;
	size_t at;    // offset of the next header
	size_t ready; // up to there pages were asked for
	enum { STORE_BORROWED, STORE_MAPPED, STORE_HEAP } store;
	bool big_endian;
	bool nano;
	bool pcapng;
	int broken; // sticky -errno
	uint64_t last_ts_ns;
	struct capture_counters counters;
	// pcap
	uint32_t record_bytes;
	uint16_t linktype;
	// pcapng, of the section at hand
	struct interface *interfaces;
	uint32_t interfaces_n;
	uint32_t interfaces_room;
	char *name;
	char error[CAPTURE_ERROR_LEN];
};

static uint16_t get16(const struct capture *cap, const uint8_t *p)
{
	unsigned int v = cap->big_endian ? p[0] * 256u + p[1] : p[1] * 256u + p[0];

	return (uint16_t)v;
}

static uint32_t get32(const struct capture *cap, const uint8_t *p)
{
	uint32_t a = get16(cap, p), b = get16(cap, p + 2);

	return cap->big_endian ? (a << 16) | b : (b << 16) | a;
}

static uint64_t get64(const struct capture *cap, const uint8_t *p)
{
	uint64_t a = get32(cap, p), b = get32(cap, p + 4);

	return cap->big_endian ? (a << 32) | b : (b << 32) | a;
}

__attribute__((format(printf, 2, 3))) static int broken(struct capture *cap, const char *fmt, ...)
{
	va_list args;
	int n;

	n = snprintf(cap->error, sizeof cap->error, "%.300s: at byte %zu: ", cap->name, cap->at);
	va_start(args, fmt);
	vsnprintf(cap->error + n, sizeof cap->error - (size_t)n, fmt, args);
	va_end(args);
	cap->broken = -EBADMSG;
	return cap->broken;
}

static void record_fill(struct capture *cap, struct capture_record *rec, uint64_t ts_ns,
	uint16_t linktype, const uint8_t *bytes, size_t caplen, uint32_t len)
{
	cap->last_ts_ns = ts_ns;
	cap->counters.records++;
	*rec = (struct capture_record){
		.ts_ns = ts_ns,
		.caplen = (uint32_t)caplen,
		.len = len,
		.linktype = linktype,
		.bytes = bytes,
	};
}

// The next header and those of its packet are on their way while this record is worked on: where
// they are nobody could foretell, and each would be waited for. The same for pages, in windows.
static void fetch_next(struct capture *cap)
{
	const uint8_t *next = cap->bytes + cap->at;

	__builtin_prefetch(next);
	__builtin_prefetch(next + 64);
	if (cap->store != STORE_MAPPED || cap->at < cap->ready)
		return;
	cap->ready = cap->at / WINDOW_BYTES * WINDOW_BYTES;
	if (cap->ready < cap->len)
		(void)madvise((void *)(uintptr_t)(cap->bytes + cap->ready),
			cap->len - cap->ready < WINDOW_BYTES ? cap->len - cap->ready : WINDOW_BYTES,
			MADV_POPULATE_READ); // a kernel that knows it not: page faults do it
	cap->ready += WINDOW_BYTES;
}

// What a record header of this length says can be so, and the next one stands behind its packet: of
// the first records, as many as there are, `least` of them.
static bool record_headers_fit(const struct capture *cap, uint32_t bytes, unsigned least)
{
	size_t at = PCAP_HEADER_BYTES;
	unsigned n = 0;

	for (; n < PCAP_RECORDS_HELD && at < cap->len; n++) {
		const uint8_t *head = cap->bytes + at;
		size_t left = cap->len - at;

		if (left < bytes)
			return false;
		uint32_t caplen = get32(cap, head + 8), len = get32(cap, head + 12);

		if (get32(cap, head + 4) >= (cap->nano ? 1000000000u : 1000000u) ||
			len > CAPTURE_RECORD_MAX_BYTES || caplen > len || caplen > left - bytes)
			return false;
		at += bytes + (size_t)caplen;
	}
	return n >= least;
}

// Two of Kuznetzov's patches for libpcap, and Nokia's, have longer headers under a magic that says
// nothing of it: the first length that fits, of a longer one two records (a cut file has one by
// chance). Where none does, the file is damaged, and what the magic says holds.
static uint32_t record_bytes_of(const struct capture *cap, uint32_t magic)
{
	static const uint8_t standard[] = {16, 24, 20}, modified[] = {24, 28};
	const uint8_t *forms = magic == 0xa1b2cd34 ? modified : standard;
	unsigned n = magic == 0xa1b2cd34 ? sizeof(modified) : cap->nano ? 1 : sizeof(standard);

	for (unsigned i = 0; i < n; i++)
		if (record_headers_fit(cap, forms[i], i ? 2 : 0))
			return forms[i];
	return forms[0];
}

static int pcap_open(struct capture *cap, uint32_t magic)
{
	cap->nano = magic == 0xa1b23c4d;
	if (cap->len < PCAP_HEADER_BYTES)
		return broken(cap, "the pcap file header is cut: %zu of %u bytes", cap->len,
			PCAP_HEADER_BYTES);
	cap->record_bytes = record_bytes_of(cap, magic);
	cap->linktype = (uint16_t)(get32(cap, cap->bytes + 20) & LINKTYPE_MASK);
	cap->at = PCAP_HEADER_BYTES;
	return 0;
}

static int pcap_next(struct capture *cap, struct capture_record *rec)
{
	const uint8_t *head = cap->bytes + cap->at;
	size_t left = cap->len - cap->at;
	uint32_t caplen;
	uint64_t ts_ns;

	if (left == 0)
		return 0;
	if (left < cap->record_bytes)
		return broken(
			cap, "a record header is cut: %zu of %u bytes", left, cap->record_bytes);
	caplen = get32(cap, head + 8);
	ts_ns = get32(cap, head) * UINT64_C(1000000000) +
		get32(cap, head + 4) * (cap->nano ? UINT64_C(1) : UINT64_C(1000));
	left -= cap->record_bytes;
	record_fill(cap, rec, ts_ns, cap->linktype, head + cap->record_bytes,
		caplen < left ? caplen : left, get32(cap, head + 12));
	if (caplen > left) {
		// The caller gets what is there now, and the verdict on the file with the next
		// call.
		broken(cap, "a record of %" PRIu32 " bytes is cut: the file has %zu more", caplen,
			left);
		return 1;
	}
	cap->at += cap->record_bytes + (size_t)caplen;
	fetch_next(cap);
	return 1;
}

// Ticks of an interface as nanoseconds since the epoch, saturated at both ends.
static uint64_t ticks_ns(const struct interface *iface, uint64_t ticks)
{
	unsigned int power = iface->resolution & ~TSRESOL_BINARY;
	unsigned __int128 ns = ticks;

	if (iface->resolution & TSRESOL_BINARY) {
		ns = (ns * 1000000000u) >> power;
	} else {
		for (; power < 9; power++)
			ns *= 10; // at most 2^64 * 10^9: it fits
		for (; power > 9 && ns > 0; power--)
			ns /= 10;
	}
	if (iface->offset_s >= 0) {
		ns += (unsigned __int128)iface->offset_s * 1000000000u;
	} else {
		unsigned __int128 back =
			(unsigned __int128)(-(__int128)iface->offset_s) * 1000000000u;

		ns = ns > back ? ns - back : 0;
	}
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

static bool is_finer_than_us(uint8_t resolution)
{
	// 2^-20 s is still longer than a microsecond's half: such clocks count as microseconds.
	return resolution & TSRESOL_BINARY ? (resolution & ~TSRESOL_BINARY) > 20u
					   : resolution > TSRESOL_DEFAULT;
}

static int interface_add(struct capture *cap, const uint8_t *body, size_t len)
{
	struct interface iface = {.resolution = TSRESOL_DEFAULT};
	size_t at = 8;

	if (len < 8)
		return broken(cap, "an interface block of %zu bytes is too short", len);
	if (cap->interfaces_n == INTERFACES_MAX)
		return broken(cap, "more than %u interfaces in a section", INTERFACES_MAX);
	iface.linktype = get16(cap, body);
	iface.snaplen = get32(cap, body + 4);
	while (len - at >= 4) {
		uint16_t code = get16(cap, body + at), size = get16(cap, body + at + 2);
		size_t padded = ((size_t)size + 3) & ~(size_t)3;

		at += 4;
		if (code == OPTION_END || size > len - at)
			break;
		if (code == OPTION_TSRESOL && size >= 1)
			iface.resolution = body[at];
		else if (code == OPTION_TSOFFSET && size >= 8)
			iface.offset_s = (int64_t)get64(cap, body + at);
		if (padded > len - at)
			break;
		at += padded;
	}
	if (cap->interfaces_n == cap->interfaces_room) {
		uint32_t room = cap->interfaces_room ? cap->interfaces_room * 2 : 4;
		struct interface *grown =
			reallocarray(cap->interfaces, room, sizeof *cap->interfaces);

		if (!grown) {
			broken(cap, "no memory for %" PRIu32 " interfaces", room);
			return cap->broken = -ENOMEM;
		}
		cap->interfaces = grown;
		cap->interfaces_room = room;
	}
	cap->interfaces[cap->interfaces_n++] = iface;
	cap->nano |= is_finer_than_us(iface.resolution);
	return 0;
}

// A packet block's fixed part is 20 bytes in both of its forms; the old one has a 16-bit interface
// number and a drop count where the new one has a 32-bit number.
static bool packet_block(struct capture *cap, uint32_t type, const uint8_t *body, size_t len,
	struct capture_record *rec)
{
	const struct interface *iface;
	uint32_t index, caplen;
	uint64_t ticks;

	if (len < 20)
		goto orphan;
	index = type == BLOCK_PACKET ? get32(cap, body) : get16(cap, body);
	if (index >= cap->interfaces_n)
		goto orphan;
	iface = &cap->interfaces[index];
	ticks = (uint64_t)get32(cap, body + 4) << 32 | get32(cap, body + 8);
	caplen = get32(cap, body + 12);
	record_fill(cap, rec, ticks_ns(iface, ticks), iface->linktype, body + 20,
		caplen < len - 20 ? caplen : len - 20, get32(cap, body + 16));
	return true;
orphan:
	cap->counters.orphans++;
	return false;
}

static bool simple_packet_block(
	struct capture *cap, const uint8_t *body, size_t len, struct capture_record *rec)
{
	const struct interface *iface = cap->interfaces;
	uint32_t wire_len;
	size_t caplen;

	if (len < 4 || cap->interfaces_n == 0) {
		cap->counters.orphans++;
		return false;
	}
	wire_len = get32(cap, body);
	caplen = wire_len < len - 4 ? wire_len : len - 4;
	// The block has no captured length: only the snap length tells bytes from padding.
	if (iface->snaplen > 0 && caplen > iface->snaplen)
		caplen = iface->snaplen;
	cap->counters.untimed++;
	record_fill(cap, rec, cap->last_ts_ns, iface->linktype, body + 4, caplen, wire_len);
	return true;
}

static int section_begin(struct capture *cap, const uint8_t *block, size_t left)
{
	if (left < 12)
		return broken(cap, "a section header is cut: %zu bytes", left);
	cap->big_endian = false;
	if (get32(cap, block + 8) != BYTE_ORDER_MAGIC) {
		cap->big_endian = true;
		if (get32(cap, block + 8) != BYTE_ORDER_MAGIC)
			return broken(cap, "unknown byte-order magic %02x%02x%02x%02x", block[8],
				block[9], block[10], block[11]);
	}
	cap->interfaces_n = 0;
	return 0;
}

static int pcapng_next(struct capture *cap, struct capture_record *rec)
{
	for (;;) {
		const uint8_t *block = cap->bytes + cap->at;
		size_t left = cap->len - cap->at;
		uint32_t type, total;
		bool found = false;
		size_t len;
		int rc;

		if (left == 0)
			return 0;
		if (left < BLOCK_MIN_BYTES)
			return broken(cap, "a block header is cut: %zu bytes", left);
		type = get32(cap, block);
		if (type == BLOCK_SECTION) {
			rc = section_begin(cap, block, left);
			if (rc < 0)
				return rc;
		}
		total = get32(cap, block + 4);
		if (total < BLOCK_MIN_BYTES)
			return broken(cap, "a block claims a length of %" PRIu32 " bytes", total);
		if (total > left)
			return broken(cap,
				"a block of %" PRIu32 " bytes is cut: the file has %zu more", total,
				left);
		len = total - BLOCK_MIN_BYTES; // type and length before, length again behind
		if (type == BLOCK_INTERFACE) {
			rc = interface_add(cap, block + 8, len);
			if (rc < 0)
				return rc;
		} else if (type == BLOCK_PACKET || type == BLOCK_PACKET_OLD) {
			found = packet_block(cap, type, block + 8, len, rec);
		} else if (type == BLOCK_SIMPLE_PACKET) {
			found = simple_packet_block(cap, block + 8, len, rec);
		}
		cap->at += total;
		if (found) {
			fetch_next(cap);
			return 1;
		}
	}
}

static int format_tell(struct capture *cap)
{
	uint32_t magic;

	if (cap->len < 4)
		return broken(cap, "%zu bytes are too few for a capture", cap->len);
	for (int order = 0; order < 2; order++) {
		cap->big_endian = order == 1;
		magic = get32(cap, cap->bytes);
		if (magic == 0xa1b2c3d4 || magic == 0xa1b23c4d || magic == 0xa1b2cd34)
			return pcap_open(cap, magic);
	}
	if (magic == BLOCK_SECTION) {
		cap->pcapng = true;
		return section_begin(cap, cap->bytes, cap->len);
	}
	if (magic >> 16 == 0x1f8b)
		return broken(cap, "the file is compressed with gzip: unpack it first");
	if (magic == 0x28b52ffd)
		return broken(cap, "the file is compressed with zstd: unpack it first");
	return broken(cap, "%02x%02x%02x%02x begins neither pcap nor pcapng", cap->bytes[0],
		cap->bytes[1], cap->bytes[2], cap->bytes[3]);
}

// Reads what cannot be mapped: pipes, terminals, files of /proc.
static int pipe_read(struct capture *cap, int fd)
{
	size_t room = PIPE_START_BYTES;
	uint8_t *bytes = malloc(room);

	cap->store = STORE_HEAP;
	cap->bytes = bytes;
	for (;;) {
		ssize_t n;

		if (!bytes)
			return -ENOMEM;
		n = read(fd, bytes + cap->len, room - cap->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		cap->len += (size_t)n;
		if (n == 0)
			return 0;
		if (cap->len < room)
			continue;
		if (room >= PIPE_MAX_BYTES)
			return -EFBIG;
		room *= 2;
		bytes = realloc(bytes, room);
		if (bytes)
			cap->bytes = bytes;
	}
}

static int file_map(struct capture *cap, int fd)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	if (!S_ISREG(st.st_mode) || st.st_size == 0)
		return pipe_read(cap, fd);
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE,
		fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	(void)madvise(map, (size_t)st.st_size, MADV_SEQUENTIAL);
	cap->store = STORE_MAPPED;
	cap->bytes = map;
	cap->len = (size_t)st.st_size;
	return 0;
}

static int capture_new(const char *name, struct capture **out, char *err, size_t err_len)
{
	struct capture *cap = calloc(1, sizeof *cap);

	*out = NULL;
	if (cap)
		cap->name = strdup(name);
	if (!cap || !cap->name) {
		free(cap);
		snprintf(err, err_len, "%.300s: no memory to open it", name);
		return -ENOMEM;
	}
	*out = cap;
	return 0;
}

int capture_open_memory(const char *name, const void *bytes, size_t len, struct capture **out,
	char *err, size_t err_len)
{
	struct capture *cap;
	int rc = capture_new(name, &cap, err, err_len);

	*out = NULL;
	if (rc < 0)
		return rc;
	cap->bytes = bytes;
	cap->len = len;
	rc = format_tell(cap);
	if (rc < 0) {
		snprintf(err, err_len, "%s", cap->error);
		capture_close(cap);
		return rc;
	}
	*out = cap;
	return 0;
}

int capture_open(const char *path, struct capture **out, char *err, size_t err_len)
{
	struct capture *cap;
	int rc = capture_new(path, &cap, err, err_len);
	int fd;

	*out = NULL;
	if (rc < 0)
		return rc;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	rc = fd < 0 ? -errno : file_map(cap, fd);
	if (fd >= 0)
		close(fd);
	if (rc < 0) {
		snprintf(err, err_len, "%.300s: cannot read: %s", path, strerror(-rc));
	} else {
		rc = format_tell(cap);
		if (rc < 0)
			snprintf(err, err_len, "%s", cap->error);
	}
	if (rc < 0)
		capture_close(cap);
	else
		*out = cap;
	return rc;
}

int capture_next(struct capture *cap, struct capture_record *rec)
{
	if (cap->broken < 0)
		return cap->broken;
	return cap->pcapng ? pcapng_next(cap, rec) : pcap_next(cap, rec);
}

int capture_rewind(struct capture *cap)
{
	cap->at = 0;
	cap->nano = false;
	cap->broken = 0;
	cap->last_ts_ns = 0;
	cap->interfaces_n = 0;
	cap->error[0] = 0;
	cap->counters = (struct capture_counters){0};
	return format_tell(cap);
}

const char *capture_error(const struct capture *cap)
{
	return cap->error;
}

bool capture_is_nano(const struct capture *cap)
{
	return cap->nano;
}

void capture_counters_get(const struct capture *cap, struct capture_counters *out)
{
	*out = cap->counters;
}

void capture_close(struct capture *cap)
{
	if (!cap)
		return;
	// The stored bytes are const for everyone else; here they go back to where they came from.
	if (cap->store == STORE_MAPPED)
		munmap((void *)(uintptr_t)cap->bytes, cap->len);
	else if (cap->store == STORE_HEAP)
		free((void *)(uintptr_t)cap->bytes);
	free(cap->interfaces);
	free(cap->name);
	free(cap);
}
