"""Addresses of databases: what tells one from another, without a secret."""

from __future__ import annotations

import pytest

from dbdeid.data.location.address import without_secret

PLACES = {
    "postgresql://reader:hush@DB.example.org:5433/clinic": "postgresql://db.example.org:5433/clinic",
    "postgresql://reader@/clinic?host=/run/one": "postgresql://%2Frun%2Fone/clinic",
    "postgresql://reader@/clinic?host=/run/two&port=1": "postgresql://%2Frun%2Ftwo:1/clinic",
    "postgresql://a/clinic?host=b&password=hush&sslmode=require": "postgresql://b/clinic",
    "postgresql://a/clinic?hostaddr=10.0.0.1": "postgresql://10.0.0.1/clinic",
    "postgresql://a?dbname=one/two&user=reader": "postgresql://a/one%2Ftwo",
    "postgresql:///?service=clinic": "postgresql:///?service=clinic",
    "postgresql://reader:hush@a:1,b:2/clinic": "postgresql://a:1,b:2/clinic",
    "mysql://reader:hush@db/clinic?host=other": "mysql://db/clinic",
    "mysql://reader@localhost:9/clinic?socket=/run/s": "mysql://%2Frun%2Fs:9/clinic",
    "postgresql://reader:hu5h/h@sh@db/clinic": "postgresql",
    "postgresql://reader:77/h@sh@db/clinic": "postgresql",
    "lake.sqlite": "lake.sqlite",
}


@pytest.mark.parametrize(("address", "place"), PLACES.items())
def test_where_a_database_is(address: str, place: str) -> None:
    assert without_secret(address) == place
