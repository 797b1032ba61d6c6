"""Small files of stand-off formats that several tests read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXT = "Ann Lee of New York and Rome.\nShe left."


PUBTATOR = """\
12|t|Ann has flu.
12|a|Flu is bad. Aspirin helps.
12\t8\t11\tflu\tDisease\tD007251
12\t25\t32\tAspirin\tChemical\tD001241
12\tCID\tD001241\tD007251

13|t|Nothing.
13|a|
"""


def label_studio(path: Path) -> list[dict[str, Any]]:
    def result(start: int, end: int, *labels: str) -> dict[str, Any]:
        return {
            "type": "labels",
            "value": {"start": start, "end": end, "text": TEXT[start:end], "labels": labels},
        }

    cancelled = {"was_cancelled": True, "result": [result(0, 3, "LOC")]}
    tasks: list[dict[str, Any]] = [
        {
            "id": 7,
            "data": {"text": TEXT, "url": "here"},
            "annotations": [
                cancelled,
                {"result": [result(0, 7, "PER"), {"type": "choices", "value": {"choices": ["x"]}}]},
            ],
            "predictions": [{"result": [result(11, 19, "LOC", "GPE")]}],
        },
        {"id": 8, "data": {"text": "Nothing."}, "annotations": []},
    ]
    path.write_text(json.dumps(tasks))
    return tasks


W2NER = [
    {"sentence": ["pain", "in", "left", "and", "right", "arm"], "ner": [
        {"index": [0, 1, 2, 5], "type": "S"},
        {"index": [0, 1, 4, 5], "type": "S"},
        {"index": [5], "type": "B"}]},
    {"sentence": ["none"], "ner": []},
]  # fmt: skip


XMI = """<?xml version="1.0" encoding="UTF-8"?>
<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:t="http:///x/type.ecore">
  <t:NamedEntity xmi:id="3" sofa="1" begin="3" end="6" value="PER"/>
  <t:NamedEntity xmi:id="4" sofa="1" begin="7" end="11" identifier="Q220"/>
  <t:Custom xmi:id="5" sofa="1" begin="0" end="2" kind="emoji"/>
  <t:Token xmi:id="6" sofa="1" begin="3" end="6"/>
  <cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="\U0001f600 Ann Rome"/>
</xmi:XMI>
"""


GATE = """<?xml version='1.0' encoding='utf-8'?>
<GateDocument version="3"><GateDocumentFeatures/>
<TextWithNodes><Node id="0"/>Ann<Node id="3"/> &amp; <Node id="6"/>Rome<Node id="10"/></TextWithNodes>
<AnnotationSet>
<Annotation Id="1" Type="Person" StartNode="0" EndNode="3"/>
<Annotation Id="2" Type="Location" StartNode="6" EndNode="10">
<Feature><Name className="java.lang.String">kind</Name>
<Value className="java.lang.String">city</Value></Feature>
</Annotation>
<Annotation Id="3" Type="Token" StartNode="0" EndNode="3"/>
</AnnotationSet></GateDocument>
"""
