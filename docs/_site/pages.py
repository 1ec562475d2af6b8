"""What MkDocs does beside turning the pages under docs/ into HTML.

Reference pages are written from the code whenever the site is built: the commands from the
typer application, the macros from the headers of their files, the functions from what registers
them, Python from the public names, the record of a release from its types. The examples and the
changelog, which lie elsewhere in the repository, become pages, and the files of the macros are
taken along; links between all of them work on GitHub and in the site alike.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import dbdeid

ROOT = Path(__file__).parents[2]
SHOWN = (".md", ".yml", ".sql", ".csv", ".parquet", ".ipynb", ".svg", ".py")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[)#])")
_MARKED = re.compile(r"<!-- file: (\S+) -->\n```(\w+)\n")
_COMMENT = re.compile(r"<!-- (?:transcript|python): .+? -->\n")
_GLOSSARY = "glossary.md"
_MATH = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)


# -- what MkDocs calls ----------------------------------------------------------------------------


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written, and those that lie elsewhere."""
    written = {
        **{"cli": commands, "macros": macros, "functions": functions, "python": python},
        "record": record,
    }
    for name, write in written.items():
        files.append(File.generated(config, f"reference/{name}.md", content=write()))
    for path in elsewhere():
        files.append(_from_elsewhere(path, config))
    return files


def elsewhere() -> Iterator[Path]:
    """What is not under docs/ and in the site: examples, the changelog, and the macros."""
    for path in sorted(ROOT.glob("examples/**/*")):
        if path.suffix in SHOWN and not re.search(r"_release\.|\.private\.", path.name):
            yield path
    yield from sorted(ROOT.glob("sql/macros/*.sql"))
    yield ROOT / "CHANGELOG.md"


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links to where a file is in the site, and show whose text a block is."""
    own = page.file.src_uri
    folder = posixpath.dirname(own if _is_elsewhere(own) else f"docs/{own}")

    def led(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, found[1]))
        placed = target.removeprefix("docs/")
        return posixpath.relpath(placed, posixpath.dirname(own) or ".")

    if not own.startswith("reference/"):
        markdown = _LINK.sub(led, markdown)
    if own not in (_GLOSSARY, "CHANGELOG.md") and not own.startswith("reference/"):
        markdown = _explained(markdown, posixpath.relpath(_GLOSSARY, folder_of(own)))
    markdown = _MARKED.sub(r'```\2 title="\1"\n', markdown)
    return _COMMENT.sub("", markdown)


def folder_of(uri: str) -> str:
    """The folder of a page in the site."""
    return posixpath.dirname(uri) or "."


@cache
def _terms() -> dict[str, str]:
    """The words of the glossary, longest first, with their places."""
    text = (ROOT / "docs" / _GLOSSARY).read_text(encoding="utf-8")
    words = re.findall(r"^### (.+)$", text, re.MULTILINE)
    return {word: word.lower().replace(" ", "-") for word in sorted(words, key=len, reverse=True)}


def _explained(markdown: str, glossary: str) -> str:
    """Lead from the first use of each term in running text to its place in the glossary."""
    left = dict(_terms())

    def line_of(line: str) -> str:
        for word, place in [*left.items()]:
            plural = rf"(?<![\w-]){re.escape(word)}s?(?![\w-])"
            # neither code nor a link, nor inside one that was just made
            pieces = re.split(r"(`[^`]*`|!?\[[^\]]*\]\([^)]*\)|<[^>]*>)", line)
            for at in range(0, len(pieces), 2):
                pieces[at], found = re.subn(
                    plural, rf"[\g<0>]({glossary}#{place})", pieces[at], count=1, flags=re.I
                )
                if found:
                    del left[word]
                    line = "".join(pieces)
                    break
        return line

    fenced, lines = False, []
    for line in markdown.split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        plain = not fenced and not re.match(r"\s*(#|```|\||<|    |!\[|>)", line)
        lines.append(line_of(line) if plain else line)
    return "\n".join(lines)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Write formulas as MathML, which browsers show without a script."""
    from html import unescape

    from latex2mathml.converter import convert

    return _MATH.sub(lambda found: convert(unescape(found[1])), html)


def _is_elsewhere(uri: str) -> bool:
    return uri.startswith(("examples/", "sql/")) or uri == "CHANGELOG.md"


def _from_elsewhere(path: Path, config: MkDocsConfig) -> File:
    uri = path.relative_to(ROOT).as_posix()
    return File.generated(config, uri, abs_src_path=str(path))


# -- the command line ----------------------------------------------------------------------------


def commands() -> str:
    """The page of the command line: every command with its arguments and options."""
    import typer

    from dbdeid.cli.app import app

    root: Any = typer.main.get_command(app)
    shared = _shared_options()
    parts = [
        "# The command line\n",
        "Written from the commands themselves; `dbdeid COMMAND --help` shows the same. Exit codes: "
        "0 done; 2 bad input; 3 no release satisfies the declared models, or none was found; "
        "4 verification failed; 130 interrupted; 1 a defect of dbdeid.\n",
    ]
    common: list[Any] = []
    for words, command in _commands(root, ("dbdeid",)):
        _name_values(command)
        shown = [p for p in command.params if p.name != "help" and not getattr(p, "hidden", False)]
        if not common:
            common = [p for p in shown if p.name in shared]
            parts += ["## Options of every command\n", *_options(common)]
        of_all = {p.name for p in common}
        parts += _command(words, command, [p for p in shown if p.name not in of_all])
    return "\n".join(parts) + "\n"


def _shared_options() -> set[str]:
    from dbdeid.cli.command import _COMMON

    return set(_COMMON)


def _commands(group: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*words, name))
        elif not command.hidden:
            yield (*words, name), command


def _command(words: tuple[str, ...], command: Any, params: list[Any]) -> Iterator[str]:
    arguments = [p for p in params if p.param_type_name == "argument"]
    options = [p for p in params if p.param_type_name == "option"]
    called = " ".join([*words, *(["[OPTIONS]"] if options else []), *map(_usage, arguments)])
    yield f"## {' '.join(words)}\n"
    yield f"```text\n{called}\n```\n"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        text = paragraph.replace("\b\n", "")
        example = re.match(r'(\w+="\$\()?dbdeid ', text)
        yield f"```sh\n{text}\n```\n" if example else f"{_escaped(text)}\n"
    if arguments:
        yield "| Argument | Meaning |\n|---|---|"
        for one in arguments:
            yield f"| `{_metavar(one)}` | {_cell(one)} |"
        yield ""
    yield from _options(options)


def _options(options: list[Any]) -> Iterator[str]:
    if not options:
        return
    yield "| Option | Meaning |\n|---|---|"
    for one in options:
        names = ", ".join(f"`{name}`" for name in (*one.opts, *one.secondary_opts))
        takes = "" if one.is_flag or getattr(one, "count", False) else f" `{_metavar(one)}`"
        yield f"| {names}{takes} | {_cell(one)} |"
    yield ""


def _in_table(text: str) -> str:
    return text.replace("|", "\\|")


def _name_values(command: Any) -> None:
    """Name what each parameter takes where no name was given, by the function's annotations.

    Each version of typer has types of its own.
    """
    given = get_type_hints(command.callback)
    for param in command.params:
        if not param.metavar and param.name in given:
            param.metavar = _taken(given[param.name])


def _taken(annotation: Any) -> str:
    """What an annotation takes, without None.

    >>> _taken(int | None), _taken(Literal["yes", "no"])
    ('INTEGER', 'yes|no')
    """
    if get_origin(annotation) is Literal:
        return "|".join(get_args(annotation))
    if inner := [one for one in get_args(annotation) if one is not type(None)]:
        return _taken(inner[0])
    names = {int: "INTEGER", float: "NUMBER", Path: "PATH", bool: "BOOLEAN"}
    return names.get(annotation, "TEXT")


def _metavar(param: Any) -> str:
    return str(param.metavar)


def _usage(argument: Any) -> str:
    shown = _metavar(argument) + ("…" if argument.nargs == -1 else "")
    return shown if argument.required else f"[{shown}]"


def _cell(param: Any) -> str:
    text = _in_table(_escaped(param.help or ""))
    default = param.default
    simple = isinstance(default, str | int | float | Path) and not isinstance(default, bool)
    if simple and default != "" and not getattr(param, "count", False):
        text += f" Default: `{getattr(default, 'value', default)}`."
    return text.strip()


def _escaped(text: str) -> str:
    """Text of a terminal in Markdown: nothing in it is markup but what stands in backquotes."""
    return re.sub(r"(?<!`)([<*_])", r"\\\1", text) if "`" not in text else text


# -- SQL -----------------------------------------------------------------------------------------


def macros() -> str:
    """The page of the macros, from the headers of their files."""
    from dbdeid.engine.duckdb.macros import MACROS

    parts = [
        "# SQL macros\n",
        "Written from the headers of `sql/macros/*.sql`. `dbdeid macros install DATABASE` puts "
        "them into a database, where any client can call them; `dbdeid macros print` "
        "prints them. A table macro stands behind FROM, a scalar one where a value stands. The "
        "examples ask a table `visits` with the columns age, sex and diagnosis, and its release "
        "`released`; `age.csv` is the hierarchy of age.\n",
    ]
    for macro in MACROS:
        kind = "table macro" if macro.kind == "table" else "scalar macro"
        private = "; reads `deid.hierarchies` of the current database" if macro.private else ""
        parts += [
            f"## deid.{macro.name}{'' if macro.kind == 'table' else ' (scalar)'}\n",
            f"```sql\n{macro.signature}\n```\n",
            f"{macro.description[0].upper()}{macro.description[1:]} ({kind}{private}).\n",
            f"Reads\n\n```text\n{macro.reads}\n```\n",
            f"Gives\n\n```text\n{macro.gives}\n```\n",
            f"Example\n\n```sql\n{_of_kind(macro)}\n```\n",
        ]
    return "\n".join(parts)


def _of_kind(macro: Any) -> str:
    """The example of a macro; a file may have two of one name, a table and a condition."""
    if macro.kind == "scalar" and macro.example.startswith("FROM"):
        return f"SELECT {macro.example.removeprefix('FROM ').replace(chr(34), '')}"
    return str(macro.example)


def functions() -> str:
    """The page of the functions in Python, from what registers them."""
    from dbdeid.udfs import functions as scalar
    from dbdeid.udfs import procedures

    parts = [
        "# SQL functions\n",
        "`dbdeid.install(con)` and `dbdeid sql` register them on a connection, for what SQL cannot "
        "say. A released table never calls one.\n",
        "## Procedures\n",
        inspect.cleandoc(procedures.__doc__ or "") + "\n",
        "| Call | Does |\n|---|---|",
        *(
            f"| `SELECT {name}('release.yml')` | {_first_line(name)} |"
            for name in procedures.PROCEDURES
        ),
        "",
        "## Functions\n",
        inspect.cleandoc(scalar.__doc__ or "") + "\n",
        "| Call | Types | Result | Gives | Example |\n|---|---|---|---|---|",
    ]
    for function in scalar.FUNCTIONS:
        said, call = function.description.rsplit(": ", 1)
        types = ", ".join(function.parameters)
        example = f"`SELECT {function.example}`"
        parts.append(f"| `{call}` | `{types}` | `{function.result}` | {said} | {example} |")
    return "\n".join(parts) + "\n"


def _first_line(procedure: str) -> str:
    """What a procedure does: what the function of Python does that it calls."""
    called = getattr(dbdeid, procedure.removeprefix("deid_"))
    return inspect.cleandoc(called.__doc__ or "").splitlines()[0]


# -- Python --------------------------------------------------------------------------------------


def python() -> str:
    """The page of the public names: what is called, what that gives, and what it raises."""
    names = [getattr(dbdeid, name) for name in dbdeid.__all__]
    called = [one for one in names if inspect.isfunction(one)]
    classes = [one for one in names if inspect.isclass(one)]
    errors = [one for one in classes if issubclass(one, dbdeid.DbdeidError)]
    given = dict.fromkeys(one for function in called for one in _given(function))
    parts = [
        "# Python\n",
        "`import dbdeid` offers these names, and loads what they need when they are first used.\n",
        "## Functions\n",
        *(_documented(one, f"dbdeid.{one.__name__}") for one in called),
        "## What they give\n",
        *(
            _documented(one, f"dbdeid.{one.__name__}" if one in classes else one.__name__)
            for one in given
        ),
        "## Errors\n",
        *(_documented(one, f"dbdeid.{one.__name__}") for one in errors),
    ]
    return "\n".join(parts)


def _given(function: Any) -> Iterator[type]:
    """The classes of ours that a function gives."""
    known = vars(inspect.getmodule(function))
    for word in re.findall(r"\w+", str(function.__annotations__["return"])):
        one = known.get(word)
        if inspect.isclass(one) and one.__module__.startswith("dbdeid."):
            yield one


def _documented(one: Any, heading: str) -> str:
    options = f"    options:\n      heading: {heading}\n      toc_label: {heading}\n"
    return f"::: {one.__module__}.{one.__qualname__}\n{options}"


# -- the record ----------------------------------------------------------------------------------


def record() -> str:
    """The page of the record of a release, from its JSON Schema: a table for each part."""
    from dbdeid.record.schema import schema

    whole: Any = schema()
    parts = [
        "# The record of a release\n",
        "Written from the types in `dbdeid/record/`. The private catalog keeps what is known of "
        "each run as JSON, in the column `record` of `deid.releases`; its report, the words of the "
        "command line and the site of a project are made from it. It tells of the original: keep "
        "it. What a run does not have is null or left out. A record of an earlier version has no "
        "`record_version`, and is made into one of today when it is read.\n",
        *_part("ReleaseRecord", whole),
    ]
    for name, part in whole["$defs"].items():
        parts += _part(name, part)
    text = json.dumps(whole, indent=1)
    parts.append(f"## JSON Schema\n\n```json\n{text}\n```\n")
    return "\n".join(parts)


def _part(name: str, part: Any) -> Iterator[str]:
    yield f"## {name}\n\n{part['description']}\n"
    yield "| Key | Type | Meaning |\n|---|---|---|"
    needed = part.get("required", ())
    for key, value in part["properties"].items():
        kind = _in_table(_kind(value))
        always = ", always" if key in needed else ""
        yield f"| `{key}` | {kind}{always} | {_in_table(_escaped(value['description']))} |"
    yield ""


def _kind(value: Any) -> str:
    """What a value may be, with links to the parts that it may have."""
    if "anyOf" in value:
        return " or ".join(dict.fromkeys(map(_kind, value["anyOf"])))
    if "$ref" in value:
        name = value["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "const" in value or "enum" in value:
        allowed = value.get("enum", [value.get("const")])
        return " or ".join(f"`{one}`" for one in allowed)
    if value.get("type") == "array":
        return f"array of {_kind(value.get('items', {}))}"
    of = value.get("additionalProperties")
    if value.get("type") == "object" and isinstance(of, dict):
        return f"object of {_kind(of)}"
    return str(value.get("type", "any value"))
