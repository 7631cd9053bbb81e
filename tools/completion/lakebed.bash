# Completion of lakebed for bash. The candidates come from the command itself, so that this file cannot go stale.

_lakebed()
{
    local -a words=()
    local i word last=""
    # Bash divides words at `=`; put --name=value together again.
    for ((i = 1; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((${#words[@]} > 0)) && [[ $word == "=" && $last == --* || $last == "=" && ${words[-1]} == --* ]]; then
            words[-1]+=$word
        else
            words+=("$word")
        fi
        last=$word
    done
    ((${#words[@]} > 0)) || words=("")

    local current=${words[-1]} typed=${COMP_WORDS[COMP_CWORD]} line
    [[ $typed == "=" ]] && typed=""
    COMPREPLY=()
    while IFS= read -r line; do
        case $line in
        :files)
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$typed")
            ;;
        :dirs)
            compopt -o filenames 2>/dev/null
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -d -- "$typed")
            ;;
        *)
            line=${line%%$'\t'*}
            [[ $current == --*=* ]] && line=${line#--*=}
            COMPREPLY+=("$line")
            ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete "${words[@]}" 2>/dev/null)
}

complete -F _lakebed lakebed
