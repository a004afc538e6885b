# For tests of commands: a folder of their own, and claims about what a command says. Sourced.
set -uo pipefail
[ -x "$MOTLEY" ] || { echo "skip: there is no motley"; exit 77; }
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0

# says CLAIM CODE TEXT COMMAND...: the command ends with CODE and prints TEXT.
says() {
    local claim=$1 code=$2 text=$3 said got
    shift 3
    said=$("$@" 2>&1)
    got=$?
    if [ $got -eq "$code" ] && [[ $said == *"$text"* ]]; then echo "ok   $claim"
    else
        echo "FAIL $claim: code $got, expected $code and '$text':"
        echo "$said"
        failures=$((failures + 1))
    fi
}
