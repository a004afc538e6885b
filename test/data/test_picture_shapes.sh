#!/bin/bash
# The shape of pictures, from a file through conversion, training and the commands that take a model.
. "$(dirname "$0")/../says.sh"
cd "$box" || exit 1

# arrays: pictures of 3x12x12, the same numbers as 1x12x36, channels last, plain rows, and an archive with test rows.
python3 - <<'PY'
import struct, zipfile
def npy(name, shape, values, kind='<f4', code='f'):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }" % (kind, ', '.join(map(str, shape)))
    head += ' ' * (117 - len(head)) + '\n'
    bytes = b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + struct.pack('<%d%s' % (len(values), code), *values)
    if name: open(name, 'wb').write(bytes)
    return bytes
rows, cols = 40, 3 * 12 * 12
x = [(r * 7 + c * 3) % 11 + (r % 2) for r in range(rows) for c in range(cols)]
y = [r % 2 for r in range(rows)]
for name, shape in ('a', (rows, 3, 12, 12)), ('b', (rows, 12, 36)), ('last', (rows, 12, 12, 3)), ('flat', (rows, cols)):
    npy(name + '.npy', shape, x)
    npy(name + '-labels.npy', (rows,), y, '<i8', 'q')
npy('bytes.npy', (rows, 3, 12, 12), x, '|u1', 'B')
npy('bytes-labels.npy', (rows,), y, '<i8', 'q')
with zipfile.ZipFile('p.npz', 'w') as z:
    for part in 'train', 'test':
        z.writestr('x_%s.npy' % part, npy(None, (rows, 3, 12, 12), x))
        z.writestr('y_%s.npy' % part, npy(None, (rows,), y, '<i8', 'q'))
PY

says "info prints a picture's shape" 0 "pictures   3x12x12" "$MOTLEY" data info a.npy
says "and the shape of one with channels last" 0 "pictures   3x12x12" "$MOTLEY" data info last.npy
says "and of one without channels" 0 '"picture": "1x12x36"' "$MOTLEY" data info b.npy --json
says "plain rows have none" 0 '"picture": null' "$MOTLEY" data info flat.npy --json
says "an archive is called one" 0 "format     NPZ" "$MOTLEY" data info p.npz
says "and its test rows are mentioned" 0 '; the file also holds test rows, which `test_path` reads' "$MOTLEY" data info p.npz
says "a run that leaves them out says so" 0 "p.npz: has test rows inside (x_test), which are not used" \
    "$MOTLEY" sim --data p.npz --model softmax --stop-updates 2
lacks() {
    local claim=$1 what=$2
    shift 2
    if "$@" >out 2>&1 && ! grep -q "$what" out; then echo "ok   $claim"
    else
        echo "FAIL $claim"
        cat out
        failures=$((failures + 1))
    fi
}
lacks "and one that uses them does not" "are not used" \
    "$MOTLEY" sim --data p.npz --data-test-path p.npz --model softmax --stop-updates 2
says "test pictures of another shape are refused" 3 "b.npy: pictures of 1x12x36 (channels, height, width), expected 3x12x12 as in $box/a.npy" \
    "$MOTLEY" sim --data a.npy --data-test-path b.npy --model softmax --stop-updates 2

net='{name: network, layers: [{name: conv, out: 4, kernel: 3}, relu, mean_pool, flatten, {name: linear, out: classes}]}'
says "a network trains on pictures" 0 "" "$MOTLEY" sim --data a.npy --model "$net" --stop-updates 2 --quiet --out run
for command in eval predict features; do
    more=()
    [ $command = features ] && more=(--out f.npy)
    says "$command takes pictures of the model's shape" 0 "" "$MOTLEY" $command run a.npy "${more[@]}"
    says "$command takes rows without a shape" 0 "" "$MOTLEY" $command run flat.npy "${more[@]}"
    says "$command refuses pictures of another" 3 \
        "b.npy: pictures of 1x12x36 (channels, height, width), expected 3x12x12 as the model has" \
        "$MOTLEY" $command run b.npy "${more[@]}"
done

for layer in '{name: conv, out: 4, kernel: 1}' '{name: max_pool, kernel: 1}' mean_pool; do
    says "$layer on plain rows is refused" 2 "needs pictures, but the data does not say that its 432 columns are one" \
        "$MOTLEY" sim --data flat.npy --stop-updates 2 \
        --model "{name: network, layers: [relu, $layer, flatten, {name: linear, out: classes}]}"
done
says "batch norm on plain rows is not" 0 "" "$MOTLEY" sim --data flat.npy --stop-updates 2 --quiet \
    --model "{name: network, layers: [batch_norm, {name: linear, out: classes}]}"

# shape CLAIM FILE SHAPE: what a reader understands
shape() { says "$1" 0 "pictures   $3" "$MOTLEY" data info "$2"; }
for from in a b last; do
    says "$from.npy is converted" 0 "40 rows of 432 columns" "$MOTLEY" data convert $from.npy $from-out.npy
done
shape "NPY keeps channels, height and width" a-out.npy 3x12x12
shape "and one channel" b-out.npy 1x12x36
shape "and puts channels first" last-out.npy 3x12x12
says "bytes are converted to IDX" 0 "" "$MOTLEY" data convert bytes.npy bytes-images-ubyte
shape "IDX keeps channels, height and width" bytes-images-ubyte 3x12x12
says "the digits are converted" 0 "" "$MOTLEY" data convert digits digits-images-ubyte
shape "and stay pictures" digits-images-ubyte 1x8x8
says "ResNet-8 reads what was converted" 0 "" "$MOTLEY" sim --data a-out.npy --model resnet8 --stop-updates 1 --quiet
cmp -s -i 128 a.npy a-out.npy && echo "ok   the same numbers in the same order"  || { echo "FAIL other numbers"; failures=$((failures + 1)); }
exit $((failures > 0))
