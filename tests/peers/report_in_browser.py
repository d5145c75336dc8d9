"""Reports in a real browser: headless Chromium, on a phone (390 x 844) and on a desk (1280 x 800).

    python report_in_browser.py [REPORT.html ...] [--out DIR] [--bin build/bin] [--chromium /usr/bin/chromium]

Each page is opened light and dark, with JavaScript and without. Exit code 1 where it asks for anything beside itself, tells
an error, is wider than the window, has a chart that cannot be seen, or a run's name over the next column or cut in the legend,
does not pick a run out where its name is tapped, or sorts or filters its table otherwise than asked.
Leaves screenshots in --out. Without a REPORT some are made: of one run, and of a study of three with a run that diverged
and a damaged one. Needs playwright, and Debian's chromium.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

LONG_NAME = "too <fast> & \"wild\" " + "_".join(["wider-than-a-phone"] * 5)
WINDOWS = {"phone": (390, 844), "desk": (1280, 800)}


def faults_of(page, url, name):
    """Opens the report in `page`, which shows nothing yet, and yields what is wrong."""
    requests, errors = [], []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(url)
    yield from (f"{name}: asks for {request}" for request in requests if request != url)
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if wide > 0:
        yield f"{name}: {wide} pixels wider than the window"
    for axis in ("by-epochs", "by-steps"):
        page.locator(f"label[for={axis}]").click()
        hidden = "by-steps" if axis == "by-epochs" else "by-epochs"
        shown = page.locator(f".charts .{axis}")
        if shown.count() == 0 or not all(chart.is_visible() for chart in shown.all()):
            yield f"{name}: charts {axis} are not seen"
        if any(chart.is_visible() for chart in page.locator(f".charts .{hidden}").all()):
            yield f"{name}: charts {hidden} are seen beside those {axis}"
    page.locator("label[for=by-epochs]").click()
    yield from (f"{name}: {error}" for error in errors)


def picking_faults(page, name):
    picks = page.locator(".legend .pick")
    picks.nth(picks.count() - 1).click()
    page.mouse.move(0, 0)
    if page.locator("html.picking g.run.on").count() == 0:
        yield f"{name}: a tap on a run picks nothing out"
    yield None
    picks.nth(picks.count() - 1).click()
    page.mouse.move(0, 0)
    if page.locator("html.picking").count() != 0:
        yield f"{name}: a second tap does not let go"


def name_faults(page, name):
    """Yields names that reach out of their column of the table or their button of the legend."""
    for place, cells in (("column", ".runs td:first-child"), ("button of the legend", ".legend .pick")):
        wide = page.evaluate("""cells => [...document.querySelectorAll(cells)].filter(cell => {
            const words = document.createRange();
            words.selectNodeContents(cell);
            const inner = words.getBoundingClientRect(), outer = cell.getBoundingClientRect();
            const cut = [cell, ...cell.querySelectorAll('span')].some(part => part.scrollWidth > part.clientWidth + 1 &&
                getComputedStyle(part).display !== 'inline');
            return cut || inner.right > outer.right + 1 || inner.bottom > outer.bottom + 1;
        }).map(cell => cell.textContent)""", cells)
        yield from (f"{name}: {words} does not fit its {place}" for words in wide)


def table_faults(page, name):
    rows = page.locator(".runs tr.pick")
    if rows.count() < 2:
        return
    sort = page.locator("th .sort", has_text="samples/s").first

    def values():
        cells = page.evaluate("""[...document.querySelectorAll('.runs tr.pick')].map(row => {
            const at = [...document.querySelectorAll('.runs th')].findIndex(head => head.textContent === 'samples/s');
            return row.cells[at].dataset.order ?? null; })""")
        return [float(cell) for cell in cells if cell is not None], cells
    sort.click()
    up, cells = values()
    if up != sorted(up) or None in cells[:len(up)]:
        yield f"{name}: sorted upwards: {cells}"
    sort.click()
    down, cells = values()
    if down != sorted(down, reverse=True) or None in cells[:len(down)]:
        yield f"{name}: sorted downwards: {cells}"
    first = rows.nth(0).locator("td").first.text_content()
    field = page.locator(".filter input")
    for asked, expected in ((first.lower(), None), ("samples/s>=0", len(down)), ("samples/s<0", 0), ("no-such-run", 0)):
        field.fill(asked)
        seen = [row for row in rows.all() if row.is_visible()]
        legend = [pick for pick in page.locator(".legend .pick").all() if pick.is_visible()]
        if expected is None and first not in [row.locator("td").first.text_content() for row in seen]:
            yield f"{name}: the filter {asked} leaves out {first}"
        lines = {row.get_attribute("data-run") for row in seen}  # runs that differ by their seeds alone share a line
        if expected is not None and len(seen) != expected or len(legend) != len(lines):
            yield f"{name}: the filter {asked} leaves {len(seen)} rows, {len(legend)} names in the legend"
    field.fill("")


def look_at(browser, report, out):
    faults = []
    url = report.resolve().as_uri()
    for window, (width, height) in WINDOWS.items():
        for scheme in ("light", "dark"):
            for script in (True, False):
                name = f"{report.stem}-{window}-{scheme}" + ("" if script else "-no-script")
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme,
                                              java_script_enabled=script, device_scale_factor=1)
                page = context.new_page()
                # Without JavaScript the page runs no scripts of its own, but the browser still evaluates those of these
                # checks.
                faults += faults_of(page, url, name)
                faults += name_faults(page, name)
                page.screenshot(path=out / f"{name}.png", full_page=True)
                if script:
                    for fault in picking_faults(page, name):
                        if fault is None:
                            page.screenshot(path=out / f"{name}-picked.png")
                        else:
                            faults.append(fault)
                    faults += table_faults(page, name)
                context.close()
    return faults


def reports_of_own(folder, programs):
    words = ["--epochs", "3", "--quiet", "--log-layers", "10st", "--optimizer", "lars"]
    glyphs = programs / "glyphs"
    study = folder / "study"
    subprocess.run([glyphs, *words, "--lr", "5", "--seeds", "1..3", "--out", study], check=True)
    subprocess.run([glyphs, *words, "--lr", "1e30", "--out", study / LONG_NAME], check=False)
    (study / "damaged").mkdir()
    (study / "damaged" / "manifest.json").write_text("{")
    for place, page in ((study, "study.html"), (study / "seed-1", "run.html")):
        subprocess.run([programs / "report", place, "--out", folder / page], check=True)
        yield folder / page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=pathlib.Path, nargs="*")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("screenshots"))
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build" / "bin")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    faults = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        reports = arguments.report or list(reports_of_own(pathlib.Path(folder), arguments.bin.resolve()))
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=["--no-sandbox"])
        for report in reports:
            faults += look_at(browser, report, arguments.out)
        browser.close()
    print(f"{len(reports)} reports, {len(faults)} faults; screenshots in {arguments.out}")
    for fault in faults:
        print("  " + fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
