"""The report as one HTML page: the Markdown report, set readable."""

from __future__ import annotations

from html import escape

from .diagnosis import Diagnosis

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
td, th { border: 1px solid #bbb; padding: .25rem .6rem; text-align: left }
code { background: #f0f0f0; padding: 0 .2rem }
h3 { margin-top: 2rem; border-bottom: 1px solid #ddd }
"""


def render(diagnosis: Diagnosis) -> str:
    """Write the page; everything that comes from a file is escaped."""
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(diagnosis.to_markdown())
    title = escape(f"kneck: {diagnosis.kernel.demangled}")
    return (
        f'<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<title>{title}</title>\n'
        f"<style>{STYLE}</style>\n{body}</html>\n"
    )
