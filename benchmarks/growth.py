"""How search, profile and add grow with the memory: 10,000, 100,000 and 1,000,000 memories beside bare SQL in the same file.

`python benchmarks/growth.py [--sizes 10000,100000,1000000] [--rounds 40] [--picture FILE.svg]`, with the Python into which
meX is installed; the picture needs matplotlib. It writes only into a temporary folder, some 1.2 GB for a million.
"""

import argparse
import os
import platform
import random
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

from mex_pipeline.app import App
from mex_pipeline.bootstrap import open_app
from mex_pipeline.clock import iso
from mex_pipeline.domain.memory import Confidence, Memory
from mex_pipeline.services import memories, profile, search
from mex_pipeline.store import memories as rows

SLOTS = 2_000
"""Values of the profile, however large the memory is: what grows over the years is the records."""
BATCH = 20_000
BEGAN = datetime(2016, 1, 1, tzinfo=UTC)
ZH_WHO = ["我", "妈妈", "小陈", "同事", "老板", "室友", "妹妹", "邻居"]
ZH_DID = ["喜欢", "讨厌", "买了", "看完", "推荐", "修好", "忘了", "学会", "想去", "约了"]
ZH_WHAT = [
    "火锅", "爬山", "摄影", "红楼梦", "咖啡机", "自行车", "西湖", "钢琴课", "流水账", "养蜂", "围棋", "滑雪板", "夜跑",
    "基金", "显微镜", "望远镜",
]  # fmt: skip
EN_DID = ["likes", "dislikes", "bought", "finished", "recommends", "repaired", "forgot", "learned", "wants"]
EN_WHAT = [
    "hiking", "photography", "espresso", "cycling", "beekeeping", "pottery", "chess", "kayaking", "gardening",
    "astronomy",
]  # fmt: skip
RARE = "㵘靐龘"
"""Characters that hardly anybody uses: the word made of two of them stands in one memory of a thousand."""


def contents(size: int) -> Iterator[str]:
    """The words of `size` memories: 70 % Chinese, 20 % English, 10 % both."""
    dice = random.Random(7)
    for number in range(size):
        zh = f"{dice.choice(ZH_WHO)}在第{dice.randrange(400)}天{dice.choice(ZH_DID)}{dice.choice(ZH_WHAT)}，用户说的"
        en = f"{dice.choice(EN_DID)} {dice.choice(EN_WHAT)} since day {dice.randrange(400)}, the user said"
        kind = dice.random()
        words = zh if kind < 0.7 else en if kind < 0.9 else f"{zh}, {en}"
        yield f"{words} {RARE[:2]}" if number % 1000 == 500 else words


def fill(app: App, size: int) -> None:
    """Write the memories as an import would, in a few large transactions."""
    app.db.script("PRAGMA synchronous = OFF;")
    batch: list[Memory] = []
    for number, words in enumerate(contents(size)):
        at = iso(BEGAN + timedelta(seconds=number * 300))
        topic, sub_topic = ("leisure", "hobbies") if number < SLOTS else (None, None)
        batch.append(
            Memory(
                id=str(UUID(int=number + 1, version=4)), topic=topic, sub_topic=sub_topic, content=words,
                is_ai_inferred=False, confidence=Confidence.EXPLICIT, evidence=None, created_at=at, updated_at=at,
                valid_from=at,
            )
        )  # fmt: skip
        if len(batch) == BATCH or number == size - 1:
            with app.db.transaction() as tx:
                tx.run(*map(rows.insert, batch))
            batch = []
    app.db.script("PRAGMA synchronous = FULL;\nPRAGMA wal_checkpoint(TRUNCATE);")


QUERIES = {
    "1 character": ["猫", "锅", "蜂", "琴", "棋", "湖"],
    "2 characters": ["火锅", "养蜂", "西湖", "围棋", "基金", "夜跑"],
    "3 characters": ["红楼梦", "咖啡机", "自行车", "钢琴课", "滑雪板"],
    "phrase": ['"买了咖啡机"', '"想去西湖"', '"finished pottery"', '"recommends espresso"'],
    "two words": ["小陈 火锅", "妹妹 钢琴", "bought kayaking", "老板 chess"],
    "English word": ["hiking", "espresso", "beekeeping", "pottery"],
    "word part": ["ikin", "press", "keepin", "otter"],
    "2 letters": ["ik", "pr", "ke", "ot"],
    "rare": [RARE[:2], RARE[0]],
    "no hit": ["飞碟", "zebra", "潜水艇", "qx"],
    "very common": ["用户", "user", "用户说的", "day"],
    "question": ["我妈妈喜欢什么咖啡机？", "which pottery did the user finish recently?"],
}
BARE = {
    "1 character": lambda word: (
        "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT 50",
        f'"{word}"*',
    ),
    "very common": lambda word: (
        "SELECT rowid FROM memories_fts WHERE memories_fts MATCH ? ORDER BY rowid DESC LIMIT 50",
        f'"{word[:2]}"*',
    ),
}
"""The least that SQLite has to do for such a query: the newest fifty of an index, unranked and unfiltered."""


def timed(action: Callable[[], object]) -> float:
    """Milliseconds of CPU and waiting that an action takes."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def measure(app: App, rounds: int) -> dict[str, list[float]]:
    """Return the times of every kind of work, in milliseconds, all kinds taking turns."""
    found: dict[str, list[float]] = {}
    with closing(sqlite3.connect(app.home.database)) as bare:
        for number in range(rounds):
            for kind, words in QUERIES.items():
                word = words[number % len(words)]
                found.setdefault(f"search: {kind}", []).append(timed(lambda word=word: asked(app, word)))
                if kind in BARE:
                    sql, value = BARE[kind](word)
                    found.setdefault(f"bare SQL: {kind}", []).append(
                        timed(lambda sql=sql, value=value: bare.execute(sql, (value,)).fetchall())
                    )
            found.setdefault("profile", []).append(timed(lambda: profile.show(app)))
            found.setdefault("add", []).append(
                timed(lambda number=number: memories.add(app, content=f"新记住的第{number}件"))
            )
    return found


def asked(app: App, query: str) -> object:
    """The first page of a search."""
    return search.find(app, search.wanted(app, query=query), limit=50)


def index_sizes(app: App) -> dict[str, float]:
    """Megabytes of the file, and of each index of words in it."""
    with closing(sqlite3.connect(app.home.database)) as bare:
        names = "memories", "memories_fts", "memories_grams"
        sizes = {"file": app.home.database.stat().st_size / 1e6}
        for name in names:
            sql = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ? OR name LIKE ? || '\\_%' ESCAPE '\\'"
            exact = "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE name = ?"
            values = (name,) if name == "memories" else (name, name)
            sizes[name] = bare.execute(exact if name == "memories" else sql, values).fetchone()[0] / 1e6
    return sizes


def main() -> None:
    """Print, for each size, p50 and p95 of every kind of work and their ratios to the smallest size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,1000000")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    results: dict[int, dict[str, list[float]]] = {}
    print(
        f"{platform.machine()}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} CPUs"
    )
    for size in sizes:
        with TemporaryDirectory(prefix="mex-growth-") as folder:
            os.environ["MEX_HOME"] = folder
            with open_app("zh") as app:
                filling = timed(lambda app=app, size=size: fill(app, size)) / 1000
                measure(app, 2)
                results[size] = measure(app, given.rounds)
                told = ", ".join(f"{name} {megabytes:.1f}" for name, megabytes in index_sizes(app).items())
                print(f"{size:,} memories: filled in {filling:.0f} s; MB: {told}", flush=True)
    table(results)
    if given.picture:
        draw(results, given.picture)


def table(results: dict[int, dict[str, list[float]]]) -> None:
    """Print p50 / p95 in milliseconds by kind and size, and the ratio of the last p95 to the first."""
    sizes = list(results)
    print(f"\n| p50 / p95 ms | {' | '.join(f'{size:,}' for size in sizes)} | p95, last / first |")
    print(f"|---|{'---|' * (len(sizes) + 1)}")
    for kind in results[sizes[0]]:
        spans = [results[size][kind] for size in sizes]
        cells = [f"{statistics.median(one):.2f} / {ninety_fifth(one):.2f}" for one in spans]
        print(f"| {kind} | {' | '.join(cells)} | {ninety_fifth(spans[-1]) / ninety_fifth(spans[0]):.1f} |")


def draw(results: dict[int, dict[str, list[float]]], path: Path) -> None:
    """Write the curves of all kinds of work as an SVG: p95 by number of memories, both scales logarithmic."""
    import matplotlib as mpl  # noqa: PLC0415 - only the picture needs it
    import matplotlib.pyplot as plt  # noqa: PLC0415

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "mex"
    figure, axes = plt.subplots(figsize=(9, 6))
    for kind in next(iter(results.values())):
        style = {"linestyle": ":", "color": "grey"} if kind.startswith("bare SQL") else {}
        line = [ninety_fifth(results[size][kind]) for size in results]
        axes.plot(list(results), line, marker="o", markersize=3, label=kind, **style)
    axes.set(xscale="log", yscale="log", xlabel="memories", ylabel="p95, milliseconds")
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small", frameon=False)
    figure.savefig(path, bbox_inches="tight", metadata={"Date": None})


def ninety_fifth(times: list[float]) -> float:
    """The time that 95 of a hundred stay below."""
    return sorted(times)[max(0, round(0.95 * len(times)) - 1)]


if __name__ == "__main__":
    main()
