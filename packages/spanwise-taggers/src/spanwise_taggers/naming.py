"""Names of taggers: a name defines the characters, words, sentence encoder and decoder of a model."""

from __future__ import annotations

import difflib
import re

from msgspec import Struct

from spanwise.errors import ChoiceError

CHARACTERS = ("none", "cnn", "flair", "minilm", "bert", "elmo", "features")
WORDS = ("none", "rand", "glove", "glove50", "glove100")
ENCODERS = ("none", "lstm", "cnn")
DECODERS = ("crf", "mlp")
CRF = "crf"  # the linear-chain model with hand-crafted features

_NAME = re.compile(
    r"C(?P<characters>[a-z0-9]+)W(?P<words>[a-z0-9]+?)(?P<encoder>Lstm|Cnn|)(?P<decoder>Crf|Mlp)"
)
_ALIASES = {"non": "none", "elm": "elmo"}


class Model(Struct, frozen=True):
    """A model in the grid of characters × words × encoder × decoder.

    The `characters` "bert" stand for a BERT-type encoder in a folder of the user's, "minilm" for a small one
    that can be installed; "features" stand for vectors computed by another tool, and "elmo" for ELMo's.
    `crf` is not a network; all its parts are empty.
    """

    characters: str
    words: str
    encoder: str
    decoder: str

    @property
    def name(self) -> str:
        """The full name, in the style of Fu et al. (2020).

        Examples:
            >>> parse("CnonWrandLstmCrf").name
            'CnoneWrandLstmCrf'
        """
        if not self.characters:
            return CRF
        encoder = "" if self.encoder == "none" else self.encoder.title()
        return f"C{self.characters}W{self.words}{encoder}{self.decoder.title()}"

    @property
    def has_encoder(self) -> bool:
        """Whether the characters are those of a BERT-type encoder."""
        return self.characters in {"minilm", "bert"}

    @property
    def has_features(self) -> bool:
        """Whether the characters are vectors computed by another tool."""
        return self.characters in {"features", "elmo"}

    @property
    def is_network(self) -> bool:
        """Whether the model is a network rather than the linear-chain model."""
        return bool(self.characters)


def parse(name: str) -> Model:
    """Parse a name such as `CcnnWgloveLstmCrf`.

    Examples:
        >>> parse("CcnnWglove100LstmCrf")
        Model(characters='cnn', words='glove100', encoder='lstm', decoder='crf')

    Raises:
        ChoiceError: no model in the grid has this name.
    """
    if name.lower() in {CRF, "crf++"}:
        return Model("", "", "", "")
    parts = _NAME.fullmatch(name)
    if parts is None:
        raise _unknown(name)
    characters, words = (_ALIASES.get(parts[key], parts[key]) for key in ("characters", "words"))
    if characters not in CHARACTERS or words not in WORDS:
        raise _unknown(name)
    if characters == words == "none":
        raise ChoiceError(f"{name}: the tagger would see neither characters nor words.\nGive it one of them.")
    return Model(characters, words, parts["encoder"].lower() or "none", parts["decoder"].lower())


def names() -> list[str]:
    """The names of all models in the grid that have a sentence encoder, and `crf`.

    Examples:
        >>> len(names()), names()[:2]
        (137, ['crf', 'CnoneWrandLstmCrf'])
    """
    return [CRF] + [
        Model(characters, words, encoder, decoder).name
        for characters in CHARACTERS
        for words in WORDS
        for encoder in ENCODERS[1:]
        for decoder in DECODERS
        if (characters, words) != ("none", "none")
    ]


def _unknown(name: str) -> ChoiceError:
    near = difflib.get_close_matches(name, names(), n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return ChoiceError(
        f"no tagger is called {name!r}.{hint}\n"
        f"A name is C + one of {', '.join(CHARACTERS)}, W + one of {', '.join(WORDS)}, Lstm or Cnn, "
        "and Crf or Mlp, such as CcnnWgloveLstmCrf; or crf."
    )
