"""Stocks of names and words for a locale. Nobody in them is meant, and every address ends where no mail arrives."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from faker import Faker

from lakelogic_assets.errors import ProjectError
from lakelogic_assets.plan.synthetic import CODES, Pool

DEFAULT_LOCALE: Final = "en_US"
MAIL_DOMAINS: Final = ("example.com", "example.org", "example.net")
_PRODUCT_KINDS: Final = (
    "lamp", "kettle", "watering can", "puzzle", "olive oil", "notebook", "blanket", "rake", "teapot", "kite", "basket",
    "jam", "mug", "broom", "flower pot", "wooden train",
)  # fmt: skip
_PRODUCT_MANNERS: Final = ("Small", "Large", "Folding", "Organic", "Classic", "Striped", "Heavy", "Travel", "Garden")
_MANY: Final = 400
_TRIED: Final = 4 * _MANY
_FIXED: Final[dict[Pool, tuple[str, ...]]] = {
    **CODES,
    "product": tuple(f"{manner} {kind}" for manner in _PRODUCT_MANNERS for kind in _PRODUCT_KINDS),
}


@lru_cache(maxsize=256)
def words(pool: Pool, locale: str, seed: int) -> tuple[str, ...]:
    """The texts of a pool, no text twice, in the same order for the same seed."""
    if pool in _FIXED:
        return _FIXED[pool]
    try:
        faker = Faker(locale, use_weighting=False)
    except AttributeError as error:
        raise ProjectError(f"{locale!r} is not a locale of Faker: write one such as de_DE or en_GB.") from error
    faker.seed_instance(f"{seed}/{pool}")
    return _distinct(_maker(faker, pool))


def _distinct(make: Callable[[], str]) -> tuple[str, ...]:
    """As many different texts as there are, up to a bound; a small stock must not make this search for ever."""
    found: dict[str, None] = {}
    for _ in range(_TRIED):
        found[" ".join(make().split())] = None
        if len(found) == _MANY:
            break
    return tuple(found)


def _maker(faker: Faker, pool: Pool) -> Callable[[], str]:
    makers: dict[str, Callable[[], str]] = {
        "first_name": faker.first_name,
        "last_name": faker.last_name,
        "city": faker.city,
        "street": faker.street_address,
        "postcode": faker.postcode,
        "phone": faker.phone_number,
        "company": faker.company,
        "sentence": lambda: faker.sentence(6),
        "word": lambda: faker.word().lower(),
    }
    return makers[pool]


def plain(name: str) -> str:
    """A name as it stands in an address: letters without marks; `someone` where nothing is left of it."""
    folded = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    return "".join(letter for letter in folded.lower() if letter.isalpha()) or "someone"
