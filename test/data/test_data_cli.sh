#!/bin/bash
# motley data list, info and convert, as a user sees them.
. "$(dirname "$0")/../says.sh"

says "list names the built-in sets" 0 "fashion-mnist" "$MOTLEY" data list
says "list speaks JSON" 0 '"available": true' "$MOTLEY" data list --json
says "info counts rows" 0 "rows       1797" "$MOTLEY" data info digits
says "info counts classes in JSON" 0 '"nonzeros": 58736' "$MOTLEY" data info digits --json
says "an unknown set has a nearest name" 2 "did you mean 'digits'" "$MOTLEY" data info digit
says "digits convert to LIBSVM" 0 "1797 rows of 64 columns" "$MOTLEY" data convert digits "$box/digits.libsvm.gz"
says "a conversion told as JSON" 0 '"rows": 1797' "$MOTLEY" data convert digits "$box/again.libsvm" --json
says "a plan told as JSON" 0 '"train_rows": 1438' "$MOTLEY" sim --dry-run --json
says "LIBSVM converts to NPY" 0 "1797 rows of 64 columns" "$MOTLEY" data convert "$box/digits.libsvm.gz" "$box/x.npy"
says "NPY with its labels converts to IDX" 0 "" "$MOTLEY" data convert "$box/x.npy" "$box/digits-images-idx2-ubyte"
says "IDX with its labels converts to CSV" 0 "" "$MOTLEY" data convert "$box/digits-images-idx2-ubyte" "$box/back.csv"
says "what came back has the same numbers" 0 "non-zeros  58736" "$MOTLEY" data info "$box/back.csv"
printf '%s\n' 'day,x,y' 'mo,1,0' 'tu,2,1' >"$box/days.csv"
says "a column of words becomes a column for each word" 0 "day: 2 columns for mo, tu" "$MOTLEY" data info "$box/days.csv"
says "a column can be left out" 0 "rows       2" "$MOTLEY" data info "$box/days.csv" --skip day
says "a misspelt column has a nearest name" 2 "did you mean 'day'" "$MOTLEY" data info "$box/days.csv" --skip dya
says "a name that says no format is refused" 2 "--to FORMAT" "$MOTLEY" data convert digits "$box/out"
says "a misspelt format has a nearest name" 2 "did you mean 'libsvm'" "$MOTLEY" data convert digits "$box/out" --to libsm
says "IDX refuses what is no byte" 3 "expected whole numbers from 0 to 255" "$MOTLEY" data convert synthetic "$box/s.idx"
[ ! -e "$box/s.idx" ] && [ ! -e "$box/s-labels.idx" ] || { echo "FAIL a refused conversion left a file"; failures=$((failures + 1)); }
head -c 300 "$box/digits.libsvm.gz" >"$box/cut.gz"
says "a truncated file is bad data" 3 "truncated" "$MOTLEY" data info "$box/cut.gz"
says "a missing file is neither set nor file" 2 "nor a file" "$MOTLEY" data info "$box/none.csv"
says "more rows than synthetic data have names the key that makes them" 2 'there are 1000; `size` says how many to generate' \
    "$MOTLEY" sim --data synthetic --data-rows 5000

# Small files that unpack to large ones: every reader of .gz files stops at the limit.
yes 1,2,0 | head -c 6000000 | gzip >"$box/bomb.csv.gz"
says "a bomb is bad data" 3 "unpacks to more than 2 MB, the limit against" "$MOTLEY" data info "$box/bomb.csv.gz" --unpack-max 2MB
says "the message names the option" 3 '`unpack_max` raises it' "$MOTLEY" sim --data "$box/bomb.csv.gz" --data-unpack-max 2MB
says "a limit above its size lets it pass" 0 "rows       1000000" "$MOTLEY" data info "$box/bomb.csv.gz" --unpack-max 6MB
gzip -k "$box/x.npy" "$box/y.npy"
says "the limit holds for rows" 3 "x.npy.gz: unpacks to more than 400 kB" "$MOTLEY" data info "$box/x.npy.gz" --unpack-max 400kB
says "the limit holds for labels" 3 "y.npy.gz: unpacks to more than 1 kB" "$MOTLEY" sim --data "{path: $box/x.npy, labels: $box/y.npy.gz, unpack_max: 1kB}"
says "the limit holds for features" 3 "x.npy.gz: unpacks to more than 1 kB" \
    "$MOTLEY" sim --data-unpack-max 1kB --partition "{name: submodular, features: $box/x.npy.gz}"
exit $((failures > 0))
