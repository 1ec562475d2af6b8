"""Signed manifests: a recipient checks file, dictionary and promises without the owner."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from patients import fill, spec
from typer.testing import CliRunner

import dbdeid
from dbdeid.cli import sign as cli_sign
from dbdeid.cli.app import app
from dbdeid.data import sshsig
from dbdeid.errors import VerificationError

PATIENTS = [(i, i * 5 % 8, i * 3 % 8, ("flu", "cold", "asthma")[i % 3]) for i in range(96)]
MANIFEST = "{}_public_report.json"
OURS, OTHER = MANIFEST.format("patients_public"), MANIFEST.format("other_public")
FILE, LISTED = "out.parquet", "out_dictionary.parquet"


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == code, done.output
    return done.stdout if not code else done.output


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that two recipients are sent, and the keys of their owner and of a stranger."""
    place = tmp_path_factory.mktemp("owner")
    with duckdb.connect(str(place / "hospital.duckdb")) as con:
        fill(con, PATIENTS)
    for name, levels, exports in (
        ("patients", (2, 2), ["out.parquet", "out.csv", "out.json"]),
        ("other", (1, 2), ["other.parquet"]),
    ):
        asked = spec(levels, k=5, database="hospital.duckdb", output={"export": exports})
        asked["release"] = f"{name}_public"
        asked["privacy"].append({"model": "l_diversity", "column": "illness", "l": 2})
        asked["columns"]["illness"] = "sensitive"
        path = place / f"{name}.yml"
        if name == "patients":
            asked["target"] = "patients.duckdb"
        path.write_text(json.dumps(asked))
        dbdeid.run(path)
        run("export", str(path), str(place / f"{name}_sent"))
    for name in ("owner", "stranger"):
        run("sign", "--new-key", str(place / name))
    for name in ("patients", "other"):
        run("sign", str(place / f"{name}_sent"), "--key", str(place / "owner"))
    return place


@pytest.fixture
def sent(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a recipient has: the files, and the public key."""
    shutil.copytree(made / "patients_sent", tmp_path / "sent")
    shutil.copy(made / "owner.pub", tmp_path / "sent" / "owner.pub")
    monkeypatch.chdir(tmp_path / "sent")
    return tmp_path / "sent"


def received(file: str = FILE, *, manifest: str = OURS, key: str = "owner.pub") -> Any:
    return json.loads(run("verify", file, "--manifest", manifest, "--signed-by", key, "--json"))


def refused(file: str = FILE, *, manifest: str = OURS, key: str = "owner.pub") -> str:
    told = run("verify", file, "--manifest", manifest, "--signed-by", key, code=4)
    assert "flu" not in told
    return told


# -- what holds ---------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", ["out.parquet", "out.csv", "out.json", "patients.duckdb"])
def test_a_recipient_checks_file_dictionary_and_promises_alone(sent: Path, file: str) -> None:
    found = received(file)
    assert found["verified"]
    assert found["signed_by"].startswith("SHA256:")
    kept = {p["model"]: p["found"] for p in found["promises"]}
    with duckdb.connect() as con:  # the promises, recomputed without dbdeid
        con.execute("CREATE TABLE t AS FROM 'out.parquet'")
        classes = "SELECT count(*), count(DISTINCT illness) FROM t GROUP BY age, zip"
        sizes = con.execute(f"SELECT min(#1), min(#2) FROM ({classes})").fetchone()
    assert sizes is not None
    assert (kept["k_anonymity"], kept["l_diversity"]) == sizes
    assert {"content", "dictionary_content"} <= {c["check"] for c in found["hygiene"]}
    assert found["not_recomputed"] == ["suppression_limit", "truthfulness"]


def test_what_held_is_said_in_words(sent: Path) -> None:
    told = run("verify", FILE, "--manifest", OURS, "--signed-by", "owner.pub")
    assert f"good: {OURS} was signed by SHA256:" in told
    assert told.count("these are the rows that the manifest is of") == 2
    assert "recomputed: declared k 5; found 12" in told
    assert "transformation      read in the dictionary: declared age 2, zip 2" in told
    assert "measured over" in told
    assert "suppression_limit, truthfulness: these take the original" in told
    assert "nobody vouches for the manifest" in run("verify", FILE, "--manifest", OURS)


def test_ssh_keygen_finds_it_good_and_one_of_its_own_is_good(sent: Path, made: Path) -> None:
    """As a recipient without dbdeid checks it, and an owner signs without it."""
    tool = shutil.which("ssh-keygen")
    if tool is None:
        pytest.skip("no ssh-keygen on this machine")
    Path("signers").write_text(f"owner {Path('owner.pub').read_text()}")
    check = [tool, "-Y", "verify", "-f", "signers", "-I", "owner", "-n", "dbdeid-manifest"]
    text, signature = Path(OURS).read_bytes(), Path(f"{OURS}.sig")

    def good(message: bytes) -> bool:
        done = subprocess.run([*check, "-s", signature], input=message, capture_output=True)
        return done.returncode == 0

    assert good(text)
    assert not good(text + b" ")
    ours = signature.read_bytes()
    signature.unlink()
    sign = [tool, "-q", "-Y", "sign", "-f", str(made / "owner"), "-n"]
    subprocess.run([*sign, "dbdeid-manifest", OURS], check=True, capture_output=True)
    assert signature.read_bytes() == ours  # Ed25519 signatures are deterministic
    assert received()["verified"]
    subprocess.run([*sign, "file", OURS], check=True, capture_output=True, input=b"y\n")
    assert "for another purpose than dbdeid-manifest" in refused()


# -- what does not --------------------------------------------------------------------------------


def exchange(one: str, other: str) -> None:
    first, second = Path(one).read_bytes(), Path(other).read_bytes()
    Path(one).write_bytes(second)
    Path(other).write_bytes(first)


def rewrite(file: str, query: str) -> None:
    """A file of DuckDB's own, as `export` writes it, of other rows."""
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE t AS FROM '{file}'")
        con.execute(query)
        con.execute(f"COPY (FROM t ORDER BY ALL) TO '{file}' (FORMAT parquet, COMPRESSION zstd)")


SWAP = (  # of the first class and the last, each of which keeps its promises
    "UPDATE t SET illness = CASE illness WHEN 'flu' THEN 'cold' ELSE 'flu' END WHERE rowid IN "
    "((SELECT min(rowid) FROM t WHERE illness = 'flu'), "
    "(SELECT max(rowid) FROM t WHERE illness = 'cold'))"
)
LEAF = "UPDATE t SET leaves = list_append(leaves, 'John Smith HIV') WHERE rowid = 0"
MUTANTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "another file": (lambda made: shutil.copy(made / "other_sent/other.parquet", FILE), "content"),
    "another dictionary": (
        lambda made: shutil.copy(made / "other_sent/other_dictionary.parquet", LISTED),
        "dictionary_content: other",
    ),
    "file and dictionary exchanged": (lambda made: exchange(FILE, LISTED), "other columns"),
    "two diagnoses exchanged": (
        lambda made: rewrite(FILE, SWAP),
        "content: other values",
    ),
    "a row too few": (lambda made: rewrite(FILE, "DELETE FROM t WHERE rowid = 7"), "other rows"),
    "a leaf too many": (lambda made: rewrite(LISTED, LEAF), "dictionary_content: other values"),
    "a bound": (
        lambda made: rewrite(LISTED, "UPDATE t SET upper = '9' WHERE rowid = 1"),
        "dictionary_content: other values",
    ),
    "no dictionary": (lambda made: Path(LISTED).unlink(), "out_dictionary.parquet: no such file"),
    "a torn file": (lambda made: Path(FILE).write_bytes(Path(FILE).read_bytes()[:-9]), "readable"),
    "a note in the footer": (
        lambda made: pq.write_table(
            pq.read_table(FILE).replace_schema_metadata({"note": "John Smith"}), FILE
        ),
        "metadata",
    ),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_file_that_is_not_the_one_of_the_manifest_fails(
    sent: Path, made: Path, mutant: str
) -> None:
    change, told = MUTANTS[mutant]
    change(made)
    assert told in (found := refused())
    assert "NOT verified" in found
    assert "John" not in found


def into_bloom_filter(file: str) -> None:
    """Text in the place of the bits of a Bloom filter, which no reader of all rows looks at."""
    with duckdb.connect() as con:
        ends = con.execute(
            "SELECT max(bloom_filter_offset + bloom_filter_length) FROM parquet_metadata(?)", [file]
        ).fetchone()
    assert ends is not None
    data = bytearray(Path(file).read_bytes())
    data[ends[0] - 32 : ends[0]] = b"John Smith, 1957-02-22, HIV     "
    Path(file).write_bytes(data)


def after_a_quote(file: str) -> None:
    """Spaces that DuckDB passes over, and pandas reads."""
    data = Path(file).read_bytes()
    assert b'",' in data
    Path(file).write_bytes(data.replace(b'",', b'"   ,', 1))


def into_a_header(file: str) -> None:
    """Bytes of the main header of a database that say nothing, with the checksum of the header."""
    data = bytearray(Path(file).read_bytes())
    data[190:200] = b"John Smith"
    checksum = 5381
    for number in struct.unpack("<511Q", data[8:4096]):
        checksum ^= number * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    data[:8] = struct.pack("<Q", checksum)
    Path(file).write_bytes(data)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("out.parquet", into_bloom_filter),
        ("out.csv", after_a_quote),
        ("out_dictionary.csv", after_a_quote),
        ("patients.duckdb", into_a_header),
    ],
)
def test_the_same_rows_in_other_bytes_are_another_file(
    sent: Path, made: Path, file: str, change: Callable[[str], None]
) -> None:
    """Text that no row shows, filters that make queries find nothing, cells read otherwise."""
    release = file.replace("_dictionary", "")
    document = json.loads(Path(OURS).read_text())
    del document["content"]["files"]
    Path("rows.json").write_text(json.dumps(document))
    run("sign", "rows.json", "--key", str(made / "owner"))
    told = run("verify", release, "--manifest", "rows.json", "--signed-by", "owner.pub")
    assert "bytes were not" in told
    change(file)
    by_rows = received(release, manifest="rows.json")  # the rows alone do not tell
    assert by_rows["verified"]
    assert not by_rows["bytes_compared"]
    check = "dictionary_file" if file != release else "file"
    told = f"FAIL  {check}: {file} is not byte by byte the file that was handed out, though"
    found = refused(release)
    assert told in found
    assert "John" not in found


def test_files_may_be_renamed_and_stand_for_their_own_table_only(sent: Path) -> None:
    Path(FILE).rename("r.parquet")
    Path(LISTED).rename("r_dictionary.parquet")
    found = received("r.parquet")
    assert found["verified"]
    assert found["bytes_compared"]
    assert {"file", "dictionary_file"} <= {c["check"] for c in found["hygiene"]}
    exchange("r.parquet", "r_dictionary.parquet")
    assert "FAIL  file: r.parquet" in refused("r.parquet")


@pytest.mark.parametrize("file", ["out.parquet", "out.csv", "out.json", "patients.duckdb"])
def test_what_looks_like_part_of_a_release_and_is_none_fails(sent: Path, file: str) -> None:
    """Who reads the file takes what is named after it for what explains it."""
    stray = Path(file).with_name(f"{Path(file).stem}_catalog{Path(file).suffix}")
    stray.write_text("John Smith")
    told = refused(file)
    assert f"FAIL  beside: {stray.name} beside it, which the manifest does not tell" in told


def test_what_was_not_read_is_not_said_to_take_the_original(sent: Path) -> None:
    Path(FILE).write_bytes(b"PAR1")
    told = refused()
    assert "FAIL  readable" in told
    assert "not recomputed" not in told


def test_values_are_counted_as_written_and_promises_are_of_people(
    tmp_path: Path, made: Path
) -> None:
    """Of an honest release, whose spellings are values of their own, and whose people count."""
    spelled = ("C7*1", "c7*1", "C7*1 ")
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        fill(con, [(number, age, zip_, spelled[number % 3]) for number, age, zip_, _ in PATIENTS])
    asked = spec((2, 2), k=5, database="hospital.duckdb", output={"export": ["out.parquet"]})
    asked["subject"] = "number"
    asked["privacy"].append({"model": "l_diversity", "column": "illness", "l": 2})
    asked["columns"]["illness"] = {"role": "sensitive", "values": "as_written"}
    path = tmp_path / "there.yml"
    path.write_text(json.dumps(asked))
    dbdeid.run(path)
    run("export", str(path), str(tmp_path / "sent"))
    run("sign", str(tmp_path / "sent"), "--key", str(made / "owner"))
    manifest = tmp_path / "sent" / OURS
    said = run("verify", str(tmp_path / "sent" / FILE), "--manifest", str(manifest))
    told = {c["name"]: c.get("values") for c in json.loads(manifest.read_text())["columns"]}
    assert told == {"number": None, "age": None, "zip": None, "illness": "as_written"}
    assert "the promises are of people" in said
    assert "recomputed: declared k 5, of records" in said
    assert "recomputed: declared column illness" in said, said


def test_a_database_that_holds_more_than_its_tables_fails(sent: Path) -> None:
    with duckdb.connect("patients.duckdb") as con:
        con.execute("CREATE TABLE raw_patients AS SELECT 1 AS number")
    assert "FAIL  objects" in refused("patients.duckdb")


def signature(text: str) -> Callable[[Path], Any]:
    return lambda made: Path(f"{OURS}.sig").write_text(text)


SIGNATURES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "none": (lambda made: Path(f"{OURS}.sig").unlink(), "is not signed: there is no"),
    "empty": (signature(""), "the signature is damaged"),
    "any text": (signature("signed, the owner"), "the signature is damaged"),
    "no base64": (
        signature("-----BEGIN SSH SIGNATURE-----\n!!\n-----END SSH SIGNATURE-----\n"),
        "the signature is damaged",
    ),
    "cut": (
        lambda made: Path(f"{OURS}.sig").write_text(
            Path(f"{OURS}.sig").read_text().replace("\n", "", 1)[:-60]
        ),
        "the signature is damaged",
    ),
    "of another manifest": (
        lambda made: shutil.copy(made / "other_sent" / f"{OTHER}.sig", f"{OURS}.sig"),
        "the manifest is not the one that was signed",
    ),
    "of another key": (
        lambda made: run("sign", OURS, "--key", str(made / "stranger")),
        "another key has signed: SHA256:",
    ),
    "of another manifest, with it": (
        lambda made: [
            shutil.copy(made / "other_sent" / OTHER, OURS),
            shutil.copy(made / "other_sent" / f"{OTHER}.sig", f"{OURS}.sig"),
        ],
        "FAIL  columns",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("mutant", SIGNATURES)
def test_a_signature_that_is_not_the_owners_for_this_manifest_fails(
    sent: Path, made: Path, mutant: str
) -> None:
    change, told = SIGNATURES[mutant]
    change(made)
    if mutant == "of another manifest, with it":  # another release, of the same columns
        told = "content: other"
    assert told in refused()


def test_no_byte_of_a_manifest_or_its_signature_can_be_changed(made: Path) -> None:
    folder = made / "patients_sent"
    text, signed = (folder / OURS).read_bytes(), (folder / f"{OURS}.sig").read_text()
    key = sshsig.public_key((made / "owner.pub").read_text(), "owner.pub")

    def good(text: bytes, signed: str) -> bool:
        try:
            sshsig.require_signed(text, signed, key, "dbdeid-manifest")
        except VerificationError:
            return False
        return True

    assert good(text, signed)
    for place in range(0, len(text), 13):
        assert not good(text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :], signed)
        assert not good(text[:place] + text[place + 1 :], signed)
    inside = range(signed.index("\n") + 1, signed.rindex("=") - 1)
    for place in (i for i in inside if signed[i].isalnum()):
        other = "A" if signed[place] != "A" else "B"
        assert not good(text, signed[:place] + other + signed[place + 1 :]), place


def test_a_promise_that_the_file_does_not_keep_fails_whoever_signs_it(
    sent: Path, made: Path
) -> None:
    Path(OURS).write_text(Path(OURS).read_text().replace('"k": 5', '"k": 50'))
    run("sign", OURS, "--key", str(made / "owner"))
    assert "FAIL  k_anonymity: declared k 50; found 12" in refused()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda told: told.pop("content"), "tells no digests"),
        (lambda told: told["content"].pop("columns"), "tells no digests"),
        (lambda told: told.update(audience="internal"), "for its owner only"),
        (lambda told: told.update(trial=True), "of a trial"),
        (lambda told: told.update(verified=False), "was not verified"),
        (lambda told: told.update(columns="all"), "damaged manifest"),
        (lambda told: told["content"]["release"].update(sha256="0"), "damaged manifest"),
        (lambda told: told["content"]["columns"][0].update(type="ENUM('a')"), "names types"),
        (lambda told: told.update(schema="mine/1"), "is no manifest"),
        (lambda told: told["content"]["files"].update({"../out.csv": "0" * 64}), "damaged"),
        (lambda told: told["content"]["files"].update({"..": "0" * 64}), "damaged"),
        (lambda told: told["content"]["files"].update({"a\x1b[2J.csv": "0" * 64}), "damaged"),
        (lambda told: told["content"]["files"].update({"out.csv": "0" * 63}), "damaged"),
        (lambda told: told["content"].update(files=[]), "damaged"),
        (lambda told: told["columns"][1].update(height=None), "damaged manifest"),
        (lambda told: [c.update(role="other", height=None) for c in told["columns"]], "damaged"),
        (lambda told: told["verification"]["promises"][0].update(model="a\x1b[2J"), "damaged"),
    ],
)
def test_only_the_public_manifest_of_a_verified_release_is_signed_or_believed(
    sent: Path, made: Path, change: Callable[[Any], Any], told: str
) -> None:
    document = json.loads(Path(OURS).read_text())
    change(document)
    Path(OURS).write_text(json.dumps(document))
    Path(f"{OURS}.sig").unlink()
    assert told in run("sign", OURS, "--key", str(made / "owner"), code=2)
    assert not Path(f"{OURS}.sig").exists()
    assert told in run("verify", FILE, "--manifest", OURS, code=2)


# -- signing --------------------------------------------------------------------------------------


def test_a_folder_is_signed_only_as_its_manifest_says(sent: Path, made: Path) -> None:
    Path("owner.pub").unlink()
    Path(f"{OURS}.sig").unlink()
    told = run("sign", ".", "--key", str(made / "owner"))
    assert all(name in told for name in ("out.csv", "out.parquet", "patients.duckdb"))
    Path(f"{OURS}.sig").unlink()
    rewrite(FILE, "DELETE FROM t WHERE rowid = 7")
    assert "out.parquet is not what" in run("sign", ".", "--key", str(made / "owner"), code=4)
    assert not Path(f"{OURS}.sig").exists()
    shutil.copy(made / "other_sent" / OTHER, OTHER)
    assert "2 public manifests" in run("sign", ".", "--key", str(made / "owner"), code=2)


def private_book(made: Path) -> None:
    shutil.copy(made / "patients.private.duckdb", "patients.private.duckdb")


def below(made: Path) -> None:
    Path("more").mkdir()
    Path("more/raw.csv").write_text("John Smith")


STRAYS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "another table": (lambda made: Path("raw.csv").write_text("John"), "raw.csv is no file of"),
    "packed": (lambda made: Path("raw.csv.gz").write_bytes(b"John"), "raw.csv.gz is no file of"),
    "a catalog": (
        lambda made: shutil.copy(LISTED, "out_catalog.parquet"),
        "out_catalog.parquet is no file of",
    ),
    "hidden": (lambda made: Path(".notes").write_text("John"), ".notes is no file of"),
    "in a folder": (below, "more is no file of"),
    "a link": (
        lambda made: [Path("out.csv").unlink(), Path("out.csv").symlink_to(made / "patients.yml")],
        "out.csv is no regular file",
    ),
    "a link as signature": (
        lambda made: Path(f"{OURS}.sig").symlink_to("gone"),
        f"{OURS}.sig is no regular file",
    ),
    "the private book": (private_book, "must never leave"),
    "no release": (lambda made: Path(FILE).unlink(), f"{FILE} is missing"),
    "no dictionary": (lambda made: Path("out_dictionary.csv").unlink(), "y.csv is missing"),
    "no page": (
        lambda made: Path("patients_public_public_report.html").unlink(),
        "patients_public_public_report.html is missing",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stray", STRAYS)
def test_a_folder_with_more_or_less_than_its_manifest_tells_is_not_signed(
    sent: Path, made: Path, stray: str
) -> None:
    change, told = STRAYS[stray]
    Path("owner.pub").unlink()
    Path(f"{OURS}.sig").unlink()
    change(made)
    assert told in run("sign", ".", "--key", str(made / "owner"), code=2)
    assert not Path(f"{OURS}.sig").exists()


def test_a_recipient_verifies_the_whole_folder(sent: Path) -> None:
    Path("owner.pub").rename("../owner.pub")
    told = run("verify", ".", "--signed-by", "../owner.pub")
    for name in (FILE, "out.csv"):
        assert f"{name}: verified against {OURS}" in told
    assert "signature           good" in told
    assert ".: it holds what the manifest tells, each file byte by byte, and nothing else" in told
    document = json.loads(run("verify", ".", "--signed-by", "../owner.pub", "--json"))
    assert document["verified"]
    assert sorted(document["files"]) == ["out.csv", "out.json", FILE, "patients.duckdb"]
    assert "nobody vouches for the manifest" in run("verify", ".")
    assert "takes --signed-by only" in run("verify", ".", "--qi", "age", "--k", "5", code=2)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stray", [one for one in STRAYS if one != "a link as signature"])
def test_a_recipient_is_told_of_more_or_less_than_the_manifest_tells(
    sent: Path, made: Path, stray: str
) -> None:
    Path("owner.pub").rename("../owner.pub")
    change, told = STRAYS[stray]
    change(made)
    said = run("verify", ".", "--signed-by", "../owner.pub", code=4)
    assert told in said
    assert "ask its owner for it again" in said


def test_a_manifest_without_a_file_of_the_release_vouches_for_nothing(
    sent: Path, made: Path
) -> None:
    Path("owner.pub").unlink()
    document = json.loads(Path(OURS).read_text())
    page = "patients_public_public_report.html"
    for files in ({}, {page: document["content"]["files"][page]}):
        document["content"]["files"] = files
        Path(OURS).write_text(json.dumps(document))
        Path(f"{OURS}.sig").unlink(missing_ok=True)
        for path in Path().iterdir():
            if path.name not in (OURS, *files):
                path.unlink()
        told = "tells of no file that holds the release"
        assert told in run("verify", ".", code=4)
        assert told in run("sign", ".", "--key", str(made / "owner"), code=2)


@pytest.mark.parametrize("hidden", ["John Doe has HIV", "blanks"])
def test_a_signature_holds_nothing_but_a_signature(sent: Path, hidden: str) -> None:
    Path("owner.pub").rename("../owner.pub")
    signature = Path(f"{OURS}.sig")
    good = signature.read_text()
    signature.write_text(good.replace("A", "A \u2003\t", 3) if hidden == "blanks" else hidden)
    assert "is no signature" in run("verify", ".", code=4)
    assert "the signature is damaged" in run("verify", ".", "--signed-by", "../owner.pub", code=4)


def test_a_folder_whose_owner_nobody_knows_is_not_believed(sent: Path, made: Path) -> None:
    Path("owner.pub").unlink()
    stranger = str(made / "stranger.pub")
    assert "another key has signed" in run("verify", ".", "--signed-by", stranger, code=4)
    Path(f"{OURS}.sig").unlink()
    assert "is not signed" in run("verify", ".", "--signed-by", str(made / "owner.pub"), code=4)
    document = json.loads(Path(OURS).read_text())
    del document["content"]["files"]
    Path(OURS).write_text(json.dumps(document))
    assert "no digests of files" in run("verify", ".", code=2)


def test_a_page_or_a_file_of_other_bytes_is_not_signed(sent: Path, made: Path) -> None:
    Path("owner.pub").unlink()
    for name in ("patients_public_public_report.html", "out_dictionary.csv", "out.csv"):
        before = Path(name).read_bytes()
        Path(name).write_bytes(before + b" ")
        assert f"{name} is not what {OURS} says" in run(
            "sign", ".", "--key", str(made / "owner"), code=4
        )
        Path(name).write_bytes(before)


def test_a_folder_of_a_manifest_without_files_is_not_signed(sent: Path, made: Path) -> None:
    document = json.loads(Path(OURS).read_text())
    del document["content"]["files"]
    Path(OURS).write_text(json.dumps(document))
    assert "no digests of files" in run("sign", ".", "--key", str(made / "owner"), code=2)
    run("sign", OURS, "--key", str(made / "owner"))


@pytest.mark.parametrize("place", ["/dev/zero", "../pipe"])
def test_devices_and_pipes_are_refused_at_once(sent: Path, made: Path, place: str) -> None:
    os.mkfifo("../pipe")
    told = "a device or a pipe"
    assert told in run("sign", place, "--key", str(made / "owner"), code=2)
    assert told in run("sign", OURS, "--key", place, code=2)
    assert told in run("verify", FILE, "--manifest", place, code=2)
    assert told in run("verify", FILE, "--manifest", OURS, "--signed-by", place, code=2)
    Path(f"{OURS}.sig").unlink()
    Path(f"{OURS}.sig").symlink_to(place)
    assert "is not signed" in refused()
    assert told in run("sign", OURS, "--key", str(made / "owner"), code=2)


def test_a_key_is_for_its_owner_and_never_overwritten(tmp_path: Path, sent: Path) -> None:
    key = tmp_path / "mine"
    told = json.loads(run("sign", "--new-key", str(key), "--json"))
    assert key.stat().st_mode & 0o777 == 0o600
    assert told["key"] == sshsig.public_key((tmp_path / "mine.pub").read_text(), "").fingerprint
    before = key.read_bytes()
    assert "exists" in run("sign", "--new-key", str(key), code=2)
    key.unlink()
    assert "mine.pub exists" in run("sign", "--new-key", str(key), code=2)
    assert not key.exists()
    key.write_bytes(before)
    for mode in (0o640, 0o604, 0o644, 0o620):
        key.chmod(mode)
        assert "can be read by others" in run("sign", OURS, "--key", str(key), code=2)
    said = run("sign", OURS, "--key", str(tmp_path / "mine.pub"), code=2)
    assert "mine.pub is a public key, and to sign takes the private one" in said
    assert f"give {key};" in said
    key.chmod(0o400)
    run("sign", OURS, "--key", str(key))
    assert received(key=str(tmp_path / "mine.pub"))["verified"]
    left = [path.read_bytes() for path in sent.iterdir()]
    secret = before.split(b"\n")[3]
    assert secret in before
    assert not any(b"PRIVATE KEY" in data or secret in data for data in left)


def test_a_key_that_lies_with_what_is_given_away_is_refused(sent: Path, made: Path) -> None:
    shutil.copy(made / "owner", "key")
    Path("key").chmod(0o600)
    assert "lies beside the manifest" in run("sign", OURS, "--key", "key", code=2)
    Path("deep/er").mkdir(parents=True)
    Path("key").rename("deep/er/key")
    assert "lies beside the manifest" in run("sign", ".", "--key", "deep/er/key", code=2)
    assert "lies beside the manifest" in run("sign", "../sent", "--key", "deep/er/key", code=2)


@pytest.mark.full
def test_keys_of_ssh_keygen_will_do(
    sent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = shutil.which("ssh-keygen")
    if tool is None:
        pytest.skip("no ssh-keygen on this machine")

    def key(name: str, kind: str, phrase: str = "") -> str:
        path = str(tmp_path / name)
        words = [tool, "-q", "-t", kind, "-N", phrase, "-C", "a person", "-f", path]
        subprocess.run(words, check=True)
        return path

    plain, locked, other = key("a", "ed25519"), key("b", "ed25519", "open"), key("c", "ecdsa")
    run("sign", OURS, "--key", plain)
    assert received(key=f"{plain}.pub")["verified"]
    assert "protected by a passphrase" in run("sign", OURS, "--key", locked, code=2)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    from dbdeid.publish import signatures

    monkeypatch.setattr(cli_sign, "_passphrase", lambda: "open")
    signatures.sign(Path(OURS), Path(locked), passphrase=cli_sign._passphrase)
    assert received(key=f"{locked}.pub")["verified"]
    with pytest.raises(dbdeid.DataError, match="is not opened by this passphrase"):
        signatures.sign(Path(OURS), Path(locked), passphrase=lambda: "wrong")
    assert "another kind of key" in run("sign", OURS, "--key", other, code=2)
    said = run("verify", FILE, "--manifest", OURS, "--signed-by", f"{other}.pub", code=2)
    assert "another kind of key" in said
    said = run("verify", FILE, "--manifest", OURS, "--signed-by", plain, code=2)
    assert "is a private key" in said


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sign"], "what is to be signed"),
        (["sign", OURS], "what is to be signed"),
        (["sign", "gone.json", "--key", "key"], "cannot be read"),
        (["sign", OURS, "--key", "/gone"], "cannot be read"),
        (["sign", OURS, "--new-key", "key"], "signs nothing"),
        (["sign", "--new-key", "gone/key"], "cannot be written"),
        (["verify", FILE, "--signed-by", "owner.pub"], "go with a file"),
        (["verify", "gone.parquet", "--manifest", OURS], "no such file"),
        (["verify", FILE, "--manifest", OURS, "--k", "5"], "go with a file"),
        (["verify", FILE, "--manifest", OURS, "--signed-by", "gone.pub"], "cannot be read"),
        (["verify", FILE, "--manifest", OURS, "--signed-by", OURS], "is not one public key"),
    ],
)
def test_what_cannot_be_done_is_said(sent: Path, words: list[str], told: str) -> None:
    assert told in run(*words, code=2)


def test_another_file_in_the_place_of_a_signature_is_left_alone(sent: Path, made: Path) -> None:
    Path(f"{OURS}.sig").write_text("notes")
    assert "is no signature" in run("sign", OURS, "--key", str(made / "owner"), code=2)
    assert Path(f"{OURS}.sig").read_text() == "notes"


# -- every method ---------------------------------------------------------------------------------

NUMBERS = {
    "age": {"role": "quasi_identifier"},
    "zip": {"role": "quasi_identifier"},
}
METHODS: dict[str, dict[str, Any]] = {
    "local_recoding": {"method": {"name": "local_recoding"}},
    "keep": {"method": {"name": "full_domain", "suppression_limit": 1.0, "suppressed": "keep"}},
    "counterfeit": {
        "method": {"name": "counterfeit", "h": 0.5, "max_counterfeits": 0.5, "catalog": "pool"},
        "target": "there.duckdb",
    },
    "relocation": {"method": {"name": "relocation", "limit": 0.1}},
    "microaggregation": {"method": {"name": "microaggregation"}, "columns": NUMBERS},
    "condensation": {
        "method": {"name": "condensation"},
        "columns": dict.fromkeys(("age", "zip", "illness"), "synthesize"),
        "privacy": [{"model": "cluster_size", "k": 5}],
    },
}


@pytest.mark.full
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_signed_and_received(method: str, tmp_path: Path, made: Path) -> None:
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        fill(con, PATIENTS)
    asked = spec((2, 2), k=5, database="hospital.duckdb", output={"export": ["there.csv"]})
    more = METHODS[method]
    columns = {**asked["columns"], **more.get("columns", {})}
    path = tmp_path / "there.yml"
    path.write_text(json.dumps({**asked, **more, "columns": columns}))
    dbdeid.run(path)
    run("export", str(path), str(tmp_path / "sent"))
    done = json.loads(run("sign", str(tmp_path / "sent"), "--key", str(made / "owner"), "--json"))
    assert done["files"]
    for file in done["files"]:
        found = json.loads(
            run(
                *("verify", file, "--manifest", done["manifest"]),
                *("--signed-by", str(made / "owner.pub"), "--json"),
            )
        )
        assert found["verified"]
        if method != "condensation":
            assert "k_anonymity" in {p["model"] for p in found["promises"]}


@pytest.mark.full
def test_values_of_every_type_are_received_as_they_were(tmp_path: Path, made: Path) -> None:
    kinds = {
        "h": "(1152921504606846976 + number)::HUGEINT",
        "d": "(number / 7)::DECIMAL(9, 3)",
        "f": "CASE WHEN number % 3 = 0 THEN 'nan'::DOUBLE ELSE -number / 7 END",
        "s": "make_timestamp(number * 1000000)::TIMESTAMP_S",
        "z": "make_timestamptz(number * 1000000)",
        "b": "number % 2 = 0",
        "n": "NULL::DATE",
        "e": "'a, \"b\" ' || chr(10)",
    }
    picked = ", ".join(f"{value} AS {name}" for name, value in kinds.items())
    with duckdb.connect(str(tmp_path / "hospital.duckdb")) as con:
        fill(con, PATIENTS)
        con.execute(f"CREATE TABLE more AS SELECT *, {picked} FROM patients")
    exports = {"export": ["there.parquet", "there.csv", "there.duckdb"]}
    asked = spec((2, 2), k=5, database="hospital.duckdb", output={**exports, "bounds": True})
    kept = {name: {"role": "insensitive", "reason": "of no one"} for name in kinds}
    columns = {**asked["columns"], **kept}
    path = tmp_path / "there.yml"
    path.write_text(json.dumps({**asked, "source": "more", "columns": columns}))
    dbdeid.run(path)
    run("export", str(path), str(tmp_path / "sent"))
    done = json.loads(run("sign", str(tmp_path / "sent"), "--key", str(made / "owner"), "--json"))
    assert len(done["files"]) == 3  # each was held against the manifest
