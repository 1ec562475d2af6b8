"""Files that the engine does not read by itself: Arrow, spreadsheets, tables of Delta Lake."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbdeid.engine.reading import table_spelled
from dbdeid.errors import DataError, did_you_mean
from dbdeid.sources.rows import Rows, library, without_cells

if TYPE_CHECKING:
    import pyarrow as pa

_WHOLE = 2**53  # from here on a DOUBLE does not hold every whole number


def arrow_rows(files: Sequence[Path]) -> Rows:
    """The rows of files in Arrow's IPC format, as files or streams, also of Feather.

    Raises:
        DataError: one of them is not in it, or has other columns than the first.
    """
    import pyarrow as pa

    def refused(_: BaseException) -> DataError:
        return DataError(
            f"{files[0].name} is no whole file of Arrow", hint="write it again, as a file or stream"
        )

    def batches() -> Iterator[pa.RecordBatch]:
        for file in files:
            yield from _batches(file)

    try:
        schemas = [_opened(file).schema for file in files]
    except (OSError, pa.ArrowException) as error:
        raise without_cells(error, refused(error)) from None
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise DataError(
                f"{file.name} has other columns, or types of them, than {files[0].name}",
                hint="write them alike, or name the files of one kind",
            )
    return Rows(schemas[0], batches(), refused=refused)


def _opened(file: Path) -> Any:
    import pyarrow as pa

    source = pa.memory_map(str(file))
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid:
        return pa.ipc.open_stream(pa.memory_map(str(file)))


def _batches(file: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    found = _opened(file)
    if isinstance(found, pa.RecordBatchFileReader):
        yield from (found.get_batch(number) for number in range(found.num_record_batches))
    else:
        yield from found


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook that have a row.

    Raises:
        DataError: it cannot be read.
        MissingExtra: the library is not installed.
    """
    excel = _excel()
    try:
        book = excel.read_excel(path)
        some = {"n_rows": 1, "dtypes": "string"}
        return [name for name in book.sheet_names if book.load_sheet(name, **some).height]
    except (excel.FastExcelError, OSError) as error:
        raise without_cells(error, _no_sheet(path)) from None


def sheet_rows(path: Path, sheet: str | None) -> Rows:
    """The rows of a sheet; its first row has the names of the columns.

    A spreadsheet has one type for numbers and one for moments. Where all numbers of a column are
    whole they are read as such, and where all moments are midnight they are dates.

    Args:
        path: the workbook.
        sheet: its name; None for the only one that has rows.

    Raises:
        DataError: there is no such sheet, or several have rows.
        MissingExtra: the library is not installed.
    """
    names = sheet_names(path)
    if sheet is None and len(names) != 1:
        raise DataError(
            f"{path.name} has {len(names)} sheets with rows",
            hint=f"name one: `attach: {{book: {path.name}}}`, and `source: book.SHEET`; "
            f"sheets: {', '.join(map(table_spelled, names[:20]))}",
        )
    name = names[0] if sheet is None else _named(sheet, names, path)
    excel = _excel()
    import pyarrow as pa

    def refused(_: BaseException) -> DataError:
        return _no_sheet(path)

    try:
        loaded = excel.read_excel(path).load_sheet(name, schema_sample_rows=None)
        table = pa.Table.from_batches([loaded.to_arrow()])
    except (excel.FastExcelError, pa.ArrowException, OSError) as error:
        raise without_cells(error, refused(error)) from None
    table = pa.table([_narrowed(column) for column in table.columns], names=table.column_names)
    return Rows(table.schema, iter(table.to_batches()), refused=refused)


def _excel() -> ModuleType:
    logging.getLogger("fastexcel").setLevel(logging.ERROR)  # it tells of each column of NULLs
    return library("fastexcel", "fastexcel")


def _named(name: str, known: Sequence[str], path: Path) -> str:
    found = next((one for one in known if one.lower() == name.lower()), None)
    if found is None:
        raise DataError(
            f"{path.name} has no sheet {name!r}", hint=did_you_mean(name, map(table_spelled, known))
        )
    return found


def _no_sheet(path: Path) -> DataError:
    return DataError(
        f"{path.name} cannot be read as a spreadsheet",
        hint="open it and save it again, without a password, as .xlsx or as CSV in UTF-8",
    )


def _narrowed(column: Any) -> Any:
    """Whole numbers and days as what they are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        whole = pc.and_(pc.equal(pc.floor(column), column), pc.less(pc.abs(column), _WHOLE))
        return column.cast(pa.int64()) if _all(whole) else column
    if pa.types.is_timestamp(column.type):
        days = column.cast(pa.date32(), safe=False)
        return days if _all(pc.equal(days.cast(column.type), column)) else column
    return column


def _all(condition: Any) -> bool:
    """Whether something holds of all values, of which there are some."""
    import pyarrow.compute as pc

    return pc.all(condition, min_count=1).as_py() is True


def delta_rows(path: Path) -> Rows:
    """The rows of a table of Delta Lake, as it is now.

    Raises:
        DataError: it cannot be read.
        MissingExtra: the library is not installed.
    """
    delta = library("deltalake", "deltalake")
    errors = library("deltalake.exceptions", "deltalake")
    import pyarrow as pa

    def refused(_: BaseException) -> DataError:
        return DataError(
            f"{path} cannot be read as a table of Delta Lake",
            hint="see whether its log is whole; features that the library lacks need the extension",
        )

    try:
        reader = delta.DeltaTable(str(path)).to_pyarrow_dataset().scanner().to_reader()
    except (errors.DeltaError, pa.ArrowException, OSError) as error:
        raise without_cells(error, refused(error)) from None
    return Rows(reader.schema, iter(reader), refused=refused)
