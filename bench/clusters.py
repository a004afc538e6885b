"""clusters.py -- the random clusters of bench/plan and bench/plan-live: speeds, links, straggling, skew."""
import random


def cluster_of(seed, number):
    """The experiment's text, and the cluster in words."""
    r = random.Random(seed * 1000 + number)
    groups, words = [], []
    for g in range(r.choice([1, 2, 2, 3])):
        count, speed = r.randint(1, 5) + (3 if g == 0 else 0), round(1000 / 2 ** r.uniform(0, 3 if g else 0))
        line = f"{{name: g{g}, count: {count}, speed: {speed}/s"
        law = r.choice(["", "", ", jitter: {name: lognormal, sigma: 0.3}", ", straggle: {name: iid, p: 0.05, factor: 8}",
                        ", straggle: {name: markov, factor: 6}", ", jitter: {name: pareto, alpha: 2.5}"])
        groups.append(line + law + "}")
        words.append(f"{count}x{speed}/s" + (" " + law.split("name: ")[1].split(",")[0].split("}")[0] if law else ""))
    link = r.choice(["10Mbit", "100Mbit", "1Gbit"])
    alpha = r.choice([None, None, 0.5, 0.2])
    partition = f"partition: {{name: dirichlet, alpha: {alpha}}}\n" if alpha else ""
    text = (f"data: digits\nmodel: softmax\noptimizer: {{lr: 0.1}}\n{partition}cluster:\n  network: {{bandwidth: {link}, latency: 1ms}}\n"
            "  workers:\n" + "".join(f"    - {g}\n" for g in groups) +
            "evaluate: {every: 20ms, train: end}\nstop: {epochs: 30, target: {test_accuracy: 0.9}}\n")
    return text, ", ".join(words) + f"; {link}" + (f"; skew {alpha}" if alpha else "")
