# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2154
# Completion of sluicectl for bash (package bash-completion). What fits is asked of sluicectl
# itself: nouns, verbs and options from its own command line, applications, rules and flows from the
# gateway, if it answers at once.

_sluicectl() {
	local cur prev words cword line
	COMPREPLY=()
	_get_comp_words_by_ref -n =: cur prev words cword
	while IFS= read -r line; do
		if [ "$line" = $'\tfiles' ]; then
			if [[ $cur == --*=* ]]; then cur=${cur#*=}; fi
			compopt -o filenames
			_filedir
			return
		fi
		COMPREPLY+=("$line")
	done < <("${COMP_WORDS[0]}" complete "$cword" "${words[@]}" 2>/dev/null)
	# Readline's word begins behind "=" and ":".
	if [[ $cur == --*=* ]]; then COMPREPLY=("${COMPREPLY[@]#"${cur%%=*}="}"); fi
	__ltrim_colon_completions "$cur"
} &&
	complete -F _sluicectl sluicectl
