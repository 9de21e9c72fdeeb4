"""Rows as SARIF 2.1.0, for services that show findings beside code; written as they come."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from ... import __version__
from ...parsers.errors import printable
from ...rules.model import Knowledge
from .kernel import REPORTED
from .model import Row
from .settings import ScanSettings

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
OWN_RULES = {
    "regression": ("A figure got worse since the baseline", "warning"),
    "fail-on": ("The condition of --fail-on holds", "error"),
}


class Sarif:
    """One run; kernels are logical locations, since a binary has no lines."""

    def __init__(self, settings: ScanSettings, knowledge: Knowledge) -> None:
        self.rules = list(_rules(settings, knowledge))
        self.errors: list[Row] = []
        self.has_result = False

    def start(self) -> str:
        head = {"$schema": SCHEMA_URI, "version": "2.1.0"}
        driver = {"name": "kneck", "version": __version__, "rules": self.rules}
        text = json.dumps(head, indent=1)[:-2]
        return f'{text},\n "runs": [{{"tool": {json.dumps({"driver": driver})},\n"results": [\n'

    def row(self, row: Row) -> str:
        if row["record"] == "error":
            self.errors.append(row)
            return ""
        if row["record"] != "kernel":
            return ""
        return "".join(self._separated(json.dumps(each)) for each in _results(row))

    def end(self) -> str:
        notes = [_notification(row) for row in self.errors]
        invocation = {"executionSuccessful": True, "toolExecutionNotifications": notes}
        return f'\n],\n"invocations": [{json.dumps(invocation)}]\n}}]}}\n'

    def _separated(self, text: str) -> str:
        before = ",\n" if self.has_result else ""
        self.has_result = True
        return before + text


def _rules(settings: ScanSettings, knowledge: Knowledge) -> Iterator[dict[str, Any]]:
    for each in settings.findings:
        yield _rule(each.id, each.title, each.level)
    for kind in REPORTED:
        for rule in knowledge.of_kind(kind):
            if rule.id not in settings.leave_out:
                yield _rule(rule.id, rule.title, rule.severity or "note")
    for id, (title, level) in OWN_RULES.items():
        yield _rule(id, title, level)


def _rule(id: str, title: str, level: str) -> dict[str, Any]:
    return {
        "id": id,
        "shortDescription": {"text": title},
        "defaultConfiguration": {"level": level},
    }


def _results(row: Row) -> Iterator[dict[str, Any]]:
    for each in row["findings"]:
        yield _result(row, each["id"], each["level"], each["text"] or each["title"])
    for each in row.get("regressions", []):
        text = f"{each['fact']} {each['before']:g} -> {each['after']:g}"
        yield _result(row, "regression", "warning", text, each["fact"])
    if row.get("fail_on"):
        yield _result(row, "fail-on", "error", "the condition of --fail-on holds")


def _result(row: Row, id: str, level: str, text: str, detail: str = "") -> dict[str, Any]:
    name = printable(row["demangled"])
    identity = (row["kernel"], row["arch"], id, detail)
    fingerprint = hashlib.sha256(repr(identity).encode("utf-8", "surrogatepass")).hexdigest()
    return {
        "ruleId": id,
        "level": level,
        "message": {"text": printable(f"{name} ({row['arch']}): {text}")},
        "locations": [
            {
                **_file(row),
                "logicalLocations": [
                    {"fullyQualifiedName": name, "decoratedName": row["kernel"], "kind": "function"}
                ],
            }
        ],
        "partialFingerprints": {"kernelFinding/v1": fingerprint},
        "properties": {"arch": row["arch"], "cubin": row["cubin"]},
    }


def _file(row: Row) -> dict[str, Any]:
    path = row["file"].replace(os.sep, "/")
    uri = quote(path.encode("utf-8", "surrogateescape"))
    if path.startswith("/"):
        uri = "file://" + uri
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


def _notification(row: Row) -> dict[str, Any]:
    about = ": ".join(each for each in (row["cubin"], row.get("kernel"), row["what"]) if each)
    return {"level": "error", "message": {"text": printable(about)}, "locations": [_file(row)]}
