// SPDX-License-Identifier: BSD-3-Clause
// Loads signatures into libclamav, and asks it about files.
#include "scan/program/clam.h"

#include <clamav.h>
#include <errno.h>
#include <iconv.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "scan/program/database.h"
#include "scan/program/refused.h"
#include "scan/program/seen.h"

// All parsers. Limits and encryption are always reported: otherwise what was not looked at reads
// clean. Not: reports of what is merely odd (broken files, macros, numbers of credit cards).
#define PARSE                                                                                \
	(CL_SCAN_PARSE_ARCHIVE | CL_SCAN_PARSE_ELF | CL_SCAN_PARSE_PDF | CL_SCAN_PARSE_SWF | \
		CL_SCAN_PARSE_HWP3 | CL_SCAN_PARSE_XMLDOCS | CL_SCAN_PARSE_MAIL |            \
		CL_SCAN_PARSE_OLE2 | CL_SCAN_PARSE_HTML | CL_SCAN_PARSE_PE |                 \
		CL_SCAN_PARSE_ONENOTE | CL_SCAN_PARSE_IMAGE | CL_SCAN_PARSE_IMAGE_FUZZY_HASH)
#define HEURISTICS                                                             \
	(CL_SCAN_HEURISTIC_EXCEEDS_MAX | CL_SCAN_HEURISTIC_ENCRYPTED_ARCHIVE | \
		CL_SCAN_HEURISTIC_ENCRYPTED_DOC)

struct look { // one scan
	struct scan_facts facts;
	struct scan_seen seen;
};

static void complain(enum cl_msg severity, const char *full, const char *text, void *context)
{
	(void)full;
	(void)context;
	if (severity < CL_MSG_ERROR || !text)
		return;
	fprintf(stderr, "sluice-scan: libclamav: %.*s\n", (int)strcspn(text, "\n"), text);
}

static cl_error_t on_layer(int fd, const char *type, const char **ancestors, size_t parent_bytes,
	const char *name, size_t bytes, const char *buffer, uint32_t level, uint32_t attributes,
	void *context)
{
	struct look *look = context;

	(void)fd;
	(void)ancestors;
	(void)parent_bytes;
	(void)name;
	(void)attributes;
	scan_seen_layer(&look->seen, &look->facts, type, level, (const uint8_t *)buffer, bytes);
	return CL_CLEAN;
}

static cl_error_t on_member(const char *container, unsigned long packed, const char *name,
	unsigned long bytes, int encrypted, unsigned position, void *context)
{
	struct look *look = context;

	(void)packed;
	(void)name;
	scan_seen_member(&look->seen, &look->facts, container, bytes, encrypted != 0, position);
	return CL_CLEAN;
}

static void on_found(int fd, const char *name, void *context)
{
	struct look *look = context;

	(void)fd;
	scan_facts_name(&look->facts, name);
}

static int find_unrar(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	if (info->dlpi_name && strstr(info->dlpi_name, "libclamunrar_iface"))
		*(bool *)context = true;
	return 0;
}

// What a parser does not normalise, because it is too large, is not reported as a limit: so none
// of these is smaller than a file may be.
static int set_limits(struct cl_engine *engine, const struct scan_settings *settings)
{
	const long long file = (long long)settings->max_file_mb << 20;
	const struct {
		enum cl_engine_field field;
		long long value;
	} numbers[] = {
		{CL_ENGINE_MAX_SCANTIME, (long long)settings->max_scan_ms},
		{CL_ENGINE_MAX_SCANSIZE, (long long)settings->max_scan_mb << 20},
		{CL_ENGINE_MAX_FILESIZE, file},
		{CL_ENGINE_MAX_RECURSION, (long long)settings->max_recursion},
		{CL_ENGINE_MAX_FILES, (long long)settings->max_files},
		{CL_ENGINE_MAX_EMBEDDEDPE, file},
		{CL_ENGINE_MAX_HTMLNORMALIZE, file},
		{CL_ENGINE_MAX_HTMLNOTAGS, file},
		{CL_ENGINE_MAX_SCRIPTNORMALIZE, file},
		{CL_ENGINE_MAX_ZIPTYPERCG, file},
		{CL_ENGINE_PCRE_MAX_FILESIZE, file},
		// Verdicts are remembered by their SHA-256 by who asks; this cache has MD5.
		{CL_ENGINE_DISABLE_CACHE, 1},
		// A compiler would need memory that becomes code.
		{CL_ENGINE_BYTECODE_MODE, CL_BYTECODE_MODE_INTERPRETER},
		{CL_ENGINE_BYTECODE_SECURITY, CL_BYTECODE_TRUST_SIGNED},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (cl_engine_set_num(engine, numbers[i].field, numbers[i].value) != CL_SUCCESS)
			return -EINVAL;
	return 0;
}

static int load_engine(struct scan_clam *clam, const struct scan_settings *settings,
	const struct scan_database *database, char *err, size_t err_len)
{
	unsigned signatures = 0;
	cl_error_t rc = CL_EMEM;

	if (!database->detecting) {
		snprintf(err, err_len, "%s has no signatures", settings->database);
		return -ENOENT;
	}
	clam->engine = cl_engine_new();
	if (clam->engine && set_limits(clam->engine, settings) == 0 &&
		(!settings->tmp || cl_engine_set_str(clam->engine, CL_ENGINE_TMPDIR,
					   settings->tmp) == CL_SUCCESS))
		// Never CL_DB_BYTECODE_UNSIGNED: that would be code of whoever wrote it.
		rc = cl_load(settings->database, clam->engine, &signatures, CL_DB_STDOPT);
	if (rc == CL_SUCCESS && !signatures) {
		snprintf(err, err_len, "%s has no signatures", settings->database);
		return -ENOENT;
	}
	if (rc == CL_SUCCESS)
		rc = cl_engine_compile(clam->engine);
	if (rc != CL_SUCCESS) {
		snprintf(err, err_len, "%s: libclamav cannot load it: %s", settings->database,
			cl_strerror(rc));
		return -EINVAL;
	}
	clam->signatures = signatures;
	cl_engine_set_clcb_file_inspection(clam->engine, on_layer);
	cl_engine_set_clcb_meta(clam->engine, on_member);
	cl_engine_set_clcb_virus_found(clam->engine, on_found);
	return 0;
}

static int digest(struct scan_clam *clam, const struct scan_settings *settings,
	const struct scan_database *database, char *err, size_t err_len)
{
	char options[512];
	int n = snprintf(options, sizeof(options),
		"libclamav %s rar %d parse %x heuristics %x ms %llu file %llu scan %llu depth %llu "
		"files %llu tmp %llu memory %llu",
		cl_retver(), clam->opens_rar, (unsigned)PARSE, (unsigned)HEURISTICS,
		(unsigned long long)settings->max_scan_ms,
		(unsigned long long)settings->max_file_mb,
		(unsigned long long)settings->max_scan_mb,
		(unsigned long long)settings->max_recursion,
		(unsigned long long)settings->max_files, (unsigned long long)settings->tmp_mb,
		(unsigned long long)settings->memory_mb);

	return scan_database_digest(
		database, settings->database, options, (size_t)n + 1, clam->digest, err, err_len);
}

int scan_clam_load(
	struct scan_clam *clam, const struct scan_settings *settings, char *err, size_t err_len)
{
	static struct scan_database before, after;
	static bool is_begun;

	*clam = (struct scan_clam){.max_bytes = settings->max_file_mb << 20};
	cl_set_clcb_msg(complain);
	int rc = is_begun || cl_init(CL_INIT_DEFAULT) == CL_SUCCESS ? 0 : -EINVAL;

	is_begun = !rc;
	snprintf(err, err_len, "libclamav does not start");
	dl_iterate_phdr(find_unrar, &clam->opens_rar);
	if (!rc)
		rc = scan_database_list(&before, settings->database, err, err_len);
	if (!rc)
		rc = load_engine(clam, settings, &before, err, err_len);
	if (!rc)
		rc = digest(clam, settings, &before, err, err_len);
	if (!rc)
		rc = scan_database_list(&after, settings->database, err, err_len);
	if (!rc && !scan_database_same(&before, &after)) {
		snprintf(err, err_len, "%s changed while it was loaded: somebody is writing to it",
			settings->database);
		rc = -EAGAIN;
	}
	if (rc) {
		scan_clam_free(clam);
		return rc;
	}
	int wrong;
	long long made = cl_engine_get_num(clam->engine, CL_ENGINE_DB_TIME, &wrong);

	clam->db_version = (uint64_t)cl_engine_get_num(clam->engine, CL_ENGINE_DB_VERSION, &wrong);
	clam->db_time_s = made > 0 ? (uint64_t)made : scan_database_time_s(&before);
	return 0;
}

void scan_clam_free(struct scan_clam *clam)
{
	if (clam->engine)
		cl_engine_free(clam->engine);
	clam->engine = NULL;
}

const char *scan_clam_version(void)
{
	return cl_retver();
}

int scan_clam_set_tmp(struct scan_clam *clam, const char *folder)
{
	return cl_engine_set_str(clam->engine, CL_ENGINE_TMPDIR, folder) == CL_SUCCESS ? 0
										       : -EINVAL;
}

void scan_clam_touch(struct scan_clam *clam)
{
	// The C library's modules for the encodings that documents come in. They stay open: none is
	// unloaded.
	static const char *const encodings[] = {"UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32",
		"UTF-32LE", "UTF-32BE", "UTF-7", "UCS-2", "CP437", "CP720", "CP737", "CP775",
		"CP850", "CP852", "CP855", "CP857", "CP858", "CP860", "CP861", "CP862", "CP863",
		"CP864", "CP865", "CP866", "CP869", "CP874", "CP932", "CP936", "CP949", "CP950",
		"CP1250", "CP1251", "CP1252", "CP1253", "CP1254", "CP1255", "CP1256", "CP1257",
		"CP1258", "CP1361", "KOI8-R", "KOI8-U", "ISO-8859-1", "ISO-8859-2", "ISO-8859-3",
		"ISO-8859-4", "ISO-8859-5", "ISO-8859-6", "ISO-8859-7", "ISO-8859-8", "ISO-8859-9",
		"ISO-8859-13", "ISO-8859-15", "ISO-2022-JP", "ISO-2022-KR", "EUC-JP", "EUC-CN",
		"EUC-KR", "SHIFT_JIS", "BIG5", "GB18030", "MACINTOSH"};
	// A text in UTF-16, a mail with a date, a picture of one point: parsers that are reached
	// through lazily made tables.
	static const char text[] = "\xff\xfe<\0h\0t\0m\0l\0>\0";
	static const char mail[] = "From: a@example.org\nDate: Thu, 1 Jan 1970 00:00:00 +0000\n"
				   "Subject: a\nMIME-Version: 1.0\nContent-Type: text/plain\n\na\n";
	static const char gif[] = "GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff,\0\0\0\0\1\0\1\0\0\2\2"
				  "D\1\0;";
	const struct {
		const char *bytes;
		size_t n;
	} files[] = {{text, sizeof(text) - 1}, {mail, sizeof(mail) - 1}, {gif, sizeof(gif) - 1}};
	struct scan_outcome out;

	tzset();
	for (size_t i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
		(void)!iconv_open("UTF-8", encodings[i]);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		scan_clam_scan(clam, (const uint8_t *)files[i].bytes, files[i].n, &out);
}

void scan_clam_scan(
	struct scan_clam *clam, const uint8_t *bytes, size_t n, struct scan_outcome *out)
{
	struct cl_scan_options options = {
		.general = CL_SCAN_GENERAL_HEURISTICS,
		.parse = PARSE,
		.heuristic = HEURISTICS,
	};
	struct look look = {0};
	unsigned long scanned = 0;
	const char *name = NULL;
	cl_error_t result = CL_EMEM;

	scan_seen_begin(&look.seen, clam->opens_rar);
	scan_refused_forget();
	if (n > clam->max_bytes) {
		result = CL_EMAXSIZE;
	} else {
		cl_fmap_t *map = cl_fmap_open_memory(bytes, n);

		if (map) {
			result = cl_scanmap_callback(
				map, NULL, &name, &scanned, clam->engine, &options, &look);
			cl_fmap_close(map);
		}
	}
	if (result == CL_VIRUS)
		scan_facts_name(&look.facts, name);
	if (scan_refused())
		scan_facts_reason(&look.facts, SCAN_REASON_LIMIT);
	scan_seen_end(&look.seen, &look.facts);
	scan_verdict_make((int)result, &look.facts, out);
}
