// SPDX-License-Identifier: BSD-3-Clause
// A mail as it is given to mime/mime.h.
#include "content/mail.h"

bool content_mail_open(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about)
{
	*mail = (struct content_mail){.mime = mime_open(turn, about)};
	return mail->mime;
}

enum content_fed content_mail_put(struct content_mail *mail, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64, const uint8_t *bytes, uint32_t length,
	uint32_t *taken)
{
	uint32_t n = 0;
	enum content_fed fed = mime_feed(mail->mime, turn, about, at64, bytes, length, &n);

	*taken += n;
	mail->ends64 = about->coded ? at64 : at64 + n;
	mail->more = fed == CONTENT_MORE && n == length;
	return fed;
}

void content_mail_lose(struct content_mail *mail, struct content_turn *turn,
	const struct mime_about *about, uint64_t at64)
{
	if (mail->mime)
		mime_lose(mail->mime, turn, about, at64);
}

void content_mail_end(struct content_mail *mail, uint64_t at64, bool whole)
{
	mail->ends = mail->mime;
	mail->whole = whole;
	mail->ends64 = at64;
}

enum content_fed content_mail_settle(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about)
{
	enum content_fed fed = CONTENT_FED;
	uint32_t n = 0;

	if (mail->more)
		fed = mime_feed(mail->mime, turn, about, mail->ends64, NULL, 0, &n);
	mail->more = fed == CONTENT_MORE;
	if (mail->more || !mail->ends)
		return fed;
	fed = mime_end(mail->mime, turn, about, mail->ends64, mail->whole);
	if (fed == CONTENT_FED)
		content_mail_close(mail, turn, about);
	return fed;
}

void content_mail_flush(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about)
{
	if (mail->mime)
		mime_flush(mail->mime, turn, about);
}

void content_mail_close(
	struct content_mail *mail, struct content_turn *turn, const struct mime_about *about)
{
	if (mail->mime)
		mime_close(mail->mime, turn, about);
	*mail = (struct content_mail){0};
}
