// SPDX-License-Identifier: BSD-3-Clause
// Scenario (h): messages of IRC that are held against keywords and have none of them. Their words
// are keywords with one letter changed, which is what a search for many has most work with.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include "scenario_work.h"

#define TALKS     512u // flows; each sends ROUND_PKTS / TALKS messages in a round
#define KEYWORDS  10000u
#define WORD_ROOM 10 // 6 to 9 letters
#define MESSAGE   (CHAT_FRAME - 54u)
#define VERB      "PRIVMSG #c" // fills the frame's own beginning; the rest is its tail
#define VERB_LEN  (sizeof(VERB) - 1)
#define SIGNS_ON  "NICK anna\r\nUSER anna 0 * :Anna\r\n"
#define WELCOME                                       \
	":irc.example 001 anna :Welcome anna!a@h\r\n" \
	":irc.example 376 anna :End of MOTD\r\n"
#define C2S_SEQ (1001 + (uint32_t)sizeof(SIGNS_ON) - 1)
#define S2C_SEQ (5001 + (uint32_t)sizeof(WELCOME) - 1)

static char words[KEYWORDS][WORD_ROOM];

static uint32_t draw(uint32_t below)
{
	static uint64_t x = 0x9e3779b97f4a7c15ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (uint32_t)(x >> 32) % below;
}

// Words that can be spoken, without the letter q.
static void make_words(void)
{
	static const char *const letters[] = {"bcdfghjklmnprstvwz", "aeiouy"};

	for (uint32_t i = 0; i < KEYWORDS; i++) {
		uint32_t length = 6 + draw(4);

		for (uint32_t j = 0; j < length; j++) {
			const char *of = letters[j & 1];

			words[i][j] = of[draw((uint32_t)strlen(of))];
		}
	}
}

// A word is too short to have a keyword beside the letter in its middle.
static void make_message(uint8_t *tail)
{
	uint32_t room = MESSAGE - (uint32_t)VERB_LEN, to;

	memcpy(tail, " :", 2);
	for (to = 2; to < room - 2;) {
		char word[WORD_ROOM];

		memcpy(word, words[draw(KEYWORDS)], sizeof(word));
		word[strlen(word) / 2] = 'q';
		uint32_t length = RTE_MIN((uint32_t)strlen(word), room - 2 - to);

		memcpy(tail + to, word, length);
		to += length;
		if (to < room - 2)
			tail[to++] = ' ';
	}
	memcpy(tail + to, "\r\n", 2);
}

static void set_policy(struct rig *rig, uint32_t n)
{
	size_t room = 256 + (size_t)n * (WORD_ROOM + 3), to;
	char *text = malloc(room);

	if (!text)
		rig_die("no memory for a policy");
	to = (size_t)snprintf(text, room,
		"{\"schema_version\": 1, \"rules\": [{\"id\": \"words\", \"match\": "
		"{\"app\": [\"irc\"]}, \"chat\": [{\"action\": \"reset\", \"keyword\": [");
	for (uint32_t i = 0; i < n; i++)
		to += (size_t)snprintf(text + to, room - to, "%s\"%s\"", i ? "," : "", words[i]);
	snprintf(text + to, room - to, "]}]}]}");
	rig_policy(rig, text);
	free(text);
}

static void setup(struct rig *rig, uint32_t flows, uint16_t length, uint32_t keywords)
{
	const struct scenario_talk talk = {
		.dport = 6667,
		.asks = (const uint8_t *)SIGNS_ON,
		.asks_length = sizeof(SIGNS_ON) - 1,
		.answers = (const uint8_t *)WELCOME,
		.answers_length = sizeof(WELCOME) - 1,
	};

	make_words();
	for (uint32_t i = 0; i < RIG_TAILS; i++)
		make_message(rig->tails[i]);
	if (keywords)
		set_policy(rig, keywords);
	else
		scenario_tap(rig);
	scenario_open_talks(rig, flows, length, &talk, TALKS);
}

void setup_chat_inspected(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup(rig, flows, length, 0);
}

void setup_keyword(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup(rig, flows, length, 1);
}

void setup_keywords(struct rig *rig, uint32_t flows, uint16_t length)
{
	setup(rig, flows, length, KEYWORDS);
}

void before_messages(struct rig *rig, unsigned round)
{
	(void)rig;
	(void)round;
	at.sent = at.next_sent;
	at.next_sent += ROUND_PKTS / TALKS * MESSAGE;
}

void lay_out_messages(struct rig *rig, unsigned round, unsigned step)
{
	(void)round;
	rig->wire.cursor = 0;
	rig->wire.advanced = 0;
	rig->wire.port = step ? RIG_OUTSIDE : RIG_INSIDE;
	rig->wire.length = step ? RIG_FRAME_MIN : CHAT_FRAME;
	for (uint32_t i = 0; i < ROUND_PKTS; i++) {
		uint32_t begin = C2S_SEQ + at.sent + i / TALKS * MESSAGE;
		const struct rig_packet packet = {
			.flow = scenario_scattered(i % TALKS, TALKS),
			.l4_proto = IPPROTO_TCP,
			.dport = 6667,
			.from_responder = step,
			.seq = step ? S2C_SEQ : begin,
			.ack = step ? begin + MESSAGE : S2C_SEQ,
			.tcp_flags = TH_ACK,
			.length = rig->wire.length,
			.payload = step ? NULL : VERB,
			.payload_length = step ? 0 : VERB_LEN,
			.bare = step,
			.tail = rig_tail_of(i),
		};

		rig_build(rig, &packet, &rig->wire.heads[i], NULL);
	}
	scenario_drain_records(rig);
}

// Each message is held against all keywords by one call of Hyperscan.
void check_messages(struct rig *rig, uint64_t pkts)
{
	const struct stats *stats = &rig->lcore->stats;

	if (stats->sent_pkts - at.before.sent_pkts != pkts || stats->content_refused ||
		stats->content_messages != pkts / 2 || stats->content_scans != pkts / 2)
		rig_die("%llu messages of %llu were held against the keywords, by %llu calls",
			(unsigned long long)stats->content_messages, (unsigned long long)pkts / 2,
			(unsigned long long)stats->content_scans);
}
