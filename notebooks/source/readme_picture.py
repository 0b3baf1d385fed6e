"""Draw README's picture, class.png beside this file: chapter 1's class, one student of which is slow.

python notebooks/source/readme_picture.py
"""

from pathlib import Path

from course_lib.pictures.class_at_work import one_view
from course_lib.step_story import PRESETS, tell

FILE = Path(__file__).with_name("class.png")


def picture():
    return one_view(tell(PRESETS["straggler"]), "pipe")


if __name__ == "__main__":
    FILE.write_bytes(picture().png)
    print(picture().alt)
