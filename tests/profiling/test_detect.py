"""What columns are, from name and content; and that no reason quotes a value."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dbdeid.bind.any_table import opened
from dbdeid.engine.session import Step
from dbdeid.profiling import column_names
from dbdeid.profiling.detect import (
    IDENTIFYING,
    KINDS,
    SAFE_HARBOR,
    DetectedColumn,
    detect,
    subject_candidates,
    subject_of,
)


def found_in(source: Path) -> dict[str, DetectedColumn]:
    with opened(source, None) as found_table:
        session, query = found_table.session, found_table.opened.query
        table = session.run(Step("deid_draft", query))
        return {f.name: f for f in detect(session, table)}


def found(folder: Path, sql: str) -> dict[str, DetectedColumn]:
    source = folder / "q.parquet"
    with duckdb.connect() as con:
        con.execute(f"COPY ({sql}) TO '{source}'")
    return found_in(source)


CONTENTS = {
    "mail": "'m' || i || '@example.org'",
    "url": "'https://example.org/' || i",
    "ip": "'10.0.' || (i % 250) || '.' || (i % 7)",
    "ssn": "printf('%03d-%02d-%04d', i % 700, i % 90, i)",
    "phone": "'+49 89 ' || (100000 + i)",
    "date": "strftime(DATE '2019-01-01' + (i % 300)::INTEGER, '%d.%m.%Y')",
    "timestamp": "'2019-01-01 12:' || (10 + i % 50)",
    "record_number": "CAST(md5(i::VARCHAR) AS VARCHAR)",
    "zip": "printf('%05d-%04d', i, i)",
    "postcode": "'SW' || (i % 9) || ' ' || (i % 9) || 'AA'",
    "icd10": "chr(65 + (i % 9)::INTEGER) || printf('%02d', i % 50) || '.' || (i % 9)",
    "person_name": "'An' || chr(97 + (i % 26)::INTEGER) || ' Le' || chr(97 + ((i // 26) % 26)"
    "::INTEGER) || chr(97 + (i // 676)::INTEGER)",
    "free_text": "'this was written of number ' || i || ' by one of the nurses on duty'",
    "unique": "'x' || i",
    "code": "i % 4",
    "number": "i % 700",
    "text": "'t' || (i % 9)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", CONTENTS)
def test_content_alone_tells(tmp_path: Path, kind: str) -> None:
    one = found(tmp_path, f"SELECT {CONTENTS[kind]} AS v FROM range(3000) t(i)")["v"]
    assert one.kind == kind, one.reason
    assert (one.records, one.known) == (3000, 3000)


DATES = ("%Y%m%d", "%A, %-d %B %Y", "%B %-d, %Y", "%-d. %b %Y", "%Y-%m", "%m/%Y", "%b %Y", "%G-W%V")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", DATES)
def test_dates_are_known_however_they_are_written(tmp_path: Path, form: str) -> None:
    text = f"strftime(DATE '1931-01-01' + (i * 9)::INTEGER, '{form}')"
    columns = f"{text} AS batch" + (f", {text}::INTEGER AS lot" if form == "%Y%m%d" else "")
    for one in found(tmp_path, f"SELECT {columns} FROM range(3000) t(i)").values():
        assert one.kind == "date", one.reason


def test_texts_of_five_digits_are_places(tmp_path: Path) -> None:
    text = "printf('%05d', 1001 + (i * 37) % 700)"
    made = found(tmp_path, f"SELECT {text} AS area, {text} AS diag_1 FROM range(3000) t(i)")
    assert (made["area"].kind, made["diag_1"].kind) == ("postcode", "icd9")


def test_most_of_the_values_are_enough_and_few_are_not(tmp_path: Path) -> None:
    many, few = "'m' || i || '@example.org'", "'n' || (i % 40)"
    made = found(
        tmp_path,
        f"SELECT CASE WHEN i % 10 < 9 THEN {many} ELSE {few} END AS often, "
        f"CASE WHEN i % 10 < 2 THEN {many} ELSE {few} END AS seldom FROM range(3000) t(i)",
    )
    assert made["often"].kind == "mail"
    assert made["often"].reason == "90 % of its values look like e-mail addresses"
    assert made["seldom"].kind == "text"


# The same columns as a hospital of each country calls them.
IN_LANGUAGES = {
    "person_name": "Nachname Geburtsname NOM prénom nom_jeune_fille apellidos nombre cognome nome "
    "achternaam voornaam meisjesnaam apelido sobrenome nome_da_mãe Emergency_Contact Attending_Md",
    "address": "Strasse Straßenname rue nom_de_la_rue calle indirizzo straat rua Hausnummer HNr "
    "num_rue numero_calle civico huisnr num_porta house_no",
    "phone": "Telefon TelNr Handy Tél téléphone tfno telefono cellulare telefoon telemóvel faxno",
    "mail": "EMail courriel correo posta_elettronica mailadres correio_eletronico",
    "place": "Wohnort Geburtsort ville municipio comune wnplts woonplaats localidade cidade",
    "record_number": "Fallnummer Patientennummer PatNr Versichertennummer Vers_Nr num_dossier "
    "historia_clinica cartella_clinica dossiernr processo patientid nhsno chartno eid pid "
    "IdPaziente",
    "date": "GebDat geburtsdatum DDN date_naissance fec_nac data_nascita gbdat dt_nasc",
    "age": "Alter âge edad età leeftijd idade",
}
NAMES = {
    "mail": ("email", "e_mail", "MailAddress", "mail_address"),
    "ip": ("ip", "ip_address", "clientIp"),
    "phone": ("phone", "phone_number", "fax", "mobile"),
    "address": ("address", "street", "home_address"),
    "person_name": ("name", "firstName", "last_name", "surname", "Mother_Name"),
    "record_number": ("patient_nbr", "patientId", "mrn", "encounter_id", "account", "user_id"),
    "age": ("age", "age_years", "Age", "pt_yrs", "agegrp", "how_old", "age_months"),
    "zip": ("zip", "zip_code", "ZIP5"),
    "postcode": ("postal_code", "PLZ", "CodePostal", "código postal", "CAP", "cp", "postcode"),
    "place": ("city", "county", "latitude"),
    "country": ("country", "native_country", "nationality", "Staatsangehörigkeit", "nationalité"),
    "ssn": ("NSS", "BSN", "codice_fiscale", "numéro_sécu", "DNI", "nir", "NIF", "SV-Nr"),
    "free_text": (
        "Bemerkungen",
        "remarques",
        "observaciones",
        "note",
        "opmerkingen",
        "observações",
    ),
}
VALUES = {
    "record_number": "i % 1500",
    "age": "i % 90",
    "zip": "10000 + i % 900",
    "postcode": "(10000 + i % 900)::VARCHAR",
    "country": "'c' || (i % 30)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", NAMES)
def test_names_tell_too(tmp_path: Path, kind: str) -> None:
    value = VALUES.get(kind, "'v' || (i % 700)")
    apart = {name.lower(): name for name in NAMES[kind]}.values()
    for names in (apart, [name for name in NAMES[kind] if name not in apart]):
        if names:
            columns = ", ".join(f'{value} AS "{name}"' for name in names)
            made = found(tmp_path, f"SELECT {columns} FROM range(3000) t(i)")
            assert {name: f.kind for name, f in made.items()} == dict.fromkeys(names, kind)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", IN_LANGUAGES)
def test_names_tell_in_seven_languages(tmp_path: Path, kind: str) -> None:
    value = {"age": "i % 90", "phone": "'v' || i % 700"}.get(kind, "'v' || (i % 700)")
    some = IN_LANGUAGES[kind].split()
    columns = ", ".join(f'{value} AS "{name}"' for name in some)
    made = found(tmp_path, f"SELECT {columns} FROM range(3000) t(i)")
    assert {name: f.kind for name, f in made.items()} == dict.fromkeys(some, kind)


def test_words_of_one_language_are_others_in_another(tmp_path: Path) -> None:
    """What they hold decides: via is no street, cap and pc are no postcodes, alter is no age."""
    route = "['oral', 'iv', 'rectal'][1 + i % 3]"
    made = found(
        tmp_path,
        f"SELECT {route} AS via, i % 2 AS cap, i / 7.0 AS pc, i * 11 AS alter, "
        f"i % 5 AS nombre_enfants, {route} AS str, 'Via R' || repeat('o', 1 + i % 30) || 'ma' "
        "AS via2, printf('%05d', i) AS pc2, 1000 + i AS house_values, " + route + " AS data "
        "FROM range(2000) t(i)",
    )
    kinds = {name: f.kind for name, f in made.items()}
    assert [kinds[n] for n in ("via", "cap", "pc", "alter", "str", "data")] == [
        *("text", "code", "number", "unique", "text", "text")
    ]
    assert kinds["nombre_enfants"] == "number"
    assert (kinds["via2"], kinds["pc2"]) == ("address", "postcode")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("printf('%04d AB', 1000 + i % 900)", "postcode"),
        ("printf('%04d-%03d', 1000 + i % 900, i % 999)", "postcode"),
        ("'D-' || (10000 + i)", "postcode"),
        ("['Jänner', 'März', 'Mai', 'Juni'][1 + i % 4] || ' ' || (1950 + i % 60)", "date"),
        ("(1 + i % 28) || ' août ' || (1950 + i % 60)", "date"),
        ("(1 + i % 28) || ' de febrero de ' || (1950 + i % 60)", "date"),
        ("'06 12 34 ' || (10 + i % 80) || ' ' || (10 + i % 70)", "phone"),
        (
            "'RSSMRA' || (10 + i % 80) || 'A' || (10 + i % 20) || 'H' || (100 + i % 800) || 'Z'",
            "ssn",
        ),
        ("'P-' || printf('%04d', i % 700)", "record_number"),
        ("'Müller' || repeat('e', 1 + i % 40) || 'straße'", "address"),
        ("i % 1000 / 10.0 || ''", "number"),
        ("replace((i % 1000 / 10.0)::VARCHAR, '.', ',')", "number"),
    ],
)
def test_values_of_other_countries(tmp_path: Path, form: str, kind: str) -> None:
    one = found(tmp_path, f"SELECT {form} AS c01 FROM range(3000) t(i)")["c01"]
    assert one.kind == kind, one.reason


def test_five_digits_are_zip_codes_only_where_the_table_is_american(tmp_path: Path) -> None:
    text = "printf('%05d', 1001 + (i * 37) % 700)"
    made = found(tmp_path, f"SELECT {text} AS area, {text} AS PLZ, i % 9 AS x FROM range(999) t(i)")
    assert (made["area"].kind, made["PLZ"].kind) == ("postcode", "postcode")
    made = found(tmp_path, f"SELECT {text} AS area, {text} AS zip FROM range(999) t(i)")
    assert (made["area"].kind, made["zip"].kind) == ("zip", "zip")


def test_dates_may_be_numbers(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT i % 900 - 5000 AS birth_date, 1950 + i / 37.0 AS fecha_nacimiento, "
        "1950 + i % 60 AS geburtsdatum FROM range(2000) t(i)",
    )
    assert [f.kind for f in made.values()] == ["date", "date", "year"]


def test_amounts_are_nobody(tmp_path: Path) -> None:
    fine = "10000 + i // 2 * 7919 % 90001"
    made = found(
        tmp_path,
        f"SELECT {fine} AS totsales, {fine} AS invoice_total, {fine} AS salary, {fine} AS c04, "
        "'P-' || printf('%04d', i // 5) AS c05, i // 4 AS eid, i // 3 AS Fallnummer "
        "FROM range(3000) t(i)",
    )
    assert [f.name for f in subject_candidates(list(made.values()))] == ["eid", "Fallnummer", "c05"]
    assert (
        subject_candidates([made[n] for n in ("totsales", "invoice_total", "salary", "c04")]) == ()
    )


def test_what_only_sounds_like_it(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT i % 8 AS admission_type_id, i % 39 AS number_outpatient, i % 2 AS has_phone, "
        "'d' || (i % 9) AS drug_name, i % 400 AS dosage, i * 7 AS age, i % 300 AS zip_total, "
        "'n' || (i % 2) AS mail_opt_in FROM range(3000) t(i)",
    )
    kinds = {name: f.kind for name, f in made.items()}
    assert kinds["admission_type_id"] == kinds["has_phone"] == "code"
    assert kinds["number_outpatient"] == kinds["dosage"] == "number"
    assert kinds["drug_name"] == kinds["mail_opt_in"] == "text"
    assert kinds["age"] == "age"
    assert not made["age"].years


def test_codes_of_diseases_need_a_name_where_numbers_look_alike(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT (i % 700)::VARCHAR AS diag_1, i % 700 AS dx, (i % 700)::VARCHAR AS x, "
        "CASE WHEN i % 9 = 0 THEN 'V' || (10 + i % 80) ELSE (i % 700) || '.1' END AS y "
        "FROM range(3000) t(i)",
    )
    assert {n: f.kind for n, f in made.items()} == {
        "diag_1": "icd9",
        "dx": "icd9",
        "x": "number",
        "y": "icd9",
    }


def test_placeholders_are_no_values(tmp_path: Path) -> None:
    one = found(
        tmp_path,
        "SELECT CASE WHEN i % 3 = 0 THEN '?' ELSE 'm' || i || '@example.org' END AS v "
        "FROM range(3000) t(i)",
    )["v"]
    assert (one.kind, one.placeholder, one.known) == ("mail", "?", 2000)


def test_whose_record_it_is(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT i AS encounter_id, i // 2 AS visit_id, i // 5 AS patient_nbr, i // 4 AS id, "
        "'m' || (i // 5) || '@example.org' AS mail FROM range(3000) t(i)",
    )
    assert [n for n, f in made.items() if f.repeats] == ["visit_id", "patient_nbr", "id", "mail"]
    chosen = subject_of(list(made.values()))
    assert chosen is not None
    assert chosen.name == "patient_nbr"
    assert subject_of([made["encounter_id"], made["visit_id"], made["mail"]]) == made["mail"]
    assert subject_of([made["encounter_id"], made["visit_id"]]) is None


def test_every_type_has_a_kind(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT DATE '2019-01-01' AS d, TIMESTAMP '2019-01-01 00:00:00' AS t, true AS b, [i] AS l, "
        "NULL::INTEGER AS n, NULL::VARCHAR AS s, 'inf'::DOUBLE AS f, 1.5 AS c, {'a': i} AS r, "
        "TIME '12:00:00' AS clock, 'x'::BLOB AS bytes FROM range(30) t(i)",
    )
    kinds = {n: f.kind for n, f in made.items()}
    assert [kinds[n] for n in "dtblr"] == ["date", "timestamp", "code", "other", "other"]
    assert kinds["clock"] == kinds["bytes"] == "other"
    assert (made["f"].low, made["f"].high) == (None, None)
    assert set(kinds.values()) <= set(KINDS)


def test_no_reason_quotes_a_value(tmp_path: Path) -> None:
    made = found(
        tmp_path,
        "SELECT 'qsecret' || i AS name, 'qsecret' || i || '@x.org' AS a, 'qsecret' || (i % 9) AS b,"
        " 'qsecret is a text of many words ' || i AS c, 77770000 + i AS d FROM range(500) t(i)",
    )
    assert not any(word in f.reason for f in made.values() for word in ("qsecret", "7777"))


def test_the_eighteen_are_kinds() -> None:
    assert set(SAFE_HARBOR) <= set(KINDS)
    assert set(KINDS) >= IDENTIFYING
    assert set(SAFE_HARBOR) >= IDENTIFYING


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("patientNbr", "patient_nbr"),
        ("Patient-Nbr", "patient_nbr"),
        ("A1Cresult", "a1_cresult"),
        ("Größe", "grosse"),
        ("N° Sécu", "n_secu"),
    ],
)
def test_words_of_a_name(name: str, words: str) -> None:
    assert column_names.words(name) == words


@pytest.mark.full
def test_the_diabetes_table(shared: Path) -> None:
    made = found_in(shared / "data/ehr/diabetes130.parquet")
    kinds = {n: f.kind for n, f in made.items()}
    assert [n for n, k in kinds.items() if k in IDENTIFYING] == ["encounter_id", "patient_nbr"]
    assert [n for n, k in kinds.items() if k == "icd9"] == ["diag_1", "diag_2", "diag_3"]
    assert kinds["age"] == "age"
    chosen = subject_of(list(made.values()))
    assert chosen is not None
    assert chosen.name == "patient_nbr"
