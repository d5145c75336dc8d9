"""Crops and resized images beside Pillow and torchvision, pixel by pixel.

    python images.py FOLDER [--crops 5] [--side 224] [--bin build/bin]

For every JPEG and PNG below FOLDER: random crops, which Pillow cuts out and resizes (bilinear, with antialiasing), and the
view of evaluation, which torchvision's Resize and CenterCrop make. Prints how many bytes differ and by how much; exit code 1
where one differs by more than one grey level. With Pillow up to 12.1 none differs; later ones resize along the columns first
where the height shrinks much more than the width, which rounds in another order.
"""
import argparse
import pathlib
import random
import subprocess
import sys

import PIL
from PIL import Image
from torchvision import transforms


def views(image, crops, side, draw):
    """Yields boxes (left, top, width, height) with Pillow's pixels; a box of zeros stands for the view of evaluation."""
    for _ in range(crops):
        width, height = draw.randint(1, image.width), draw.randint(1, image.height)
        left, top = draw.randint(0, image.width - width), draw.randint(0, image.height - height)
        crop = image.crop((left, top, left + width, top + height))
        yield (left, top, width, height), crop.resize((side, side), Image.Resampling.BILINEAR)
    shorter = round(side * 8 / 7)
    centre = transforms.Compose([transforms.Resize(shorter), transforms.CenterCrop(side)])
    yield (0, 0, 0, 0), centre(image)


def planes(image):
    return b"".join(band.tobytes() for band in image.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--crops", type=int, default=5)
    parser.add_argument("--side", type=int, default=224)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build/bin")
    args = parser.parse_args()

    draw = random.Random(1)
    kinds = {".jpg", ".jpeg", ".png"}
    paths = sorted(p for p in args.folder.rglob("*") if p.suffix.lower() in kinds)
    differing = compared = largest = 0
    for path in paths:
        image = Image.open(path).convert("RGB")
        asked, expected = [], []
        for box, result in views(image, args.crops, args.side, draw):
            asked.append(f"{args.side} {' '.join(map(str, box))} {path}\n")
            expected.append(planes(result))
        ours = subprocess.run([args.bin / "image_views"], input="".join(asked).encode(), stdout=subprocess.PIPE, check=True)
        theirs = b"".join(expected)
        if len(ours.stdout) != len(theirs):
            sys.exit(f"{path}: {len(ours.stdout)} bytes, expected {len(theirs)}")
        differences = [abs(a - b) for a, b in zip(ours.stdout, theirs) if a != b]
        compared += len(theirs)
        differing += len(differences)
        largest = max([largest, *differences])
    print(f"Pillow {PIL.__version__}: {len(paths)} images, {args.crops} crops and the centre of each: {differing} of {compared} bytes differ, "
          f"by at most {largest} grey levels")
    return 1 if largest > 1 or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
