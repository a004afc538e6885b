#!/usr/bin/env python3
"""whole.py FOLDER FILE... -- all that a study shows, as text that can be compared: its tables as they are, its
page without style and scripts, and a short sum for each part of what is only drawn or read by programs."""
import hashlib
import json
import re
import sys


def plain(text, folder):
    """Without what is another one in every place and every version: the folder, keys of the store, the policy's number."""
    text = text.replace(folder, "HERE")
    text = re.sub(r"\b[0-9a-f]{2}/[0-9a-f]{32}\b", "KEY", text)
    text = re.sub(r"nonce(-|=\")[0-9a-f]{16}", r"nonce\1NUMBER", text)
    return re.sub(r"motley \d+\.\d+\.\d+", "motley VERSION", text)


def sums(name, value):
    """A line for each part of a JSON object."""
    for key in sorted(value):
        text = json.dumps(value[key], sort_keys=True)
        print(f"{name} {key} {hashlib.sha256(text.encode()).hexdigest()[:16]}")


def page(text):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    sums("drawn", json.loads(data.group(1)))
    print(re.sub(r"<(script|style)\b.*?</\1>\s*", "", text, flags=re.S))


def main(folder, names):
    for name in names:
        with open(name, encoding="utf-8") as file:
            text = plain(file.read(), folder)
        print(f"---- {name}")
        if name.endswith(".html"):
            page(text)
        elif name.endswith(".json"):
            sums("study", json.loads(text))
        elif name.endswith(".csv"):
            print(text.split("\n", 1)[0], hashlib.sha256(text.encode()).hexdigest()[:16])
        else:
            print(text)


main(sys.argv[1], sys.argv[2:])
