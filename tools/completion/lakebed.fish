# Completion of lakebed for fish. The candidates come from the command itself, so that this file cannot go stale.

function __lakebed_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l typed (string replace -r -- '^--[^=]*=' '' "$current")
    set -l before (string match -r -- '^--[^=]*=' "$current")
    for line in ($words[1] __complete $words[2..-1] "$current" 2>/dev/null)
        switch $line
            case :files
                string replace -r -- '^' "$before" (__fish_complete_path "$typed")
            case :dirs
                string replace -r -- '^' "$before" (__fish_complete_directories "$typed")
            case '*'
                printf '%s\n' $line
        end
    end
end

complete -c lakebed -f -a '(__lakebed_complete)'
