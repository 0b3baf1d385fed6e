import sys
from pathlib import Path

# The notebooks' build and rules are scripts beside the sources, not part of the library.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "notebooks" / "source"))
