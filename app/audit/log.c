// SPDX-License-Identifier: BSD-3-Clause
// Writes the audit log: one line is one write(2), and the next one waits until it is whole. What
// cannot be written at all is lost and counted; what was written in part keeps its rest here until
// there is room, as the file may be one from which nothing can be cut (chattr +a).
#include "audit/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/log_file.h"

#define OWN_MEMBERS_MAX 512
#define TIME_TEXT       40
#define US_PER_S        1000000u

// A line that the log owes, before any record.
enum owed {
	OWED_NOTHING,
	OWED_BEGIN,
	OWED_RESUME,
	OWED_ROTATE,
};

struct audit_log {
	struct audit_place place;
	int fd;
	uint64_t seq; // of the last line that is whole
	char head[AUDIT_HEX_BYTES];
	char id[AUDIT_LOG_ID_BYTES];
	char software[64];
	enum owed owed;
	uint64_t unreported; // lost records that no line reports yet
	uint64_t side_bytes; // what the next OWED_RESUME reports
	uint64_t file_bytes;
	uint64_t rotate_bytes, rotate_at;
	unsigned sync_records, unsynced;
	uint64_t sync_us, unsynced_since_us;
	struct audit_log_counters counters;
	// The line at hand; its bytes from `sent` to `length` are not in the file yet. Only while
	// it waits they are of any worth.
	size_t sent, length;
	bool waiting_own;
	uint64_t waiting_reports; // lost records that the line at hand reports
	char line[AUDIT_LINE_MAX + 1];
};

static void now_text(uint64_t now_us, char out[TIME_TEXT])
{
	time_t seconds = (time_t)(now_us / US_PER_S);
	char text[TIME_TEXT - 16];
	struct tm tm;

	gmtime_r(&seconds, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, TIME_TEXT, "%s.%06u+0000", text, (unsigned)(now_us % US_PER_S));
}

static void sync_now(struct audit_log *log)
{
	if (!log->unsynced)
		return;
	log->unsynced = 0;
	if (fdatasync(log->fd) == 0)
		log->counters.syncs++;
	else
		log->counters.sync_errors++;
}

static void sync_if_due(struct audit_log *log, uint64_t now_us)
{
	if (!log->unsynced)
		return;
	if (now_us < log->unsynced_since_us) // the clock was set back
		log->unsynced_since_us = now_us;
	if ((log->sync_records && log->unsynced >= log->sync_records) ||
		(log->sync_us && now_us - log->unsynced_since_us >= log->sync_us))
		sync_now(log);
}

static void line_is_whole(struct audit_log *log, uint64_t now_us)
{
	audit_hash(log->line, log->length - 1, log->head);
	log->seq++;
	if (log->waiting_own)
		log->counters.own_lines++;
	else
		log->counters.records++;
	log->unreported -= log->waiting_reports;
	log->waiting_reports = 0;
	log->counters.bytes += log->length;
	log->file_bytes += log->length;
	log->sent = log->length = 0;
	if (!log->unsynced++)
		log->unsynced_since_us = now_us;
}

// The rest of the line at hand. 0: it is whole; -errno: as far as it went, `sent` may have grown.
static int send_rest(struct audit_log *log, uint64_t now_us)
{
	while (log->sent < log->length) {
		ssize_t n = write(log->fd, log->line + log->sent, log->length - log->sent);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			log->counters.error = n ? errno : ENOSPC;
			return -log->counters.error;
		}
		log->sent += (size_t)n;
	}
	log->counters.error = 0;
	line_is_whole(log, now_us);
	return 0;
}

static bool is_waiting(const struct audit_log *log)
{
	return log->sent < log->length;
}

// A new line of the members given (without braces). 0 also for one that went in part.
static int send_line(struct audit_log *log, const char *members, size_t length, uint64_t now_us)
{
	size_t n = audit_frame_write(log->line, log->seq + 1, log->head);

	if (n + length + 3 > sizeof(log->line)) // comma, brace, newline
		return -EMSGSIZE;
	if (length) {
		log->line[n++] = ',';
		memcpy(log->line + n, members, length);
		n += length;
	}
	log->line[n++] = '}';
	log->line[n++] = '\n';
	log->length = n;
	log->sent = 0;
	int rc = send_rest(log, now_us);
	if (rc < 0 && !log->sent) { // nothing of it is in the file
		log->length = 0;
		return rc;
	}
	return 0;
}

__attribute__((format(printf, 3, 4))) static int send_own(
	struct audit_log *log, uint64_t now_us, const char *format, ...)
{
	char members[OWN_MEMBERS_MAX + TIME_TEXT + 32], time[TIME_TEXT];
	va_list args;

	va_start(args, format);
	int n = vsnprintf(members, OWN_MEMBERS_MAX, format, args);
	va_end(args);
	now_text(now_us, time);
	n += snprintf(members + n, TIME_TEXT + 32, ",\"timestamp\":\"%s\"", time);
	log->waiting_own = true;
	int rc = send_line(log, members, (size_t)n, now_us);
	if (rc == 0 && is_waiting(log))
		rc = -EAGAIN;
	return rc;
}

// The line that opens a file.
static int send_opening(struct audit_log *log, uint64_t now_us)
{
	static const char *const words[] = {
		[OWED_BEGIN] = "begin", [OWED_RESUME] = "resume", [OWED_ROTATE] = "rotate"};
	char continues[128] = "", torn[64] = "";
	enum owed owed = log->owed;

	if (owed != OWED_BEGIN)
		snprintf(continues, sizeof(continues), ",\"continues\":\"%s\"", log->head);
	if (log->side_bytes)
		snprintf(torn, sizeof(torn), ",\"torn_bytes\":%" PRIu64, log->side_bytes);
	// When it goes in part it is owed no longer: nothing else is written before its rest.
	log->owed = OWED_NOTHING;
	int rc = send_own(log, now_us,
		AUDIT_OWN_MEMBERS "%s\",\"log_id\":\"%s\",\"software\":\"%s\"%s%s}", words[owed],
		log->id, log->software, continues, torn);
	if (rc < 0 && !is_waiting(log))
		log->owed = owed;
	else
		log->side_bytes = 0;
	return rc;
}

static int send_loss(struct audit_log *log, uint64_t now_us)
{
	uint64_t lost = log->unreported;

	log->waiting_reports = lost;
	int rc = send_own(log, now_us, AUDIT_OWN_MEMBERS "lost\",\"lost\":%" PRIu64 "}", lost);
	if (rc < 0 && !is_waiting(log))
		log->waiting_reports = 0;
	return rc;
}

// What must be in the file before the next record. 0: nothing is left of it.
static int send_owed(struct audit_log *log, uint64_t now_us)
{
	int rc = is_waiting(log) ? send_rest(log, now_us) : 0;

	if (rc == 0 && log->owed)
		rc = send_opening(log, now_us);
	if (rc == 0 && log->unreported)
		rc = send_loss(log, now_us);
	return rc;
}

// NAME, which must be empty, becomes the file in use.
static int begin_file(struct audit_log *log)
{
	struct stat st;
	int fd = audit_file_open(&log->place, 0);

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) != 0 || st.st_size) {
		close(fd);
		return -EEXIST;
	}
	(void)fsync(log->place.folder);
	sync_now(log);
	close(log->fd);
	log->fd = fd;
	log->file_bytes = 0;
	log->rotate_at = log->rotate_bytes;
	log->owed = OWED_ROTATE;
	log->counters.rotations++;
	return 0;
}

static int rename_and_begin(struct audit_log *log)
{
	const struct audit_place *place = &log->place;
	char name[NAME_MAX + 1];

	snprintf(name, sizeof(name), "%.200s.%" PRIu64, place->name, log->seq);
	if (renameat2(place->folder, place->name, place->folder, name, RENAME_NOREPLACE) != 0)
		return -errno;
	int rc = begin_file(log);
	if (rc < 0) // goes on in the old file, under its old name if that can be
		(void)renameat2(place->folder, name, place->folder, place->name, RENAME_NOREPLACE);
	return rc;
}

int audit_log_rotate(struct audit_log *log, uint64_t now_us)
{
	int rc = is_waiting(log) ? send_rest(log, now_us) : 0;

	if (rc == 0 && !log->seq)
		rc = -EAGAIN; // there is nothing in it
	if (rc == 0)
		rc = rename_and_begin(log);
	if (rc < 0) {
		log->counters.rotate_errors++;
		return rc;
	}
	(void)send_owed(log, now_us);
	return 0;
}

int audit_log_reopen(struct audit_log *log, uint64_t now_us)
{
	struct stat ours, there;

	if (fstat(log->fd, &ours) == 0 &&
		fstatat(log->place.folder, log->place.name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
		ours.st_dev == there.st_dev && ours.st_ino == there.st_ino)
		return 0;
	int rc = is_waiting(log) ? send_rest(log, now_us) : 0;
	if (rc == 0)
		rc = begin_file(log);
	if (rc < 0) {
		log->counters.rotate_errors++;
		return rc;
	}
	(void)send_owed(log, now_us);
	return 0;
}

static bool is_object(const char *json, size_t length)
{
	if (length < 2 || json[0] != '{' || json[length - 1] != '}')
		return false;
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)json[i] < 0x20)
			return false;
	return true;
}

static int lose(struct audit_log *log, int rc)
{
	audit_log_lose(log, 1);
	return rc;
}

int audit_log_append(struct audit_log *log, const char *json, size_t length, uint64_t now_us)
{
	if (!is_object(json, length))
		return lose(log, -EINVAL);
	int rc = send_owed(log, now_us);
	if (rc < 0)
		return lose(log, rc);
	if (log->rotate_at && log->file_bytes >= log->rotate_at) {
		rc = audit_log_rotate(log, now_us);
		if (rc < 0) // again when it has grown by an eighth
			log->rotate_at = log->file_bytes + log->rotate_bytes / 8 + 1;
		else if (log->owed || is_waiting(log))
			return lose(log, -ENOSPC);
	}
	log->waiting_own = false;
	rc = send_line(log, json + 1, length - 2, now_us);
	if (rc < 0)
		return lose(log, rc);
	sync_if_due(log, now_us);
	return 0;
}

void audit_log_lose(struct audit_log *log, uint64_t records)
{
	log->counters.lost += records;
	log->unreported += records;
}

void audit_log_tick(struct audit_log *log, uint64_t now_us)
{
	(void)send_owed(log, now_us);
	sync_if_due(log, now_us);
}

uint64_t audit_log_head(const struct audit_log *log, char hex[AUDIT_HEX_BYTES])
{
	memcpy(hex, log->head, AUDIT_HEX_BYTES);
	return log->seq;
}

void audit_log_look(const struct audit_log *log, struct audit_log_counters *out)
{
	*out = log->counters;
	out->waiting = is_waiting(log) && !log->waiting_own;
}

// Where the chain stands in the file and in those before it; what is torn goes to a side file.
static int find_chain(struct audit_log *log, char *err, size_t err_len)
{
	struct audit_tail tail, before = {0};
	int rc = audit_file_tail(log->fd, &tail);

	if (rc == 0 && !tail.seq)
		rc = audit_file_before(&log->place, &before);
	if (rc < 0) {
		snprintf(err, err_len, "%s",
			rc == -EINVAL ? "there is something else in the file or in the one before "
					"it, and no audit log; move it away"
				      : strerror(-rc));
		return rc;
	}
	const struct audit_tail *from = tail.seq ? &tail : &before;
	log->seq = from->seq;
	memcpy(log->head, from->seq ? from->head : audit_prev_none, sizeof(log->head));
	if (from->id[0])
		memcpy(log->id, from->id, sizeof(log->id));
	log->owed = from->seq ? OWED_RESUME : OWED_BEGIN;
	log->file_bytes = (uint64_t)tail.end;
	if (tail.end < tail.size) {
		rc = audit_side_save(&log->place, log->fd, &tail, log->seq + 1);
		if (rc < 0) {
			snprintf(err, err_len,
				"it ends in half a line, which cannot be moved to a side file: %s",
				strerror(-rc));
			return rc;
		}
		log->counters.torn_bytes = (uint64_t)(tail.size - tail.end);
	}
	// Also that of an earlier start that was killed before it wrote its line.
	log->side_bytes = audit_side_bytes(&log->place, log->seq + 1);
	return 0;
}

static int open_and_find(struct audit_log *log, char *err, size_t err_len)
{
	log->fd = audit_file_open(&log->place, 0);
	if (log->fd < 0) {
		snprintf(err, err_len, "%s",
			log->fd == -EBUSY    ? "another process writes it"
			: log->fd == -EINVAL ? "it is no regular file"
					     : strerror(-log->fd));
		return log->fd;
	}
	int rc = find_chain(log, err, err_len);
	if (rc < 0)
		close(log->fd);
	return rc;
}

int audit_log_open(const struct audit_log_options *options, uint64_t now_us, struct audit_log **out,
	char *err, size_t err_len)
{
	struct audit_log *log = calloc(1, sizeof(*log));
	int rc = log ? audit_place_open(&log->place, options->path) : -ENOMEM;

	*out = NULL;
	if (rc < 0) {
		snprintf(err, err_len, "%s", strerror(-rc));
		free(log);
		return rc;
	}
	snprintf(log->software, sizeof(log->software), "%s", options->software);
	audit_hex(options->id, sizeof(options->id), log->id);
	log->rotate_bytes = log->rotate_at = options->file_bytes;
	log->sync_records = options->sync_records;
	log->sync_us = options->sync_us;
	rc = open_and_find(log, err, err_len);
	if (rc < 0) {
		close(log->place.folder);
		free(log);
		return rc;
	}
	(void)send_owed(log, now_us); // where the disk is full: when it no longer is
	sync_now(log);
	(void)fsync(log->place.folder);
	*out = log;
	return 0;
}

void audit_log_close(struct audit_log *log, uint64_t now_us)
{
	if (!log)
		return;
	(void)send_owed(log, now_us);
	sync_now(log);
	close(log->fd);
	close(log->place.folder);
	free(log);
}
