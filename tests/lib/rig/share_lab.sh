# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Servers of files in the lab's server namespace, for tests/netns/*_smb.test: samba's share "pub" of LAB_RUN/pub, and nfs-ganesha's export
# of LAB_RUN/nfs (/pub in version 4). Sourced after netns.sh.

share_needs() { # 77: skipped
	local tool
	for tool in smbd smbclient ganesha.nfsd rpcbind nfs-cat nfs-cp "$@"; do
		command -v "$tool" >/dev/null || { echo "no $tool (tools/packages.sh)"; exit 77; }
	done
}

share_smb_start() {
	mkdir -p "$LAB_RUN/pub" "$LAB_RUN/samba"
	chmod 777 "$LAB_RUN/pub"
	cat >"$LAB_RUN/smb.conf" <<-EOF
		[global]
		server role = standalone server
		map to guest = bad user
		guest account = nobody
		interfaces = $LAB_SERVER4
		bind interfaces only = yes
		smb ports = 445
		disable netbios = yes
		load printers = no
		printcap name = /dev/null
		pid directory = $LAB_RUN/samba
		lock directory = $LAB_RUN/samba
		state directory = $LAB_RUN/samba
		cache directory = $LAB_RUN/samba
		private dir = $LAB_RUN/samba
		ncalrpc dir = $LAB_RUN/samba/rpc
		log file = $LAB_RUN/log/samba
		[pub]
		path = $LAB_RUN/pub
		guest ok = yes
		read only = no
	EOF
	# of the client: nothing of the machine's own
	printf '[global]\nclient min protocol = SMB2\n' >"$LAB_RUN/client.conf"
	lab_spawn smbd server smbd --foreground --no-process-group --configfile="$LAB_RUN/smb.conf"
	lab_wait 30 lab_exec server sh -c "ss -ltn | grep -q :445"
}
share_smb() { # DIALECT COMMANDS [OPTION...]
	lab_exec client timeout 40 smbclient -s "$LAB_RUN/client.conf" -N -m "$1" "${@:3}" "//$LAB_SERVER4/pub" -c "$2"
}
share_smb_get() { share_smb "$1" "get $2 $3"; } # DIALECT FILE PATH
share_smb_put() { share_smb "$1" "put $2 $3"; } # DIALECT PATH FILE

share_nfs_start() {
	mkdir -p "$LAB_RUN/nfs" "$LAB_RUN/ganesha"
	chmod 777 "$LAB_RUN/nfs"
	cat >"$LAB_RUN/ganesha.conf" <<-EOF
		NFS_CORE_PARAM { Protocols = 3, 4; NFS_Port = 2049; MNT_Port = 20048; Enable_NLM = false; Enable_RQUOTA = false; Enable_UDP = false; Clustered = false; }
		NFSv4 { Graceless = true; RecoveryRoot = $LAB_RUN/ganesha; Minor_Versions = 0; }
		EXPORT { Export_Id = 1; Path = $LAB_RUN/nfs; Pseudo = /pub; Access_Type = RW; Squash = No_Root_Squash; SecType = sys; Protocols = 3, 4; PrivilegedPort = false; FSAL { Name = VFS; } }
	EOF
	# version 3 is registered with rpcbind, which has its socket in /run: one of its own
	lab_spawn ganesha server sh -c "mount -t tmpfs none /run && mkdir /run/rpcbind && { rpcbind -f -w & } && sleep 0.5 &&
		exec ganesha.nfsd -F -f '$LAB_RUN/ganesha.conf' -L '$LAB_RUN/log/ganesha.own' -p '$LAB_RUN/ganesha.pid'"
	lab_wait 30 lab_exec server sh -c "ss -ltn | grep -q :2049"
}
share_nfs_url() { # VERSION FILE
	local path=$LAB_RUN/nfs
	[ "$1" = 4 ] && path=/pub
	echo "nfs://$LAB_SERVER4$path/$2?version=$1&nfsport=2049&mountport=20048&autoreconnect=0"
}
share_nfs_get() { lab_exec client timeout 20 nfs-cat "$(share_nfs_url "$1" "$2")" >"$3"; } # VERSION FILE PATH
share_nfs_put() { lab_exec client timeout 20 nfs-cp "$2" "$(share_nfs_url "$1" "$3")"; }   # VERSION PATH FILE
