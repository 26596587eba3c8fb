// SPDX-License-Identifier: BSD-3-Clause
// The handshake of 0.6, in three parts of lines, of 0.4, and GIV and GIVE.
#include "content/gnutella/session.h"
#include "content/http/text.h"

static struct content_text value_of(struct content_text line, const char *name)
{
	uint32_t colon = http_until(line, ':');
	struct content_text word = {line.bytes, colon};

	if (colon == line.length || !http_is(http_trim(word), name))
		return (struct content_text){NULL, 0};
	return http_trim(http_text_from(line, colon + 1));
}

// "GIV 0:F1D2...:name", "GIVE 123": a server has come, which will be asked.
static void take_giv(const struct gnutella_turn *turn, struct content_text line)
{
	uint32_t slash = http_until(line, '/');

	http_reversed_name(turn->state->reversed, http_text_from(line, slash + 1));
}

static void end_both(struct gnutella_state *state)
{
	state->halves[0].phase = state->halves[1].phase = GNUTELLA_LOST;
}

// "GNUTELLA/0.6 200 OK", "GNUTELLA OK" of 0.4
static bool is_agreed(struct content_text line)
{
	uint32_t blank = http_until(line, ' ');

	return http_is(line, "gnutella ok") ||
	       (http_begins(line, "gnutella/") && http_begins(http_text_from(line, blank), " 200"));
}

static void take_first(const struct gnutella_turn *turn, struct content_text line)
{
	struct gnutella_state *state = turn->state;
	struct gnutella_half *half = gnutella_half_of(turn);
	bool asks = turn->half == HALF_C2S && half->phase == GNUTELLA_LINES;

	half->lines = true;
	if (asks && (octets_begin(line.bytes, line.length, "GIV ") ||
			    octets_begin(line.bytes, line.length, "GIVE ")))
		take_giv(turn, line);
	else if (asks && http_begins(line, "gnutella connect/"))
		state->old = http_begins(line, "gnutella connect/0.4");
	else if (asks || !is_agreed(line))
		end_both(state);
}

static void end_lines(const struct gnutella_turn *turn)
{
	struct gnutella_state *state = turn->state;
	struct gnutella_half *half = gnutella_half_of(turn);

	half->lines = false;
	if (turn->half == HALF_C2S && half->phase == GNUTELLA_LINES && !state->old)
		half->phase = GNUTELLA_CONFIRM;
	else
		half->phase = GNUTELLA_DESCRIPTORS;
}

void gnutella_line(const struct gnutella_turn *turn, struct content_text line)
{
	struct gnutella_half *half = gnutella_half_of(turn);
	struct content_text value;

	if (line.length && line.bytes[line.length - 1] == '\r')
		line.length--;
	if (!half->lines) {
		if (line.length)
			take_first(turn, line);
		return;
	}
	if (!line.length) {
		end_lines(turn);
		return;
	}
	if (turn->state->reversed) // these are nobody's
		return;
	value = value_of(line, "content-encoding");
	half->encoded |= http_is(value, "deflate");
	value = value_of(line, "content-type");
	if (http_is(value, "application/x-gnutella2")) // its packets are not read
		end_both(turn->state);
}
