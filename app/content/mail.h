// SPDX-License-Identifier: BSD-3-Clause
// A mail that a protocol of mailboxes (POP3, IMAP) brings, as it is given to mime/mime.h: what the
// turn's budget has left over of it, and its end. The lcore that owns the flow.
#ifndef SLUICE_CONTENT_MAIL_H
#define SLUICE_CONTENT_MAIL_H

#include "content/content.h"
#include "content/mime/mime.h"

// Zeroed at first.
struct content_mail {
	struct mime *mime; // NULL: none is open
	uint64_t ends64;   // where its last byte ended
	bool more;         // it is to be called again, for nothing
	bool ends, whole;  // its end is to be told; by its protocol's own
};

// False: no memory. Nothing is open before.
bool content_mail_open(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about);
// *taken: counts on. CONTENT_FED: all.
enum content_fed content_mail_put(struct content_mail *mail, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, const uint8_t *bytes, uint32_t length,
	uint32_t *taken);
void content_mail_lose(struct content_mail *mail, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64);
// Its end; content_mail_settle() tells it.
void content_mail_end(struct content_mail *mail, uint64_t at64, bool whole);
// What the budget has left over, first in each call of feed(), and behind an end. CONTENT_FED:
// nothing, and a mail that has ended is closed.
enum content_fed content_mail_settle(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about);
// Before feed() returns.
void content_mail_flush(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about);
// Nothing, if none is open.
void content_mail_close(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about);

#endif
