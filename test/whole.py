#!/usr/bin/env python3
"""whole.py FOLDER FILE... -- all that a run or a study shows, as text that can be compared: tables and summaries as they
are, a page without style and scripts, and a short sum for each part of what is only drawn or read by programs."""
import hashlib
import json
import re
import sys


def plain(text, folder):
    """Without what is another one in every place and every version: the folder, keys of the store, the policy's number."""
    text = text.replace(folder, "HERE")
    text = re.sub(r"\b[0-9a-f]{2}/[0-9a-f]{32}\b", "KEY", text)
    text = re.sub(r"nonce(-|=\")[0-9a-f]{16}", r"nonce\1NUMBER", text)
    text = re.sub(r"\d+\.\d+ s of real time", "SECONDS of real time", text)
    text = re.sub(r"<dt>(time to \w+|peak memory)</dt><dd>[^<]*", r"<dt>\1</dt><dd>", text)
    text = re.sub(r"^cost  .*$", "cost SECONDS AND BYTES", text, flags=re.M)
    text = re.sub(r'"(wall_s|version)": ?[^,}\n]*', r'"\1": null', text)
    return re.sub(r"motley \d+\.\d+\.\d+", "motley VERSION", text)


def short(data):
    return hashlib.sha256(data).hexdigest()[:16]


def sums(name, value):
    """A line for each part of a JSON object."""
    for key in sorted(value):
        text = json.dumps(value[key], sort_keys=True)
        print(f"{name} {key} {short(text.encode())}")


def page(text):
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    sums("drawn", json.loads(data.group(1)))
    print(re.sub(r"<(script|style)\b.*?</\1>\s*", "", text, flags=re.S))


def main(folder, names):
    for name in names:
        with open(name, "rb") as file:
            data = file.read()
        print(f"---- {name}")
        if name.endswith((".txt", ".yaml", "summary.json")):
            print(plain(data.decode(), folder))
        elif name.endswith(".html"):
            page(plain(data.decode(), folder))
        elif name.endswith("study.json"):
            sums("study", json.loads(plain(data.decode(), folder)))
        elif name.endswith((".csv", ".json", ".jsonl")):
            text = plain(data.decode(), folder)
            print(text.split("\n", 1)[0][:200], short(text.encode()))
        else:
            print(short(data))


main(sys.argv[1], sys.argv[2:])
