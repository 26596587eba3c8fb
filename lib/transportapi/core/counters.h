// SPDX-License-Identifier: BSD-3-Clause
// The counters of one core: their names and help texts, and a number for each.
#ifndef TRANSPORTAPI_CORE_COUNTERS_H
#define TRANSPORTAPI_CORE_COUNTERS_H

#include <stdint.h>

// X(name, help): every message and every refusal ends in one of these.
#define TAPI_CORE_COUNTERS(X)                                                                      \
	X(send_accepted, "messages of the application that were taken")                            \
	X(send_no_address, "messages refused: nothing is known of the peer")                       \
	X(send_full, "messages refused: the queue is full")                                        \
	X(send_too_big, "messages refused: too long")                                              \
	X(send_denied, "messages refused: the peer is denied")                                     \
	X(send_insecure,                                                                           \
		"messages refused: encryption is required, and the peer does not encrypt")         \
	X(sent_msgs, "messages of the application that a transport took")                          \
	X(sent_batches, "payloads that a transport took, with messages of the application")        \
	X(sent_bytes, "their octets")                                                              \
	X(sent_direct, "of these messages, sent at once without the queue")                        \
	X(sent_fragments, "parts of messages beyond the mtu")                                      \
	X(sent_by_size, "of these messages, sent by another path, whose mtu takes them")           \
	X(send_refused, "payloads that a transport did not take; they are tried again")            \
	X(dropped_too_big, "messages dropped: the mtu does not take them, even in parts")          \
	X(dropped_peer_gone, "messages dropped with a peer that was forgotten or denied")          \
	X(received_payloads, "payloads that transports brought")                                   \
	X(received_bytes, "their octets")                                                          \
	X(received_msgs, "messages given to a receiver")                                           \
	X(received_unvalidated, "of these, from a sender that was not validated")                  \
	X(received_denied, "payloads dropped: the sender is denied")                               \
	X(received_mine, "payloads dropped: the sender claims to be us")                           \
	X(received_quota, "payloads dropped: the sender's quota")                                  \
	X(sender_conflict, "payloads on the session of another validated peer")                    \
	X(crc_bad, "payloads dropped: wrong CRC of the plain text")                                \
	X(malformed, "messages dropped: wrong size, or of the core and not as they have to be")    \
	X(unknown_type, "messages dropped: nobody receives their type")                            \
	X(fragment_bad, "parts dropped: malformed, in conflict, or no room")                       \
	X(helo_received, "HELOs that came in, by any way")                                         \
	X(helo_malformed, "HELOs dropped: malformed")                                              \
	X(helo_bad_signature, "HELOs dropped: wrong signature")                                    \
	X(helo_expired, "HELOs dropped: expired, or expiring too far from now")                    \
	X(helo_own, "HELOs of our own that came back")                                             \
	X(helo_denied, "HELOs dropped: the peer or the address is denied")                         \
	X(helo_bad_address, "HELOs dropped: the address is malformed")                             \
	X(helo_unknown_transport, "HELOs dropped: of a transport that does not run here")          \
	X(helo_old, "HELOs dropped: what is known is as new")                                      \
	X(helo_limited, "HELOs dropped: helos_per_s")                                              \
	X(helo_no_room, "HELOs dropped: no room for the peer or the address")                      \
	X(helo_left_out, "addresses forgotten for others of the same peer, or not taken for them") \
	X(helo_stored, "HELOs kept")                                                               \
	X(ping_sent, "PINGs sent")                                                                 \
	X(ping_sent_address, "of these, to an address that is not validated")                      \
	X(ping_limited, "PINGs put off by a rate limit")                                           \
	X(ping_unanswered, "PINGs that nobody answered in time")                                   \
	X(ping_received, "PINGs that came in")                                                     \
	X(ping_not_ours, "PINGs dropped: for another peer")                                        \
	X(ping_limited_in, "PINGs dropped: pongs_per_s")                                           \
	X(pong_sent, "PONGs sent")                                                                 \
	X(pong_no_way, "PINGs that came without session, and no HELO for their source")            \
	X(pong_received, "PONGs that were right")                                                  \
	X(pong_unknown, "PONGs dropped: no such challenge is out (made up, late, often wrong)")    \
	X(pong_wrong, "PONGs dropped: wrong signature or peer")                                    \
	X(pong_expired, "PONGs dropped: no longer valid")                                          \
	X(connects, "sessions begun")                                                              \
	X(connects_failed, "sessions that could not be begun")                                     \
	X(associates, "sessions of others that are used to answer")                                \
	X(disconnects, "references given back")                                                    \
	X(sessions_down, "sessions that ended")                                                    \
	X(paths_lost, "paths given up: three PINGs unanswered")                                    \
	X(switches, "changes of the path in use")                                                  \
	X(peers_reachable, "peers that became reachable")                                          \
	X(peers_lost, "peers that no path leads to any more")                                      \
	X(peers_refused, "peers refused: max_peers")                                               \
	X(peers_evicted, "peers forgotten for another, not reachable")                             \
	X(introduce_asked, "peers asked to introduce us to another behind a NAT")                  \
	X(introduce_made, "peers told of another who asked for that")                              \
	X(introduce_told, "times that we were told of another, and PINGed it")                     \
	X(introduce_refused, "INTRODUCEs dropped: from strangers, too many, nothing known")        \
	X(gossip_sent, "HELOs of others passed on")                                                \
	X(secure_begun, "handshakes that we began")                                                \
	X(secure_again, "their messages that were sent again")                                     \
	X(secure_timed_out, "of these handshakes, given up: nobody answered")                      \
	X(secure_answered, "handshakes of peers that were answered, repetitions included")         \
	X(secure_repeated, "handshakes of peers that came again")                                  \
	X(secure_crossed, "handshakes of peers not answered: ours is under way and goes before")   \
	X(secure_limited, "handshakes and answers dropped: handshakes_per_s")                      \
	X(secure_replayed, "handshakes dropped: not newer than the last one")                      \
	X(secure_stale, "answers dropped: to no handshake of ours that is under way")              \
	X(secure_bad, "handshakes and answers dropped: malformed, altered, or not of the peer")    \
	X(secure_no_way, "handshakes that could not be answered where they came from")             \
	X(secure_made, "sessions with peers that stand, new keys of old ones included")            \
	X(secure_ended, "keys that ended by time")                                                 \
	X(sealed_sent, "payloads that a transport took sealed")                                    \
	X(sealed_received, "payloads that were opened")                                            \
	X(sealed_bad, "sealed payloads dropped: malformed, forged or altered")                     \
	X(sealed_replayed, "sealed payloads dropped: they came before, or too late")               \
	X(sealed_unknown, "sealed payloads dropped: of keys that we do not have")                  \
	X(sealed_unwanted, "handshakes and sealed payloads dropped: core.encryption is off")       \
	X(clear_dropped, "messages and parts dropped: in clear, of a peer that has to encrypt")    \
	X(stored, "times that known peers were written to their file")

struct tapi_core_counters {
#define X(name, help) uint64_t name;
	TAPI_CORE_COUNTERS(X)
#undef X
};

#endif
