#!/usr/bin/env python3
"""digest.py -- the results of runs, studies and partitions, each as one line: what must not change.

Each line it reads is NAME KIND FOLDER; KIND is one of these:

run    of every driver on a virtual clock: the model, and what metrics.jsonl says at every evaluation
model  of a live run: the model and how many updates made it, not when
study  every number of study.json
parts  who holds which rows
"""
import hashlib
import json
import os
import sys

# What a moment of a run is made of. A key that is added to metrics.jsonl later does not change the digest.
MOMENT = """time_s updates steps samples epochs train_loss train_accuracy valid_loss valid_accuracy test_loss
test_accuracy grad_norm bytes_sent messages events staleness_mean staleness_max""".split()


def short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read().hex()


def numbers(value):
    """All numbers of a document in order; texts only say which arm is meant, and paths differ."""
    if isinstance(value, dict):
        return [n for key in sorted(value) for n in numbers(value[key])]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [repr(value)] if isinstance(value, (int, float)) else []


def digest(kind, folder):
    def read(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return file.read()

    if kind == "study":
        document = json.loads(read("study.json"))
        kept = {key: document[key] for key in ("runs", "cells", "tuning", "seeds", "target")}
        return short(" ".join(numbers(kept)))
    if kind == "parts":
        names = sorted(name for name in os.listdir(folder) if name.endswith(".npy"))
        assert names, "no lists of rows in " + folder
        return short("".join(bytes_of(os.path.join(folder, name)) for name in names))
    summary = json.loads(read("summary.json"))
    line = f"{summary['model_hash']} {summary['updates']} {summary['ended_by']} {summary['status']}"
    if kind == "run":
        moments = [json.loads(line) for line in read("metrics.jsonl").splitlines()]
        line += " " + short("\n".join(json.dumps([moment[key] for key in MOMENT]) for moment in moments))
    return line


def main():
    wrong = 0
    for line in sorted(sys.stdin):
        name, kind, folder = line.split()
        try:
            print(f"{name:<28} {digest(kind, folder)}")
        except Exception as error:  # whatever it is, what the run said tells more
            with open(folder + ".out", encoding="utf-8") as file:
                print(f"FAIL {name}: {error!r}:", *file.read().splitlines()[:3], sep="\n  ", file=sys.stderr)
            wrong = 1
    return wrong


sys.exit(main())
