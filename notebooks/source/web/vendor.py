"""Fetch what others wrote into vendor/: KaTeX (formulas), reveal.js (slides), axe-core (tests in a browser).

    python notebooks/source/web/vendor.py

The files are kept in the repository, for they are small and a course must be built without a network.
Run this only to change a version: it takes the package from npm, checks its hash and keeps what is listed.
"""

import base64
import hashlib
import io
import re
import shutil
import tarfile
import urllib.request
from pathlib import Path

WEB = Path(__file__).resolve().parent
PUBLISHED, TESTED = WEB / "vendor", WEB.parents[2] / "tests" / "browser" / "vendor"
PACKAGES = {  # (name, version): (folder, npm's integrity, files)
    ("katex", "0.16.22"): (
        PUBLISHED,
        "sha512-XCHRdUw4lf3SKBaJe4EvgqIuWwkPSo9XoeO8GjQW94Bp7TWv9hNhzZjZ+OH9yf1UmLygb7DIT5GSFQiyt16zYg==",
        r"LICENSE|dist/katex\.min\.(js|css)|dist/fonts/.*\.woff2",
    ),
    ("reveal.js", "5.2.1"): (
        PUBLISHED,
        "sha512-r7//6mIM5p34hFiDMvYfXgyjXqGRta+/psd9YtytsgRlrpRzFv4RbH76TXd2qD+7ZPZEbpBDhdRhJaFgfQ7zNQ==",
        r"LICENSE|dist/reveal\.(js|css)|plugin/notes/notes\.js",
    ),
    ("axe-core", "4.14.1"): (
        TESTED,
        "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
        r"LICENSE(-3RD-PARTY\.txt)?|axe\.min\.js",
    ),
}
# Every browser of the last ten years reads woff2.
OTHER_FONTS = re.compile(rb",url\([^)]*\.(woff|ttf)\) format\(\"\w+\"\)")


def download(name, version):
    with urllib.request.urlopen(
        f"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz", timeout=60
    ) as answer:
        return answer.read()


def unpack(package, wanted, folder):
    with tarfile.open(fileobj=io.BytesIO(package)) as archive:
        for member in archive.getmembers():
            inside = member.name.removeprefix("package/")
            if not re.fullmatch(wanted, inside):
                continue
            path = folder / inside.removeprefix("dist/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(OTHER_FONTS.sub(b"", archive.extractfile(member).read()))


def main():
    for (name, version), (folder, integrity, wanted) in PACKAGES.items():
        package = download(name, version)
        found = "sha512-" + base64.b64encode(hashlib.sha512(package).digest()).decode()
        if found != integrity:
            raise SystemExit(f"{name} {version}: npm gave {found}, not {integrity}")
        shutil.rmtree(folder / name, ignore_errors=True)
        unpack(package, wanted, folder / name)


if __name__ == "__main__":
    main()
