"""The recipient's models of a release: how they are declared, what enters, and what is told."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from dbdeid.cli.app import app
from dbdeid.commands.check import check
from dbdeid.commands.verify_evaluate_export import evaluate
from dbdeid.errors import SpecError
from dbdeid.release.run import run

Spec = dict[str, Any]
COX = {"kind": "cox", "duration": "months", "event": "died", "covariates": ["age", "stage"]}


@pytest.fixture
def patients() -> duckdb.DuckDBPyConnection:
    return made()


def made() -> duckdb.DuckDBPyConnection:
    """200 patients; whoever is older and of a later stage lives shorter, by a rule."""
    con = duckdb.connect()
    con.execute(
        """
        CREATE TABLE patients AS
        SELECT
          'p' || i AS mrn,
          20 + i * 7 % 60 AS age,
          ['early', 'early', 'late', 'far'][1 + i * 5 % 7 % 4] AS stage,
          CASE WHEN i % 40 = 0 THEN NULL ELSE i % 3 = 0 END AS smoker,
          100 - (20 + i * 7 % 60) // 2 + i * 11 % 37 AS months,
          i % 4 > 0 AS died,
          i * 13 % 10 AS score,
          DATE '2020-01-01' + i::INTEGER AS seen,
        FROM range(200) AS t(i)
        """
    )
    return con


def spec_of(*models: Any, **given: Any) -> Spec:
    insensitive = {"role": "insensitive", "reason": "of the study"}
    return {
        "release": "public",
        "source": "patients",
        "columns": {
            "mrn": "identifier",
            "age": {
                "role": "quasi_identifier",
                "hierarchy": {"intervals": [10], "lower": 20, "upper": 80},
            },
            "stage": {
                "role": "quasi_identifier",
                "hierarchy": {"groups": [{"local": ["early"], "spread": ["late", "far"]}]},
            },
            **dict.fromkeys(("smoker", "months", "died", "score", "seen"), insensitive),
            **given.pop("columns", {}),
        },
        "privacy": [{"model": "k_anonymity", "k": 2}],
        "method": {"name": "full_domain", "transformation": {"age": 1, "stage": 1}},
        "evaluate": {"metrics": ["loss"], "models": list(models)},
        **given,
    }


LINEAR = {"kind": "linear", "response": "months"}
ENTERED = [
    {**LINEAR, "covariates": ["age", "stage", "smoker"]},
    {
        **LINEAR,
        "covariates": ["age > 25", "ln(age)", "CASE WHEN age < 33 THEN 'young' ELSE stage END"],
    },
    {**LINEAR, "covariates": ["score"], "where": "age >= 25"},
]


@pytest.fixture(scope="module")
def entered() -> tuple[duckdb.DuckDBPyConnection, list[dict[str, Any]]]:
    """Patients, and what is found of each of these models in one release of them."""
    con = made()
    return con, [dict(model) for model in run(spec_of(*ENTERED), con).models]


def the(document: Any) -> dict[str, Any]:
    (model,) = document.models if hasattr(document, "models") else document["models"]
    return dict(model)


# -- declared -----------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ({"duration": "mnths"}, "duration", "no column 'mnths'\n  Hint: did you mean 'months'?"),
        ({"covariates": ["age", "mrn"]}, "covariates[1]", "no column 'mrn', whose role is ident"),
        ({"covariates": ["(SELECT 1)"]}, "covariates[0]", "a subquery is not taken"),
        ({"covariates": ["age + avg(age)"]}, "covariates[0]", "the aggregate AVG is not taken"),
        ({"covariates": ["rank() OVER ()"]}, "covariates[0]", "a window is not taken"),
        ({"covariates": ["getenv('HOME')"]}, "covariates[0]", "the function getenv is not taken"),
        ({"covariates": ["random()"]}, "covariates[0]", "the function RANDOM is not taken"),
        ({"covariates": ["unnest([age])"]}, "covariates[0]", "is not taken"),
        ({"covariates": ["age; DROP TABLE x"]}, "covariates[0]", "is not one SQL expression"),
        ({"covariates": ["age +"]}, "covariates[0]", "is no SQL expression"),
        ({"covariates": ["*"]}, "covariates[0]", "* is not taken"),
        ({"covariates": ["patients.age"]}, "covariates[0]", "names columns with a table"),
        ({"covariates": ["1 + 1"]}, "covariates[0]", "names no column"),
        ({"covariates": ["stage + 1"]}, "covariates[0]", "cannot be computed"),
        ({"duration": "stage"}, "duration", "is VARCHAR, and a duration is a number"),
        ({"event": "stage"}, "event", "is VARCHAR, and a number or a condition is expected"),
        ({"where": "age"}, "where", "is BIGINT, and `where` is a condition"),
        ({"covariates": ["[age]"]}, "covariates[0]", "a list is not taken"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_a_wrong_variable_is_told_with_its_place(
    patients: Any, given: dict[str, Any], place: str, message: str
) -> None:
    with pytest.raises(SpecError) as caught:
        run(spec_of({**COX, **given}), patients)
    (mistake,) = caught.value.mistakes
    assert mistake.place == f"evaluate.models[0].{place}"
    assert message in f"{mistake.message}\n  Hint: {mistake.hint}"


def test_all_mistakes_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    text = json.dumps(spec_of(), indent=2)
    assert text.count('"models": []') == 1
    models = """"models": [
      {"kind": "cox", "duration": "month", "event": "died", "covariates": ["age"]},
      {"kind": "linear", "response": "months", "covariates": ["agee + stge"]}]"""
    text = text.replace('"models": []', models)
    (tmp_path / "s.yml").write_text(text)
    duckdb.connect(str(tmp_path / "d.duckdb")).execute(
        "CREATE TABLE patients AS SELECT '' AS mrn, 1 AS age, '' AS stage, true AS smoker, "
        "1 AS months, true AS died, 1 AS score, DATE '2020-01-01' AS seen"
    ).close()
    with pytest.raises(SpecError) as caught:
        check(tmp_path / "s.yml", database=tmp_path / "d.duckdb")
    assert [m.place for m in caught.value.mistakes] == [
        "evaluate.models[0].duration",
        "evaluate.models[1].covariates[0]",
        "evaluate.models[1].covariates[0]",
    ]
    first = text[: text.index('"month"')].count("\n") + 1
    assert [m.line for m in caught.value.mistakes] == [first, first + 1, first + 1]


def test_a_pseudonym_is_no_covariate(patients: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DBDEID_PSEUDONYM_KEY", "k" * 32)
    spec = spec_of({**COX, "covariates": ["mrn"]}, subject="mrn")
    spec["columns"]["mrn"] = {"role": "identifier", "pseudonym": True}
    with pytest.raises(SpecError, match="'mrn' is released as a pseudonym"):
        run(spec, patients)


@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ({**COX, "event": "months < 0"}, "the event never comes"),
        ({**COX, "duration": "months - 80"}, "times are negative"),
        ({**COX, "duration": "nullif(months, months)"}, "no record is left"),
        ({**COX, "covariates": ["age", "2 * age + 1"]}, r"2 \* age \+ 1 cannot be estimated"),
        ({**COX, "covariates": ["age", "mrn_text"]}, "has 201 values, and a covariate may have"),
        ({**COX, "covariates": ["age", "lower(stage)"], "where": "stage = 'far'"}, "one value"),
        ({"kind": "linear", "response": "months", "covariates": ["age", "score * score"],
          "where": "seen < DATE '2020-01-04' AND mrn_text <> 'v'"}, "3 records for 3 coefficients"),
        ({"kind": "linear", "response": "score", "covariates": ["age"], "where": "score = 1"},
         "the response has one value"),
        ({"kind": "logistic", "response": "score", "covariates": ["age"]},
         "the response has other values"),
        ({"kind": "logistic", "response": "score > 4", "covariates": ["score > 4", "age"]},
         "score > 4 cannot be estimated|tell the response completely"),
        ({"kind": "linear", "response": "cast(stage AS INTEGER)", "covariates": ["age"]},
         "cannot be computed on every record"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)  # fmt: skip
def test_an_original_without_a_fit_ends_before_anything_is_written(
    patients: Any, model: Any, reason: str
) -> None:
    patients.execute("ALTER TABLE patients ADD COLUMN mrn_text VARCHAR")
    patients.execute("UPDATE patients SET mrn_text = 'v' || substr(mrn, 2)")
    patients.execute(
        "INSERT INTO patients BY NAME SELECT * REPLACE ('v' AS mrn_text) FROM patients LIMIT 1"
    )
    accepted = {"accept": "looks_like_identifier", "reason": "made up"}
    columns = {"mrn_text": {"role": "insensitive", **accepted}}
    spec = spec_of({**COX, "covariates": ["age"]}, model, columns=columns, accept="rows")
    with pytest.raises(SpecError) as caught:
        run(spec, patients)
    (mistake,) = caught.value.mistakes
    assert mistake.place == "evaluate.models[1]"
    assert mistake.message.startswith(f"the {model['kind']} model: ")
    assert re.search(reason, mistake.message)
    assert "early" not in str(caught.value)
    assert patients.sql("SELECT count(*) FROM duckdb_tables()").fetchall() == [(1,)]
    with pytest.raises(SpecError, match=r"evaluate\.models\[1\]"):
        check(spec, patients)


# -- what enters --------------------------------------------------------------------------------


def test_generalized_columns_enter_by_their_expected_values(entered: Any) -> None:
    """Against a design made by hand: the middle of [20, 30) is 24.5, `spread` is half far."""
    import statsmodels.api as sm

    patients, (found, *_) = entered
    assert {t["text"]: (t["entered"], t["reference"]) for t in found["terms"]} == {
        "months": ("value", None),
        "age": ("expected", None),
        "stage": ("expected", "early"),
        "smoker": ("value", None),
    }
    rows = patients.sql(
        """
        SELECT (age // 10 * 10) + 4.5, CASE stage WHEN 'early' THEN 0 ELSE .5 END,
          smoker::INTEGER, months
        FROM patients WHERE smoker IS NOT NULL
        """
    ).fetchall()
    values = np.array(rows, float)
    # late and far are told apart no more: their shares are the same column
    own = sm.OLS(values[:, 3], sm.add_constant(values[:, [0, 1, 2]])).fit()
    released = {c["name"]: c["released"] for c in found["coefficients"]}
    assert list(released) == ["(intercept)", "age", "stage: late", "stage: far", "smoker"]
    assert released.pop("stage: far") is None
    assert [c["estimate"] for c in released.values()] == pytest.approx(own.params, rel=1e-9)
    assert [c["error"] for c in released.values()] == pytest.approx(own.bse, rel=1e-9)
    assert found["source"] == found["release"] == {"used": 195, "missing": 5}
    assert found["summary"]["unfitted"] == 1
    assert found["reason"] is None


def test_expressions_are_averaged_over_what_a_label_stands_for(entered: Any) -> None:
    """Of [20, 30) four values are above 25; log is the mean of ten logarithms."""
    import statsmodels.api as sm

    patients, (_, found, _) = entered
    ages = [int(age) // 10 * 10 for (age,) in patients.sql("SELECT age FROM patients").fetchall()]
    stages = [stage for (stage,) in patients.sql("SELECT stage FROM patients").fetchall()]
    label = [["early"] if stage == "early" else ["late", "far"] for stage in stages]

    def mean(of: Any) -> list[float]:
        pairs = zip(ages, label, strict=True)
        return [float(np.mean([of(a, s) for a in range(m, m + 10) for s in ss])) for m, ss in pairs]

    def named(name: str) -> Any:
        return lambda age, stage: ("young" if age < 33 else stage) == name

    names = [c["name"].partition(": ")[2] for c in found["coefficients"][3:]]
    assert sorted([*names, found["terms"][-1]["reference"]]) == ["early", "far", "late", "young"]
    x = [mean(lambda a, _: a > 25), mean(lambda a, _: np.log(a)), *(mean(named(n)) for n in names)]
    gone = {c["name"].partition(": ")[2] for c in found["coefficients"] if c["released"] is None}
    kept = [
        column
        for column, name in zip(x, ["", "", *names], strict=True)
        if not name or name not in gone
    ]
    y = [m for (m,) in patients.sql("SELECT months FROM patients").fetchall()]
    own = sm.OLS(y, sm.add_constant(np.column_stack(kept))).fit()
    released = [c["released"]["estimate"] for c in found["coefficients"] if c["released"]]
    assert released == pytest.approx(own.params, rel=1e-6)


def test_a_condition_that_holds_for_half_of_a_label_weighs_half(entered: Any) -> None:
    import statsmodels.api as sm

    patients, (*_, found) = entered
    rows = patients.sql(
        "SELECT score, months, CASE age // 10 WHEN 2 THEN .5 ELSE 1 END FROM patients"
    ).fetchall()
    score, months, weight = np.array(rows, float).T
    own = sm.WLS(months, sm.add_constant(score), weights=weight).fit()
    assert [c["released"]["estimate"] for c in found["coefficients"]] == pytest.approx(own.params)
    assert found["release"]["used"] == weight.sum()


def test_dates_are_day_numbers_and_codes_are_categories(patients: Any) -> None:
    columns = {
        "score": {"role": "quasi_identifier", "hierarchy": "suppress", "type": "categorical"}
    }
    model = {"kind": "linear", "response": "months", "covariates": ["seen", "score"]}
    spec = spec_of(model, columns=columns)
    spec["method"]["transformation"]["score"] = 0
    spec["method"]["transformation"] |= {"age": 2, "stage": 2}
    found = the(run(spec, patients))
    names = [c["name"] for c in found["coefficients"]]
    assert names[:2] == ["(intercept)", "seen"]
    assert len(names) == 2 + 9
    assert all(name.startswith("score: ") for name in names[2:])
    assert found["summary"]["rmsz"] == pytest.approx(0, abs=1e-6)
    assert {t["entered"] for t in found["terms"]} == {"value"}


def test_what_no_dictionary_tells_is_known_to_the_owner(patients: Any) -> None:
    """The values of an undeclared domain are in the private hierarchies only."""
    columns = {"stage": {"role": "quasi_identifier", "hierarchy": "suppress"}}
    model = {"kind": "linear", "response": "months", "covariates": ["age", "stage"]}
    spec = spec_of(model, columns=columns)
    found = the(run(spec, patients))
    stage = next(t for t in found["terms"] if t["text"] == "stage")
    assert (stage["entered"], stage["told"]) == ("expected", False)
    gone = [c["name"] for c in found["coefficients"] if c["released"] is None]
    assert gone == ["stage: late", "stage: far"]  # the same shares everywhere
    assert the(evaluate(spec, patients).to_dict()) == found


@pytest.mark.full
def test_values_of_a_sensitive_column_are_numbered(patients: Any) -> None:
    columns = {"stage": {"role": "sensitive", "accept": "homogeneity"}}
    spec = spec_of({**COX, "covariates": ["age", "stage"]}, columns=columns)
    del spec["method"]["transformation"]["stage"]
    found = the(run(spec, patients))
    assert [c["name"] for c in found["coefficients"]] == ["age", "stage: value 2", "stage: value 3"]
    assert "early" not in json.dumps(found)


# -- methods ------------------------------------------------------------------------------------

ORDERED = {"role": "quasi_identifier", "domain": ["20", "79"]}
OTHERS: dict[str, Spec] = {
    "best": {"method": "full_domain"},
    "kept": {"method": {"name": "full_domain", "suppressed": "keep", "suppression_limit": 0.3}},
    "local": {"method": "local_recoding", "seed": 3},
    "counterfeit": {
        "method": {"name": "counterfeit", "h": 0.5},
        "columns": {"seen": "drop"},
        "seed": 3,
    },
    "borrow": {
        "method": {"name": "counterfeit", "recoding": "borrow", "max_counterfeits": 0.3},
        "columns": {"seen": "drop"},
        "seed": 3,
    },
    "policy": {
        "method": {"name": "policy", "choose": {"max_risk": 0.3}},
        "columns": {
            "age": {"role": "quasi_identifier", "domain": [20, 79]},
            "stage": {"role": "quasi_identifier", "order": ["early", "late", "far"]},
        },
    },
    "relocation": {"method": {"name": "relocation", "limit": 0.3}},
}  # fmt: skip


@pytest.mark.full
@pytest.mark.parametrize("name", list(OTHERS))
def test_a_release_of_any_method_is_evaluated(patients: Any, tmp_path: Path, name: str) -> None:
    """What a run measures is measured again of what it wrote."""
    models = [
        COX,
        {"kind": "linear", "response": "months", "covariates": ["age", "stage"], "where": "died"},
        {"kind": "logistic", "response": "months > 80", "covariates": ["stage", "score"]},
    ]
    spec = spec_of(*models, **OTHERS[name], target=str(tmp_path / "out.duckdb"))
    (tmp_path / "s.json").write_text(json.dumps(spec))
    database = tmp_path / "d.duckdb"
    patients.execute(
        f"ATTACH '{database}' AS d; CREATE TABLE d.patients AS FROM patients; DETACH d"
    )
    path = tmp_path / "s.json"
    found = run(path, database=database)
    assert [m["kind"] for m in found.models] == ["cox", "linear", "logistic"]
    for model in found.models:
        assert model["reason"] is None
        assert model["summary"]["unfitted"] < model["summary"]["coefficients"]
        assert 0 < model["release"]["used"] <= found.released_rows
    again = evaluate(path, database=database)
    assert again["models_overall"] == pytest.approx(found.models_overall)
    for one, other in zip(again["models"], found.models, strict=True):
        assert one["terms"] == other["terms"]
        for a, b in zip(one["coefficients"], other["coefficients"], strict=True):
            assert (a["released"] is None) == (b["released"] is None)
            assert (a["released"] or {}) == pytest.approx(b["released"] or {}, rel=1e-6, abs=1e-9)
    if name == "counterfeit":
        real = found.source_rows
        assert found.models[0]["release"]["used"] == pytest.approx(real)


@pytest.mark.full
def test_without_models_nothing_is_told(patients: Any) -> None:
    spec = spec_of()
    found = run(spec, patients)
    assert (found.models, found.models_overall) == ((), None)
    told = evaluate(spec, patients)
    assert (told["models"], told["models_overall"]) == ([], None)


# -- end to end ---------------------------------------------------------------------------------


@pytest.mark.full
def test_lung_at_5_by_the_command_line(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "survival" / "r_survival_lung.parquet"
    reason = {"role": "insensitive", "reason": "of the trial"}
    spec = {
        "release": "lung_public",
        "target": "lung_public.duckdb",
        "source": {
            "sql": f"SELECT time, status, age, sex, ph_ecog FROM '{source}' "
            "WHERE ph_ecog IS NOT NULL",
            "name": "lung",
        },
        "columns": {
            "time": reason,
            "status": reason,
            "age": {
                "role": "quasi_identifier",
                "hierarchy": {"intervals": [5, 10, 20], "lower": 30, "upper": 90},
            },
            "sex": {"role": "quasi_identifier", "hierarchy": "suppress", "type": "categorical"},
            "ph_ecog": {"role": "quasi_identifier", "hierarchy": {"intervals": [3]}},
        },
        "privacy": [{"model": "k_anonymity", "k": 5}],
        "method": {"name": "full_domain", "suppression_limit": 0.05},
        "evaluate": {
            "metrics": ["loss"],
            "models": [
                {
                    "kind": "cox",
                    "duration": "time",
                    "event": "status = 2",
                    "covariates": ["age", "sex", "ph_ecog"],
                },
                {
                    "kind": "logistic",
                    "response": "time > 365",
                    "covariates": ["age > 60", "sex"],
                    "where": "status = 2",
                },
            ],
        },
    }
    path = tmp_path / "lung.yml"
    path.write_text(json.dumps(spec))
    runner = CliRunner()
    done = runner.invoke(app, ["run", str(path), "--json"])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    cox, logistic = found["models"]
    # survival::coxph(Surv(time, status) ~ age + sex + ph.ecog, lung)
    estimates = [c["original"]["estimate"] for c in cox["coefficients"]]
    assert [c["name"] for c in cox["coefficients"]] == ["age", "sex: 2", "ph_ecog"]
    assert estimates == pytest.approx([0.011067, -0.552612, 0.463728], abs=2e-6)
    assert cox["release"]["used"] == found["released_rows"]
    assert cox["source"]["used"] == found["source_rows"]
    assert logistic["source"]["used"] < found["source_rows"]
    assert found["models_overall"]["coefficients"] == 5
    shown = runner.invoke(app, ["evaluate", str(path)])
    assert shown.exit_code == 0
    assert "cox of time" in shown.stdout
    assert "logistic of time > 365 where status = 2" in shown.stdout
    told = json.loads(runner.invoke(app, ["evaluate", str(path), "--json"]).stdout)
    assert told["models"] == found["models"]
    wrong = path.read_text().replace("status = 2", "status = 7", 1)
    path.write_text(wrong)
    refused = runner.invoke(app, ["run", str(path)])
    assert refused.exit_code == 2
    assert "evaluate.models[0]: the cox model: the event never comes" in refused.stderr
