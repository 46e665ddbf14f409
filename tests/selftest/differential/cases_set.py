"""Mutations of the set as a set: names, split keys, order, missing and foreign shards, links, handles."""

from __future__ import annotations

import os
import shutil

from tests.selftest.differential.case import case, name_of
from tests.selftest.differential.changes import dropped, keyed, to_blobs
from tests.selftest.differential.model import make_set, make_whole, quantise, split_keys
from tests.selftest.gguf.build import F32, Q4_0

FIRST, SECOND, THIRD = (name_of(number) for number in (1, 2, 3))
UNREAD_COUNT = "a wrong count in a later shard is not read by this engine, but no two shards may disagree"

LUCK = "the engine takes the first of an array for the number without looking at its type"


def rename(**names):
    """Rename shards: s1="x.gguf"."""

    def change(shards):
        for key, name in names.items():
            shards[int(key[1:]) - 1].name = name

    return change


def swap(shards):
    """Give shards 2 and 3 each other's name."""
    shards[1].name, shards[2].name = shards[2].name, shards[1].name


case("sound", "three shards")
case("sound", "a later shard is named", given=THIRD)
case("sound", "one file", lambda shards: shards.__setitem__(slice(None), [make_whole()]))
case("sound", "all keys alone in the first shard", lambda shards: _move_tensors(shards, 0, 1))
case("sound", "an empty last shard", lambda shards: _move_tensors(shards, 2, 1))

for label, name in {
    "three digits": "tiny-001-of-003.gguf",
    "no zeros": "tiny-1-of-3.gguf",
    "capital GGUF": "tiny-00001-of-00003.GGUF",
    "plain": "tiny.gguf",
    "another count": name_of(1, 4),
    "a copy's mark": "tiny-00001-of-00003 (1).gguf",
    "underscores": "tiny_00001_of_00003.gguf",
    "six digits": "tiny-000001-of-000003.gguf",
    "count zero": name_of(1, 0),
    "number zero": name_of(0),
    "number behind the count": name_of(4),
}.items():
    case("names", f"first shard: {label}", rename(s1=name))
    case(
        "names",
        f"all shards: {label}",
        rename(s1=name, s2=name.replace("1", "2", 1), s3=name.replace("1", "3", 1)),
        given=name,
    )
case("names", "second shard has another prefix", rename(s2=name_of(2, prefix="other")), says="prefix|missing")
case("names", "second shard has capital letters", rename(s2=SECOND.upper()), says="five digits|missing")
case(
    "names",
    "a prefix with blanks and umlauts",
    rename(s1=f"mö del {FIRST}", s2=f"mö del {SECOND}", s3=f"mö del {THIRD}"),
)
case("names", "a prefix with percent signs", rename(s1=f"%s%d{FIRST}", s2=f"%s%d{SECOND}", s3=f"%s%d{THIRD}"))
case(
    "names",
    "a prefix that looks like a number",
    rename(s1=f"a-00001-of-00003{FIRST}", s2=f"a-00001-of-00003{SECOND}", s3=f"a-00001-of-00003{THIRD}"),
)
case(
    "names",
    "split keys count from one",
    lambda s: [one.set_key("split.no", "u16", i + 1) for i, one in enumerate(s)],
    says="split.no",
)

for number in (1, 2, 3):
    for key in ("split.no", "split.count", "split.tensors.count"):
        unread = UNREAD_COUNT if number > 1 and key != "split.no" else ""
        case(
            "split keys",
            f"{key} missing in shard {number}",
            dropped(number, key),
            says=f"{key} is missing",
            because=unread,
        )
        for kind in ("u8", "i8", "u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64", "bool", "str", "arr[u16]"):
            if kind == ("i32" if key == "split.tensors.count" else "u16"):
                continue
            value = {"str": "1", "arr[u16]": [number - 1], "bool": True}.get(
                kind, number - 1 if key == "split.no" else 3
            )
            case(
                "split keys",
                f"{key} as {kind} in shard {number}",
                keyed(number, key, kind, value),
                says=f"{key} is of type",
                because=unread or LUCK * (kind == "arr[u16]"),
            )
    case(
        "split keys",
        f"split.no {number} in shard {number}",
        keyed(number, "split.no", "u16", number),
        says="split.no is",
    )
    case("split keys", f"split.no 65535 in shard {number}", keyed(number, "split.no", "u16", 65535), says="split.no is")
    for count in (0, 1, 2, 4, 65535):
        case(
            "split keys",
            f"split.count {count} in shard {number}",
            keyed(number, "split.count", "u16", count),
            says="split.count",
            because=UNREAD_COUNT,
        )
    for count in (-1, 0, 41, 43, 2**31 - 1):
        case(
            "split keys",
            f"split.tensors.count {count} in shard {number}",
            keyed(number, "split.tensors.count", "i32", count),
            says="split.tensors.count",
            because=UNREAD_COUNT if number > 1 else "",
        )
case(
    "split keys", "older general.split keys alone", lambda shards: [_old_keys(shard) for shard in shards], says="older"
)
case("split keys", "in a plain file", lambda shards: _plain_with_keys(shards, 1, 1))
case("split keys", "of a set in a plain file", lambda shards: _plain_with_keys(shards, 1, 3), says="split.count is 3")

case("order", "shards 2 and 3 swapped", swap, says="split.no")
case("order", "shards 1 and 2 swapped", rename(s1=SECOND, s2=FIRST), says="split.no|architecture")
case("order", "second shard twice", after=lambda folder: shutil.copy(folder / SECOND, folder / THIRD), says="split.no")
for number in (1, 2, 3):
    case("missing", f"shard {number}", after=lambda folder, n=number: (folder / name_of(n)).unlink(), says="missing")
case("missing", "all but the last", after=lambda folder: [(folder / name).unlink() for name in (FIRST, SECOND)])
case(
    "missing",
    "a folder in the place of shard 2",
    after=lambda folder: _folder(folder / SECOND),
    says="folder|directory",
)
case("missing", "shard 2 is a pipe", after=lambda folder: _pipe(folder / SECOND), says="")
case("joined", "all three with cat", after=lambda folder: _cat(folder, "tiny.gguf"), given="tiny.gguf", says="cat")
case("joined", "all three with cat under the first name", after=lambda folder: _cat(folder, FIRST))


def whole_alone(shards):
    """Put one whole model in the place of the set, under the first shard's name."""
    whole = make_whole()
    whole.name = shards[0].name
    shards[:] = [whole]


case("names", "a whole model under a first shard's name", whole_alone)
case(
    "names",
    "a whole model cut under the names of shards",
    whole_alone,
    after=lambda folder: _cut_up(folder / FIRST, folder / SECOND, folder / THIRD),
    says="cut without headers",
)


def foreign(change):
    """Put a shard of another set in the place of the second."""

    def alter(shards):
        shards[1] = change(make_set(seed=2)[1])

    return alter


def requantised(shard):
    """Give a shard's large tensors another quantisation."""
    shard.tensors = [
        quantise(one, Q4_0, 32, 18) if len(one.dims) > 1 and one.type_id != F32 else one for one in shard.tensors
    ]
    return shard


OTHER_QUANT = "the engine takes a shard of another quantisation for its own; nobody wants that mixture"
case("foreign", "shard 2 of another fine-tune", foreign(lambda shard: shard))
case("foreign", "shard 2 of another quantisation", foreign(requantised), says="quantisation", because=OTHER_QUANT)
case("foreign", "shard 2 of a set of four", lambda shards: _of_four(shards, keep_keys=True), says="split")
case(
    "foreign",
    "shard 2 of a set of four with this set's keys",
    lambda shards: _of_four(shards, keep_keys=False),
    says="tensors",
)
case(
    "foreign",
    "shard 2 names another architecture",
    keyed(2, "general.architecture", "str", "llama"),
    says="architecture",
    because="a shard that says it belongs to another model",
)
case("foreign", "shard 2 is a whole model", lambda shards: _whole_as(shards, 1), says="split")

case("links", "all shards are links to blobs", after=to_blobs)
case("links", "shard 2 is a hard link", after=lambda folder: os.link(folder / SECOND, folder / "spare"))
case("links", "shard 2 dangles", after=lambda folder: _dangle(folder / SECOND), says="blob missing")
case("links", "shard 2 links to itself", after=lambda folder: _loop(folder / SECOND), says="links|loop")
case("links", "shard 3 is a link to shard 2", after=lambda folder: _relink(folder, SECOND, THIRD), says="split.no")
case(
    "links", "shard 3 is a hard link to shard 2", after=lambda folder: _hardlink(folder, SECOND, THIRD), says="split.no"
)
case("links", "the blob is given", after=to_blobs, given="blobs/" + "a" * 64, says="blob")
case(
    "handles",
    "sixty shards, twenty open files",
    lambda shards: shards.__setitem__(slice(None), make_set(42)),
    handles=24,
    says="open files",
)
case("handles", "forty shards, room enough", lambda shards: shards.__setitem__(slice(None), make_set(42)), handles=256)


def _move_tensors(shards, source, target):
    moved = shards[source].tensors
    shards[source].tensors = []
    shards[target].tensors = moved + shards[target].tensors if source < target else shards[target].tensors + moved


def _old_keys(shard):
    for name, *_ in split_keys(1, 1, 1):
        kind, value = next((kind, value) for key, kind, value in shard.keys if key == name)
        shard.drop_key(name)
        shard.keys.append((f"general.{name}", kind, value))


def _plain_with_keys(shards, number, count):
    whole = make_whole()
    whole.keys += split_keys(number, count, len(whole.tensors))
    shards[:] = [whole]


def _of_four(shards, *, keep_keys):
    other = make_set(4)[1]
    if not keep_keys:
        other.keys = shards[1].keys
    other.name = SECOND
    shards[1] = other


def _whole_as(shards, index):
    whole = make_whole()
    whole.name = shards[index].name
    shards[index] = whole


def _cut_up(path, *others):
    raw = path.read_bytes()
    parts = len(others) + 1
    cuts = [len(raw) * part // parts for part in range(parts + 1)]
    for one, begin, end in zip((path, *others), cuts, cuts[1:], strict=False):
        one.write_bytes(raw[begin:end])


def _folder(path):
    path.unlink()
    path.mkdir()


def _pipe(path):
    path.unlink()
    os.mkfifo(path)


def _cat(folder, name):
    raw = b"".join((folder / one).read_bytes() for one in (FIRST, SECOND, THIRD))
    for one in (FIRST, SECOND, THIRD):
        (folder / one).unlink()
    (folder / name).write_bytes(raw)


def _dangle(path):
    path.unlink()
    path.symlink_to("../blobs/" + "f" * 64)


def _loop(path):
    path.unlink()
    path.symlink_to(path.name)


def _relink(folder, target, name):
    (folder / name).unlink()
    (folder / name).symlink_to(target)


def _hardlink(folder, target, name):
    (folder / name).unlink()
    os.link(folder / target, folder / name)
