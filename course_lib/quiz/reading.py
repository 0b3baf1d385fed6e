"""What a learner typed, read as letters or as a number with a unit; what cannot be read becomes a hint."""

import math
import re
import unicodedata
from decimal import Decimal
from numbers import Integral, Real

from course_lib.labels import label

LONGEST = 200  # characters of an answer that are looked at
MOST = 30  # items of a collection

# Capital letters of other alphabets that look like the ones asked for.
_LOOKALIKES = str.maketrans("АВСЕΑΒΕ", "ABCEABE")
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_MINUSES = str.maketrans(dict.fromkeys("−‐‑‒–—﹣－⁻", "-"))
_JOINING = {"AND", "UND", "ET", "Y"}
_RANGE = re.compile(r"[^\W_]\s*(?:-|~|\.\.+)\s*[^\W_]")  # A-D, 1-3, A..D
_POWER = re.compile(r"(?<=\d)\s*(?:[×x*·⋅∙]\s*10\s*(?:\^|\*\*)|\s10\^)\s*\{?([-+]?\d+)\}?", re.IGNORECASE)
_RAISED = re.compile(r"(?<=10)([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_NUMBER = re.compile(r"[-+]?(?:\d[\d.,'’_\s]*|[.,]\d+)(?:e[-+]?\d+)?", re.IGNORECASE)
_GROUPED = {mark: re.compile(rf"\d{{1,3}}(?:{re.escape(mark)}\d{{3}})+") for mark in (",", ".")}

# (dimension, how much one is). Exact spelling first, then without regard to case.
UNITS = {
    "": ("", 1),
    **dict.fromkeys(("times", "time", "x", "×", "fold", "-fold"), ("number", 1)),
    **dict.fromkeys(("workers", "worker", "ranks", "rank", "gpus", "gpu", "cards"), ("number", 1)),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("share", 1)),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), ("time", 1)),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), ("time", 1e-3)),
    **dict.fromkeys(("μs", "us", "usec", "microsecond", "microseconds"), ("time", 1e-6)),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), ("time", 1e-9)),
    **dict.fromkeys(("min", "minute", "minutes"), ("time", 60)),
    **dict.fromkeys(("h", "hour", "hours"), ("time", 3600)),
    **dict.fromkeys(("B", "byte", "bytes"), ("bytes", 1)),
    **{f"{prefix}B": ("bytes", 1e3**power) for power, prefix in enumerate("kMGTP", 1)},
    **{f"{prefix}iB": ("bytes", 1024**power) for power, prefix in enumerate("KMGTP", 1)},
    **{
        f"{prefix}{bit}": ("bytes", 1e3**power / 8)
        for power, prefix in enumerate("kMGTP", 1)
        for bit in ("bit", "b")
    },
    "gigabytes": ("bytes", 1e9),
    "megabytes": ("bytes", 1e6),
}
_LOOSE = {}
for _name, _unit in UNITS.items():
    _LOOSE.setdefault(_name.casefold(), _unit)
_LOOSE |= {f"{prefix}b": ("bytes", 1e3**power) for power, prefix in enumerate("kmgtp", 1)}


class Unreadable(Exception):
    """The answer could not be read; the text is the hint."""


def read_letters(answer, options, single):
    """The letters in `answer`, a text or a collection of texts, as a set; each must be one of `options`."""
    found = set()
    for text in _texts(answer):
        found |= _letters(text, options)
    if not found:
        raise Unreadable(label("quiz_empty"))
    if single and len(found) > 1:
        raise Unreadable(label("quiz_one_letter"))
    return frozenset(found)


def read_number(answer, unit):
    """`answer`, a number or a text such as "1.5 s", as a number in `unit`. "2,750" is 2750."""
    return read_numbers(answer, unit)[0]


def read_numbers(answer, unit):
    """The same in all readings, as a tuple: "2,750" may be 2750 or 2.75."""
    if answer is None:
        raise Unreadable(label("quiz_empty"))
    if isinstance(answer, str):
        readings = (_number_in(answer, unit, decimal_comma) for decimal_comma in (False, True))
        return tuple(dict.fromkeys(readings))
    if isinstance(answer, bool) or not isinstance(answer, Real | Decimal):
        raise Unreadable(label("quiz_not_number", unit=_ask(unit)))
    return (_finite(answer),)


def read_places(answer, count):
    """The numbers 1 … count in `answer`: one, a collection, or a text such as "1, 3", as a set."""
    if isinstance(answer, Integral) and not isinstance(answer, bool):
        answer = [answer]
    if isinstance(answer, str):
        text, words = _dashed(answer), re.split(r"[^\w]+", answer.strip())
        answer = [word for word in words if word]
        if answer and not all(word.isdecimal() for word in answer):
            raise Unreadable(label("quiz_mark_yourself", count=count))
        if _RANGE.search(text):
            raise Unreadable(label("quiz_no_range"))
    places = set()
    for item in _items(answer, "quiz_mark_yourself", count=count):
        try:
            place = int(item) if not isinstance(item, bool | float) else 0
        except (TypeError, ValueError):
            place = 0
        if not 1 <= place <= count:
            raise Unreadable(label("quiz_mark_yourself", count=count))
        places.add(place)
    return frozenset(places)


def _texts(answer):
    if isinstance(answer, str):
        return [answer]
    items = _items(answer, "quiz_letters")
    if not all(isinstance(item, str) for item in items):
        raise Unreadable(label("quiz_letters"))
    return items


def _items(answer, hint, **values):
    if answer is None:
        raise Unreadable(label("quiz_empty"))
    if not isinstance(answer, set | frozenset | list | tuple) or len(answer) > MOST:
        raise Unreadable(label(hint, **values))
    return list(answer)


def _letters(text, options):
    plain = _dashed(text).upper().translate(_LOOKALIKES)
    if _RANGE.search(plain):
        raise Unreadable(label("quiz_no_range"))
    plain = "".join(" " if _parts(letter) else letter for letter in plain)
    found = {letter for word in plain.split() if word not in _JOINING for letter in word}
    if strange := sorted(found - set(options)):
        listed = ", ".join(options)
        raise Unreadable(label("quiz_not_option", strange=_shown(strange[0]), listed=listed))
    return found


def _dashed(text):
    """`text` in plain letters and digits, with one sort of dash."""
    return unicodedata.normalize("NFKC", _short(text)).translate(_MINUSES)


def _parts(letter):
    """Whether it stands between letters: a space, a comma of any script, a bracket, +, "and" in Chinese."""
    return unicodedata.category(letter)[0] in "PZC" or letter in "+|和与及"


def _number_in(text, unit, decimal_comma):
    plain = _plain(text)
    if not plain:
        raise Unreadable(label("quiz_empty"))
    match = _NUMBER.match(plain)
    if not match:
        raise Unreadable(label("quiz_not_number", unit=_ask(unit)))
    rest = plain[match.end() :].strip()
    written = match.group().strip()
    number = _parse(written, unit, decimal_comma)
    if rest.startswith("/") and (below := _NUMBER.match(rest[1:].strip())):
        divisor = _parse(below.group().strip(), unit, decimal_comma)
        rest = rest[1:].strip()[below.end() :].strip()
        if divisor == 0:
            raise Unreadable(label("quiz_infinite"))
        number /= divisor
    return _finite(number * _factor(rest, unit))


def _plain(text):
    """ASCII digits, signs and exponents, without "≈" or "=" in front."""
    text = _RAISED.sub(lambda match: "^" + match[1].translate(_SUPERSCRIPTS), _short(text))
    text = "".join(f" {letter}" if _is_fraction(letter) else letter for letter in text)  # 5½ is not 51/2
    text = (
        unicodedata.normalize("NFKC", text).replace("\u2044", "/").translate(_MINUSES).strip().lstrip("=≈~≃ ")
    )
    digits = (str(unicodedata.decimal(letter, letter)) for letter in text)
    return _POWER.sub(r"e\1", "".join(digits)).strip().rstrip(" .;!,")


def _is_fraction(letter):
    return unicodedata.decomposition(letter).startswith("<fraction>")


def _parse(written, unit, decimal_comma):
    """A float from digits with any of the usual marks for thousands and decimals.

    decimal_comma: what the single comma of 2,750 is.
    """
    mantissa, _, exponent = written.lower().partition("e")
    mantissa = mantissa.strip()
    if re.fullmatch(r"[-+]?\d{1,3}(?:[\s'’_]\d{3})+(?:[.,]\d+)?", mantissa):
        mantissa = re.sub(r"[\s'’_]", "", mantissa)
    sign, body = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa.lstrip("+"))
    if "," in body and "." in body:
        thousands = min(",.", key=body.rfind)  # the last of both is the decimal mark
        whole, _, part = body.partition(max(",.", key=body.rfind))
        good = _GROUPED[thousands].fullmatch(whole) and part.isdecimal()
        body = f"{whole.replace(thousands, '')}.{part}" if good else "?"
    elif body.count(",") > 1 or (
        _GROUPED[","].fullmatch(body) and not body.startswith("0") and not decimal_comma
    ):
        body = body.replace(",", "") if _GROUPED[","].fullmatch(body) else "?"
    elif body.count(".") > 1:
        body = body.replace(".", "") if _GROUPED["."].fullmatch(body) else "?"
    try:
        return float(f"{sign}{body.replace(',', '.')}" + (f"e{exponent}" if exponent else ""))
    except ValueError:
        raise Unreadable(label("quiz_not_number", unit=_ask(unit))) from None


def _factor(given, wanted):
    """What to multiply by, to get from the unit `given` to the unit `wanted`."""
    if not given:
        return 1.0
    kind, size = UNITS.get(given) or _LOOSE.get(given.casefold()) or (None, 1)
    target, base = UNITS[wanted]
    if kind is None:
        raise Unreadable(label("quiz_strange_unit", given=_shown(given), unit=_ask_or(wanted)))
    if kind != (target or "number"):
        raise Unreadable(label("quiz_other_unit", given=_shown(given), unit=_ask_or(wanted)))
    return size / base


def _finite(value):
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise Unreadable(label("quiz_infinite"))
    return number


def _short(text):
    if len(text) > LONGEST:
        raise Unreadable(label("quiz_too_long", most=LONGEST))
    return text


def _ask(unit):
    """How a hint names the unit: " in ms", or nothing."""
    return f" {label('quiz_in', unit=unit)}" if unit else ""


def _ask_or(unit):
    """The same where a unit was given: " in ms, or without a unit"."""
    return label("quiz_or_without", unit=_ask(unit)) if unit else label("quiz_without")


def _shown(text):
    return repr(text[:20])
