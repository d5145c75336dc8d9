#!/usr/bin/env python3
"""Images/s of the loader (image_feed.cpp) beside torch's DataLoader with torchvision, and DALI on a CPU, in turns.

    image_feed.py FOLDER [--cases train,jitter,eval,floats] [--peers pil,draft,tensor,dali] [--workers 1,2] [--rounds 7]
    image_feed.py FOLDER --ours PACK                   a pack beside the peers' folder
    image_feed.py FOLDER --small DIR                   makes DIR/jpeg and DIR/npy, for peers beside packs of --side 256

FOLDER holds train/CLASS/* and val/CLASS/*. Cases: train is RandomResizedCrop(224) and a flip; jitter changes brightness,
contrast and saturation besides; eval is Resize(256) and CenterCrop(224); floats is train with pixels normalised to f32, where
the others end with bytes. Peers: pil decodes and resizes by Pillow; draft shrinks while it decodes (other pixels); tensor
is torchvision.io.decode_jpeg (numpy.load for DIR/npy) and transforms v2 on tensors; dali is DALI's pipeline, which crops
while it decodes. torch's workers are processes that persist, with torch.set_num_threads(1); DALI's are threads. The ratio
of a round is our images per second of processor time (user and system, of all processes and threads of a side) over the
peer's; the last columns are by the clock. --dali PYTHON names an interpreter that has DALI, if this one lacks it.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SIDE, MINIBATCH = 224, 32
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
TICK = os.sysconf("SC_CLK_TCK")


def torch_transforms(peer, case):
    import torch
    from torchvision.transforms import v2
    on_tensors = peer == "tensor"
    steps = [v2.Resize(256, antialias=True), v2.CenterCrop(SIDE)] if case == "eval" else [
        v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()]
    if case == "jitter":
        steps.append(v2.ColorJitter(0.4, 0.4, 0.4))
    if not on_tensors:
        steps.append(v2.PILToTensor())
    if case == "floats":
        steps += [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, DEVIATION)]
    return v2.Compose(steps)


def drafted(image, case):
    """Shrinks by the DCT while decoding: by most for evaluation, and for a crop as its box allows."""
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional
    if case == "eval":
        image.draft("RGB", (256, 256))
        return image.convert("RGB")
    width, height = image.size
    box = v2.RandomResizedCrop(SIDE).make_params([image])
    top, left, rows, columns = (box[key] for key in ("top", "left", "height", "width"))
    share = max(SIDE / rows, SIDE / columns)
    image.draft("RGB", (max(1, int(width * share)), max(1, int(height * share))))
    across, down = image.size[0] / width, image.size[1] / height
    place = [round(top * down), round(left * across), max(1, round(rows * down)), max(1, round(columns * across))]
    return functional.resized_crop(image.convert("RGB"), *place, [SIDE, SIDE])


def torch_batches(peer, case, folder, workers):
    import numpy
    import torch
    from PIL import Image
    from torchvision.io import ImageReadMode, decode_jpeg, read_file
    from torchvision.transforms import v2

    torch.set_num_threads(1)
    transforms = torch_transforms(peer, case)
    if peer == "draft" and case != "eval":  # drafted() has cropped
        transforms = v2.Compose(transforms.transforms[1:])

    class Images(torch.utils.data.Dataset):
        def __init__(self):
            classes = sorted((folder / ("val" if case == "eval" else "train")).iterdir())
            self.files = [(str(path), label) for label, name in enumerate(classes) for path in sorted(name.iterdir())]

        def __len__(self):
            return len(self.files)

        def __getitem__(self, index):
            path, label = self.files[index]
            if path.endswith(".npy"):
                return transforms(torch.from_numpy(numpy.load(path)).permute(2, 0, 1)), label
            if peer == "tensor":
                return transforms(decode_jpeg(read_file(path), ImageReadMode.RGB)), label
            with Image.open(path) as image:
                return transforms(drafted(image, case) if peer == "draft" else image.convert("RGB")), label

    images = Images()
    endless = torch.utils.data.RandomSampler(images, replacement=True, num_samples=10**9)
    return iter(torch.utils.data.DataLoader(images, MINIBATCH, sampler=endless, num_workers=workers, prefetch_factor=2,
                                            persistent_workers=True, worker_init_fn=lambda _: torch.set_num_threads(1)))


def dali_batches(case, folder, workers):
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=MINIBATCH, num_threads=workers, device_id=None, seed=1, prefetch_queue_depth=2)
    def pipeline():
        files, labels = fn.readers.file(file_root=str(folder / ("val" if case == "eval" else "train")), random_shuffle=True)
        if case == "eval":
            images = fn.resize(fn.decoders.image(files), resize_shorter=256, interp_type=types.INTERP_TRIANGULAR)
        else:
            crops = fn.decoders.image_random_crop(files, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3],
                                                  num_attempts=10)
            images = fn.resize(crops, size=[SIDE, SIDE], interp_type=types.INTERP_TRIANGULAR)
        if case == "jitter":
            factors = [fn.random.uniform(range=[0.6, 1.4]) for _ in range(3)]
            images = fn.color_twist(images, brightness=factors[0], contrast=factors[1], saturation=factors[2])
        mirror = 0 if case == "eval" else fn.random.coin_flip()
        floats = case == "floats"
        images = fn.crop_mirror_normalize(
            images, crop=(SIDE, SIDE), mirror=mirror, output_layout="CHW", dtype=types.FLOAT if floats else types.UINT8,
            mean=[255 * m for m in MEAN] if floats else 0.0, std=[255 * d for d in DEVIATION] if floats else 1.0)
        return images, labels

    made = pipeline()
    made.build()
    while True:
        yield made.run()


def write_small(folder, to):
    """Writes what `pack --side 256` packs, as JPEGs of quality 90 and as bare pixels, for peers to read."""
    import numpy
    from PIL import Image
    for path in sorted(folder.glob("*/*/*")):
        image = Image.open(path).convert("RGB")
        share = min(1, 256 / min(image.size))
        image = image.resize([round(share * side) for side in image.size], Image.Resampling.BILINEAR)
        for kind in ("jpeg", "npy"):
            place = to / kind / path.relative_to(folder).with_suffix("." + kind)
            place.parent.mkdir(parents=True, exist_ok=True)
            image.save(place, quality=90) if kind == "jpeg" else numpy.save(place, numpy.asarray(image))


def serve(peer, case, folder, workers):
    """The other side of a turn: see image_feed.cpp."""
    batches = dali_batches(case, folder, workers) if peer == "dali" else torch_batches(peer, case, folder, workers)
    next(batches)
    print("ready", flush=True)
    for line in sys.stdin:
        warm, timed = map(int, line.split())
        for _ in range(warm):
            next(batches)
        began = time.perf_counter()
        for _ in range(timed):
            next(batches)
        print((warm + timed) * MINIBATCH, timed * MINIBATCH / (time.perf_counter() - began), flush=True)


class Side:
    """A program that loads images in turns."""

    def __init__(self, command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line == "ready\n":
                return
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {self.process.wait()}")

    def ticks(self):
        """Returns the ticks of processor time that the process and its children have had."""
        wanted, total = [self.process.pid], 0
        for pid in wanted:
            for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                wanted += map(int, (task / "children").read_text().split())
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
        return total

    def still(self):
        """Waits until no thread works ahead any more, and returns the ticks."""
        before, same = self.ticks(), 0
        while same < 5:
            time.sleep(0.1)
            now = self.ticks()
            before, same = now, same + 1 if now == before else 0
        return before

    def turn(self, warm, timed):
        """Returns images per second of processor time, and per second of the clock."""
        before = self.still()
        print(warm, timed, file=self.process.stdin, flush=True)
        images, by_clock = map(float, self.process.stdout.readline().split())
        return images * TICK / (self.still() - before), by_clock

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ratios(ours, theirs, index):
    found = sorted(a[index] / b[index] for a, b in zip(ours, theirs))
    return f"{statistics.median(found):>7.2f} {found[0]:>6.2f} {found[-1]:>6.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ours", type=pathlib.Path, help="what our side reads; FOLDER where not given")
    parser.add_argument("--small", type=pathlib.Path, metavar="DIR",
                        help="write the images of FOLDER into DIR/jpeg and DIR/npy, their shorter side at most 256, and end")
    parser.add_argument("--cases", default="train,jitter,eval,floats")
    parser.add_argument("--peers", default="pil,draft,tensor")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--minibatches", type=int, default=16, help="that a turn times, of 32 images (%(default)s)")
    parser.add_argument("--dali", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.small:
        return write_small(arguments.folder, arguments.small)
    if arguments.serve:
        peer, case, workers = arguments.serve
        return serve(peer, case, arguments.folder, int(workers))

    print(f"{'case':<7} {'workers':>7} {'peer':<7} {'ours/cpu s':>10} {'peer/cpu s':>10} {'median':>7} {'least':>6} {'most':>6}"
          f"   clock: {'median':>7} {'least':>6} {'most':>6}", flush=True)
    for case in arguments.cases.split(","):
        for workers in map(int, arguments.workers.split(",")):
            peers = arguments.peers.split(",")
            commands = [[arguments.dali if peer == "dali" else sys.executable, __file__, arguments.folder, "--serve", peer, case,
                         workers] for peer in peers]
            sides = [Side([arguments.bin / "image_feed", arguments.ours or arguments.folder, case, workers, MINIBATCH]),
                     *map(Side, commands)]
            warm = 2 * workers + 2  # what a side may have ready when a turn begins
            turns = [[side.turn(warm, arguments.minibatches) for side in sides] for _ in range(arguments.rounds)]
            for side in sides:
                side.end()
            ours, *theirs = zip(*turns)
            for peer, their in zip(peers, theirs):
                print(f"{case:<7} {workers:>7} {peer:<7} {statistics.median(speed for speed, _ in ours):>10.0f} "
                      f"{statistics.median(speed for speed, _ in their):>10.0f} {ratios(ours, their, 0)}          "
                      f"{ratios(ours, their, 1)}", flush=True)


if __name__ == "__main__":
    main()
