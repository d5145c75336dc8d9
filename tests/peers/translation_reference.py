#!/usr/bin/env python3
"""The recipe transformer on parallel texts, trained by PyTorch from the same initial weights: BLEU of its greedy decoding.

    translation_reference.py --data DIR --reverse --dim 256 --epochs 4      flags of `transformer`

The sentences become words by the rules of data/text/unit_tokenizer.h, written once more here: vocabularies have to be
those of `transformer`, and the pairs of its first step have to be among them. Then PyTorch trains with the same loss,
optimizer, learning rates, dropout and minibatch, in an order of its own, on minibatches of about one length. The figure
belongs beside that of `./run translate RUN --beam 1`.
"""
import argparse
import collections
import gzip
import math
import pathlib
import random
import tempfile
import time
import unicodedata

import torch

import compare
import nets
import transformer

PADDING, BEGIN, END, UNKNOWN = range(4)
LEAST_COUNT = 2  # words that come more rarely are unknown
POOL = 50  # minibatches whose samples are sorted by length together


def lines_of(folder, part, language):
    [path] = sorted(folder.glob(f"{part}*.{language}.gz"))[:1]
    return gzip.open(path, "rt", encoding="utf-8").read().splitlines()


def is_mark(character):
    return unicodedata.category(character)[0] in "PS"


def words_of(sentence):
    text, words, open_word = sentence.lower(), [], ""
    for at, character in enumerate(text):
        if character.isspace() or is_mark(character):
            before, after = text[at - 1] if at else " ", text[at + 1] if at + 1 < len(text) else " "
            beside = not any(x.isspace() or is_mark(x) for x in (before, after))
            figures = before in "0123456789" and after in "0123456789"
            if beside and (character == "-" or (character in ".," and figures)):
                open_word += character
                continue
            words.append(open_word)
            open_word = character if beside and character in "'\u2019" else ""
            if not character.isspace() and not open_word:
                words.append(character)
        else:
            open_word += character
    return [word for word in (*words, open_word) if word]


def vocabulary_of(sentences, most):
    counts = collections.Counter(word for words in sentences for word in words)
    kept = sorted((word for word, count in counts.items() if count >= LEAST_COUNT), key=lambda w: (-counts[w], w.encode()))
    return {word: number for number, word in enumerate(kept[:most - 4], 4)}


def bleu(translations, references):
    """BLEU of a corpus of lists of words (Papineni et al. 2002), in percent."""
    matches, totals = [0] * 4, [0] * 4
    for ours, theirs in zip(translations, references):
        for n in range(4):
            a, b = (collections.Counter(tuple(x[i:i + n + 1]) for i in range(len(x) - n)) for x in (ours, theirs))
            matches[n] += (a & b).total()
            totals[n] += a.total()
    if min(matches) == 0:
        return 0.0
    words, expected = (sum(map(len, x)) for x in (translations, references))
    precision = math.exp(sum(math.log(m / t) for m, t in zip(matches, totals)) / 4)
    return 100 * precision * min(1.0, math.exp(1 - expected / words))


class Texts:
    """Pairs of token lists: the source ends with END, the target begins with BEGIN and ends with END."""

    def __init__(self, folder, reverse, most):
        languages = sorted({path.name.split(".")[1] for path in folder.glob("train*.gz")}, reverse=reverse)
        words = {part: [[words_of(line) for line in lines_of(folder, part, language)] for language in languages]
                 for part in ("train", "test")}
        self.vocabularies = [vocabulary_of(side, most) for side in words["train"]]
        self.train, self.test = (self.pairs(*words[part]) for part in ("train", "test"))
        self.references = words["test"][1]

    def pairs(self, sources, targets):
        encode = lambda words, side: [self.vocabularies[side].get(word, UNKNOWN) for word in words]
        return [(encode(source, 0) + [END], [BEGIN] + encode(target, 1) + [END]) for source, target in zip(sources, targets)]

    def check(self, net, batches):
        sizes = [table.weight.shape[0] - 4 for table in (net.source_embedding, net.target_embedding)]
        if sizes != [len(v) for v in self.vocabularies]:
            raise SystemExit(f"expected vocabularies of {sizes} words, got {[len(v) for v in self.vocabularies]}")
        rows = zip(*(batches[f"{side}.0"].tolist() for side in ("source", "target")))
        known = {(tuple(source), tuple(target)) for source, target in self.train}
        cut = lambda row: tuple(x for x in row if x != PADDING)
        if any((cut(source), cut(target)) not in known for source, target in rows):
            raise SystemExit("the first minibatch of transformer has pairs that are not among these")


def padded(sequences):
    length = max(map(len, sequences))
    return torch.tensor([x + [PADDING] * (length - len(x)) for x in sequences]), torch.tensor([len(x) for x in sequences])


def batches_of(pairs, minibatch):
    """Yields the minibatches of one epoch, each of pairs of about one length."""
    order = random.sample(range(len(pairs)), len(pairs))
    all_of = []
    for first in range(0, len(order), POOL * minibatch):
        pool = sorted(order[first:first + POOL * minibatch], key=lambda i: max(map(len, pairs[i])))
        all_of += [pool[at:at + minibatch] for at in range(0, len(pool) - minibatch + 1, minibatch)]
    random.shuffle(all_of)
    for batch in all_of:
        (source, lengths), (target, target_lengths) = (padded([pairs[i][side] for i in batch]) for side in (0, 1))
        yield source, lengths, target, target_lengths


def rate_at(flags, step, steps, epochs):
    warmup, peak = round(float(flags["warmup-epochs"]) * steps / epochs), float(flags["lr"])
    if step < warmup:
        return peak * step / warmup
    if flags["schedule"] == "cosine":
        return peak * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2
    if flags["schedule"] == "inverse-sqrt":
        return peak * math.sqrt(warmup / step)
    raise SystemExit(f"expected --schedule cosine or inverse-sqrt, got {flags['schedule']}")


@torch.no_grad()
def translate(net, sources):
    """Returns the greedy translations, without begin and end."""
    memory, is_padding = net.encode(*padded(sources))
    target = torch.full((len(sources), 1), BEGIN)
    for _ in range(2 * max(map(len, sources)) + 10):
        logits = net.decode(memory, is_padding, target)[:, -1]
        logits[:, [PADDING, BEGIN]] = -math.inf
        target = torch.cat((target, logits.argmax(1)[:, None]), 1)
        if (target == END).any(1).all():
            break
    rows = [row[1:] for row in target.tolist()]
    return [row[:row.index(END)] if END in row else row for row in rows]


def bleu_of(net, texts):
    net.eval()
    names = {number: word for word, number in texts.vocabularies[1].items()}
    order = sorted(range(len(texts.test)), key=lambda i: len(texts.test[i][0]))
    written = {}
    for first in range(0, len(order), 100):
        some = order[first:first + 100]
        written.update(zip(some, translate(net, [texts.test[i][0] for i in some])))
    return bleu([[names.get(x, "<unknown>") for x in written[i]] for i in range(len(order))], texts.references)


def train(net, texts, trace, epochs):
    flags = trace["flags"]
    minibatch = int(flags["minibatch"])
    steps = epochs * (len(texts.train) // minibatch)
    optimizer, step = transformer.optimizer_of(net, trace), 0
    clip_norm = float(flags["clip-norm"])
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for count, batch in enumerate(batches_of(texts.train, minibatch), 1):
            compare.set_rate(optimizer, rate_at(flags, step, steps, epochs))
            optimizer.zero_grad(set_to_none=True)
            loss = nets.translation_loss(net, *batch, trace["label_smoothing"])
            loss.backward()
            if clip_norm > 0:
                torch.nn.utils.clip_grad_norm_(net.parameters(), clip_norm)
            optimizer.step()
            total, step = total + loss.item(), step + 1
            if count % 50 == 0:
                print(f"  epoch {epoch + 1}, step {step} of {steps}: loss {total / count:.4f}, {time.process_time():.0f} s of "
                      "the processor", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--reverse", action="store_true")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments, words = parser.parse_known_intermixed_args()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    random.seed(arguments.seed)
    torch.manual_seed(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        own = ["--data", arguments.data, "--seed", str(arguments.seed), *["--reverse"] * arguments.reverse]
        compare.trace_steps(arguments.bin, "transformer", {"--steps": "1", "--out": name}, [*own, *words])
        trace, initial, batches, _, _ = compare.read_trace(pathlib.Path(name))
    net = transformer.model_of(trace, initial, float(trace["flags"]["dropout"]))
    texts = Texts(arguments.data, arguments.reverse, int(trace["flags"]["vocabulary"]))
    texts.check(net, batches)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: {len(texts.train)} pairs, vocabularies of "
          f"{[len(v) + 4 for v in texts.vocabularies]}", flush=True)
    train(net, texts, trace, arguments.epochs)
    print(f"BLEU {bleu_of(net, texts):.2f}, greedy, {time.process_time():.0f} s of the processor")


if __name__ == "__main__":
    main()
