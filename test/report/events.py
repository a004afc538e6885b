"""events.py FILE PROTO METRICS -- reads a TensorBoard file with nothing of motley's: records by TFRecord's framing, their
checksums by crcmod, their messages by protoc; and compares what it finds with metrics.jsonl."""
import json, re, struct, subprocess, sys
import crcmod.predefined

crc32c = crcmod.predefined.mkCrcFun('crc-32c')


def masked(bytes_):
    crc = crc32c(bytes_)
    return (((crc >> 15) | (crc << 17)) + 0xa282ead8) & 0xffffffff


def records(path):
    with open(path, 'rb') as file:
        data = file.read()
    at = 0
    while at < len(data):
        length, check = struct.unpack_from('<QI', data, at)
        assert check == masked(data[at:at + 8]), f'record at byte {at}: the checksum of its length is wrong'
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, f'record at byte {at}: cut off'
        assert struct.unpack_from('<I', data, at + 12 + length)[0] == masked(body), f'record at byte {at}: the checksum of its bytes is wrong'
        yield body
        at += 16 + length


def decode(body, proto):
    folder, name = proto.rsplit('/', 1)
    text = subprocess.run(['protoc', '--decode=Event', '-I', folder, name], input=body, capture_output=True, check=True).stdout.decode()
    field = lambda key: next(iter(re.findall(rf'^{key}: (.*)$', text, re.M)), None)
    values = {tag: float(value) for tag, value in re.findall(r'tag: "([^"]*)"\s+simple_value: (\S+)', text)}
    assert not re.search(r'^\s*\d+:', text, re.M), 'a field that the message does not have:\n' + text
    return field('wall_time'), field('step'), field('file_version'), values


TAGS = {'loss/train': 'train_loss', 'loss/valid': 'valid_loss', 'loss/test': 'test_loss', 'accuracy/train': 'train_accuracy',
        'accuracy/valid': 'valid_accuracy', 'accuracy/test': 'test_accuracy', 'grad_norm': 'grad_norm', 'progress/epochs': 'epochs',
        'progress/bytes_sent': 'bytes_sent', 'staleness/mean': 'staleness_mean', 'staleness/max': 'staleness_max', 'active_jobs/mean': 'active_jobs_mean', 'consensus': 'consensus',
        'drift': 'drift', 'mass': 'mass',
        'heterogeneity/zeta2': 'zeta2', 'heterogeneity/sigma2': 'sigma2'}

path, proto, metrics = sys.argv[1:]
found = [decode(body, proto) for body in records(path)]
assert found[0][2] == '"brain.Event:2"', found[0]
with open(metrics) as file:
    lines = [json.loads(line) for line in file]
assert len(found) == len(lines) + 1, (len(found), len(lines))
for (wall, step, _, values), line in zip(found[1:], lines):
    assert float(wall) == line['time_s'] and int(step) == line['updates'], (wall, step, line)
    want = {tag: line[key] for tag, key in TAGS.items() if line.get(key) is not None}
    assert values.keys() == want.keys(), (values, want)
    for tag, value in want.items():
        assert abs(values[tag] - value) <= 1e-6 * abs(value), (tag, values[tag], value)
print(f'{len(lines)} evaluations, {sum(len(f[3]) for f in found)} scalars')
