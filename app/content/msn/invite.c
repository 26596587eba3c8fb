// SPDX-License-Identifier: BSD-3-Clause
// Invitations of the older way (text/x-msmsgsinvite): INVITE names a file; of who accepts, or has
// been accepted, ACCEPT says where it listens. Both have the cookie of the invitation.
#include "content/msn/command.h"
#include "content/msn/fields.h"

static struct msn_invite *invite_of(struct msn_more *more, uint32_t cookie)
{
	for (unsigned i = 0; i < MSN_INVITES; i++)
		if (more->invites[i].used && more->invites[i].cookie == cookie)
			return &more->invites[i];
	return NULL;
}

static struct msn_invite *invite_new(const struct msn_turn *to, uint32_t cookie)
{
	struct msn_more *more = to->state->more;
	struct msn_invite *invite = invite_of(more, cookie);

	if (!invite) {
		invite = &more->invites[more->next_invite];
		more->next_invite = (uint8_t)((more->next_invite + 1) % MSN_INVITES);
	}
	*invite = (struct msn_invite){.used = true, .cookie = cookie, .half = to->side};
	return invite;
}

static void take_offer(const struct msn_turn *to, struct content_text body, uint32_t cookie)
{
	struct content_text name = msn_head_field(body, "application-file");
	struct msn_parties parties = msn_parties_of(to);
	struct msn_invite *invite;

	if (!name.length) // of something else
		return;
	invite = invite_new(to, cookie);
	if (!http_number(msn_head_field(body, "application-filesize"), &invite->label.size))
		invite->label.size = 0;
	transfer_text_set(invite->label.user, sizeof(invite->label.user), parties.from.bytes,
		parties.from.length);
	msn_tell_offer(
		to, to->side, name, (struct content_text){NULL, 0}, &invite->label, &invite->item);
}

// The sender of this listens; if it is who has the file, its server's half carries that.
static void take_place(const struct msn_turn *to, struct content_text body, uint32_t cookie)
{
	struct msn_invite *invite = invite_of(to->state->more, cookie);
	struct msn_places places = {0};
	struct transfer_label none = {0}, *label = invite ? &invite->label : &none;

	msn_places_add(&places, msn_head_field(body, "ip-address"));
	msn_places_add(&places, msn_head_field(body, "ip-address-internal"));
	if (invite)
		label->half = invite->half == to->side ? HALF_S2C : HALF_C2S;
	static const char *const ports[] = {"port", "portx", "portx-internal"};

	for (unsigned i = 0; i < 3; i++)
		msn_expect(to, &places, msn_head_field(body, ports[i]), EXPECTED_MSNFTP, label,
			invite ? invite->item : 0);
}

void msn_invite_take(const struct msn_turn *to, struct content_text body)
{
	struct content_text command = msn_head_field(body, "invitation-command");
	uint32_t cookie = msn_hash(msn_head_field(body, "invitation-cookie"));

	if (http_is(command, "invite"))
		take_offer(to, body, cookie);
	if (http_is(command, "invite") || http_is(command, "accept"))
		take_place(to, body, cookie);
}
