"""XML in the dialect of DeepL with its official client, and in the native one."""

import random
from dataclasses import replace
from xml.etree import ElementTree

import deepl
import pytest

from dragoman.control.inline.inline import InlineTranslation
from dragoman.documents.markup.markup import Tags
from dragoman.serve.work.markup import translate_markup
from dragoman.text.words.inline import InlineText
from dragoman.translation import Translation

DOCUMENT = """<document>
  <meta><title>A document's title</title></meta>
  <content>
    <par>Where is the <i>library</i>? Good
    morning.</par>
    <par>The <b>weather</b> is nice today.</par>
  </content>
</document>
"""


@pytest.fixture(scope="module")
def official(url: str) -> deepl.DeepLClient:
    return deepl.DeepLClient("any key", server_url=url)


def xml(official: deepl.DeepLClient, text: str, **named: object) -> str:
    found = official.translate_text(text, target_lang="KO", source_lang="EN", tag_handling="xml", **named)
    assert found.billed_characters == len(text)
    return str(found.text)


def shape(text: str) -> list[tuple[str, dict[str, str]]]:
    """The elements in order; raises if the text is not well-formed."""
    return [(each.tag, each.attrib) for each in ElementTree.fromstring(f"<r>{text}</r>").iter()]


def test_each_element_with_text_is_translated_and_the_rest_stays(official, offline):
    found = xml(official, DOCUMENT, tag_handling_version="v2")
    assert shape(found) == shape(DOCUMENT)
    tree, translate = ElementTree.fromstring(found), offline["en-ko"].translate
    text = {each.tag: "".join(each.itertext()) for each in tree.iter()}
    assert text["title"] == translate("A document's title").text
    assert text["par"] == translate("The weather is nice today.").text
    assert found.startswith("<document>\n  <meta><title>")


def test_line_ends_divide_only_where_that_is_asked_for(official, offline):
    text = "Where is\nthe library?"
    assert xml(official, text) == offline["en-ko"].translate("Where is the library?").text
    expected = [one.text for one in offline["en-ko"].translate(text.split("\n"))]
    assert xml(official, text, split_sentences="1") == "\n".join(expected)


def test_tags_are_what_the_client_says(official, offline):
    whole = offline["en-ko"].translate("The weather is nice today.").text
    halves = [one.text for one in offline["en-ko"].translate(["The weather is", "nice today."])]
    text = "<par>The weather is</par> <par>nice today.</par>"

    def words(**named: object) -> list[str]:
        found = xml(official, text, **named)
        assert [tag for tag, _ in shape(found)] == ["r", "par", "par"]
        return ["".join(ElementTree.fromstring(f"<r>{found}</r>").itertext()), found]

    assert words(non_splitting_tags=["par"])[0] == whole
    assert words(outline_detection=False)[0] == whole
    for named in ({}, {"outline_detection": False, "splitting_tags": "par,title"}):
        assert words(**named)[1] == f"<par>{halves[0]}</par> <par>{halves[1]}</par>"


def test_what_is_ignored_is_copied_where_it_belongs(official):
    found = xml(official, 'Please open <keep id="1">Any Thing</keep> in the menu.', ignore_tags=["keep"])
    assert found.count('<keep id="1">Any Thing</keep>') == 1
    assert "open" not in found
    # As Weblate sends its placeholders.
    texts = ["Hello <x id='7'></x>, you have <x id='8'></x> messages.", "<x id='1'></x>"]
    several = official.translate_text(texts, target_lang="KO", tag_handling="xml", ignore_tags=["x"])
    for text, one in zip(texts, several, strict=True):
        assert sorted(each["id"] for _, each in shape(one.text)[1:]) == sorted(e["id"] for _, e in shape(text)[1:])
        assert one.text.count("></x>") == text.count("></x>")


def test_what_the_model_does_not_copy_it_does_not_see():
    seen = list[str]()

    class Forgetful:
        """Translates every text by the same, without what it was to copy."""

        pair = None

        def translate_inline(self, texts, **named):
            seen.extend(text.text for text in texts)
            codes = [tuple(replace(code, position=0) for code in text.codes) for text in texts]
            return [InlineTranslation(Translation("", ()), InlineText("안녕", own)) for own in codes]

    tags = Tags(ignored=frozenset("k"))
    texts = ["Go to <k>Help</k> now", "<b>Go</b> now"]
    found = translate_markup(texts, "xml", Forgetful(), None, tags)  # type: ignore[arg-type]
    assert [one.text for one in found] == ["<k>Help</k> 안녕", "<b></b>안녕"]
    assert seen == ["Go to Help now", "Go now", "Go to now"]


def test_a_language_is_detected_by_the_words_and_not_by_the_tags(official, offline):
    text = '<paragraph identifier="one"><emphasis>안녕하세요</emphasis></paragraph>'
    found = official.translate_text(text, target_lang="EN-US", tag_handling="xml")
    assert found.detected_source_lang == "KO"
    assert shape(found.text) == shape(text)
    assert offline["ko-en"].translate("안녕하세요").text in found.text


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"text": ["a", "<b>a</i>"]}, "text 2:1:7: not well-formed XML: mismatched tag; repair it"),
        ({"text": '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'}, "declares the entity 'x', which is refused"),
        ({"text": "<a>" * 300 + "</a>" * 300}, "more than 256 nested elements"),
        ({"tag_handling": "html", "ignore_tags": "x"}, "'ignore_tags' is for tag_handling xml"),
        ({"tag_handling": "sgml"}, "has xml and html"),
        ({"tag_handling_version": "v9"}, "v1 and v2 are known"),
        ({"split_sentences": "2"}, "'split_sentences'"),
    ],
)
def test_the_official_client_reads_errors(official, options, part):
    given = {"text": "a", "target_lang": "KO", "tag_handling": "xml", **options}
    with pytest.raises(deepl.DeepLException, match=part):
        official.translate_text(**given)


def test_forms_and_types_of_parameters(client):
    asked = {"text": "<x>Good</x> <y>morning</y>", "source_lang": "EN", "target_lang": "KO", "tag_handling": "xml"}
    form = {**asked, "outline_detection": "0", "splitting_tags": "x,y"}
    one = client.post("/v2/translate", data=form).json()["translations"][0]
    two = client.post("/v2/translate", json={**form, "outline_detection": False, "splitting_tags": ["x", "y"]}).json()
    assert one == two["translations"][0]
    assert one["tag_handling_version"] == "v2"
    for wrong in ({"splitting_tags": 1}, {"ignore_tags": [1]}, {"outline_detection": "perhaps"}):
        answer = client.post("/v2/translate", json={**asked, **wrong})
        assert (answer.status_code, next(iter(wrong)) in answer.json()["message"]) == (400, True)


def test_the_native_dialect_has_xml(client):
    body = {"text": 'Open <k i="1">Any Thing</k> now.', "format": "xml", "target": "ko", "tags": {"ignored": ["k"]}}
    [one] = client.post("/v1/translate", json=body).json()["translations"]
    assert '<k i="1">Any Thing</k>' in one["text"]
    assert one["source"] == "en"
    refused = client.post("/v1/translate", json={**body, "format": "html"})
    assert (refused.status_code, "only for XML" in refused.json()["detail"]) == (400, True)
    broken = client.post("/v1/translate", json={**body, "text": "a <b"})
    assert (broken.status_code, "text 1:1:" in broken.json()["detail"]) == (400, True)


WORDS = ("Where", "is", "the", "library", "?", "Good", "morning", ".", "and", "a", "red", "dog", "it", "runs", "fast")


def nested(chance: random.Random, depth: int = 0) -> str:
    """Words and elements in each other, at random."""
    parts = []
    for _ in range(chance.randint(1, 5)):
        if depth < 4 and chance.random() < 0.45:
            name, inside = chance.choice("abxyz"), nested(chance, depth + 1) if chance.random() < 0.8 else ""
            parts.append(f'<{name} n="{chance.randint(0, 99)}">{inside}</{name}>')
        else:
            parts.append(" ".join(chance.choices(WORDS, k=chance.randint(1, 4))))
    return " ".join(parts)


@pytest.mark.slow
def test_whatever_is_nested_stays_well_formed_with_every_tag_once(client):
    chance = random.Random(1)
    texts = [nested(chance) for _ in range(6)]
    asked = {"text": texts, "source_lang": "EN", "target_lang": "KO", "tag_handling": "xml"}
    for more in ({}, {"outline_detection": False}, {"ignore_tags": ["x"], "splitting_tags": ["y"]}):
        answer = client.post("/v2/translate", json=asked | more)
        for text, one in zip(texts, answer.json()["translations"], strict=True):
            assert sorted(map(str, shape(one["text"]))) == sorted(map(str, shape(text)))
