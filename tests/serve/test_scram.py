"""The proof of a password: the example of RFC 7677, section 3, and what is no proof."""

from __future__ import annotations

import base64

import pytest

from dbdeid.serve import scram
from dbdeid.serve.scram import Exchange, Verifier, WrongPassword

CLIENT, SERVER = "rOprNGfwEbeRWgbNEkqO", "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
FIRST = f"n,,n=user,r={CLIENT}"
FINAL = f"c=biws,r={CLIENT}{SERVER},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="


@pytest.fixture
def exchange(monkeypatch: pytest.MonkeyPatch) -> Exchange:
    monkeypatch.setattr(scram.secrets, "token_bytes", lambda _: base64.b64decode(SALT))
    monkeypatch.setattr(scram.secrets, "token_urlsafe", lambda _: SERVER)
    return Exchange(Verifier.of("pencil"))


def test_the_example_of_the_standard(exchange: Exchange) -> None:
    assert exchange.challenge(FIRST) == f"r={CLIENT}{SERVER},s={SALT},i=4096"
    assert exchange.proof(FINAL) == "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    "final",
    [
        FINAL.replace("dHzb", "dHzc"),
        FINAL.replace("c=biws", "c=eSws"),
        FINAL.replace(SERVER, ""),
        FINAL.partition(",p=")[0],
        f"{FINAL.partition(',p=')[0]},p=",
        f"{FINAL.partition(',p=')[0]},p=????",
        "",
    ],
)
def test_anything_else_proves_nothing(exchange: Exchange, final: str) -> None:
    exchange.challenge(FIRST)
    with pytest.raises(WrongPassword):
        exchange.proof(final)


@pytest.mark.parametrize("first", ["", "n,,", "n,,n=user", "p=tls-unique,,n=,r=abc", "r=abc"])
def test_what_begins_no_exchange(exchange: Exchange, first: str) -> None:
    with pytest.raises(WrongPassword):
        exchange.challenge(first)


def test_a_nonce_is_never_used_twice() -> None:
    verifier = Verifier.of("pencil")
    assert Exchange(verifier).challenge(FIRST) != Exchange(verifier).challenge(FIRST)
