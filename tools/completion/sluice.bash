# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Completion of sluice for bash (package bash-completion). Commands and options are those that its
# --help tells, so that they cannot differ.

# Lines of --help: "  -c, --config FILE   text" gives "--config FILE", "      --json   text" "--json".
_sluice_options() { # PROGRAM COMMAND
	"$1" "$2" --help 2>/dev/null | sed -nE 's/^ +(-[a-z], +)?(--[a-z-]+)( ([A-Z][A-Z:=]*))?( .*|$)/\2 \4/p'
}

_sluice() {
	local cur prev words cword command='' word
	COMPREPLY=()
	_get_comp_words_by_ref -n =: cur prev words cword
	for word in "${words[@]:1:cword-1}"; do
		case $word in
		--) return ;; # EAL's own from here on
		run | check | replay | apps | import | verify | version) command=${command:-$word} ;;
		esac
	done
	if [ -z "$command" ]; then
		if [ "$cword" -eq 1 ]; then
			mapfile -t COMPREPLY < <(compgen -W "--help $("${COMP_WORDS[0]}" --help 2>/dev/null |
				sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')" -- "$cur")
		fi
		return
	fi
	local options argument
	options=$(_sluice_options "${COMP_WORDS[0]}" "$command")
	case $prev in
	-c | -p | -w | -e | -o) argument=FILE ;;
	-g) argument=DIR ;;
	--*) argument=$(sed -n "s/^$prev //p" <<<"$options") ;;
	esac
	if [[ $cur == --*=* ]]; then
		argument=$(sed -n "s/^${cur%%=*} //p" <<<"$options")
		prev=${cur%%=*} cur=${cur#*=}
	fi
	case $prev:$argument in
	--checksum:?*) mapfile -t COMPREPLY < <(compgen -W "verify ignore auto" -- "$cur") ;;
	--explain:?*) # applications
		mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" apps 2>/dev/null | sed '1d; s/ .*//')" -- "$cur")
		;;
	*:FILE | *:N:FILE | *:PATH) compopt -o filenames && _filedir ;;
	*:DIR) compopt -o filenames && _filedir -d ;;
	*:?*) ;; # a number, a KEY=VALUE: nothing is known about it
	*)
		if [[ $cur == -* ]]; then
			mapfile -t COMPREPLY < <(compgen -W "$(sed 's/ .*//' <<<"$options")" -- "$cur")
		elif [ "$command" = replay ] || [ "$command" = verify ]; then
			compopt -o filenames && _filedir
		elif [ "$command" = import ] && [ "$prev" = import ]; then
			COMPREPLY=(l7)
		elif [ "$command" = import ]; then
			compopt -o filenames && _filedir -d
		fi
		;;
	esac
} &&
	complete -F _sluice sluice
