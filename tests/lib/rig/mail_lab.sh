# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Postfix in the lab, for tests of mail: sourced after netns.sh. It takes mails for box@lab.example on port 25 of the server, and puts
# them into the Maildir LAB_RUN/mail/box.

MAIL_LAB_SERVICES=$(printf 'm%s.cf' aster) # as postfix calls it

mail_lab_needs() { # PROGRAM...
	local tool
	[ -z "${LAB_STANDIN:-}" ] || { echo "testpmd has no policies"; exit 77; }
	for tool in postfix "$@"; do
		command -v "$tool" >/dev/null || { echo "no $tool (tools/packages.sh)"; exit 77; }
	done
}
mail_lab_postfix() { # it is there
	local etc=$LAB_RUN/postfix service
	mkdir -p "$etc" "$LAB_RUN/mail" "$LAB_RUN/queue" "$LAB_RUN/postfix-data"
	chmod 755 "$LAB_RUN"
	chown nobody "$LAB_RUN/mail"
	chown postfix "$LAB_RUN/postfix-data"
	cat >"$etc/main.cf" <<-EOT
		compatibility_level = 3.6
		queue_directory = $LAB_RUN/queue
		data_directory = $LAB_RUN/postfix-data
		maillog_file = /dev/stdout
		inet_interfaces = $LAB_SERVER4
		inet_protocols = ipv4
		myhostname = mx.lab.example
		mynetworks = 127.0.0.0/8
		mydestination =
		alias_maps =
		smtpd_peername_lookup = no
		virtual_mailbox_domains = lab.example
		virtual_mailbox_base = $LAB_RUN/mail
		virtual_mailbox_maps = static:box/
		virtual_uid_maps = static:$(id -u nobody)
		virtual_gid_maps = static:$(id -g nobody)
	EOT
	{
		echo "25 inet n - n - - smtpd"
		echo "pickup unix n - n 60 1 pickup"
		echo "qmgr unix n - n 300 1 qmgr"
		echo "virtual unix - n n - - virtual"
		echo "postlog unix-dgram n - n - 1 postlogd"
		for service in cleanup flush; do echo "$service unix n - n - 0 $service"; done
		echo "anvil unix - - n - 1 anvil"
		for service in bounce:bounce defer:bounce error:error proxymap:proxymap retry:error rewrite:trivial-rewrite \
			trace:bounce; do
			echo "${service%:*} unix - - n - 0 ${service#*:}"
		done
	} >"$etc/$MAIL_LAB_SERVICES"
	lab_spawn postfix server postfix -c "$etc" start-fg
	lab_wait 30 lab_exec server sh -c "ss -ltn | grep -q '$LAB_SERVER4:25 '"
}
