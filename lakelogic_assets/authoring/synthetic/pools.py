"""Small stocks of names and words. Nobody in them is a real person, and every address ends where no mail arrives."""

from __future__ import annotations

from typing import Final

FIRST_NAMES: Final = tuple(
    "Ada Anna Ben Bruno Carla Chloé David Elif Emil Eva Felix Fatima Georg Hanna Hugo Ida Ivan Jana Jonas Jürgen Karim"
    " Lara Leo Lina Lukas Maja Marek Mia Nina Noah Olga Oskar Paula Pieter Rosa Samir Sofie Theo Vera Zoë".split()
)
LAST_NAMES: Final = tuple(
    "Aydin Bauer Becker Berger Bos Brandt Costa Dubois Fischer Fuchs Garnier Graf Haas Huber Jansen Keller Klein Koch"
    " Kowalski Lang Lefèvre Maier Meyer Moreau Müller Nowak Peters Petit Richter Roth Schmid Schulz Smit Sommer Steiner"
    " Vogel Wagner Weber Winter Zimmermann".split()
)
MAIL_DOMAINS: Final = ("example.com", "example.org", "example.net")
CITIES: Final = tuple(
    "Amsterdam Basel Berlin Bremen Cologne Dresden Geneva Graz Hamburg Leipzig Linz Lyon Munich Paris Rotterdam"
    " Salzburg Stuttgart Utrecht Vienna Zurich".split()
)
COUNTRIES: Final = ("AT", "BE", "CH", "DE", "ES", "FR", "IT", "NL", "PL", "SE")
CURRENCIES: Final = ("EUR", "USD", "GBP", "CHF", "JPY", "SEK", "PLN", "AUD")
STREETS: Final = ("Station Road", "Mill Lane", "Garden Street", "Harbour Quay", "Church Square", "Long Meadow")
COMPANY_WORDS: Final = ("Nordlicht", "Alpen", "Hafen", "Kontor", "Linden", "Rhein", "Sonnen", "Weser")
COMPANY_FORMS: Final = ("GmbH", "AG", "BV", "SA", "KG")
PRODUCT_KINDS: Final = (
    "lamp", "kettle", "watering can", "puzzle", "olive oil", "notebook", "blanket", "rake", "teapot", "kite", "basket",
    "jam", "mug", "broom", "flower pot", "wooden train",
)  # fmt: skip
PRODUCT_MANNERS: Final = ("small", "large", "folding", "organic", "classic", "striped", "heavy", "travel", "garden")
SENTENCES: Final = (
    "As agreed by phone.", "Nothing to add.", "Please call back in the morning.", "Second try was successful.",
    "The entrance is at the back.", "Waiting for an answer.",
)  # fmt: skip
WORDS: Final = (
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "jasper", "kelp", "linden", "maple",
)  # fmt: skip
