"""Draw the figure of README.md: a picture that goes in, and the page that comes out.

    python data/readme/make_figure.py

Needs the project, and Chromium (Debian package ``chromium``) to show the page.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw

from tablerec import recognize, save

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parent / "samples" / "photo.jpg"
WIDTH = 620
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


def show_page(page: Path, size: tuple[int, int]) -> Image.Image:
    """A page as the browser shows it, cropped to its content."""
    shot = page.with_suffix(".png")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-background-networking"]
    command = [str(BROWSER), *options, f"--screenshot={shot}", f"--window-size={size[0]},{size[1]}", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    image = Image.open(shot).convert("RGB")
    content = ImageChops.difference(image, Image.new("RGB", image.size, image.getpixel((0, 0)))).getbbox()
    return image.crop(content) if content else image


def main() -> None:
    """Write input_output.png."""
    if BROWSER is None:
        sys.exit("Chromium is missing: install the Debian package chromium")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "photo.html"
        save(recognize(SAMPLE), page)
        output = show_page(page, (900, 900))
    picture = Image.open(SAMPLE).convert("RGB")
    parts = [part.resize((WIDTH, round(part.height * WIDTH / part.width)), Image.LANCZOS) for part in (picture, output)]
    canvas = Image.new("RGB", (2 * WIDTH + 60, max(part.height for part in parts)), "white")
    for index, part in enumerate(parts):
        canvas.paste(part, (index * (WIDTH + 60), (canvas.height - part.height) // 2))
    middle, x = canvas.height // 2, WIDTH + 14
    ImageDraw.Draw(canvas).polygon([(x, middle - 14), (x + 32, middle), (x, middle + 14)], fill="#4477aa")
    canvas.quantize(128).save(HERE / "input_output.png", optimize=True)


if __name__ == "__main__":
    main()
