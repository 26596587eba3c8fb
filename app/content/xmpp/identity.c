// SPDX-License-Identifier: BSD-3-Clause
// Who the client is: what its server bound it to (RFC 6120 section 7), whom the server writes to,
// or, until then, who logs in (SASL PLAIN, RFC 4616). The client's own word is a claim that the
// server has not accepted yet.
#include <string.h>
#include "content/http/text.h"
#include "content/xmpp/stream.h"

#define PLAIN_BYTES (XMPP_FIELD_BYTES * 3 / 4)

void xmpp_identity_stream(const struct xmpp_turn *to)
{
	struct xmpp_talk *state = to->state;
	struct content_text domain = xml_value_of(&to->half->work->reader, XMPP_ATTRIBUTE_TO);

	if (to->side != HALF_C2S || domain.length > sizeof(state->domain))
		return;
	state->domain_length = (uint8_t)domain.length;
	if (domain.length)
		memcpy(state->domain, domain.bytes, domain.length);
}

void xmpp_identity_stanza(const struct xmpp_turn *to)
{
	struct content_text whom = xml_value_of(&to->half->work->reader, XMPP_ATTRIBUTE_TO);

	if (to->side == HALF_S2C && !to->state->bound && http_until(whom, '@') < whom.length)
		xmpp_party_set(to, &to->state->own, whom);
}

static struct content_text field_of(const struct xmpp_work *work)
{
	return (struct content_text){work->field, work->field_length};
}

void xmpp_identity_bound(const struct xmpp_turn *to)
{
	struct content_text jid = http_trim(field_of(to->half->work));

	if (to->side != HALF_S2C || http_until(jid, '@') == jid.length)
		return;
	xmpp_party_set(to, &to->state->own, jid);
	to->state->bound = true;
}

static uint32_t decode_base64(struct content_text text, uint8_t *out, uint32_t room)
{
	struct base64_stream stream = {0};
	uint32_t taken, n = base64_decode(&stream, text.bytes, text.length, &taken, out, room);

	return n + base64_finish(&stream, out + n);
}

// authzid NUL authcid NUL password: the first of both that is there, with the stream's domain where
// it has none.
void xmpp_identity_plain(const struct xmpp_turn *to)
{
	struct xmpp_talk *state = to->state;
	uint8_t plain[PLAIN_BYTES + 5], jid[PLAIN_BYTES + 5 + 1 + XMPP_DOMAIN_BYTES];
	struct content_text said = {
		plain, decode_base64(field_of(to->half->work), plain, PLAIN_BYTES + 3)};
	uint32_t length = http_until(said, 0);

	if (state->own.length || length == said.length)
		return;
	if (!length) {
		said = http_text_from(said, 1);
		length = http_until(said, 0);
	}
	said.length = length;
	if (!length)
		return;
	memcpy(jid, said.bytes, length);
	if (http_until(said, '@') == length && state->domain_length) {
		jid[length++] = '@';
		memcpy(jid + length, state->domain, state->domain_length);
		length += state->domain_length;
	}
	xmpp_party_set(to, &state->own, (struct content_text){jid, length});
}
