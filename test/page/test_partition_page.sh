#!/bin/bash
# The pages of real partitions in headless Chromium: good and bad ones, many workers, values to predict, nothing measured, names that are HTML.
. "$(dirname "$0")/needs_browser.sh"
# page NAME ARGUMENTS...
page() {
    "$motley" partition "${@:2}" --out "$folder/$1" --quiet
    mv "$folder/$1/partition.html" "$folder/pages/$1.html"
}
page good digits --ratios 4,2,1,1,1,1,1,1
page bad digits --ratios 8,1,1,1 --objective graph-cut --rule literal
page mended digits --ratios 8,1,1,1 --objective graph-cut --rule literal --fallback herding
page many digits --workers 150
page alone digits --workers 1
page unmeasured digits --workers 4 --quality none
page values synthetic --data-task regression --data-size 400 --workers 5
printf 'x,label\n' >"$folder/<img src=x onerror=window.hurt=1>.csv"
for i in $(seq 1 40); do printf '%d,plain\n%d,</script><img src=x onerror=window.hurt=1>\n' "$i" $((i * 3)); done >>"$folder/<img src=x onerror=window.hurt=1>.csv"
page wicked "$folder/<img src=x onerror=window.hurt=1>.csv" --data-label label --workers 3
/usr/bin/python3 "$here/partition_checks.py" "$folder/pages"
