# Steps with a name and their seconds, and the README's commands: read by run and nightly.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Tests and examples run in as many processes as there are cores: more threads slow dense algebra down.
export OMP_NUM_THREADS=1
# Many tests start processes, which would each compile the package anew.
unset PYTHONDONTWRITEBYTECODE

work=$(mktemp -d)
steps=()
current="" began=0

step() {
    finish
    current=$1 began=$SECONDS
    printf '\n=== %s\n' "$1"
}

finish() {
    [ -z "$current" ] || steps+=("$(printf '%6d  %s' $((SECONDS - began)) "$current")")
    current=""
}

report() {
    local status=$?
    [ "$status" -eq 0 ] || current="${current:-before the first step}: FAILED"
    finish
    printf '\nseconds  step\n'
    printf '%s\n' "${steps[@]}"
    printf '%6d  in all\n' "$SECONDS"
    rm -rf "$work"
    exit "$status"
}
trap report EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The command in README.md's code block after the comment <!-- $1 -->.
readme() {
    local command
    command=$(sed -n "/^<!-- $1 -->\$/,/^\`\`\`\$/p" README.md | sed -e 1d -e '/^```/d')
    if [ -z "$command" ]; then
        echo "README.md has no code block after the comment <!-- $1 -->" >&2
        return 1
    fi
    printf '%s\n' "$command"
}

# A fresh clone, in which nothing is installed but what its commands install.
clone() {
    [ -z "$(git status --porcelain)" ] || echo "note: uncommitted changes are not part of the next steps"
    git clone -q . "$work/$1"
    cd "$work/$1"
}
