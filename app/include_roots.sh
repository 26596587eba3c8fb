#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# include_roots.sh SOURCE BUILD: makes BUILD/include/PLANE for each plane of app/, with links to what the plane's files may
# include: the plane itself and what is below it. Include lines name plane and folder ("pipeline/wire/parse.h"), so
# that one which points up the layers finds nothing.
set -eu
source=$1/app build=$2

# root PLANE FOLDER...
root() {
	root=$build/include/$1
	shift
	rm -rf "$root"
	for folder in "$@"; do
		mkdir -p "$root/$(dirname "$folder")"
		ln -s "$source/$folder" "$root/$folder"
	done
}

vocab=pipeline/vocab
root vocab $vocab
root reassembly reassembly $vocab
root classify classify $vocab
root scan scan $vocab
root content content $vocab
root pipeline pipeline reassembly classify scan content
root base base
root audit audit base $vocab
root config base config classify scan $vocab
root control base audit config control pipeline reassembly classify scan content

# Headers that the build makes.
ln -s "$build/app/classify" "$build/include/classify/generated"
keys=$build/app/config/gateway_keys.h
mkdir -p "$build/include/config/generated" "$build/include/control/generated"
ln -s "$keys" "$build/include/config/generated/"
ln -s "$keys" "$build/app/control/page_files.h" "$build/include/control/generated/"
# ... and for those above the planes
mkdir -p "$build/app"
ln -sfn "$build/include/control/generated" "$build/app/generated"
