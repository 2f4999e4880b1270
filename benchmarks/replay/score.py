"""The measures of one user's final state against gold: counts that add up over users and seeds, then rates of them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from benchmarks.replay.faults import Tag
from benchmarks.replay.life import Fact, Kind, Life
from benchmarks.replay.state import Row, State, fact
from benchmarks.replay.wording import same

MADE_UP = (Tag.FAKE_QUOTE, Tag.REAL_QUOTE)

Counts = Counter[str]


def count(life: Life, state: State, calls: Sequence[Row]) -> Counts:
    """Return everything there is to count about a user's run; `calls` are the endpoint's lines about it."""
    items = [item for call in calls if call["end"] == "answered" for item in call["items"]]
    counts: Counts = Counter()
    counts += against_gold(life, state)
    counts += _leaks(life, state, items)
    counts += _evidence(state)
    counts += _history(life, state)
    counts += _repeats(state, items)
    counts += _jobs(life, state)
    counts += _cost(calls)
    return counts


def rates(counts: Mapping[str, int]) -> dict[str, float | None]:
    """Return the measures of summed counts, by name; None where there was nothing to measure."""
    found: dict[str, float | None] = {}
    for name, suffix in (("", ""), ("unique ", "_unique"), ("many ", "_many")):
        hit, said, held = (counts.get(key + suffix, 0) for key in ("hits", "gold", "active"))
        found[f"{name}P"], found[f"{name}R"] = _share(hit, held), _share(hit, said)
        found[f"{name}F1"] = _share(2 * hit, held + said)
    found["order F1"] = _share(
        2 * counts.get("order_hits", 0), counts.get("order_gold", 0) + counts.get("order_active", 0)
    )
    for name, (part, whole) in _RATES.items():
        found[name] = _share(counts.get(part, 0), counts.get(whole, 0))
    return found


_RATES = {
    "stale": ("stale", "gone"),
    "duplicates": ("duplicates", "active"),
    "made up": ("made_up", "active"),
    "made up, invented quote": ("made_up_fake_quote", "active"),
    "made up, real quote": ("made_up_real_quote", "active"),
    "passing leak": ("passing_leak", "passing_reported"),
    "trap leak": ("trap_leak", "trap_reported"),
    "third_party leak": ("third_party_leak", "third_party_reported"),
    "hypothetical leak": ("hypothetical_leak", "hypothetical_reported"),
    "quoted leak": ("quoted_leak", "quoted_reported"),
    "assistant_claim leak": ("assistant_claim_leak", "assistant_claim_reported"),
    "one_off leak": ("one_off_leak", "one_off_reported"),
    "evidence": ("evidence_true", "evidence_claimed"),
    "history": ("recoverable", "replaced"),
    "new per restating": ("repeats_added", "restated"),
    "rows per restating": ("repeats_touched", "restated"),
    "committed": ("jobs_kept", "jobs_done"),
    "lost": ("sessions_lost", "sessions"),
    "stored per session": ("stored", "empty_sessions"),
    "calls per session": ("calls", "sessions"),
    "prompt tokens per session": ("prompt_tokens", "sessions"),
    "known share of prompt": ("known_tokens", "prompt_tokens"),
    "again unchanged": ("again_unchanged", "again"),
    "order same": ("order_same", "order"),
    "order stale": ("order_stale", "order_gone"),
    "kill same": ("kill_same", "kill"),
    "kill committed": ("kill_jobs_kept", "kill_jobs_done"),
    "wasted calls per kill": ("kill_wasted", "kills"),
}  # fmt: skip


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def agree(one: Iterable[Fact], other: Iterable[Fact]) -> bool:
    """True when two final states hold the same values, each once, signs and case aside."""
    left, right = list(one), list(other)
    return len(left) == len(right) and len(_matched(left, right)) == len(left)


def holds(facts: Iterable[Fact], wanted: Fact) -> bool:
    """True when one of the facts is the wanted one, in whatever wording."""
    return any(one.slot == wanted.slot and same(one.value, wanted.value) for one in facts)


def _matched(gold: Iterable[Fact], active: Sequence[Fact]) -> dict[int, Fact]:
    """Return for each index of an active fact that is taken the gold fact that took it; each takes one at most."""
    taken: dict[int, Fact] = {}
    for wanted in gold:
        free = (
            index for index, one in enumerate(active)
            if index not in taken and one.slot == wanted.slot and same(one.value, wanted.value)
        )  # fmt: skip
        index = next(free, None)
        if index is not None:
            taken[index] = wanted
    return taken


def against_gold(life: Life, state: State) -> Counts:
    """Return how the active values stand against those that are true at the end, and against those that no longer are."""
    active = [fact(one) for one in state.active()]
    gold = sorted(life.final, key=lambda one: (one.slot, one.value))
    taken = _matched(gold, active)
    counts: Counts = Counter()
    if not life.told():
        counts += Counter(stored=state.contents().total(), empty_sessions=len(life.sessions))
    for suffix, wanted in (("", None), ("_unique", True), ("_many", False)):
        counts[f"hits{suffix}"] = sum(wanted in (None, life.slots.get(one.slot)) for one in taken.values())
        counts[f"gold{suffix}"] = sum(wanted in (None, life.slots.get(one.slot)) for one in gold)
        counts[f"active{suffix}"] = sum(wanted in (None, life.slots.get(one.slot)) for one in active)
    counts["duplicates"] = sum(index not in taken and holds(gold, one) for index, one in enumerate(active))
    gone = [one for one in replaced_values(life) if not holds(gold, one)]
    counts["gone"] = len(gone)
    counts["stale"] = sum(holds(active, one) for one in gone)
    return counts


def replaced_values(life: Life) -> list[Fact]:
    """Return every value that an update or a retraction took away, each once, in the order of the sessions."""
    found: dict[Fact, None] = {}
    for session in life.sessions:
        for op in session.ops:
            if op.kind is Kind.UPDATE and op.old:
                found[Fact(op.fact.slot, op.old)] = None
            elif op.kind is Kind.RETRACT:
                found[op.fact] = None
    return list(found)


def _leaks(life: Life, state: State, items: Sequence[Row]) -> Counts:
    """Active values that stand only on an item that should not be there; what the user ever said himself is none."""
    told, counts = life.told(), Counter[str]()
    injected = [(_fact(item), Tag(item["tag"]), item["trap"]) for item in items]
    for _, tag, trap in injected:
        counts[f"{tag.value}_reported"] += 1
        if trap:
            counts[f"{trap}_reported"] += 1
    for one in (fact(memory) for memory in state.active()):
        if holds(told, one):
            continue
        behind = {(tag, trap) for other, tag, trap in injected if holds([other], one)}
        tags = {tag for tag, _ in behind}
        made_up = [tag for tag in MADE_UP if tag in tags]
        counts["made_up"] += bool(made_up)
        counts["passing_leak"] += Tag.PASSING in tags
        counts["trap_leak"] += Tag.TRAP in tags
        counts.update(f"made_up_{tag.value}" for tag in made_up[-1:])
        counts.update(f"{trap}_leak" for trap in {trap for _, trap in behind if trap})
    return counts


def _fact(item: Row) -> Fact:
    return Fact(item["fact"]["slot"], item["fact"]["value"])


def _evidence(state: State) -> Counts:
    """Sources that claim to be verified, and those whose quote stands where they say, in a turn of the user."""
    counts: Counts = Counter()
    turns = {
        (name, turn["message_id"]): turn for name, shown in state.transcripts.items() for turn in shown["turns"]
    }  # fmt: skip
    for source in state.sources if state.transcripts else ():
        if source["verified"]:
            counts["evidence_claimed"] += 1
            counts["evidence_true"] += _stands(
                source, turns.get((Path(source["source_file"]).name, source["message_id"]))
            )
    return counts


def _stands(source: Row, turn: Row | None) -> bool:
    if turn is None or turn["role"] != "user" or not source["quote"]:
        return False
    return bool(turn["text"][source["quote_start"] : source["quote_end"]] == source["quote"])


def _history(life: Life, state: State) -> Counts:
    """Values that were held and are not any more, and those whose end can be told: by what, when said, on what words."""
    active = state.facts()
    counts: Counts = Counter()
    for gone in replaced_values(life):
        if not holds(active, gone) and _was_held(gone, state):
            counts["replaced"] += 1
            counts["recoverable"] += any(_tells_the_end(entry, gone, state) for entry in state.history)
    return counts


def _was_held(gone: Fact, state: State) -> bool:
    return any(_is(gone, entry["after"]) for entry in state.history if entry["event"] in ("add", "update"))


def _is(wanted: Fact, row: Row | None) -> bool:
    return row is not None and row["sub_topic"] is not None and holds([fact(row)], wanted)


def _tells_the_end(entry: Row, gone: Fact, state: State) -> bool:
    after = entry["after"] or {}
    if entry["event"] == "update" and _is(gone, entry["before"]) and not _is(gone, after):
        ended = after["valid_from"]
    elif entry["event"] == "forget" and _is(gone, entry["before"]):
        ended = after["valid_to"]
    elif entry["event"] == "add" and _is(gone, after) and after.get("forgotten_reason"):
        return bool(after["valid_to"] and entry["evidence"])
    else:
        return False
    said = {source["said_at"] for source in state.sources if source["memory_id"] == entry["memory_id"]}
    return bool(entry["evidence"] and entry["created_at"] and ended in said)


def _repeats(state: State, items: Sequence[Row]) -> Counts:
    """What was told again, and what that changed: rows counted up, and rows added beside an equal value."""
    again = [item for item in items if item["tag"] == Tag.RESTATED.value or item["is_restated"]]
    told = [_fact(item) for item in again]
    counts: Counts = Counter(restated=len(again))
    held: dict[str, Fact] = {}
    for entry in state.history:
        after = entry["after"]
        if after is None or after["forgotten_at"] or not after["sub_topic"]:
            held.pop(entry["memory_id"], None)
            continue
        value = fact(after)
        if entry["event"] == "add" and holds(held.values(), value) and holds(told, value):
            counts["repeats_added"] += 1
        counts["repeats_touched"] += entry["event"] == "reinforce"
        held[entry["memory_id"]] = value
    counts["repeats_touched"] += counts["repeats_added"]
    return counts


def _jobs(life: Life, state: State) -> Counts:
    lost = sum(job["state"] != "succeeded" for job in state.jobs)
    return Counter(sessions=len(life.sessions), sessions_lost=lost) + jobs_kept(state)


def jobs_kept(state: State) -> Counts:
    """Return `jobs_done`, `jobs_kept`: the jobs that ended well, and those whose memories are there as they say."""
    written = {(entry["memory_id"], entry["job_id"], entry["event"]) for entry in state.history}
    done = [_promised(job) for job in state.jobs if job["state"] == "succeeded"]
    return Counter(jobs_done=len(done), jobs_kept=sum(promised <= written for promised in done))


def _promised(job: Row) -> set[tuple[str, str, str]]:
    result = job["result"]
    rows = [(row["id"], "add") for row in result.get("added", ())]
    rows += [(row["after"]["id"], "update") for row in result.get("updated", ())]
    rows += [(row["id"], "forget") for row in result.get("retired", ())]
    return {(memory, job["id"], event) for memory, event in rows}


def _cost(calls: Sequence[Row]) -> Counts:
    numbers = ("prompt_tokens", "known_tokens", "reply_tokens")
    counts: Counts = Counter({name: sum(call[name] for call in calls) for name in numbers})
    counts["calls"] = len(calls)
    return counts
