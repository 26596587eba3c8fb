# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Dovecot in the lab's server namespace, for tests/netns/*_mail_read.test: POP3 and IMAP without TLS, with the mails of LAB_RUN/mail/NAME
# (of the user NAME; any password). Sourced after netns.sh.

mail_needs() { # 77: skipped
	local tool
	for tool in dovecot curl fetchmail mbsync "$@"; do
		command -v "$tool" >/dev/null || { echo "no $tool (tools/packages.sh)"; exit 77; }
	done
}
mail_start() {
	mkdir -p "$LAB_RUN/dovecot" "$LAB_RUN/mail"
	chown -R mail:mail "$LAB_RUN/mail"
	cat >"$LAB_RUN/dovecot.conf" <<-EOF
		protocols = imap pop3
		listen = $LAB_SERVER4
		base_dir = $LAB_RUN/dovecot
		ssl = no
		disable_plaintext_auth = no
		auth_mechanisms = plain login
		log_path = $LAB_RUN/log/dovecot.own
		mail_location = maildir:$LAB_RUN/mail/%u
		mail_uid = mail
		mail_gid = mail
		mail_plugins = zlib
		protocol imap {
		  mail_plugins = zlib imap_zlib
		}
		first_valid_uid = 1
		passdb {
		  driver = static
		  args = nopassword=y
		}
		userdb {
		  driver = static
		  args = uid=mail gid=mail home=$LAB_RUN/mail/%u
		}
		namespace inbox {
		  inbox = yes
		}
	EOF
	lab_spawn dovecot server dovecot -F -c "$LAB_RUN/dovecot.conf"
	lab_wait 30 lab_exec server sh -c "ss -ltn | grep -q :143 && ss -ltn | grep -q :110"
}
# USER FILE...: mails of the user, in that order. Before mail_start, or behind it.
mail_put() {
	local user=$1 n=0 file
	shift
	mkdir -p "$LAB_RUN/mail/$user/cur" "$LAB_RUN/mail/$user/new" "$LAB_RUN/mail/$user/tmp"
	for file in "$@"; do
		cp "$file" "$LAB_RUN/mail/$user/new/$((1000000000 + n)).$n.lab"
		n=$((n + 1))
	done
	chown -R mail:mail "$LAB_RUN/mail"
}
mail_curl() { lab_exec client curl -sS --max-time 20 --noproxy '*' -u "$1:secret" "${@:2}"; } # USER ARGUMENTS
