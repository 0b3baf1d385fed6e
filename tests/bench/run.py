"""Run every benchmark and print its table; with --record keep the tables in data/recorded/benchmarks.json."""

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BENCHMARKS = ("launch_latency", "ring_speed", "simulator_speed", "widget_latency", "step_player_frames")
RECORDING = ROOT / "data" / "recorded" / "benchmarks.json"


def table(name):
    """What one benchmark prints, line by line; it is shown as well."""
    done = subprocess.run([sys.executable, HERE / f"{name}.py"], capture_output=True, text=True)
    print(f"\n{name}\n{done.stdout}{done.stderr}", flush=True)
    return done.stdout.splitlines() if done.returncode == 0 else [f"failed: {done.stderr.strip()[-200:]}"]


def main():
    tables = {name: table(name) for name in BENCHMARKS}
    if "--record" in sys.argv:
        sys.path.insert(0, str(ROOT / "notebooks" / "source"))
        from build import this_machine

        about = {"machine": this_machine(), "date": date.today().isoformat(), "tables": tables}
        RECORDING.write_text(
            json.dumps(about, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
