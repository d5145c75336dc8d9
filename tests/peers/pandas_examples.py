"""The Python examples of the READMEs in recipes/, run as they stand.

    python pandas_examples.py [--bin build/bin]

Makes a run (runs/mine), trainings under three seeds (runs/seeds), a sweep (runs/curve) and a study of it (runs/study) in a
temporary folder, and runs every block of Python of these READMEs. Exit code 1 where one fails, prints nothing, or prints a number
that is none. Needs pandas.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SWEEP = ["mlp_mnist", "--dataset", "glyphs", "--depth", "1", "--hidden", "16", "--epochs", "8", "--schedule", "constant",
         "--target", "error=45%", "--grid", "minibatch=16,32,64,128", "--search", "lr=x0.25:4", "--trials", "5", "--seeds", "2"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    programs = parser.parse_args().bin.resolve()
    texts = [path.read_text() for path in sorted((ROOT / "recipes").rglob("README.md"))]
    examples = re.findall(r"^```python\n(.*?)^```$", "\n".join(texts), re.M | re.S)
    faults = 0 if examples else 1
    with tempfile.TemporaryDirectory() as folder:
        train = [programs / "glyphs", "--epochs", "2", "--quiet", "--out"]
        subprocess.run([*train, "runs/mine"], cwd=folder, check=True)
        subprocess.run([*train, "runs/seeds", "--seeds", "1..3"], cwd=folder, check=True)
        subprocess.run([programs / "sweep", *SWEEP, "--store", "runs/curve"], cwd=folder, check=True)
        subprocess.run([programs / "study", "runs/curve", "--out", "runs/study"], cwd=folder, check=True)
        for example in examples:
            result = subprocess.run([sys.executable, "-c", example], cwd=folder, capture_output=True, text=True)
            print(f"{example}{result.stdout}{result.stderr}")
            if result.returncode != 0 or not result.stdout or re.search(r"\bnan\b", result.stdout, re.I):
                faults += 1
    print(f"{len(examples)} examples, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
