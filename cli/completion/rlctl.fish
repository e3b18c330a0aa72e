# Completion for fish: put this into ~/.config/fish/completions/rlctl.fish, or into config.fish:
#
#     rlctl completion fish | source

function __rlctl_complete
    set -l words (commandline -opc)
    # Variables may precede the command.
    while set -q words[1]; and string match -qr '^\w+=' -- $words[1]
        set -e words[1]
    end
    set -l rlctl $words[1]
    set -e words[1]
    set -l word (commandline -ct)
    set -l lines ($rlctl completion words -- $words "$word" 2>/dev/null)
    switch "$lines[1]"
        case 'program *'
            # The words of the program's own command line.
            set -l first (math (string split ' ' -- $lines[1])[2] + 1)
            set -l program
            if test $first -le (count $words)
                set program $words[$first..-1]
            end
            complete -C (string join ' ' -- (string escape -- $program) "$word")
            return
        case files
            set -l option (string match -r -- '^--[^=]*=' $word)
            for file in (__fish_complete_path (string replace -- "$option" '' $word))
                echo "$option$file"
            end
    end
    printf '%s\n' $lines[2..-1]
end
complete -c rlctl -f -a '(__rlctl_complete)'
