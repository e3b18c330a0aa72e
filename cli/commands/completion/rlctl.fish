# Completion for fish: put this into ~/.config/fish/completions/rlctl.fish, or into config.fish:
#
#     rlctl completion fish | source

# What rlctl says of the line, in lines.
function __rlctl_words
    set -l words (commandline -opc)
    # Variables may precede the command.
    while set -q words[1]; and string match -qr '^\w+=' -- $words[1]
        set -e words[1]
    end
    # What is typed may be a path that is not expanded yet.
    set -l rlctl $words[1]
    type -q -- $rlctl; or set rlctl rlctl
    set -e words[1]
    # Without its quotes, of which one may be open.
    set -l word (commandline -ct)
    set word (string unescape -- $word; or string unescape -- $word\"; or string unescape -- $word\')
    $rlctl completion words -- $words "$word" 2>/dev/null
end

function __rlctl_complete
    set -l lines (__rlctl_words)
    if string match -q 'program *' -- $lines[1]
        # The words of the program's own command line.
        set -l words (commandline -opc)
        set -l separator (contains -i -- -- $words)
        set -l program (string escape -- $words[(math $separator + 1)..-1])
        complete -C (string join ' ' -- $program (commandline -ct))
        return
    end
    printf '%s\n' $lines[2..-1]
end

complete -c rlctl -f -a '(__rlctl_complete)'
complete -c rlctl -n 'string match -q files -- (__rlctl_words)[1]' -F
